"""Classes of photos under learned kernels of sets of local features (M Fig. 6 and 7).

Caltech-101 photos as sets of SIFT descriptors, 15 photos a class in the base: the vocabulary-guided
pyramid match, the proximity distribution kernel and the kernel of correspondences (K Fig. 1), as
they are and learned in the span of 300 base photos, scanned and hashed. The slack is chosen by a
split of the base photos alone. Rates are means over classes, of the class of the nearest photo. M
hashes the uniform pyramid match and asks the proximity kernel on Flickr scenes.
Run it with: scripts/experiment learned_sets --output out
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from experiments import curves, report
from experiments.hashed import n_candidates
from experiments.photos import SIFT_LENGTH
from experiments.real_data import SEED, data_folder
from mercer import Ragged, evaluate, kernels, learn

PER_CLASS = 15
SLACKS = (0.01, 0.1, 1.0)
EPSILONS = (0.5, 1.0, 1.5, 2.0)
BITS, LANDMARKS = 300, 300
BASIS, CONSTRAINTS = 300, 10_000
PYRAMID, PROXIMITY, CORR = "pyramid match", "proximity", "correspondences"
PLAIN, LEARNED = "unlearned", "learned"


@dataclass(frozen=True)
class Measurement:
    """One kernel, learned or not, searched in one way."""

    kernel: str
    metric: str
    base: int
    queries: int
    classes: int
    epsilon: float  # 0: scan
    share: float  # of the base that is compared
    rate: float  # mean over classes
    slack: float


@dataclass(frozen=True)
class Photos:
    """Photos as sets, and their classes."""

    X: Any
    y: Any

    def take(self, rows: Any) -> Photos:
        """Return some of the photos."""
        return Photos(self.X.take(rows), self.y[rows])


def photos(n_classes: int, n_queries: int) -> tuple[Photos, Photos]:
    """Return 15 base photos of each class, and others of the same classes."""
    folder = data_folder() / "sift"
    sets = np.load(folder / "sets_base.npz")
    rows = [np.load(folder / f"sift_base_{part}.npz")["X"] for part in range(3)]
    everything = Photos(Ragged(np.concatenate(rows), sets["offsets"], sets["xy"]), sets["label"])
    rng = np.random.default_rng(SEED)
    order = rng.permutation(len(everything.y))
    counts = np.bincount(everything.y)
    kept = np.flatnonzero(counts > PER_CLASS)[:n_classes]
    base = [order[everything.y[order] == label][:PER_CLASS] for label in kept]
    others = [order[everything.y[order] == label][PER_CLASS:] for label in kept]
    asked = rng.permutation(np.concatenate(others))[:n_queries]
    return everything.take(np.concatenate(base)), everything.take(asked)


def rate(ids: Any, base: Photos, asked: Photos) -> float:
    """Return the share of right classes of the nearest photos, averaged over classes."""
    right = base.y[ids[:, 0]] == asked.y
    return float(np.mean([right[asked.y == label].mean() for label in np.unique(asked.y)]))


def scanned(kernel: kernels.Kernel, base: Photos, asked: Photos) -> float:
    """Return the rate of a scan."""
    return rate(evaluate.ground_truth(kernel, base.X, asked.X, 1).ids, base, asked)


def learned(kernel: kernels.Kernel, base: Photos, slack: float) -> kernels.Kernel:
    """Return the kernel learned from the classes of base photos, normalised."""
    metric = learn.ITML(
        kernel.normalized(), slack, max_iter=10, tol=0.05, n_basis=BASIS,
        n_constraints=CONSTRAINTS, seed=SEED,
    )  # fmt: skip
    with report.quiet():
        return metric.fit(base.X, base.y).kernel_.normalized()


def best_slack(kernel: kernels.Kernel, base: Photos) -> float:
    """Return the slack that finds most classes of every third base photo among the others."""
    held = np.arange(len(base.y)) % 3 == 0
    inner, asked = base.take(np.flatnonzero(~held)), base.take(np.flatnonzero(held))
    rates = [scanned(learned(kernel, inner, slack), inner, asked) for slack in SLACKS]
    return SLACKS[int(np.argmax(rates))]


def measure(base: Photos, asked: Photos) -> Iterator[Measurement]:
    """Yield scans and hashed search of all kernels, unlearned and learned."""
    made = {
        PYRAMID: kernels.VocabularyPyramid.for_data(base.X, SEED),
        PROXIMITY: kernels.ProximityDistribution.for_data(base.X, SEED),
        CORR: kernels.Corr.for_data(base.X, 0.25 * SIFT_LENGTH**2, seed=SEED),
    }
    n, n_classes = len(base.y), len(np.unique(base.y))
    for name, kernel in made.items():
        slack = best_slack(kernel, base)
        for metric, one, price in (
            (PLAIN, kernel.normalized(), 0.0), (LEARNED, learned(kernel, base, slack), slack)
        ):  # fmt: skip
            told = name, metric, n, len(asked.y), n_classes
            yield Measurement(*told, 0.0, 1.0, scanned(one, base, asked), price)
            index = mercer.kpca_lsh(one, n_bits=BITS, n_landmarks=min(LANDMARKS, n), seed=SEED)
            index.fit(base.X).add(base.X)
            for epsilon in EPSILONS:
                found = index.search(asked.X, 1, candidates=n_candidates(n, epsilon))
                share = float(found.evaluations.mean() / n)
                yield Measurement(*told, epsilon, share, rate(found.ids, base, asked), price)


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw the rate against epsilon, a panel for each kernel."""
    panels = []
    for name in (PYRAMID, PROXIMITY, CORR):
        drawn = []
        for metric, colour in ((PLAIN, curves.GREY), (LEARNED, curves.BLUE)):
            line = [r for r in rows if (r.kernel, r.metric) == (name, metric)]
            xs = [row.epsilon for row in line[1:]]
            drawn.append(curves.Curve(f"{metric}, hashed", xs, [r.rate for r in line[1:]], colour))
            drawn.append(
                curves.Curve(f"{metric}, scan", xs, [line[0].rate] * len(xs), colour, True)
            )
        panels.append(curves.Panel(name, "ε: more is faster", "recognition rate", drawn))
    curves.draw([panels], path, f"{rows[0].base} photos of {rows[0].classes} classes")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on Caltech-101 photos."""
    options = report.options(__doc__, arguments)
    n_classes, n_queries = (4, 40) if options.quick else (90, 1500)
    base, asked = photos(n_classes, n_queries)
    report.publish("learned_sets", lambda: list(measure(base, asked)), draw, options.output)


if __name__ == "__main__":
    main()
