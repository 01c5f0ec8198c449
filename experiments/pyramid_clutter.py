"""Points that match nothing, and whether they disturb a matching when they are far (P Fig. 2).

Two models of 35 parts in the plane make 50 sets each; up to 100 points of clutter join every set,
in a range of Q % of the parts'. Similarities are ranked as the best partial matching ranks them,
or not. Run it with: scripts/experiment pyramid_clutter --output out
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from experiments import curves, report
from experiments.matching import equal_mass_matching, partial_matching
from mercer import Ragged, kernels

PARTS, RANGE, NOISE = 35, 100.0, 3.0
CLUTTER = 100
SHARES = (0, 100, 300, 500, 700, 900)  # Q; 0: no clutter
PYRAMID, PAPER_LEVELS, BIJECTIVE = "pyramid match", "pyramid match from 1", "equal mass"


@dataclass(frozen=True)
class Measurement:
    """How alike one similarity ranks pairs of sets as the best partial matching does."""

    clutter: int  # Q, the range of the clutter in % of that of the parts
    similarity: str
    sets: int
    pairs: int
    finest: float  # side of the smallest bins, 0 where there are none
    levels: int
    spearman: float


def made_sets(n_sets: int, share: int, seed: int = 0) -> Ragged:
    """Return sets of two models, with clutter in a range of so many per cent."""
    rng = np.random.default_rng(seed)
    models = RANGE * rng.random((2, PARTS, 2))
    sets = []
    for i in range(n_sets):
        parts = models[i % 2] + NOISE * rng.normal(size=(PARTS, 2))
        n_clutter = int(rng.integers(CLUTTER + 1)) if share else 0
        around = RANGE * (0.5 + share / 100 * (rng.random((n_clutter, 2)) - 0.5))
        sets.append(np.vstack([parts, around]))
    return Ragged.from_list(sets)


def best_similarity(Y: Any, Z: Any, finest: float) -> float:
    """Return what a pyramid approximates: pairs of the best matching, each by its nearness.

    A pair at the distance d weighs finest / d, and at most 1, as bins of side d do; normalised by
    the sizes of both sets.
    """
    matched = partial_matching(Y, Z)
    weights = 1 / np.maximum(matched.distances / finest, 1)
    return float(weights.sum() / math.sqrt(len(Y) * len(Z)))


def random_pairs(n_sets: int, n_pairs: int, seed: int = 0) -> list[tuple[int, int]]:
    """Return different pairs of different sets."""
    rows, columns = np.triu_indices(n_sets, 1)
    chosen = np.random.default_rng(seed).permutation(len(rows))[:n_pairs]
    return [(int(rows[i]), int(columns[i])) for i in chosen]


def measure(n_sets: int, n_pairs: int, shares: Sequence[int] = SHARES) -> Iterator[Measurement]:
    """Yield one measurement after the other, by increasing clutter."""
    pairs = random_pairs(n_sets, n_pairs)
    rows, columns = np.array(pairs).T
    for share in shares:
        sets = made_sets(n_sets, share)
        chosen = kernels.PyramidMatch.for_data(sets)
        # P: bins of side 1 and up, to the range of the values
        levels = math.ceil(math.log2(np.ptp(sets.values, axis=0).max()))
        for name, kernel in (
            (PYRAMID, chosen), (PAPER_LEVELS, kernels.PyramidMatch(1.0, levels)),
        ):  # fmt: skip
            found = kernel.normalized()(sets, dtype=np.float64)[rows, columns]
            best = [best_similarity(sets[i], sets[j], kernel.finest) for i, j in pairs]
            rank = spearmanr(found, best).statistic
            yield Measurement(share, name, n_sets, n_pairs, float(kernel.finest), kernel.n_levels,
                              float(rank))  # fmt: skip
        costs = [equal_mass_matching(sets[i], sets[j]).cost for i, j in pairs]
        rank = spearmanr(-np.array(costs), best).statistic
        yield Measurement(share, BIJECTIVE, n_sets, n_pairs, 0.0, 0, float(rank))


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw the rank correlation against the range of the clutter."""
    drawn = []
    for name, colour in zip((PYRAMID, PAPER_LEVELS, BIJECTIVE), curves.COLOURS[::-1], strict=True):
        line = [row for row in rows if row.similarity == name]
        drawn.append(
            curves.Curve(
                name, [row.clutter for row in line], [row.spearman for row in line], colour
            )
        )
    ticks = {row.clutter: f"{row.clutter}" if row.clutter else "none" for row in rows}
    panel = curves.Panel(
        "Clutter", "range of the clutter, % of the parts'", "Spearman correlation", drawn,
        ticks=ticks, limits=(0, 1.02),
    )  # fmt: skip
    curves.draw([[panel]], path, "with the best partial matching")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on sets made here."""
    options = report.options(__doc__, arguments)
    n_sets, n_pairs, shares = (20, 30, (0, 100, 900)) if options.quick else (100, 200, SHARES)
    report.publish(
        "pyramid_clutter", lambda: list(measure(n_sets, n_pairs, shares)), draw, options.output
    )


if __name__ == "__main__":
    main()
