"""A picture of two photos' features and how they match: positions only, no pixels.

The query and base photo of one class that are most alike; every feature of the smaller set has its
partner in the best partial matching. Run it with: scripts/experiment matched_features --output out
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments import curves, report
from experiments.matching import partial_matching
from experiments.photos import Photos, photos, reduced
from experiments.plots import INK, figure
from mercer import Ragged, kernels

TOO_ALIKE = 0.75  # perhaps the same photo twice
GAP = 40.0  # pixels between the two photos


@dataclass(frozen=True)
class Measurement:
    """One pair of matched features: where they are, and how fine the bins are that both are in.

    A feature without a partner has a line of its own; what is not there is not a number.
    """

    left_x: float
    left_y: float
    right_x: float
    right_y: float
    distance: float
    level: int  # the finest on which they share a bin, 0 the finest of all; -1: none


def choose(data: Photos, kernel: kernels.Kernel) -> tuple[int, int]:
    """Return the query and the photo of its class that are most alike, and not the same."""
    scores = kernel(data.queries, data.base)
    fits = (data.asked[:, None] == data.y) & (scores < TOO_ALIKE)
    query, row = np.unravel_index(np.argmax(np.where(fits, scores, -1)), scores.shape)
    return int(query), int(row)


def matched(left: Ragged, right: Ragged, pyramid: kernels.PyramidMatch) -> list[Measurement]:
    """Return the best matching of two photos, each given as a single set: pairs, then the rest."""
    found = partial_matching(left[0], right[0])
    levels = meeting_levels(left[0][found.rows], right[0][found.columns], pyramid)
    places = np.hstack([left.positions[found.rows], right.positions[found.columns]])
    pairs = [
        Measurement(*map(float, where), float(distance), int(level))
        for where, distance, level in zip(places, found.distances, levels, strict=True)
    ]
    nowhere = math.nan, math.nan
    alone = [(*where, *nowhere) for where in np.delete(left.positions, found.rows, axis=0)]
    alone += [(*nowhere, *where) for where in np.delete(right.positions, found.columns, axis=0)]
    return pairs + [Measurement(*map(float, where), math.nan, -1) for where in alone]


def meeting_levels(Y: Any, Z: Any, pyramid: kernels.PyramidMatch) -> Any:
    """Return the finest level on which y and z of each pair share a bin; -1: on none."""
    each = np.arange(len(Y) + 1)
    # of two single points the pyramid match is the weight of that level, 1/2^level
    values = pyramid.score(Ragged(Y, each), Ragged(Z, each), each[:-1, None], dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.where(values[:, 0] > 0, -np.log2(values[:, 0]), -1).round().astype(int)


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw both photos' features as points, and lines between those that match."""
    offset = float(np.nanmax([row.left_x for row in rows])) + GAP
    kept = sorted((row for row in rows if row.level >= 0), key=lambda pair: -pair.level)
    shown = sorted({pair.level for pair in kept})[:3]
    styles = dict(zip(shown, ((curves.BLUE, 1.2), (curves.GREEN, 0.8), (curves.GREY, 0.4)),
                      strict=False))  # fmt: skip
    with figure(path, 1, 1, (7.4, 3.4)) as (drawn, axes):
        place = axes[0, 0]
        for pair in kept:
            if pair.level in styles:
                colour, width = styles[pair.level]
                place.plot([pair.left_x, pair.right_x + offset], [pair.left_y, pair.right_y],
                           color=colour, linewidth=width, alpha=0.7)  # fmt: skip
        points = [(row.left_x, row.left_y) for row in rows]
        points += [(row.right_x + offset, row.right_y) for row in rows]
        place.scatter(*zip(*points, strict=True), s=6, color=INK, zorder=3)
        place.invert_yaxis()  # rows of pixels are counted from above
        place.set_aspect("equal")
        place.set_axis_off()
        drawn.supxlabel(_key(kept, styles), fontsize=8, color=curves.GREY)


def _key(kept: Sequence[Measurement], styles: dict[int, Any]) -> str:
    """Say which lines are which."""
    names = ("blue: the finest bins", "green: bins twice as wide", "grey: four times as wide")
    counts = Counter(pair.level for pair in kept)
    return "; ".join(
        f"{name}, {counts[level]} pairs" for level, name in zip(styles, names, strict=False)
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw two photos of Caltech-101."""
    options = report.options(__doc__, arguments)
    data = reduced(photos(*((300, 60) if options.quick else (4039, 600))))
    pyramid = kernels.PyramidMatch.for_data(data.base)
    query, row = choose(data, pyramid.normalized())
    left, right = data.queries[query : query + 1], data.base[row : row + 1]
    rows = matched(left, right, pyramid)
    levels = Counter(one.level for one in rows if not math.isnan(one.distance))
    print(f"query {query} and photo {row}: {len(left.values)} and {len(right.values)} features")
    print("; ".join(f"level {level}: {n} pairs" for level, n in sorted(levels.items())))
    report.keep("matched_features", rows, draw, options.output)


if __name__ == "__main__":
    main()
