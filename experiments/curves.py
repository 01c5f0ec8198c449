"""Pictures of curves, each with its name at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from experiments.plots import figure

# told apart by those who do not see all colours (Okabe and Ito)
BLUE, ORANGE, GREEN, PINK, GREY = "#2a8fd0", "#d55e00", "#009e73", "#b65a8c", "#7a8490"
COLOURS = ORANGE, GREEN, BLUE
LINE_OF_TEXT = 0.075  # of a panel's height


@dataclass(frozen=True)
class Curve:
    """One line: its name, its points, and how far they spread.

    Attributes
    ----------
    name : str
        Written at its end; nothing if empty.
    xs, ys : sequence of float
        The points.
    colour : str
        Of line and name.
    dashed : bool
        Whether the line is broken.
    low, high : sequence of float, optional
        A band around the line.
    """

    name: str
    xs: Sequence[float]
    ys: Sequence[float]
    colour: str
    dashed: bool = False
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


@dataclass(frozen=True)
class Panel:
    """Curves over one pair of axes.

    Attributes
    ----------
    title, x_label, y_label : str
        What is written around it.
    curves : list of Curve
        What is drawn in it.
    log : bool
        Whether the horizontal axis is logarithmic.
    ticks : dict of float to str
        Where the horizontal axis is marked, and how; by the points of the first curve if empty.
    level : tuple of str and float, optional
        A horizontal line to compare with, and its name.
    limits : tuple of float, optional
        Of the vertical axis.
    """

    title: str
    x_label: str
    y_label: str
    curves: list[Curve]
    log: bool = False
    ticks: dict[float, str] = field(default_factory=dict)
    level: tuple[str, float] | None = None
    limits: tuple[float, float] | None = None


def draw(lines: Sequence[Sequence[Panel]], path: Path, note: str = "") -> None:
    """Draw lines of panels as an svg file, with a note below."""
    height, width = len(lines), len(lines[0])
    size = 3.5 * width + 0.4, 2.6 * height + 0.2
    with figure(path, height, width, size) as (drawn, axes):
        for places, panels in zip(axes, lines, strict=True):
            for place, panel in zip(places, panels, strict=True):
                _draw_panel(place, panel)
        drawn.supxlabel(note, fontsize=8, color=GREY)


def _draw_panel(place: Any, panel: Panel) -> None:
    place.set_title(panel.title, loc="left")
    place.set_xlabel(panel.x_label)
    place.set_ylabel(panel.y_label)
    if panel.log:
        place.set_xscale("log")
    place.grid(axis="y", color="#80808040", linewidth=0.6)
    ticks = panel.ticks or {x: f"{x:g}" for x in panel.curves[0].xs}
    place.set_xticks(list(ticks), list(ticks.values()))
    place.minorticks_off()
    for curve in panel.curves:
        _draw_curve(place, curve)
    if panel.level:
        place.axhline(panel.level[1], color=GREY, linewidth=0.9, linestyle=(0, (1, 2)))
    if panel.limits:
        place.set_ylim(*panel.limits)
    xs = [x for curve in panel.curves for x in curve.xs]
    place.set_xlim(*_widened(min(xs), max(xs), panel.log))
    _label(place, panel, max(xs))


def _draw_curve(place: Any, curve: Curve) -> None:
    place.plot(
        curve.xs, curve.ys, color=curve.colour, linewidth=1.1 if curve.dashed else 1.7,
        linestyle=(0, (4, 2)) if curve.dashed else "-", marker="o", markersize=2.5,
    )  # fmt: skip
    if curve.low is not None:
        place.fill_between(curve.xs, curve.low, curve.high, color=curve.colour, alpha=0.15, lw=0)


def _widened(low: float, high: float, log: bool) -> tuple[float, float]:
    """Return limits with some room on both sides."""
    if log:
        room = (high / low) ** 0.04
        return low / room, high * room
    return low - 0.04 * (high - low), high + 0.04 * (high - low)


def _label(place: Any, panel: Panel, x: float) -> None:
    """Write names where their lines end, a line of text apart from each other at least."""
    named = [curve for curve in panel.curves if curve.name]
    # where lines end together, they stand in the order in which they came
    named.sort(key=lambda curve: (round(_end(curve), 2), np.nanmean(curve.ys)))
    ends = [(_end(curve), curve.name, curve.colour) for curve in named]
    if panel.level:
        ends.append((panel.level[1], panel.level[0], GREY))
        ends.sort(key=lambda end: round(end[0], 2))
    heights = _apart([end[0] for end in ends], *place.get_ylim())
    for (_, name, colour), y in zip(ends, heights, strict=True):
        place.annotate(
            name, (x, y), xytext=(6, 0), textcoords="offset points", va="center", color=colour,
            fontsize=8, annotation_clip=False,
        )  # fmt: skip


def _end(curve: Curve) -> float:
    """Return the last height that is a number."""
    return float([y for y in curve.ys if y == y][-1])


def _apart(heights: Sequence[float], bottom: float, top: float) -> Any:
    """Return rising heights a line of text apart, between the limits: they push each other."""
    step = LINE_OF_TEXT * (top - bottom)
    places = np.array(heights, float)
    for _ in range(300):
        push = np.maximum(step - np.diff(places), 0) / 2
        places[:-1] -= push
        places[1:] += push
        places = np.clip(places, bottom, top)
    return places
