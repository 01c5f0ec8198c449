"""Read tables of Apache Arrow: Parquet, Feather and Arrow files. The one file with pyarrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mercer.errors import InputError, MissingPackageError
from mercer.items.files.columns import Columns
from mercer.items.kind import Items, Options
from mercer.runtime.arrays import Array


def read_items(path: Path, options: Options) -> Items:
    """Read a .parquet, .feather or .arrow file."""
    table = _opened(path)
    names = [str(name) for name in table.column_names]
    chosen = Columns.among(path, names, options)
    X = _matrix(path, table, chosen)
    kept = [names[number] for number in chosen.kept]
    return Items(
        X,
        None if chosen.ids is None else _named(path, table, chosen.ids),
        None if chosen.labels is None else _named(path, table, chosen.labels),
        kept if len(kept) == X.shape[1] else None,
    )


def _opened(path: Path) -> Any:
    """Return the table of a file."""
    arrow = _package(path)
    with path.open("rb") as stream:  # an error of the system names the file
        try:
            if path.suffix.lower() == ".parquet":
                return arrow.parquet.read_table(stream)
            return arrow.feather.read_table(stream)
        except (arrow.ArrowException, OSError, ValueError) as reason:
            told = str(reason).strip().partition("\n")[0].rstrip(".")
            raise InputError(
                f"{path}: cannot be read as {path.suffix} ({told}). Write it again."
            ) from None


def _package(path: Path) -> Any:
    try:
        import pyarrow
        import pyarrow.feather
        import pyarrow.parquet
    except ImportError:
        raise MissingPackageError(
            f"{path}: pyarrow reads {path.suffix} files, and is not installed. Install "
            "mercer[arrow]."
        ) from None
    return pyarrow


def _matrix(path: Path, table: Any, chosen: Columns) -> Array:
    """Return numbers: one column of lists, or one number in each of several columns."""
    columns = [table.column(number) for number in chosen.kept]
    for number, column in zip(chosen.kept, columns, strict=True):
        if column.null_count:
            row = int(np.argmax(column.is_null().to_numpy()))
            raise InputError(
                f"{path}: row {row} has nothing in the column {table.column_names[number]!r}. "
                "Fill it, or leave the column out: --drop."
            )
    if len(columns) == 1 and "list" in str(columns[0].type):
        return _of_lists(path, table.column_names[chosen.kept[0]], columns[0])
    arrays = [column.to_numpy() for column in columns]
    for number, array in zip(chosen.kept, arrays, strict=True):
        if array.dtype.kind not in "biuf":
            raise InputError(
                f"{path}: the column {table.column_names[number]!r} is of type "
                f"{columns[chosen.kept.index(number)].type}. Numbers are required; --drop leaves "
                "a column out, and --id-column or --label-column says what it holds."
            )
    kept = np.uint8 if all(array.dtype == np.uint8 for array in arrays) else np.float32
    with np.errstate(over="ignore"):  # values too large for float32 are refused as infinity
        return np.column_stack([array.astype(kept) for array in arrays])


def _of_lists(path: Path, name: str, column: Any) -> Array:
    """Return the lists of a column as rows."""
    rows = column.combine_chunks()
    sizes = np.asarray(rows.value_lengths().to_numpy(zero_copy_only=False))
    odd = np.flatnonzero(sizes != sizes[:1])
    values = rows.flatten()
    if len(odd) or values.null_count:
        row = int(odd[0]) if len(odd) else 0
        raise InputError(
            f"{path}: the lists of the column {name!r} have gaps or different lengths (row {row}). "
            "Vectors of one length are required."
        )
    found = np.asarray(values.to_numpy(zero_copy_only=False))
    return found.reshape(len(rows), -1) if len(rows) else found.reshape(0, 0)


def _named(path: Path, table: Any, number: int) -> Array:
    """Return ids or labels: integers or strings."""
    column = table.column(number)
    values = column.to_numpy()
    if column.null_count:
        raise InputError(f"{path}: the column {table.column_names[number]!r} has gaps. Fill them.")
    return values.astype(str) if values.dtype == object else np.asarray(values)
