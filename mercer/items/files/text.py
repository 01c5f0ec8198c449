"""Read tables of numbers, and ids, from text."""

import csv
import io
from array import array
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mercer.errors import InputError
from mercer.items.kind import Items, Options
from mercer.runtime.arrays import Array

COMMAS = {".csv": ",", ".tsv": "\t"}
LARGEST = float(np.finfo(np.float32).max)


class _Table(NamedTuple):
    """Text with rows of numbers, and its layout."""

    path: Path
    content: str
    comma: str
    header: list[str]  # empty where there is none
    n_columns: int
    id_column: int | None  # from 0

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Return the rows below the header with their line numbers, without blank lines."""
        reader = csv.reader(io.StringIO(self.content, newline=""), delimiter=self.comma)
        found = ((reader.line_num, row) for row in reader if any(row))
        if self.header:
            next(found)
        return found

    def error(self, line: int, text: str) -> InputError:
        return InputError(f"{self.path}: line {line} {text}")


def decode(path: Path, content: bytes) -> str:
    """Return the text of UTF-8 bytes, without a byte order mark."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as reason:
        line = content.count(b"\n", 0, reason.start) + 1
        raise InputError(f"{path}: line {line} is not UTF-8 text. Text is required.") from None


def read_items(path: Path, options: Options) -> Items:
    """Read a .csv or .tsv file."""
    comma = COMMAS[path.suffix.lower()]
    return Items(*read_table(path, path.read_bytes(), comma, options.id_column))


def read_table(
    path: Path, content: bytes, comma: str, id_column: str | None
) -> tuple[Array, Array | None]:
    """Read rows of numbers, and their ids if there is a column of ids.

    Parameters
    ----------
    path : Path
        Where the content comes from, for error messages.
    content : bytes
        The text. Its first line is a header if none of its fields is a number, or if one of them
        is the name of the column of ids.
    comma : str
        What separates the fields.
    id_column : str, optional
        The column of ids: its name in the header, or its number from 1.

    Returns
    -------
    X : ndarray of float32, shape (n, d)
    ids : ndarray of int64 or str, shape (n,), or None
    """
    table = _table(path, decode(path, content), comma, id_column)
    try:
        X, names = _parsed(table)
    except csv.Error as reason:
        raise _not_a_table(path, reason) from None
    if not len(X):
        raise InputError(f"{path}: has a header but no rows. Lines of numbers are required.")
    _require_finite(table, X)
    return X, as_ids(names) if table.id_column is not None else None


def as_ids(names: Iterable[str]) -> Array:
    """Return integers if every name is an integer as Python writes it, otherwise strings."""
    names = list(names)
    if names and all(_is_integer(name) for name in names):
        return np.array(names, np.int64)
    return np.array(names, str)


def _is_integer(name: str) -> bool:
    # "007" is a name: as a number it would lose its zeros
    return name.isascii() and name.isdigit() and len(name) < 19 and str(int(name)) == name


def _table(path: Path, content: str, comma: str, id_column: str | None) -> _Table:
    bare = _Table(path, content, comma, [], 0, None)
    try:
        first = next((row for _, row in bare.rows()), None)
    except csv.Error as reason:
        raise _not_a_table(path, reason) from None
    if first is None:
        raise InputError(f"{path}: is empty. Lines of numbers are required.")
    fields = [field.strip() for field in first]
    column = _find_column(path, fields, id_column)
    others = [field for number, field in enumerate(fields) if number != column]
    if not others:
        raise InputError(f"{path}: has no column beside the ids. Numbers are required.")
    # a first line with the name of the ids is a header, even if other names are numbers
    named = id_column is not None and id_column in fields and not id_column.isdecimal()
    plain = any(_number(field) is not None or not field for field in others)
    header = [] if plain and not named else fields
    return bare._replace(header=header, n_columns=len(fields), id_column=column)


def _not_a_table(path: Path, reason: csv.Error) -> InputError:
    return InputError(f"{path}: is not a table ({reason}). Lines of numbers are required.")


def _find_column(path: Path, fields: list[str], wanted: str | None) -> int | None:
    if wanted is None:
        return None
    if wanted in fields:
        return fields.index(wanted)
    if wanted.isdecimal() and 1 <= int(wanted) <= len(fields):
        return int(wanted) - 1
    raise InputError(
        f"{path}: has no column {wanted!r}. A name in the first line ({', '.join(fields[:5])}"
        f"{', …' if len(fields) > 5 else ''}) or a number from 1 to {len(fields)} is required."
    )


def _parsed(table: _Table) -> tuple[Array, list[str]]:
    """Return the numbers of all rows, and the texts of the column of ids."""
    values, names = array("f"), []
    for line, row in table.rows():
        if len(row) != table.n_columns:
            raise table.error(
                line, f"has {len(row)} fields but the first has {table.n_columns}. Rows of equal "
                "length are required."
            )  # fmt: skip
        if table.id_column is not None:
            names.append(row.pop(table.id_column).strip())
        try:
            values.extend(map(float, row))
        except ValueError:
            raise _not_a_number(table, line, row) from None
    X = np.frombuffer(values, np.float32).reshape(-1, table.n_columns - len(names[:1]))
    return X, names


def _require_finite(table: _Table, X: Array) -> None:
    bad = ~np.isfinite(X).all(axis=1)
    if bad.any():
        line, row = next(islice(table.rows(), int(np.argmax(bad)), None))
        if table.id_column is not None:
            row.pop(table.id_column)
        raise _not_a_number(table, line, row)


def _not_a_number(table: _Table, line: int, row: list[str]) -> InputError:
    """Say which field of a row is at fault; the row is without its id."""
    column = next(number for number, field in enumerate(row) if not _is_finite(field))
    place = column + 1 + (table.id_column is not None and column >= table.id_column)
    return table.error(
        line, f"column {place} is {row[column]!r}. A finite number (float32) is required; "
        "--id-column names a column of ids."
    )  # fmt: skip


def _is_finite(field: str) -> bool:
    value = _number(field)
    return value is not None and abs(value) <= LARGEST


def _number(field: str) -> float | None:
    try:
        return float(field)
    except ValueError:
        return None
