"""Classes of photos under learned kernels of sets of local features (M Fig. 6 and 7, K Fig. 1).

Caltech-101 photos as sets of SIFT descriptors, 15 photos a class in the base: the vocabulary-guided
pyramid match of features with their positions, the proximity distribution kernel and the kernel of
correspondences, as they are and learned in the span of all base photos, scanned and hashed. Slack
is chosen by a split of the base photos alone. Rates are means over classes, of the class of the
nearest photo. Bits are hyperplanes through kernel PCA vectors, and for the pyramid match also the
random walks of M. (M hashes the uniform one, and asks the proximity kernel on Flickr scenes.)
Values of the base kernels are computed once and looked up from then on.
Run it with: scripts/experiment learned_sets --output out
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from experiments import curves, report
from experiments.hashed import n_candidates
from experiments.photos import SIFT_LENGTH, Photos, with_position
from experiments.photos import photos as all_photos
from experiments.real_data import SEED
from mercer import Ragged, evaluate, kernels, learn
from mercer.kernels import Kernel

PER_CLASS = 15
SLACKS = (0.1, 1.0, 10.0, 100.0)
EPSILONS = (0.5, 1.0, 1.5, 2.0)
BITS = 300
CONSTRAINTS, SWEEPS = 10_000, 5
PYRAMID, PROXIMITY, CORR = "pyramid match", "proximity", "correspondences"
PLAIN, LEARNED = "unlearned", "learned"
SCAN, KPCA, WALKS = "scan", "kernel PCA", "random walks"
MADE: dict[str, Callable[[Ragged], Kernel]] = {
    PYRAMID: lambda X: kernels.VocabularyPyramid.for_data(X, SEED),
    PROXIMITY: lambda X: kernels.ProximityDistribution.for_data(X, SEED),
    CORR: lambda X: kernels.Corr.for_data(X, 0.25 * SIFT_LENGTH**2, seed=SEED),
}


@dataclass(frozen=True)
class Measurement:
    """One kernel, learned or not, searched in one way."""

    kernel: str
    metric: str
    base: int
    queries: int
    classes: int
    search: str
    epsilon: float  # 0: scan
    share: float  # of the base that is compared, landmarks not counted
    rate: float  # mean over classes
    slack: float


@dataclass(frozen=True)
class Rows:
    """Photos by their row in the matrix of kernel values, and their classes."""

    X: Any
    y: Any

    def take(self, rows: Any) -> Rows:
        """Return some of the photos."""
        return Rows(self.X[rows], self.y[rows])


def photos(n_classes: int, n_queries: int) -> Photos:
    """Return 15 base photos of each class, and others of the same classes as queries."""
    everything = all_photos()
    y, rng = everything.y, np.random.default_rng(SEED)
    order = rng.permutation(len(y))
    kept = np.flatnonzero(np.bincount(y) > PER_CLASS)[:n_classes]
    base = np.concatenate([order[y[order] == label][:PER_CLASS] for label in kept])
    others = np.concatenate([order[y[order] == label][PER_CLASS:] for label in kept])
    asked = rng.permutation(others)[:n_queries]
    return Photos(everything.base.take(base), y[base], everything.base.take(asked), y[asked])


def rate(ids: Any, base: Rows, asked: Rows) -> float:
    """Return the share of right classes of the nearest photos, averaged over classes."""
    right = base.y[ids[:, 0]] == asked.y
    return float(np.mean([right[asked.y == label].mean() for label in np.unique(asked.y)]))


def scanned(kernel: Kernel, base: Rows, asked: Rows) -> float:
    """Return the rate of a scan."""
    return rate(evaluate.ground_truth(kernel, base.X, asked.X, 1).ids, base, asked)


def learned(kernel: Kernel, base: Rows, slack: float) -> Kernel:
    """Return the kernel learned from the classes of base photos, normalised."""
    metric = learn.ITML(
        kernel, slack, max_iter=SWEEPS, tol=0.01, n_basis=len(base.y),
        n_constraints=CONSTRAINTS, seed=SEED,
    )  # fmt: skip
    with report.quiet():
        return metric.fit(base.X, base.y).kernel_.normalized()


def best_slack(kernel: Kernel, base: Rows) -> float:
    """Return the slack that finds most classes of every third base photo among the others."""
    held = np.arange(len(base.y)) % 3 == 0
    inner, asked = base.take(np.flatnonzero(~held)), base.take(np.flatnonzero(held))
    rates = [scanned(learned(kernel, inner, slack), inner, asked) for slack in SLACKS]
    return SLACKS[int(np.argmax(rates))]


def measure(data: Photos) -> Iterator[Measurement]:
    """Yield scans and hashed search of all kernels, unlearned and learned."""
    n = len(data.y)
    base = Rows(np.arange(n), data.y)
    asked = Rows(np.arange(n, n + len(data.asked)), data.asked)
    for name, make in MADE.items():
        used = with_position(data) if name == PYRAMID else data
        inner = make(used.base).normalized()
        kernel = kernels.Precomputed(inner(Ragged.join([used.base, used.queries])), inner.psd)
        slack = best_slack(kernel, base)
        for metric, one, price in (
            (PLAIN, kernel, 0.0), (LEARNED, learned(kernel, base, slack), slack)
        ):  # fmt: skip
            told = name, metric, n, len(asked.y), len(np.unique(base.y))
            yield Measurement(*told, SCAN, 0.0, 1.0, scanned(one, base, asked), price)
            index = mercer.kpca_lsh(one, n_bits=BITS, n_landmarks=n, seed=SEED)
            for found in hashed(index, base, asked):
                yield Measurement(*told, KPCA, *found, price)
            if name == PYRAMID:
                walks = by_walks(one, inner, used.base)
                sets = Rows(used.base, base.y), Rows(used.queries, asked.y)
                for found in hashed(walks, *sets):
                    yield Measurement(*told, WALKS, *found, price)


def hashed(index: mercer.Index, base: Rows, asked: Rows) -> Iterator[tuple[float, float, float]]:
    """Yield epsilon, the share of the base compared and the rate."""
    index.fit(base.X).add(base.X)
    for epsilon in EPSILONS:
        found = index.search(asked.X, 1, candidates=n_candidates(len(base.y), epsilon))
        share = float(found.evaluations.mean() / len(base.y))
        yield epsilon, share, rate(found.ids, base, asked)


def by_walks(looked_up: Kernel, pyramid: Kernel, sets: Ragged) -> mercer.Index:
    """Return an index by M's hash functions: of the sets, by the same metric if one was learned."""
    if isinstance(looked_up, kernels.Precomputed):
        return mercer.pyramid(pyramid, n_bits=BITS, seed=SEED)
    metric = looked_up.kernel
    basis = sets.take(metric.basis)
    real = kernels.Learned(pyramid, basis, metric.weights, metric.factor).normalized()
    return mercer.learned(real, n_bits=BITS, seed=SEED)


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw the rate against epsilon, a panel for each kernel."""
    panels, limits = [], (0.0, 1.1 * max(row.rate for row in rows))
    for name in dict.fromkeys(row.kernel for row in rows):
        drawn = []
        for metric, colour in ((PLAIN, curves.GREY), (LEARNED, curves.BLUE)):
            line = [r for r in rows if (r.kernel, r.metric) == (name, metric)]
            by_kpca = [row for row in line if row.search == KPCA]
            xs, scan = [row.epsilon for row in by_kpca], [line[0].rate] * len(by_kpca)
            drawn.append(curves.Curve(f"{metric}, hashed", xs, [r.rate for r in by_kpca], colour))
            drawn.append(curves.Curve(f"{metric}, scan", xs, scan, colour, True))
        panels.append(
            curves.Panel(name, "ε: more is faster", "recognition rate", drawn, limits=limits)
        )
    curves.draw([panels], path, f"{rows[0].base} photos of {rows[0].classes} classes")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on Caltech-101 photos."""
    options = report.options(__doc__, arguments)
    n_classes, n_queries = (4, 40) if options.quick else (90, 1500)
    data = photos(n_classes, n_queries)
    report.publish("learned_sets", lambda: list(measure(data)), draw, options.output)


if __name__ == "__main__":
    main()
