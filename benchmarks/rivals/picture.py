"""Recall against speed and against kernel evaluations, one line a rival."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rivals.results import Measurement
from experiments.plots import figure

# told apart by those who do not see all colours (Okabe and Ito)
OURS = ("#2a8fd0", "#56b4e9", "#009e73", "#7a6fd0", "#44aa99")
THEIRS = ("#d55e00", "#e69f00", "#b65a8c", "#7f7f7f", "#b8507f", "#999933")
OWN = ", own kernel"  # ends the names of those who got the user's function and could do without
SLOW = 1 / 100  # of the highest speed: those below are left out
DRAWN = {"queries_per_second": "queries a second", "evaluations": "kernel values a query"}
LEAST = 0.8  # recall from which on it is drawn
EXACT = 0.99995  # drawn as four nines and a half


def draw(points: Sequence[Measurement], path: Path) -> None:
    """Draw queries a second, and evaluations a query, against the recall."""
    points = _fast_enough(points)
    with figure(path, 1, 2, (10, 4.6)) as (drawn, axes):
        for place, (column, label) in zip(axes[0], DRAWN.items(), strict=True):
            _draw_panel(place, points, column, label)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)


def _draw_panel(place: Any, points: Sequence[Measurement], column: str, label: str) -> None:
    place.set_title(f"{points[0].rows:,} rows, {points[0].task}", loc="left")
    place.set_xlabel("recall@10")
    place.set_ylabel(label)
    place.set_yscale("log")
    place.grid(color="#80808040", linewidth=0.6)
    marks = [LEAST, 0.9, 0.95, 0.99, 0.995, 0.999, EXACT]
    place.set_xticks([_place(r) for r in marks], [f"{r:g}" for r in marks[:-1]] + ["1"])
    place.minorticks_off()
    colours = _colours(points)
    for rival in dict.fromkeys(point.rival for point in points):
        line = _front([p for p in points if p.rival == rival and p.recall >= LEAST], column)
        ours, colour = rival.startswith("mercer"), colours[_base(rival)]
        place.plot(
            [_place(p.recall) for p in line], [getattr(p, column) for p in line], label=rival,
            color=colour, linewidth=1.9 if ours else 1.2, marker="o", markersize=3,
            linestyle=(0, (4, 2)) if rival.endswith(OWN) else "-",
        )  # fmt: skip


def _fast_enough(points: Sequence[Measurement]) -> list[Measurement]:
    """Return the points of all but those whose best speed is below a hundredth of the highest."""
    best: dict[str, int] = {}
    for point in points:
        best[point.rival] = max(best.get(point.rival, 0), point.queries_per_second)
    return [point for point in points if best[point.rival] >= SLOW * max(best.values())]


def _base(rival: str) -> str:
    return rival.removesuffix(OWN)


def _colours(points: Sequence[Measurement]) -> dict[str, str]:
    """Return a colour for each rival; the same method by two kernels has one."""
    names = list(dict.fromkeys(_base(point.rival) for point in points))
    ours = [name for name in names if name.startswith("mercer")]
    theirs = [name for name in names if name not in ours]
    return dict(zip(ours, cycle(OURS), strict=False)) | dict(
        zip(theirs, cycle(THEIRS), strict=False)
    )


def _front(points: list[Measurement], column: str) -> list[Measurement]:
    """Return the points that no other of them beats in both, by rising recall."""
    better = 1 if column == "queries_per_second" else -1
    front: list[Measurement] = []
    for point in sorted(points, key=lambda p: (-p.recall, -better * getattr(p, column))):
        if not front or better * (getattr(point, column) - getattr(front[-1], column)) > 0:
            front.append(point)
    return front[::-1]


def _place(recall: float) -> float:
    """Return -log10 of what is missed: .9, .99 and .999 are as far apart."""
    return float(-np.log10(1 - min(recall, EXACT)))
