"""Write what a search found: a table for people, JSON lines or arrays for programs."""

import csv
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum, auto
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from mercer.errors import InputError
from mercer.index.explanation import Explanation
from mercer.index.matches import Matches
from mercer.items.files import STANDARD_INPUT
from mercer.runtime.arrays import Array

COLUMNS = ("rank", "id", "score", "distance")  # of a table, after the query
LISTED = 8  # values of a list that are printed
SHOWN = 200  # lines of a table, at most: nobody reads more
STANDARD_OUTPUT = STANDARD_INPUT  # both are written "-"


class Form(StrEnum):
    """How answers are written."""

    table = auto()
    jsonl = auto()
    csv = auto()
    npz = auto()


class Answer(NamedTuple):
    """What was found for one query, without empty places."""

    query: int | str
    ids: Array
    scores: Array
    distances: Array
    exact: bool
    evaluations: int


def write(
    found: Matches | list[Matches], names: Array | None, n_items: int, form: Form,
    output: Path | None,
) -> None:  # fmt: skip
    """Write what was found to a file, or to standard output.

    Parameters
    ----------
    found : Matches, or list of Matches with one query each
        What `Index.search` or `Index.within` returned.
    names : ndarray, optional
        What the queries are called; by default they are numbered.
    n_items : int
        How many items were searched.
    form : Form
        How to write it. Arrays need a file.
    output : Path, optional
        Where to; nothing or ``-`` is standard output.
    """
    answers = _answers(found, names)
    if form is Form.npz and output is not None:
        with output.open("wb") as file:
            np.savez(file, **_arrays(found, answers))  # type: ignore[arg-type]
        return
    with _opened(output) as stream:
        if form is Form.jsonl:
            stream.writelines(f"{line}\n" for line in map(_json, answers))
        elif form is Form.csv:
            lines = csv.writer(stream, lineterminator="\n")
            lines.writerow(("query", *COLUMNS))
            lines.writerows(_records(answers))
        else:
            _print_table(answers, n_items, stream)


def _answers(found: Matches | list[Matches], names: Array | None) -> list[Answer]:
    """Return the answers query by query, each with the name or the number of its query."""
    blocks = [found] if isinstance(found, Matches) else found
    rows = [(matches, row) for matches in blocks for row in range(len(matches))]
    queries = range(len(rows)) if names is None else names.tolist()
    return [_answer(query, *row) for query, row in zip(queries, rows, strict=True)]


def _answer(query: int | str, found: Matches, row: int) -> Answer:
    there = found.scores[row] > -np.inf  # there may be fewer than k
    return Answer(
        query,
        found.ids[row][there],
        found.scores[row][there],
        found.distances[row][there],
        bool(found.exact[row]),
        int(found.evaluations[row]),
    )


@contextmanager
def _opened(output: Path | None) -> Iterator[IO[str]]:
    if output is None or output == STANDARD_OUTPUT:
        if sys.stdout is None:  # closed by whoever started this process
            raise InputError("standard output is closed. Pass --output FILE.")
        yield sys.stdout
    else:
        with output.open("w", encoding="utf-8") as stream:
            yield stream


def _json(answer: Answer) -> str:
    found = {"scores": _short(answer.scores), "distances": _short(answer.distances)}
    values = answer._asdict() | {"ids": answer.ids.tolist()} | found
    return json.dumps(values, ensure_ascii=False)


def _short(values: Array) -> list[float]:
    """Return float32 numbers as the shortest that mean the same."""
    return [float(str(value)) for value in values]


def _arrays(found: Matches | list[Matches], answers: list[Answer]) -> dict[str, Array]:
    """Return matrices of k matches a query; or lists, of query i in offsets[i] to offsets[i+1]."""
    many = ("ids", "scores", "distances")
    if isinstance(found, Matches):
        arrays = {name: getattr(found, name) for name in many}
    else:
        arrays = {name: np.concatenate([getattr(a, name) for a in answers]) for name in many}
        arrays["offsets"] = np.cumsum([0] + [len(answer.ids) for answer in answers])
    arrays["ids"] = _without_objects(arrays["ids"])
    arrays["queries"] = np.array([answer.query for answer in answers])
    arrays["exact"] = np.array([answer.exact for answer in answers])
    arrays["evaluations"] = np.array([answer.evaluations for answer in answers])
    return arrays


def _without_objects(ids: Array) -> Array:
    """Return string ids as NumPy's strings, empty where there is no item."""
    return np.where(ids == None, "", ids).astype(str) if ids.dtype == object else ids  # noqa: E711


# ---- for people


def _print_table(answers: list[Answer], n_items: int, stream: IO[str]) -> None:
    from rich import box
    from rich.table import Table

    table = Table("query", box=box.SIMPLE)
    for name in COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    for query, rank, name, *values in islice(_records(answers), SHOWN):
        table.add_row(str(query), str(rank), str(name), *(f"{value:.6g}" for value in values))
    console = _console(stream)
    console.print(table)
    for text in _summary(answers, n_items):
        console.print(text, soft_wrap=True)


def _records(answers: list[Answer]) -> Iterator[tuple[Any, ...]]:
    """Yield query, rank, id, score and distance of every match."""
    for answer in answers:
        matches = zip(answer.ids, answer.scores, answer.distances, strict=True)
        for rank, match in enumerate(matches, start=1):
            yield answer.query, rank, *match


def _summary(answers: list[Answer], n_items: int) -> list[str]:
    n_matches = sum(len(answer.ids) for answer in answers)
    n_exact = sum(answer.exact for answer in answers)
    mean = sum(answer.evaluations for answer in answers) / len(answers)
    share = f" = {mean / n_items:.2%} of {n_items} items" if n_items else ""
    lines = [
        f"exact for {n_exact} of {len(answers)} queries; {mean:.1f} evaluations on average{share}"
    ]
    if n_matches > SHOWN:
        lines.append(f"{SHOWN} of {n_matches} matches are shown; --format jsonl writes all")
    return lines


def print_facts(facts: Mapping[str, Any], as_json: bool) -> None:
    """Print named values, as a table or as JSON."""
    if as_json:
        print(json.dumps(facts, ensure_ascii=False))
        return
    choice = facts.get("choice")
    lines = [line for name in facts if name != "choice" for line in _told(name, facts[name])]
    width = max(len(name) for name, _ in lines)
    for name, text in lines:
        print(f"{name:<{width}}  {text}")
    if choice is not None:
        print(f"\n{Explanation.from_dict(choice)}")


def _told(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield a name and a text for one value, or for each value that has a name of its own."""
    if not isinstance(value, Mapping):
        yield name, _text(value)
        return
    for inner, one in value.items():
        parts = one.items() if isinstance(one, Mapping) else []
        yield f"{name}: {inner}", ", ".join(f"{n} {_text(v)}" for n, v in parts) or _text(one)


def _text(value: Any) -> str:
    if isinstance(value, list):
        more = f", and {len(value) - LISTED} more" if len(value) > LISTED else ""
        return ", ".join(map(_text, value[:LISTED])) + more
    if isinstance(value, float):
        return f"{value:.4g}"
    return "none" if value is None else str(value)


def _console(stream: IO[str]) -> Any:
    """Return rich's console: as wide as the terminal, or as wide as it takes."""
    from rich.console import Console

    wide = None if stream.isatty() else 1000
    return Console(file=stream, width=wide, highlight=False, markup=False)
