"""How the nearest codes and the nearest items cover each other, GIST with RBF (K Fig. 6).

Codes of 300 bits are scanned; the kernel compares nothing again. K asks how many true neighbours it
takes to cover the first 10, 20 or 30 by the codes, and a search that compares candidates again
asks the reverse. Run it with: scripts/experiment klsh_cover --output out
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments import curves, report
from experiments.hashed import CENTER, VARIANTS, Hashed
from experiments.real_data import DataSet, gist
from mercer import evaluate
from mercer.embeddings import KLSHDirections

BITS, LANDMARKS, SUBSET = 300, 300, 30
WANTED = (10, 20, 30)
DEPTHS = (10, 20, 30, 50, 100, 200, 500, 1000)
BY_TRUTH = "codes covered by truth"  # of the first h by the codes, those among the true first N
BY_CODES = "truth covered by codes"  # of the true first k, those among the first R by the codes


@dataclass(frozen=True)
class Measurement:
    """The share of the first `wanted` of one order that is among the first `depth` of the other."""

    direction: str
    variant: str
    rows: int
    queries: int
    runs: int
    wanted: int
    depth: int
    cover: float


def measure(data: DataSet, depths: Sequence[int], n_runs: int) -> Iterator[Measurement]:
    """Yield one measurement after the other."""
    depths = [depth for depth in depths if depth <= len(data.X)]
    true = evaluate.ground_truth(data.kernel, data.X, data.Q, max(depths)).ids
    for variant in VARIANTS:
        runs = [_nearest_codes(data, variant, seed, max(depths)) for seed in range(n_runs)]
        for direction in (BY_TRUTH, BY_CODES):
            pairs = [(codes, true) if direction == BY_TRUTH else (true, codes) for codes in runs]
            for wanted in WANTED:
                covers = np.mean([cover(a[:, :wanted], b, depths) for a, b in pairs], axis=0)
                for depth, value in zip(depths, covers, strict=True):
                    yield Measurement(
                        direction, variant, len(data.X), len(data.Q), n_runs, wanted, depth,
                        float(value),
                    )  # fmt: skip


def _nearest_codes(data: DataSet, variant: str, seed: int, n: int) -> Any:
    directions = KLSHDirections(
        data.kernel, BITS, n_landmarks=LANDMARKS, subset=SUBSET, center=CENTER[variant], seed=seed
    )
    return Hashed.by(directions, data.X, data.Q, variant).scan(n)


def cover(wanted: Any, others: Any, depths: Sequence[int]) -> list[float]:
    """Return the share of the rows wanted that is among the first others, for each depth."""
    return [
        float(np.mean([np.isin(a, b[:depth]) for a, b in zip(wanted, others, strict=True)]))
        for depth in depths
    ]


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw one panel for each direction and number wanted."""
    lines = [[_panel(rows, direction, n) for n in WANTED] for direction in (BY_TRUTH, BY_CODES)]
    curves.draw(lines, path)


def _panel(rows: Sequence[Measurement], direction: str, wanted: int) -> curves.Panel:
    chosen = [row for row in rows if (row.direction, row.wanted) == (direction, wanted)]
    drawn = []
    for variant, colour in zip(VARIANTS, curves.COLOURS, strict=True):
        line = [row for row in chosen if row.variant == variant]
        depths, covers = [row.depth for row in line], [row.cover for row in line]
        drawn.append(curves.Curve(variant, depths, covers, colour))
    ticks = {d: f"{d:,}" for d in (10, 30, 100, 300, 1000) if d <= max(drawn[0].xs)}
    title = f"first {wanted} by codes" if direction == BY_TRUTH else f"true first {wanted}"
    others = "true neighbours" if direction == BY_TRUTH else "candidates by codes"
    return curves.Panel(title, others, "share among them", drawn, True, ticks, limits=(0, 1.02))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on GIST descriptors of small photos."""
    options = report.options(__doc__, arguments)
    n_rows, n_queries, n_runs = (2000, 50, 1) if options.quick else (49_000, 200, 3)
    data = gist(n_rows, n_queries)
    report.publish(
        "klsh_cover", lambda: list(measure(data, DEPTHS, n_runs)), draw, options.output,
        across=("depth", "cover"),
    )  # fmt: skip


if __name__ == "__main__":
    main()
