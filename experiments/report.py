"""What an experiment leaves behind: a table on the screen, a csv file and a picture."""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any


def options(description: str | None, arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read what all experiments of hashing are asked for."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="small sizes, in seconds")
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder for the results")
    return parser.parse_args(arguments)


def publish(
    name: str, measure: Callable[[], Sequence[Any]], draw: Callable[[Sequence[Any], Path], None],
    folder: Path,
) -> None:  # fmt: skip
    """Measure, print the table, and write NAME.csv and NAME.svg."""
    started = time.perf_counter()
    rows = measure()
    print(table(rows))
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(rows, folder / f"{name}.csv")
    draw(rows, folder / f"{name}.svg")
    print(f"{time.perf_counter() - started:.0f} s; {name}.csv and {name}.svg are in {folder}")


def write_csv(rows: Sequence[Any], path: Path) -> None:
    """Write dataclass objects, one a line."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_names(rows))
        writer.writerows(astuple(row) for row in rows)


def table(rows: Sequence[Any]) -> str:
    """Return dataclass objects as text, one a line, columns as wide as they need."""
    cells = [_names(rows), *([_cell(value) for value in astuple(row)] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True))
        for line in cells
    )


def _names(rows: Sequence[Any]) -> list[str]:
    return [field.name for field in fields(rows[0])]


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
