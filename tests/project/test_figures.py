"""Every figure is drawn from rows of plain values, and the rows are kept beside it."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.stem for path in (ROOT / "docs" / "figures").glob("*.svg"))
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def experiments():
    """Return the modules by name."""
    found = {name: importlib.import_module(f"experiments.{name}") for name in ("figures", "report")}
    return SimpleNamespace(**found)


def words(path: Path) -> list[str]:
    """Return all that is written in a figure."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text(encoding="utf-8"))


def test_rows_are_read_as_they_were_written(experiments, tmp_path):
    module = importlib.import_module("experiments.low_rank")
    row = module.Measurement
    rows = [
        row('a, "b"', 1, "chi2", "both", "KLSH", True, 2, 0.1 + 0.2, 3, 1e-300),
        row("", -1, "χ²", "", "", False, 0, float("inf"), 10**12, float("nan")),
    ]
    experiments.report.write_csv(rows, tmp_path / "a.csv")
    assert repr(experiments.report.read_csv(tmp_path / "a.csv", row)) == repr(rows)
    other = importlib.import_module("experiments.growth").Measurement
    with pytest.raises(SystemExit, match="measure again"):
        experiments.report.read_csv(tmp_path / "a.csv", other)


def test_rows_are_kept_beside_every_figure():
    kept = {path.stem for path in (ROOT / "docs" / "figures").glob("*.csv")}
    assert sorted(kept) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_drawn_from_their_rows(experiments, name, tmp_path):
    folder = ROOT / "docs" / "figures"
    experiments.figures.draw(folder / f"{name}.csv", tmp_path / "drawn.svg")
    assert words(tmp_path / "drawn.svg") == words(folder / f"{name}.svg")
