"""Kernelized LSH of low rank and with a monotone transformation (R Fig. 1 and Table 1).

1,000 landmarks and 256 bits. The rank, and the scale s of exp(s (k - 1)) at that rank, are those
that find most for other queries. Run it with: scripts/experiment low_rank --output out
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments import curves, report
from experiments.hashed import PAPER, Hashed, recall
from experiments.real_data import DATA, DataSet, l1_normalised
from mercer import kernels
from mercer.embeddings import KLSHDirections

LANDMARKS, BITS = 1000, 256
ITEMS = ("X", "Q", "calibration")
RANKS = (16, 32, 64, 128, 256, 512)
SCALES = (1.0, 3.0, 5.0, 7.0, 9.0)
DEPTHS = (1, 10, 100, 1000)
DEPTH = 100  # by which rank and scale are chosen
KERNELS = {"chi2": kernels.Chi2(), "intersection": kernels.Intersection()}
CENTERS = {"landmarks": "as the papers", "both": "items centred too"}
VANILLA, LOW_RANK, TRANSFORMED = "KLSH", "low rank", "low rank + scale"


@dataclass(frozen=True)
class Measurement:
    """recall@R of one setting: how often the true nearest row is among R candidates."""

    data: str
    rows: int
    kernel: str
    center: str
    step: str
    chosen: bool  # whether other queries chose this rank or scale
    rank: int
    scale: float  # 0: no transformation
    at: int
    recall: float


@dataclass(frozen=True)
class Search:
    """One kernel and centring on one data set; the queries asked come before the others."""

    data: DataSet
    kernel: str
    center: str
    scores: Any
    n_landmarks: int = LANDMARKS

    def rows(self, rank: int | None, scale: float | None) -> tuple[int, Any]:
        """Return the rank kept and the candidates of all queries, by Hamming distance."""
        directions = KLSHDirections(
            self.kernel, BITS, n_landmarks=self.n_landmarks, rank=rank, scale=scale,
            center=self.center,
        )  # fmt: skip
        asked = np.concatenate([self.data.Q, self.data.calibration])
        hashed = Hashed.by(directions, self.data.X, asked, PAPER)
        return directions.rank_, hashed.scan(max(DEPTHS))

    def measure(self, step: str, rank: int | None, scale: float | None) -> list[Measurement]:
        """Return recall@R of the queries asked; the last one is of the other queries."""
        kept, rows = self.rows(rank, scale)
        n, data = len(self.data.Q), self.data
        found = [(R, recall(rows[:n], self.scores[:n], R)) for R in DEPTHS]
        found.append((DEPTH, recall(rows[n:], self.scores[n:], DEPTH)))
        return [
            Measurement(data.name, len(data.X), self.kernel, self.center, step, step == VANILLA,
                        kept, scale or 0.0, *pair)
            for pair in found
        ]  # fmt: skip

    def choose(self, settings: list[list[Measurement]]) -> list[list[Measurement]]:
        """Mark the setting that finds most for the other queries, and drop their recall."""
        best = max(range(len(settings)), key=lambda i: settings[i][-1].recall)
        return [
            [replace(row, chosen=i == best) for row in setting[:-1]]
            for i, setting in enumerate(settings)
        ]


def measure(
    data: DataSet, ranks: Sequence[int], scales: Sequence[float], n_landmarks: int = LANDMARKS
) -> Iterator[Measurement]:
    """Yield one measurement after the other, for both kernels and centrings."""
    data = replace(data, **{name: l1_normalised(getattr(data, name)) for name in ITEMS})
    for name, kernel in KERNELS.items():
        scores = kernel(np.concatenate([data.Q, data.calibration]), data.X)
        for center in CENTERS:
            search = Search(data, name, center, scores, n_landmarks)
            steps = search.choose([search.measure(VANILLA, None, None)])
            steps += search.choose([search.measure(LOW_RANK, rank, None) for rank in ranks])
            rank = next(step[0].rank for step in steps[1:] if step[0].chosen)
            steps += search.choose([search.measure(TRANSFORMED, rank, s) for s in scales])
            yield from (row for step in steps for row in step)


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw recall@100 against the rank, and against the scale at the rank chosen."""
    names = list(dict.fromkeys(row.data for row in rows))
    at = [row for row in rows if row.at == DEPTH]
    lines = [[_panel(at, name, step) for name in names] for step in (LOW_RANK, TRANSFORMED)]
    curves.draw(lines, path, "full lines: χ²; dashed: intersection")


def _panel(rows: Sequence[Measurement], name: str, step: str) -> curves.Panel:
    drawn = []
    for (center, label), colour in zip(CENTERS.items(), (curves.ORANGE, curves.BLUE), strict=True):
        for kernel in KERNELS:
            key = name, kernel, center
            line = [row for row in rows if (row.data, row.kernel, row.center) == key]
            steps = [row for row in line if row.step == step]
            if step == LOW_RANK:
                steps += [row for row in line if row.step == VANILLA]
            xs = [row.rank if step == LOW_RANK else row.scale for row in steps]
            drawn.append(curves.Curve(
                label if kernel == "chi2" else "", xs, [row.recall for row in steps], colour,
                kernel != "chi2",
            ))  # fmt: skip
    ticks = {x: f"{x:g}" for x in drawn[0].xs[:-1]} | {max(drawn[0].xs): "all"}
    low_rank = step == LOW_RANK
    return curves.Panel(
        name, "rank" if low_rank else "scale s at the chosen rank", f"recall@{DEPTH}", drawn,
        low_rank, ticks if low_rank else {}, limits=(0, 1.02),
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on SIFT, GIST and bag of words."""
    options = report.options(__doc__, arguments)
    n_rows, n_queries, p = (1200, 100, 200) if options.quick else (10_000, 300, LANDMARKS)
    ranks, scales = (RANKS[1:4:2], SCALES[:2]) if options.quick else (RANKS, SCALES)
    data = [load(n_rows, n_queries) for load in DATA.values()]
    report.publish(
        "low_rank", lambda: [row for one in data for row in measure(one, ranks, scales, p)], draw,
        options.output, across=("at", "recall"),
    )  # fmt: skip


if __name__ == "__main__":
    main()
