"""Pictures of the experiments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

COLOURS = {
    "paper's rule": "#d1604a",
    "ours": "#3d85d6",
    "ours + Hellinger": "#8f76d6",
    "relaxed": "#3f9e68",
}
INK = "#7a8490"  # neither dark nor light: pages have both backgrounds
LOOK = {
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), "none"),
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "axes.titlecolor"), INK),
    **dict.fromkeys(("xtick.color", "ytick.color", "legend.edgecolor"), INK),
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "mercer",  # the same numbers give the same file
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titleweight": "bold",
    "axes.titlesize": 10,
}


@contextmanager
def figure(
    path: Path, height: int, width: int, size: tuple[float, float], **options: Any
) -> Iterator[tuple[Any, Any]]:
    """Give a figure and its axes to draw on, and write them as an svg file."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    with mpl.rc_context(LOOK):
        drawn, axes = pyplot.subplots(
            height, width, figsize=size, squeeze=False, layout="constrained", **options
        )
        yield drawn, axes
        drawn.savefig(path, metadata={"Date": None, "Creator": None})
        pyplot.close(drawn)


def draw_shares(rows: Sequence[Any], path: Path) -> None:
    """Draw the share of the base evaluated against the number of components.

    Parameters
    ----------
    rows : sequence of Measurement
        See `exact_bounds`.
    path : Path
        The svg file to write.
    """
    rows = [row for row in rows if row.rule in COLOURS]
    names = list(dict.fromkeys(row.data for row in rows))
    wanted = sorted({row.k for row in rows})
    size = 3.1 * len(names) + 0.8, 2.7 * len(wanted)
    shared = {"sharex": True, "sharey": True}
    with figure(path, len(wanted), len(names), size, **shared) as (drawn, axes):
        for line, k in zip(axes, wanted, strict=True):
            for panel, name in zip(line, names, strict=True):
                _draw_panel(panel, [row for row in rows if (row.data, row.k) == (name, k)])
                panel.set_title(f"{name}, k = {k}", loc="left")
            line[0].set_ylabel("median share evaluated")
        for panel in axes[-1]:
            panel.set_xlabel("components E")
        # room for names below the lowest line
        axes[0, 0].set_ylim(min(row.share for row in rows) / 5, 1.6)
        drawn.supxlabel(_key(rows), fontsize=8, color=INK)


def _key(rows: Sequence[Any]) -> str:
    """Say which line is which number of landmarks."""
    *few, most = sorted({row.landmarks for row in rows})
    return f"full lines: {most:,} landmarks" + "".join(f"; dashed: {p:,}" for p in few)


def _draw_panel(panel: Any, rows: Sequence[Any]) -> None:
    from matplotlib.ticker import FuncFormatter

    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    panel.grid(axis="y", color="#80808040", linewidth=0.6)
    components = sorted({row.components for row in rows})
    panel.set_xticks(components, [str(E) for E in components])
    panel.minorticks_off()
    panel.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))
    most = max(row.landmarks for row in rows)
    ends = {}
    for rule in dict.fromkeys(row.rule for row in rows):
        for p in sorted({row.landmarks for row in rows}):
            line = [row for row in rows if (row.rule, row.landmarks) == (rule, p)]
            panel.plot(
                [row.components for row in line], [row.share for row in line],
                color=COLOURS[rule], linewidth=1.8 if p == most else 0.9,
                linestyle="-" if p == most else (0, (4, 2)), marker="o",
                markersize=3 if p == most else 2,
            )  # fmt: skip
            ends[rule] = line[-1].components, line[-1].share
    _label(panel, ends)


def _label(panel: Any, ends: dict[str, tuple[float, float]]) -> None:
    """Write the name of each rule at the end of its line, apart from each other."""
    last = float("inf")
    for rule, (x, y) in sorted(ends.items(), key=lambda end: -end[1][1]):
        place = min(y, last / 1.9)  # on a log axis: a line of text lower
        panel.annotate(
            rule, (x, place), xytext=(5, 0), textcoords="offset points", va="center",
            color=COLOURS[rule], fontsize=8, annotation_clip=False,
        )  # fmt: skip
        last = place
    panel.margins(x=0.06)
