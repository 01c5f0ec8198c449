"""What every attack has: a limit of time, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse

import mercer
from mercer import kernels

TOLD = 5  # failures of an attack that are told in words


@dataclass
class Outcome:
    """What an attack tried, and how often it succeeded."""

    attack: str
    trials: int = 0
    failures: int = 0
    told: list[str] = field(default_factory=list)  # of the first failures

    def count(self, trials: int = 1, failed: int = 0, text: str = "") -> None:
        """Note some trials, and how many of them were failures of ours."""
        self.trials += trials
        self.failures += failed
        if failed and len(self.told) < TOLD:
            self.told.append(text)


def trials(seconds: float, seed: int = 0) -> Iterator[np.random.Generator]:
    """Yield a source of chance for trial after trial, until the time is over."""
    began, trial = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        yield np.random.default_rng([seed, trial])
        trial += 1


rng = np.random.default_rng(0)
X = rng.dirichlet(np.full(12, 0.4), 90).astype(np.float32)
Q = rng.dirichlet(np.full(12, 0.4), 5).astype(np.float32)
SPARSE, BITS = scipy.sparse.csr_array(np.where(X > 0.05, X, 0)), X > 0.05
SETS = mercer.Ragged(rng.random((180, 2)), np.arange(0, 181, 2), rng.random((180, 2)))
FEW = {"n_landmarks": 20}
METHODS: dict[str, Callable[[], mercer.Index]] = {
    "exact": lambda: mercer.exact("chi2", n_components=8, **FEW),
    "brute": lambda: mercer.brute("chi2"),
    "klsh": lambda: mercer.klsh("chi2", n_bits=32, subset=5, **FEW),
    "lists": lambda: mercer.klsh("chi2", n_bits=40, subset=5, codes="lists", **FEW),
    "kpca_lsh": lambda: mercer.kpca_lsh("chi2", n_bits=24, **FEW),
    "kpca_pq": lambda: mercer.kpca_pq("chi2", n_bytes=2, n_components=8, **FEW),
    "inverted": lambda: mercer.inverted("chi2", n_lists=4),
    "graph": lambda: mercer.graph("chi2", n_links=4),
    "lsh": lambda: mercer.lsh("hellinger", n_bits=24),
    "fourier": lambda: mercer.fourier("rbf", n_bits=24),
}
OTHERS: dict[str, tuple[Callable[[], mercer.Index], Any]] = {
    "sparse": (lambda: mercer.exact("chi2", n_components=8, **FEW), SPARSE),
    "sparse lists": (lambda: mercer.inverted("minmax", n_lists=4), SPARSE),
    "bits": (lambda: mercer.exact("tanimoto", n_components=8, **FEW), BITS),
    "pyramid": (lambda: mercer.pyramid(kernels.PyramidMatch.for_data(SETS), n_bits=24), SETS),
    "vocabulary": (lambda: mercer.exact(kernels.VocabularyPyramid.for_data(SETS), **FEW), SETS),
    "spatial": (lambda: mercer.brute(kernels.SpatialPyramid.for_data(SETS, n_words=5)), SETS),
    "proximity": (lambda: mercer.brute(kernels.ProximityDistribution.for_data(SETS)), SETS),
    "all pairs": (lambda: mercer.exact(kernels.SumMatch(kernels.RBF(gamma=0.5)), **FEW), SETS),
}
CASES: dict[str, tuple[Callable[[], mercer.Index], Any]] = {
    **{name: (make, X) for name, make in METHODS.items()},
    **OTHERS,
}


def filled(case: str) -> mercer.Index:
    """Return an index of the items of a case, in two segments and without one of them."""
    make, items = CASES[case]
    return make().fit(items).add(items[:60]).add(items[60:]).remove([7])
