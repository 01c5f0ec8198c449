"""What an experiment leaves behind: a table on the screen, a csv file and a picture."""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, fields
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from mercer.errors import LearningWarning

# how the text of a field is read, by the name of its type
READ: dict[Any, Callable[[str], Any]] = {
    "str": str, "int": int, "float": float, "bool": lambda text: text == "True",
}  # fmt: skip


def options(description: str | None, arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read what all experiments of hashing are asked for."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="small sizes, in seconds")
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder for the results")
    return parser.parse_args(arguments)


def publish(
    name: str, measure: Callable[[], Sequence[Any]], draw: Callable[[Sequence[Any], Path], None],
    folder: Path, across: tuple[str, ...] | None = None,
) -> Sequence[Any]:  # fmt: skip
    """Measure, print the table, write NAME.csv and NAME.svg, and return the rows.

    `across` names the column whose values become columns of the table, and what is shown there:
    one column, or a mean and its deviation.
    """
    started = time.perf_counter()
    # small eigenproblems: two BLAS threads wait for each other longer than they compute
    with threadpool_limits(1, user_api="blas"):
        rows = measure()
    print(table(rows, across))
    print(f"{time.perf_counter() - started:.0f} s")
    keep(name, rows, draw, folder)
    return rows


def keep(
    name: str, rows: Sequence[Any], draw: Callable[[Sequence[Any], Path], None], folder: Path
) -> None:
    """Write rows as NAME.csv, and their picture as NAME.svg beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(rows, folder / f"{name}.csv")
    draw(rows, folder / f"{name}.svg")
    print(f"{name}.csv and {name}.svg are in {folder}")


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a call returns, and how many seconds it took."""
    started = time.perf_counter()
    returned = call()
    return returned, time.perf_counter() - started


@contextmanager
def quiet() -> Iterator[None]:
    """Say nothing of constraints that cannot be met: the experiment tells how many hold."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LearningWarning)
        yield


def write_csv(rows: Sequence[Any], path: Path) -> None:
    """Write dataclass objects, one a line."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(rows[0])])
        writer.writerows(astuple(row) for row in rows)


def read_csv(path: Path, kind: type) -> list[Any]:
    """Return what `write_csv` wrote of objects of a dataclass whose fields are plain values."""
    read = [READ[field.type] for field in fields(kind)]
    with path.open(newline="", encoding="utf-8") as file:
        head, *lines = csv.reader(file)
    if head != [field.name for field in fields(kind)]:
        raise SystemExit(f"{path} was written by other code: measure again")
    return [kind(*(one(text) for one, text in zip(read, line, strict=True))) for line in lines]


def table(rows: Sequence[Any], across: tuple[str, ...] | None = None) -> str:
    """Return dataclass objects as text, columns as wide as they need.

    One a line; or, where `across` is (a, b), those that differ in a and b alone share a line, with
    a column for each value of a that shows b. Where it is (a, b, c), the column shows b ± c.
    """
    lines = [asdict(row) for row in rows]
    lines = _turned(lines, *across) if across else lines
    cells = [list(lines[0]), *([_cell(value) for value in line.values()] for line in lines)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True))
        for line in cells
    )


def _turned(lines: Sequence[dict[str, Any]], name: str, *shown: str) -> list[dict[str, Any]]:
    headers = dict.fromkeys(f"{name} {_cell(line[name])}" for line in lines)
    turned: dict[tuple[Any, ...], dict[str, Any]] = {}
    for line in lines:
        rest = {key: cell for key, cell in line.items() if key not in (name, *shown)}
        place = turned.setdefault(tuple(rest.values()), rest | dict.fromkeys(headers, ""))
        place[f"{name} {_cell(line[name])}"] = " ± ".join(_cell(line[key]) for key in shown)
    return list(turned.values())


def _cell(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
