"""How to balance the energy of kernel PCA before product codes (E Table 2).

8 bytes of 64 components through 1,024 landmarks: the components as they come, rotated, permuted;
and what E does not have, dealt to the groups in turn and optimised (OPQ).
Run it with: scripts/experiment balance --output out
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from experiments import curves, report
from experiments.found import Found
from experiments.real_data import DataSet, bag_of_words, sift
from mercer import kernels
from mercer.codes import Product
from mercer.embeddings import KernelPCA
from mercer.search import Scan

BYTES, COMPONENTS, LANDMARKS = 8, 64, 1024
BALANCES = {
    "none": "none", "rotate": "rotation", "permute": "permutation", "deal": "dealt", "opq": "OPQ",
}  # fmt: skip
DEPTHS = (1, 10, 100, 1000)
DEPTH = 100  # of the must-have and of the picture


@dataclass(frozen=True)
class Measurement:
    """Recall@`at` of one balance: mean and standard deviation over runs."""

    data: str
    rows: int
    queries: int
    runs: int
    balance: str
    at: int
    recall: float
    sd: float


def measure(data: DataSet, n_runs: int, n_landmarks: int = LANDMARKS) -> Iterator[Measurement]:
    """Yield one measurement after the other; a run draws landmarks, centroids and the balance."""
    found = Found(replace(data, kernel=kernels.Chi2()), DEPTHS)
    runs: dict[str, list[list[float]]] = {balance: [] for balance in BALANCES}
    for seed in range(n_runs):
        embedding = KernelPCA("chi2", COMPONENTS, n_landmarks=n_landmarks, center=True, seed=seed)
        Z, Zq = found.vectors(embedding)
        for balance, recalls in runs.items():
            recalls.append(found.recalls(Scan(Product(BYTES, balance, seed=seed)), Z, Zq))
    for balance, recalls in runs.items():
        means, sds = np.mean(recalls, axis=0), np.std(recalls, axis=0)
        for at, mean, sd in zip(found.depths, means, sds, strict=True):
            yield Measurement(
                data.name, len(data.X), len(data.Q), n_runs, BALANCES[balance], at, float(mean),
                float(sd),
            )  # fmt: skip


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw recall@R of every balance, one panel for each set of data."""
    names = dict.fromkeys(row.data for row in rows)
    curves.draw([[_panel(rows, name) for name in names]], path)


def _panel(rows: Sequence[Measurement], name: str) -> curves.Panel:
    colours = (curves.GREY, curves.ORANGE, curves.BLUE, curves.PINK, curves.GREEN)
    drawn = []
    for balance, colour in zip(BALANCES.values(), colours, strict=True):
        line = [row for row in rows if (row.data, row.balance) == (name, balance)]
        xs, ys = [row.at for row in line], [row.recall for row in line]
        low, high = ([row.recall + sign * row.sd for row in line] for sign in (-1, 1))
        drawn.append(curves.Curve(balance, xs, ys, colour, low=low, high=high))
    ticks = {x: f"{x:,}" for x in drawn[0].xs}
    return curves.Panel(name, "R", "recall@R", drawn, True, ticks, limits=(0, 1.02))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on SIFT and bag of words."""
    options = report.options(__doc__, arguments)
    n_rows, n_queries, n_runs, p = (
        (1000, 50, 2, 128) if options.quick else (200_000, 1000, 10, LANDMARKS)
    )
    data = [load(n_rows, n_queries) for load in (sift, bag_of_words)]
    report.publish(
        "balance", lambda: [row for one in data for row in measure(one, n_runs, p)], draw,
        options.output, across=("at", "recall", "sd"),
    )  # fmt: skip


if __name__ == "__main__":
    main()
