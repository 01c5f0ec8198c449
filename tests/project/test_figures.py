"""Every figure is drawn from rows of plain values, and the rows are kept beside it."""

from __future__ import annotations

import importlib
import re
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.stem for path in (ROOT / "docs" / "figures").glob("*.svg"))
# measured for long, or how fast: their rows are kept when they are measured again
MISSING = ["peers_js", "peers_windows"]
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def experiments():
    """Return the modules by name."""
    found = {name: importlib.import_module(f"experiments.{name}") for name in ("figures", "report")}
    return SimpleNamespace(**found)


def made(name: str, row: type, module: SimpleNamespace) -> list[object]:
    """Return rows of a figure whose own are missing."""
    if name.startswith("peers"):
        pairs = product(("mercer.exact", "usearch", "usearch, own kernel"), (0.9, 0.99, 1.0))
        return [
            row("chi2", 9, one, True, 2, "ef 8", r, 80, 40, 7, 1.5, 0.5, 8, 9) for one, r in pairs
        ]
    if name == "lists":
        pairs = product((0.0, *module.EPSILONS), module.NEIGHBOURS)
        return [row(9, e, b, 3, 0.5, 0.1, 0.9, 0.8, 70.0, 1.5 + b) for e, b in pairs]
    if name == "growth":
        return [row(n, 9 * (n > 9), 5, 16, at, 1 / n) for n in (9, 18) for at in module.DEPTHS]
    if name == "balance":
        each = product("ab", module.BALANCES.values(), module.DEPTHS)
        return [row(data, 9, 5, 2, balance, at, 0.5, 0.1) for data, balance, at in each]
    if name == "code_sizes":
        each = product((module.PAPER, module.OURS), module.CODES, module.BITS, module.DEPTHS)
        return [row("SIFT", 9, 5, 2, *one, 0.5, 0.1) for one in each]
    if name == "set_accuracy":
        each = product((module.UNIFORM, "Corr"), (0.1, 1.0))
        return [row(one, "", "", "scan", 9, 5, share, 0.4, 0.9, 0.5, 1.5) for one, share in each]
    each = product(module.MADE, (module.PLAIN, module.LEARNED), (0.0, 0.5, 1.0))
    return [
        row(*one, 9, 5, 2, module.KPCA if epsilon else module.SCAN, epsilon, 0.5, 0.3, 1.0)
        for *one, epsilon in each
    ]


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
    assert sorted({*kept, *MISSING}) == NAMES
    assert not kept & {*MISSING}


@pytest.mark.parametrize("name", sorted({*NAMES} - {*MISSING}))
def test_figures_are_drawn_from_their_rows(experiments, name, tmp_path):
    folder = ROOT / "docs" / "figures"
    experiments.figures.draw(folder / f"{name}.csv", tmp_path / "drawn.svg")
    assert words(tmp_path / "drawn.svg") == words(folder / f"{name}.svg")


@pytest.mark.parametrize("name", MISSING)
def test_figures_can_be_drawn_from_rows(experiments, name, tmp_path, capsys):
    home = experiments.figures.DRAWN_BY.get(name, f"experiments.{name}")
    module = importlib.import_module(home)
    rows = made(name, module.Measurement, module)
    experiments.report.keep(name, rows, module.draw, tmp_path)
    experiments.figures.draw(tmp_path / f"{name}.csv", tmp_path / "again.svg")
    again = (tmp_path / "again.svg").read_text(encoding="utf-8")
    assert again == (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
    assert len(words(tmp_path / "again.svg")) > 5
    assert capsys.readouterr().out == f"{name}.csv and {name}.svg are in {tmp_path}\n"
