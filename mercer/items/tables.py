"""Tables: rows with named columns, such as those of pandas and polars, which are not imported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.errors import InputError
from mercer.runtime.arrays import Array

SHOWN = 5  # names listed in an error


class Table:
    """Rows of numbers and the names of their columns, as read from a file.

    Parameters
    ----------
    values : ndarray, shape (n, d)
        The rows.
    columns : sequence of str
        The names of the d columns.

    Examples
    --------
    >>> import mercer
    >>> from mercer import items
    >>> table = items.Table([[1.0, 2.0], [3.0, 5.0]], ["width", "height"])
    >>> mercer.brute("rbf").fit(table).columns_
    ['width', 'height']
    """

    def __init__(self, values: Any, columns: Sequence[str]) -> None:
        self.values = np.asarray(values)
        self.columns = list(columns)
        if self.values.ndim != 2 or self.values.shape[1] != len(self.columns):
            raise InputError(
                f"Table: got values of shape {self.values.shape} and {len(self.columns)} names. "
                "Pass one name for each column."
            )

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: slice) -> Table:
        return Table(self.values[rows], self.columns)

    def to_numpy(self) -> Array:
        """Return the rows."""
        return self.values


def rows_in(table: Any) -> Array:
    """Return the rows of a table, as numbers if they can be read so."""
    rows = np.asarray(table.to_numpy())
    if rows.dtype != object:
        return rows
    try:  # columns of several types, or of those that can lack values
        return rows.astype(np.float64)
    except (TypeError, ValueError):
        return rows


def columns_of(X: Any) -> list[str] | None:
    """Return the names of the columns of a table, or None for other items.

    Examples
    --------
    >>> from mercer import items
    >>> items.columns_of([[1.0, 2.0]]) is None
    True
    """
    if not (hasattr(X, "to_numpy") and hasattr(X, "columns")):
        return None
    names = list(X.columns)
    return names if names and all(isinstance(name, str) for name in names) else None


def require_columns(known: Sequence[str] | None, X: Any) -> None:
    """Raise InputError if X is a table and its columns are not the known ones, in their order."""
    names = columns_of(X)
    if known is None or names is None or list(known) == names:
        return
    missing = [name for name in known if name not in names]
    strange = [name for name in names if name not in known]
    if missing or strange or len(names) != len(known):
        raise InputError(
            f"the columns are not those of the items given to fit (missing: {_listed(missing)}; "
            f"not known: {_listed(strange)}). Pass the same columns: X[index.columns_]."
        )
    place = next(i for i, name in enumerate(names) if name != known[i])
    raise InputError(
        f"the columns are in another order: column {place} is {names[place]!r} but was "
        f"{known[place]!r} in fit. Pass X[index.columns_]."
    )


def _listed(names: list[str]) -> str:
    more = ", …" if len(names) > SHOWN else ""
    return (", ".join(map(repr, names[:SHOWN])) or "none") + more
