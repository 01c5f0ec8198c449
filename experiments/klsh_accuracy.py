"""Classes of photos by the votes of five neighbours, as more of the base is searched (K Fig. 3).

The kernel is the exponential χ² of bags of 200 visual words, half of the photos are queries, and
p = 300, t = 30, b = 300. Run it with: scripts/experiment klsh_accuracy --output out
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments import curves, report
from experiments.hashed import ASYMMETRIC, CENTER, VARIANTS, Hashed, n_candidates, nearest, recall
from experiments.labelled import Labelled, accuracy, words
from mercer import kernels
from mercer.embeddings import KLSHDirections

BITS, LANDMARKS, SUBSET = 300, 300, 30
VOTES = 5
EPSILONS = (0.2, 0.5, 0.8, 1.0, 1.5, 2.0)
LISTS, SCAN = "sorted lists", "scan"


@dataclass(frozen=True)
class Measurement:
    """One ε, averaged over runs that differ in landmarks, directions and permutations."""

    epsilon: float
    variant: str
    searcher: str
    rows: int
    queries: int
    runs: int
    share: float  # of the rows that are compared by the kernel
    accuracy: float
    accuracy_sd: float
    recall: float  # share of queries whose true nearest row is compared
    linear_scan: float  # accuracy where all rows are


def measure(data: Labelled, epsilons: Sequence[float], n_runs: int) -> Iterator[Measurement]:
    """Yield one measurement after the other, by decreasing ε."""
    kernel = kernels.ExpChi2.for_data(data.X)
    scores = kernel(data.Q, data.X)
    everyone = accuracy(np.argsort(-scores, axis=1, kind="stable")[:, :VOTES], data)
    for variant in VARIANTS:
        runs = [_hashed(data, kernel, variant, seed) for seed in range(n_runs)]
        for epsilon in sorted(epsilons, reverse=True):
            n = n_candidates(len(data.X), epsilon)
            # all that the lists meet is compared: the order of the codes does not matter there
            for searcher in (SCAN,) if variant == ASYMMETRIC else (LISTS, SCAN):
                found = [
                    hashed.lists(epsilon, seed) if searcher == LISTS else hashed.scan(n)
                    for seed, hashed in enumerate(runs)
                ]
                rates = [accuracy(nearest(rows, scores, VOTES), data) for rows in found]
                yield Measurement(
                    epsilon, variant, searcher, len(data.X), len(data.Q), n_runs, n / len(data.X),
                    float(np.mean(rates)), float(np.std(rates)),
                    float(np.mean([recall(rows, scores) for rows in found])), everyone,
                )  # fmt: skip


def _hashed(data: Labelled, kernel: kernels.Kernel, variant: str, seed: int) -> Hashed:
    p = min(LANDMARKS, len(data.X))
    directions = KLSHDirections(
        kernel, BITS, n_landmarks=p, subset=min(SUBSET, p // 2), center=CENTER[variant], seed=seed
    )
    return Hashed.by(directions, data.X, data.Q, variant)


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw accuracy against the share of the rows that is compared."""
    panels = []
    for searcher in (LISTS, SCAN):
        drawn = []
        for variant, colour in zip(VARIANTS, curves.COLOURS, strict=True):
            line = [row for row in rows if (row.searcher, row.variant) == (searcher, variant)]
            if not line:
                continue
            means = np.array([row.accuracy for row in line])
            spread = np.array([row.accuracy_sd for row in line])
            drawn.append(curves.Curve(
                variant, [row.share for row in line], means, colour, low=means - spread,
                high=means + spread,
            ))  # fmt: skip
        ticks = {row.share: f"{100 * row.share:.2g}" for row in rows if row.epsilon != 1.0}
        panels.append(curves.Panel(
            searcher, "% of the base compared", f"{VOTES}-NN accuracy", drawn, True, ticks,
            ("linear scan", rows[0].linear_scan), _limits(rows),
        ))  # fmt: skip
    curves.draw([panels], path, f"bands: standard deviation over {rows[0].runs} runs")


def _limits(rows: Sequence[Measurement]) -> tuple[float, float]:
    """Return a range that both panels share."""
    seen = [row.accuracy for row in rows] + [rows[0].linear_scan]
    return min(seen) - 0.02, max(seen) + 0.02


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on histograms of 200 visual words."""
    options = report.options(__doc__, arguments)
    n_rows, n_queries, n_runs = (800, 400, 2) if options.quick else (2997, 2996, 3)
    data = words(200, n_rows, n_queries)
    report.publish(
        "klsh_accuracy", lambda: list(measure(data, EPSILONS, n_runs)), draw, options.output
    )


if __name__ == "__main__":
    main()
