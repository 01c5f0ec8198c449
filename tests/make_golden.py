"""Make the tiny indexes that every later version must still load: python tests/make_golden.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from mercer import items, kernels
from mercer.search import SortedLists
from mercer.store import FORMAT

FOLDER = Path(__file__).parent / "golden" / f"format-{FORMAT}"
QUERIES, K = 3, 4
FEW = {"n_landmarks": 8}
SUM = kernels.Chi2() + 0.5 * kernels.RBF(gamma=2.0)


def histograms() -> np.ndarray:
    """Return 24 histograms of 6 bins, the same on every machine."""
    grid = np.arange(24 * 6, dtype=np.int64).reshape(24, 6)
    counts = (grid**3 + 7 * grid) % 101 + 1
    return (counts / counts.sum(axis=1, keepdims=True)).astype(np.float32)


def table() -> items.Table:
    """Return the same histograms under the names of their bins."""
    return items.Table(histograms(), ["one", "two", "three", "four", "five", "six"])


def sets() -> mercer.Ragged:
    """Return 24 sets of 1 to 4 points."""
    points = histograms()[:, :2]
    return mercer.Ragged.from_list([points[i % 20 : i % 20 + 1 + i % 4] for i in range(24)])


def texts() -> list[str]:
    """Return 24 words."""
    return [chr(97 + i % 5) * (1 + i % 3) + chr(98 + i % 7) for i in range(24)]


def shared_letters(x: str, y: str) -> float:
    """Return how many letters two words have in common."""
    return float(len(set(x) & set(y)))


def learned() -> kernels.Kernel:
    """Return a kernel with a metric, whatever learning may become."""
    basis = histograms()[:4]
    linear = kernels.Linear()
    W = np.linalg.inv(np.linalg.cholesky(linear(basis, dtype="float64"))).T
    return kernels.Learned(linear, basis, W, np.diag([2.0, 1.0, 0.5, 1.0]))


def letters() -> kernels.Kernel:
    """Return a kernel of strings under the name that it is stored by."""
    return mercer.register("shared_letters", kernels.from_function(shared_letters, psd=True))


# the method, its items, and where its answers stand
INDEXES: dict[str, tuple[Callable[[], mercer.Index], Callable[[], Any]]] = {
    "exact": (lambda: mercer.exact(SUM, n_components=4, **FEW), histograms),
    "auto": (lambda: mercer.auto("chi2", recall=0.9), histograms),
    "brute": (lambda: mercer.brute(kernels.Laplacian(gamma=2.0)), histograms),
    "klsh": (lambda: mercer.klsh("chi2", n_bits=24, subset=3, **FEW), histograms),
    "lists": (
        lambda: mercer.klsh("chi2", n_bits=24, subset=3, codes=SortedLists(n_lists=3), **FEW),
        histograms,
    ),
    "kpca_lsh": (lambda: mercer.kpca_lsh(kernels.ExpChi2(gamma=1.0), n_bits=24, **FEW), histograms),
    "rmmh": (lambda: mercer.rmmh("chi2", n_bits=24, n_items=4, **FEW), histograms),
    "fourier": (lambda: mercer.fourier("rbf", n_bits=24), histograms),
    "lsh": (lambda: mercer.lsh("cosine", n_bits=24), histograms),
    "kpca_pq": (lambda: mercer.kpca_pq("chi2", n_bytes=2, n_components=4, **FEW), histograms),
    "inverted": (lambda: mercer.inverted("chi2", n_lists=2), histograms),
    "graph": (lambda: mercer.graph("intersection"), histograms),
    "pyramid": (
        lambda: mercer.pyramid(kernels.PyramidMatch(0.05, 3).normalized(), n_bits=24),
        sets,
    ),
    "learned": (lambda: mercer.learned(learned(), n_bits=24), histograms),
    "metric": (
        lambda: mercer.learned(kernels.Mahalanobis(np.diag(np.arange(1.0, 7.0))).radial(2.0)),
        histograms,
    ),
    "changed": (
        lambda: mercer.exact(
            kernels.Chi2().of("l1") + kernels.RBF().of("standardized"), n_components=4, **FEW
        ),
        table,
    ),
    "strings": (lambda: mercer.exact(letters(), n_components=4, **FEW), texts),
}  # fmt: skip


def make(folder: Path, name: str) -> None:
    """Save an index with string ids and removed items, and its answers."""
    build, made = INDEXES[name]
    X = made()
    index = build().fit(X)
    index.add(X, ids=[f"item {i}" for i in range(len(X))]).remove(["item 5", "item 17"])
    index.save(folder / name)
    found = index.search(X[:QUERIES], k=K)
    answers = {"ids": found.ids.tolist(), "scores": found.scores.tolist()}
    (folder / f"{name}.json").write_text(json.dumps(answers, indent=1) + "\n")


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for one in INDEXES:
        if not (FOLDER / one).exists():  # what is there is never made anew: raise FORMAT instead
            make(FOLDER, one)
