"""The figures of the documentation, drawn again from the rows kept beside them.

Run it with: scripts/figures
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from experiments import report
from experiments.collisions import LABELS

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "figures"
# a module that draws has `Measurement`, one row, and `draw`; most figures have the name of theirs
DRAWN_BY = {
    "codes": "benchmarks.codes",
    "lists": "benchmarks.lists",
    **dict.fromkeys(("peers_chi2", "peers_js", "peers_windows"), "benchmarks.rivals.picture"),
    **dict.fromkeys(LABELS, "experiments.collisions"),
}


def draw(rows: Path, path: Path) -> None:
    """Draw the figure that has the name of this csv file, without measuring."""
    module = import_module(DRAWN_BY.get(rows.stem, f"experiments.{rows.stem}"))
    module.draw(report.read_csv(rows, module.Measurement), path)


def draw_all() -> None:
    """Draw every figure whose rows are kept."""
    for rows in sorted(FOLDER.glob("*.csv")):
        draw(rows, rows.with_suffix(".svg"))


if __name__ == "__main__":
    draw_all()
