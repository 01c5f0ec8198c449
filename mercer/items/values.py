"""Values that no item may have: NaN, infinity, and negative ones where items are counts."""

import math
from typing import Any

import numpy as np

from mercer.errors import InputError
from mercer.items.kind import Kind, Mask
from mercer.runtime import parallel
from mercer.runtime.arrays import Array

CHECK_BYTES = 1 << 22  # of an array, checked at a time


def require_good(kind: Kind, X: Any, nonnegative: bool = False, first_row: int = 0) -> None:
    """Raise InputError if checked items contain a value that cannot be used, with its row.

    `first_row` is the number of the first row, if X is a block of a larger collection.
    """
    values = kind.values(X)
    if values is None or values.dtype == np.uint8 or values.size == 0:
        return
    low, high = _range(values)
    if not (math.isfinite(low) and math.isfinite(high)):
        nan = kind.rows_with(X, np.isnan(values))
        raise InputError(_describe_bad(nan, bad_rows(kind, X), first_row))
    if nonnegative and low < 0:
        raise InputError(_describe_negative(kind.rows_with(X, values < 0), first_row))


def bad_rows(kind: Kind, X: Any) -> Mask:
    """Return which items contain NaN or infinity."""
    values = kind.values(X)
    if values is None:
        raise InputError(f"items of kind {kind.name!r} do not consist of numbers.")
    return kind.rows_with(X, ~np.isfinite(values))


def _range(values: Array) -> tuple[float, float]:
    """Return the least and largest value, block by block on threads; NaN if any value is."""
    if values.nbytes <= CHECK_BYTES:
        return float(np.minimum.reduce(values, None)), float(np.maximum.reduce(values, None))
    step = max(1, CHECK_BYTES // max(1, values.itemsize * math.prod(values.shape[1:])))
    found: list[tuple[Any, Any]] = []

    def look(span: slice) -> None:
        block = values[span]
        found.append((np.minimum.reduce(block, axis=None), np.maximum.reduce(block, axis=None)))

    parallel.over(len(values), step, look, "checking items")
    lows, highs = zip(*found, strict=True)
    return float(np.minimum.reduce(lows)), float(np.maximum.reduce(highs))


def _describe_bad(nan: Mask, bad: Mask, first_row: int) -> str:
    what = "NaN" if nan.any() else "infinity, or a value too large for float32"
    rows = np.flatnonzero(nan if nan.any() else bad)
    return (
        f"{len(rows)} of {len(nan)} items contain {what} "
        f"(first: row {first_row + rows[0]}). Remove them or use mercer.items.drop_bad."
    )


def _describe_negative(negative: Mask, first_row: int) -> str:
    rows = np.flatnonzero(negative)
    return (
        f"{len(rows)} of {len(negative)} items contain negative values "
        f"(first: row {first_row + rows[0]}). This kernel compares histograms or counts: "
        "shift or clip the values, or use a kernel such as RBF or Laplacian."
    )
