"""Pairs of sets in the order of the pyramid match, and in that of the best matching (P §4).

Random sets of equal and of different sizes, and photos. Run it with:
scripts/experiment pyramid_matching --output out
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from experiments import curves, report
from experiments.photos import photos, reduced
from experiments.pyramid_clutter import best_similarity, random_pairs
from mercer import Ragged, kernels

SIDES = (4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
DIMENSIONS = (2, 4, 8)
LARGEST = 512.0
CENTRES, NOISE = 20, 20.0


@dataclass(frozen=True)
class Measurement:
    """How alike one pyramid and the best partial matching rank pairs of sets."""

    data: str
    dimensions: int
    pairs: int
    finest: float
    levels: int
    chosen: bool  # by the data
    spearman: float
    pyramid_us: float  # of one pair, the sets prepared
    matching_us: float


def made_sets(n_sets: int, d: int, equal: bool, seed: int = 0) -> Ragged:
    """Return sets of 5 to 100 points in 8-bit range, around some of 20 common centres."""
    rng = np.random.default_rng(seed)
    centres = 256 * rng.random((CENTRES, d))
    sets = []
    for _ in range(n_sets):
        own = rng.permutation(CENTRES)[: rng.integers(3, CENTRES)]
        size = 50 if equal else int(rng.integers(5, 101))
        sets.append(centres[rng.choice(own, size)] + NOISE * rng.normal(size=(size, d)))
    return Ragged.from_list(sets)


def measure(name: str, sets: Ragged, n_pairs: int, sides: Sequence[float]) -> Iterator[Measurement]:
    """Yield one measurement after the other, for every side of the smallest bins."""
    pairs = random_pairs(len(sets), n_pairs)
    rows, columns = np.array(pairs).T
    chosen = kernels.PyramidMatch.for_data(sets)
    fixed = [kernels.PyramidMatch(side, 1 + int(np.log2(LARGEST / side))) for side in sides]
    for kernel in (chosen, *fixed):
        normalized = kernel.normalized()
        P = normalized.prepare(sets)
        places = np.arange(len(pairs))[:, None]
        asked, met = P.take(rows), P.take(columns)
        normalized.score(asked[:2], met, places[:2], dtype=np.float64, n_jobs=1)
        started = time.perf_counter()
        found = normalized.score(asked, met, places, dtype=np.float64, n_jobs=1)[:, 0]
        middle = time.perf_counter()
        best = [best_similarity(sets[i], sets[j], kernel.finest) for i, j in pairs]
        took = middle - started, time.perf_counter() - middle
        yield Measurement(
            name, sets.values.shape[1], len(pairs), float(kernel.finest), kernel.n_levels,
            kernel is chosen, float(spearmanr(found, best).statistic),
            *(1e6 * seconds / len(pairs) for seconds in took),
        )  # fmt: skip


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw the rank correlation against the side of the smallest bins."""
    names = list(dict.fromkeys(row.data for row in rows))
    palette = (curves.BLUE, curves.ORANGE, curves.GREEN, curves.PINK, curves.GREY)
    panels = []
    for name in names:
        drawn = []
        some = [row for row in rows if row.data == name and not row.chosen]
        dimensions = list(dict.fromkeys(row.dimensions for row in some))
        for d, colour in zip(dimensions, palette, strict=False):
            line = [row for row in some if row.dimensions == d]
            drawn.append(curves.Curve(
                f"{d} dimensions", [row.finest for row in line], [row.spearman for row in line],
                colour,
            ))  # fmt: skip
        panels.append(curves.Panel(
            name, "side of the smallest bins", "Spearman correlation", drawn, True,
            limits=(0, 1.02),
        ))  # fmt: skip
    curves.draw([panels], path, "with the best partial matching, each pair weighed by its distance")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on sets made here and on photos."""
    options = report.options(__doc__, arguments)
    n_sets, n_pairs, sides = (40, 60, (16.0, 64.0)) if options.quick else (200, 1000, SIDES)

    def everything() -> Iterator[Measurement]:
        for equal, name in ((True, "equal sizes"), (False, "5 to 100 points")):
            for d in DIMENSIONS:
                yield from measure(name, made_sets(n_sets, d, equal), n_pairs, sides)
        real = reduced(photos(n_sets, 1))
        yield from measure("photos", real.base, n_pairs, sides)

    report.publish("pyramid_matching", lambda: list(everything()), draw, options.output)


if __name__ == "__main__":
    main()
