"""Values that no item may have: NaN, infinity, and negative ones where items are counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from mercer.items.ragged import Ragged
from mercer.runtime.arrays import Array, is_sparse

__all__ = ["bad_rows", "problem"]

CHECK_BYTES = 1 << 22  # how much of an array is looked at in one go


def problem(X: Any, nonnegative: bool = False, first_row: int = 0) -> str | None:
    """Return what is wrong with the values of checked vectors or sets, and where; None if nothing.

    `first_row` is the number of the first row, where X is a block of something larger.
    """
    values = X.values if isinstance(X, Ragged) else X.data if is_sparse(X) else X
    if values.dtype == np.uint8 or values.size == 0:
        return None
    low, high = _range(values)
    if not (np.isfinite(low) and np.isfinite(high)):
        return _describe_bad(X, first_row)
    return _describe_negative(X, first_row) if nonnegative and low < 0 else None


def bad_rows(X: Any) -> npt.NDArray[np.bool_]:
    """Return which items contain NaN or infinity."""
    return _rows_where(X, lambda values: ~np.isfinite(values))


def _range(values: Array) -> tuple[float, float]:
    """Return the least and largest value, block by block; NaN wins over both."""
    step = max(1, CHECK_BYTES // max(1, values.itemsize * math.prod(values.shape[1:])))
    parts = [values[i : i + step] for i in range(0, len(values), step)]
    low, high = [part.min() for part in parts], [part.max() for part in parts]
    return (low[0], high[0]) if len(parts) == 1 else (np.min(low), np.max(high))


def _rows_where(X: Any, is_odd: Any) -> npt.NDArray[np.bool_]:
    """Return which items have a value for which `is_odd` holds."""
    if not isinstance(X, Ragged) and not is_sparse(X):
        return np.asarray(is_odd(X).any(axis=1))
    if is_sparse(X):
        starts, odd = X.indptr, is_odd(X.data)
    else:
        starts, odd = X.offsets, is_odd(X.values).any(axis=1)
    found = np.zeros(len(starts) - 1, bool)
    found[np.repeat(np.arange(len(found)), np.diff(starts))[odd]] = True
    return found


def _describe_bad(X: Any, first_row: int) -> str:
    nan = _rows_where(X, np.isnan)
    what = "NaN" if nan.any() else "infinity, or a value too large for float32"
    rows = np.flatnonzero(nan if nan.any() else bad_rows(X))
    return (
        f"{len(rows)} of {len(nan)} items contain {what} "
        f"(first: row {first_row + rows[0]}). Remove them or use mercer.items.drop_bad."
    )


def _describe_negative(X: Any, first_row: int) -> str:
    negative = _rows_where(X, lambda values: values < 0)
    rows = np.flatnonzero(negative)
    return (
        f"{len(rows)} of {len(negative)} items contain negative values "
        f"(first: row {first_row + rows[0]}). This kernel compares histograms or counts: "
        "shift or clip the values, or use a kernel such as RBF or Laplacian."
    )
