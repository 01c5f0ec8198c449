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
from mercer.items.files.columns import Columns, are_named
from mercer.items.kind import Items, Options
from mercer.runtime.arrays import Array

SEPARATORS = "\t;"  # of fields, if the first line has one; else a comma
LARGEST = float(np.finfo(np.float32).max)


class _Table(NamedTuple):
    """Text with rows of numbers, and its layout."""

    path: Path
    content: str
    comma: str
    header: list[str]  # empty where there is none
    n_columns: int
    columns: Columns

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
    return read_table(path, path.read_bytes(), options)


def read_table(path: Path, content: bytes, options: Options) -> Items:
    """Read rows of numbers, and their ids and labels if there are columns of them.

    Parameters
    ----------
    path : Path
        Where the content comes from, for error messages; in .tsv files tabs separate the fields.
    content : bytes
        The text. Its first line is a header if none of its features is a number, or if one of its
        fields is the name of a column that is asked for.
    options : Options
        Which columns are what.

    Returns
    -------
    Items
        Its X are of float32.
    """
    table = _table(path, decode(path, content), options)
    try:
        X, ids, labels = _parsed(table)
    except csv.Error as reason:
        raise _not_a_table(path, reason) from None
    if not len(X):
        raise InputError(f"{path}: has a header but no rows. Lines of numbers are required.")
    _require_finite(table, X)
    columns, header = table.columns, table.header
    return Items(
        X,
        None if columns.ids is None else as_ids(ids),
        None if columns.labels is None else as_ids(labels),
        [header[number] for number in columns.kept] if header else None,
    )


def as_ids(names: Iterable[str]) -> Array:
    """Return integers if every name is an integer as Python writes it, otherwise strings."""
    names = list(names)
    if names and all(_is_integer(name) for name in names):
        return np.array(names, np.int64)
    return np.array(names, str)


def _is_integer(name: str) -> bool:
    # "007" is a name: as a number it would lose its zeros
    return name.isascii() and name.isdigit() and len(name) < 19 and str(int(name)) == name


def _table(path: Path, content: str, options: Options) -> _Table:
    bare = _Table(path, content, _separator(path, content), [], 0, Columns(None, None, []))
    try:
        first = next((row for _, row in bare.rows()), None)
    except csv.Error as reason:
        raise _not_a_table(path, reason) from None
    if first is None:
        raise InputError(f"{path}: is empty. Lines of numbers are required.")
    fields = [field.strip() for field in first]
    columns = Columns.among(path, fields, options)
    # a first line with a name that was asked for is a header, even if other names are numbers
    features = [fields[number] for number in columns.kept]
    plain = any(_number(field) is not None or not field for field in features)
    header = [] if plain and not are_named(fields, options) else fields
    return bare._replace(header=header, n_columns=len(fields), columns=columns)


def _separator(path: Path, content: str) -> str:
    """Return what separates the fields: a tab or a semicolon, if one stands in the first line."""
    if path.suffix.lower() == ".tsv":
        return "\t"
    line = next((line for line in io.StringIO(content) if line.strip()), "")
    bare = "".join(line.split('"')[::2])  # without quoted fields
    return next((one for one in SEPARATORS if one in bare), ",")


def _not_a_table(path: Path, reason: csv.Error) -> InputError:
    return InputError(f"{path}: is not a table ({reason}). Lines of numbers are required.")


def _parsed(table: _Table) -> tuple[Array, list[str], list[str]]:
    """Return the numbers of all rows, and the texts of the columns of ids and labels."""
    values, ids, labels = array("f"), list[str](), list[str]()
    chosen, every = table.columns, len(table.columns.kept) == table.n_columns
    for line, row in table.rows():
        if len(row) != table.n_columns:
            raise table.error(
                line, f"has {len(row)} fields but the first has {table.n_columns}. Rows of equal "
                "length are required."
            )  # fmt: skip
        if chosen.ids is not None:
            ids.append(row[chosen.ids].strip())
        if chosen.labels is not None:
            labels.append(row[chosen.labels].strip())
        try:
            values.extend(map(float, row if every else [row[number] for number in chosen.kept]))
        except ValueError:
            raise _not_a_number(table, line, row) from None
    return np.frombuffer(values, np.float32).reshape(-1, len(chosen.kept)), ids, labels


def _require_finite(table: _Table, X: Array) -> None:
    bad = ~np.isfinite(X).all(axis=1)
    if bad.any():
        line, row = next(islice(table.rows(), int(np.argmax(bad)), None))
        raise _not_a_number(table, line, row)


def _not_a_number(table: _Table, line: int, row: list[str]) -> InputError:
    """Say which field of a row is at fault."""
    column = next(number for number in table.columns.kept if not _is_finite(row[number]))
    return table.error(
        line, f"column {column + 1} is {row[column]!r}. A finite number (float32) is required; "
        "--id-column names a column of ids, --label-column one of labels, and --drop one to leave "
        "out."
    )  # fmt: skip


def _is_finite(field: str) -> bool:
    value = _number(field)
    return value is not None and abs(value) <= LARGEST


def _number(field: str) -> float | None:
    try:
        return float(field)
    except ValueError:
        return None
