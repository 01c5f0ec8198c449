"""Handwritten digits and what is nearest to them: the picture of the home page.

Run it with: scripts/experiment nearest --output out
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from experiments import plots, report

QUERIES, K, SIDE = (0, 5, 8), 6, 8  # images asked for, images found, pixels
PAPER, PEN = (0.48, 0.52, 0.56, 0.10), (0.24, 0.52, 0.84)


@dataclass(frozen=True)
class Measurement:
    """One image: a query (rank 0) or what was found for it, with its pixels as 64 letters."""

    query: int
    rank: int
    id: int
    score: float
    items: int
    pixels: str


def measure() -> list[Measurement]:
    """Search the digits of scikit-learn for the nearest of three of them."""
    from sklearn.datasets import load_digits

    images = load_digits().data
    X = images / images.sum(axis=1, keepdims=True)
    index = mercer.exact("chi2", n_landmarks=512, seed=0).fit(X[100:]).add(X[100:])
    found = index.search(X[list(QUERIES)], K)
    rows = []
    for place, query in enumerate(QUERIES):
        shown = [(100 + id, float(score)) for id, score in found[place]]
        for rank, (row, score) in enumerate([(query, 1.0), *shown]):
            letters = "".join(chr(ord("a") + int(ink)) for ink in images[row])
            rows.append(Measurement(query, rank, row, round(score, 3), len(index), letters))
    return rows


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw a line of images for each query."""
    lines = [[row for row in rows if row.query == query] for query in QUERIES]
    size = 0.86 * (K + 1) + 0.2, 0.98 * len(lines) + 0.5
    with plots.figure(path, len(lines), K + 1, size) as (drawn, axes):
        for line, panels in zip(lines, axes, strict=True):
            for row, panel in zip(line, panels, strict=True):
                _draw_image(panel, row)
                panel.set_xlabel("query" if row.rank == 0 else f"{row.score:.3f}", fontsize=12)
        items = f"{rows[0].items:,} images"
        drawn.supxlabel(
            f"the {K} most similar of {items} under χ², every answer proven", fontsize=12
        )


def _draw_image(panel: Any, row: Measurement) -> None:
    from matplotlib.patches import Rectangle

    ink = np.array([ord(letter) - ord("a") for letter in row.pixels]).reshape(SIDE, SIDE) / 16
    panel.add_patch(Rectangle((0, 0), SIDE, SIDE, facecolor=PAPER, linewidth=0))
    for y, x in np.argwhere(ink > 0):
        pen = (*PEN, float(ink[y, x]))
        panel.add_patch(Rectangle((x, SIDE - 1 - y), 1.02, 1.02, facecolor=pen, linewidth=0))
    panel.set(xlim=(0, SIDE), ylim=(0, SIDE), xticks=[], yticks=[], aspect="equal")
    for spine in panel.spines.values():
        spine.set_visible(row.rank == 0)
        spine.set_color(plots.INK)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and draw."""
    options = report.options(__doc__, arguments)
    report.publish("nearest", measure, draw, options.output)


if __name__ == "__main__":
    main()
