"""Equal bits of two photos, against 1 - arccos(P)/π: the walk and the paper's shortcut (P §4).

Pairs are all queries with all base photos; a bit is one random direction. Run it with:
scripts/experiment pyramid_bits --output out
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments import curves, report
from experiments.photos import Photos, photos, reduced
from experiments.pyramid_retrieval import BY_DATA, STARTS, pyramid
from mercer.embeddings import PyramidDirections

BITS = 80  # as many functions as P averages over
MODES = ("walk", "paper")
EDGES = np.linspace(0, 1, 21)


@dataclass(frozen=True)
class Measurement:
    """How far the share of equal bits is from what the similarity promises."""

    start: str
    finest: float
    mode: str
    functions: int  # all that were drawn; the deviation is that of `bits` of them
    bits: int
    pairs: int
    mean: float  # of the error
    sd: float  # of the error with so many bits
    chance: float  # the standard deviation that so many independent bits have
    worst: float  # the largest mean error over pairs of nearly the same similarity
    nearest: float  # the mean error of queries and their nearest photos


def errors(
    data: Photos, kernel: Any, scores: Any, mode: str, n_bits: int, n_runs: int
) -> tuple[Any, Any]:
    """Return the error of all pairs with `n_bits` functions, and with those of all runs."""
    expected = 1 - np.arccos(np.clip(scores, -1, 1)) / np.pi
    X, Q = kernel.prepare(data.base), kernel.prepare(data.queries)
    total = np.zeros_like(expected)
    for seed in range(n_runs):
        directions = PyramidDirections(kernel, n_bits, mode=mode, seed=seed).fit(X)
        signs, asked = (np.where(directions.transform(P) >= 0, 1, -1) for P in (X, Q))
        equal = (1 + asked.astype(np.float32) @ signs.astype(np.float32).T / n_bits) / 2
        if seed == 0:
            first = equal - expected
        total += equal / n_runs
    return first, total - expected


def measure(
    data: Photos, starts: Sequence[str | int], n_bits: int, n_runs: int
) -> Iterator[Measurement]:
    """Yield one measurement after the other, for every start and mode."""
    for start in starts:
        levels = pyramid(start, data)
        kernel = levels.normalized()
        scores = kernel(data.queries, data.base, dtype=np.float64)
        p = 1 - np.arccos(np.clip(scores, -1, 1)) / np.pi
        top = scores >= scores.max(axis=1, keepdims=True)
        for mode in MODES:
            first, whole = errors(data, kernel, scores, mode, n_bits, n_runs)
            yield Measurement(
                str(start), float(levels.finest), mode, n_bits * n_runs, n_bits, scores.size,
                float(whole.mean()), float(first.std()),
                float(np.sqrt((p * (1 - p)).mean() / n_bits)), _worst(scores, whole),
                float(whole[top].mean()),
            )  # fmt: skip


def _worst(scores: Any, found: Any) -> float:
    """Return the largest mean error of pairs whose similarity is in the same twentieth."""
    place = np.digitize(scores.ravel(), EDGES)
    counts = np.bincount(place)
    means = np.bincount(place, weights=found.ravel()) / np.maximum(counts, 1)
    many = means[counts >= 100]
    return float(many[np.argmax(np.abs(many))])


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw the mean errors against the side of the smallest bins."""
    fixed = sorted({row.finest for row in rows})
    panels = []
    for name, title in (("mean", "all pairs"), ("nearest", "a query and its nearest photo")):
        drawn = []
        for mode, colour in zip(MODES, (curves.BLUE, curves.ORANGE), strict=True):
            line = sorted((row.finest, getattr(row, name)) for row in rows if row.mode == mode)
            label = "walk" if mode == "walk" else "paper's shortcut"
            drawn.append(curves.Curve(label, *zip(*line, strict=True), colour))
        panels.append(curves.Panel(
            title, "side of the smallest bins", "equal bits minus expected", drawn, True,
            {side: f"{side:.3g}" for side in fixed}, ("none", 0.0),
        ))  # fmt: skip
    curves.draw([panels], path, f"{rows[0].functions:,} directions, {rows[0].pairs:,} pairs")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on photos of Caltech-101."""
    options = report.options(__doc__, arguments)
    sizes, starts, n_runs = (4039, 600), STARTS, 20
    if options.quick:
        sizes, starts, n_runs = (200, 40), (BY_DATA, 32), 4
    data = reduced(photos(*sizes))
    report.publish(
        "pyramid_bits", lambda: list(measure(data, starts, BITS, n_runs)), draw, options.output
    )


if __name__ == "__main__":
    main()
