"""The one place that checks items, and what is done with them whatever they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mercer.errors import InputError
from mercer.items import values
from mercer.items.ragged import Ragged
from mercer.runtime.arrays import Array, Ids, is_sparse

__all__ = [
    "Ragged",
    "blocks",
    "check",
    "drop_bad",
    "form",
    "is_sparse",
    "join",
    "length",
    "pack",
    "rows_of",
    "take",
]


@dataclass(frozen=True)
class _Place:
    """Where items come from, for the error texts."""

    where: str
    first_row: int = 0

    def error(self, text: str) -> InputError:
        return InputError(f"{self.where}: {text}")


def check(
    X: Any, kind: str = "vectors", *, where: str = "items", nonnegative: bool = False,
    first_row: int = 0,
) -> Any:  # fmt: skip
    """Return items in the form the package works with, or raise `InputError`.

    Parameters
    ----------
    X : items
        What the user gave.
    kind : {"vectors", "bits", "sets", "any"}
        What the kernel wants.
    where : str
        Who asks; begins the error text.
    nonnegative : bool
        Whether negative values are refused (histograms and counts).
    first_row : int
        The number of the first row, where X is a block of something larger.

    Returns
    -------
    items
        As the table at the top of this module says.

    Examples
    --------
    >>> from mercer import items
    >>> items.check([[1, 2], [3, 4]]).dtype
    dtype('float32')
    """
    X = rows_of(X, where)
    if kind == "any":
        return X
    place = _Place(where, first_row)
    if kind not in _CHECKS:
        raise place.error(f"no items are called {kind!r}. Kinds are: {', '.join(_CHECKS)}, any.")
    checked = _CHECKS[kind](X, place)
    wrong = values.problem(checked, nonnegative, first_row)
    if wrong:
        raise place.error(wrong)
    return checked


def rows_of(X: Any, where: str = "items") -> Any:
    """Return X as something whose rows can be sliced and taken, without reading them.

    Examples
    --------
    >>> from mercer import items
    >>> items.rows_of(("a", "b"))
    ['a', 'b']
    """
    place = _Place(where)
    _refuse_strangers(X, place)
    if hasattr(X, "to_numpy"):  # a pandas or polars table: its rows are the items
        X = X.to_numpy()
    if is_sparse(X):
        X = X.tocsr()
    if length(X) == 0:
        raise place.error("there are no items. Pass at least one.")
    return list(X) if isinstance(X, (tuple, range)) else X


def length(X: Any) -> int:
    """Return the number of items."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def form(X: Any) -> tuple[str, int] | None:
    """Return how checked vectors or sets are stored and how wide they are; None for others.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import items
    >>> items.form(np.zeros((3, 128)))
    ('dense', 128)
    """
    if isinstance(X, Ragged):  # empty sets alone have no width, and go with any
        return ("sets", int(X.values.shape[1])) if X.values.shape[1] else None
    if not hasattr(X, "shape") or len(X.shape) != 2:
        return None
    return "sparse" if is_sparse(X) else "dense", int(X.shape[1])


def take(X: Any, rows: Ids) -> Any:
    """Return the items with these row numbers, in this order.

    Examples
    --------
    >>> from mercer import items
    >>> items.take(["a", "b", "c"], [2, 0])
    ['c', 'a']
    """
    if isinstance(X, (list, tuple)):
        return [X[row] for row in rows]
    if isinstance(X, np.ndarray) or is_sparse(X):
        return X[rows]
    return X.take(rows)


def blocks(X: Any, n_rows: int) -> Iterator[tuple[int, Any]]:
    """Yield ``(first_row, block)`` with at most `n_rows` items each.

    Examples
    --------
    >>> from mercer import items
    >>> list(items.blocks([1, 2, 3], 2))
    [(0, [1, 2]), (2, [3])]
    """
    for start in range(0, length(X), n_rows):
        yield start, X[start : start + n_rows]


def join(several: Sequence[Any]) -> Any:
    """Return the items of all, one after the other; all must be of one kind.

    Examples
    --------
    >>> from mercer import items
    >>> items.join([["a"], ["b", "c"]])
    ['a', 'b', 'c']
    """
    first = several[0]
    if isinstance(first, list):
        return [item for one in several for item in one]
    if isinstance(first, Ragged):
        return Ragged.join(several)
    if is_sparse(first):
        from scipy import sparse  # type: ignore[import-untyped]

        return sparse.vstack(several, format="csr")
    return np.concatenate(several)


def drop_bad(X: Any, kind: str = "vectors") -> tuple[Any, Ids]:
    """Return the items without NaN and infinity, and which rows they were.

    Parameters
    ----------
    X : items
        Vectors, dense or sparse, or sets.
    kind : {"vectors", "sets"}
        What they are.

    Returns
    -------
    items, ndarray of int
        The good items and their row numbers.

    Examples
    --------
    >>> from mercer import items
    >>> good, rows = items.drop_bad([[1.0, 2.0], [float("nan"), 0.0]])
    >>> good, rows
    (array([[1., 2.]], dtype=float32), array([0]))
    """
    checked = _CHECKS[kind](rows_of(X, "drop_bad"), _Place("drop_bad"))
    good = np.flatnonzero(~values.bad_rows(checked))
    return take(checked, good), good


def pack(X: Array) -> npt.NDArray[np.uint8]:
    """Pack an array of 0 and 1 into bits, eight a byte, as ``numpy.packbits``."""
    return np.packbits(X.astype(bool, copy=False), axis=1)


def _refuse_strangers(X: Any, place: _Place) -> None:
    """Refuse what looks like a collection of items and is not."""
    if isinstance(X, (str, bytes)):
        raise place.error("got one string. Pass a list of items: [text].")
    if isinstance(X, (dict, set, frozenset)) or X is None:
        raise place.error(f"got a {type(X).__name__}, which has no rows. Pass a list or an array.")
    if getattr(X, "shape", None) == ():
        raise place.error(f"got {type(X).__name__}, which has no rows. Pass a list or an array.")
    if not hasattr(X, "__len__") and not hasattr(X, "shape"):
        raise place.error(
            f"got {type(X).__name__}, which has no length. Pass a list or an array: list(items)."
        )


def _as_matrix(X: Any, place: _Place) -> Array:
    if isinstance(X, Ragged):
        raise place.error(
            "got sets of vectors (Ragged). Pass one vector per item, or use a kernel of sets."
        )
    if np.ma.is_masked(X):
        mask = np.ma.getmaskarray(X)
        row = place.first_row + int(np.argmax(mask.any(axis=-1)))
        raise place.error(
            f"{mask.sum()} values are masked (first: row {row}). Fill them, or leave the items out."
        )
    try:
        A = np.asarray(X)
    except ValueError:
        raise place.error(_describe_uneven(X)) from None
    if A.dtype.kind not in "biuf":
        raise place.error(
            f"items are of type {A.dtype}, not numbers. "
            "Pass numbers, or use a kernel for such items (mercer.kernels.from_function)."
        )
    if A.ndim == 1 and A.size:
        raise place.error(
            f"got one dimension with {len(A)} values. Pass one row per item: "
            "X[None, :] for one item, X[:, None] for many of one feature."
        )
    if A.size == 0:
        raise place.error("there are no items. Pass at least one, with at least one feature.")
    if A.ndim != 2:
        raise place.error(f"got shape {A.shape}. Pass one row per item: (n_items, n_features).")
    return A


def _describe_uneven(X: Any) -> str:
    sizes = [len(row) if hasattr(row, "__len__") else 1 for row in X]
    row = next((i for i, size in enumerate(sizes) if size != sizes[0]), 0)
    return (
        f"row {row} has {sizes[row]} values but row 0 has {sizes[0]}. Pass rows of the same "
        "length; for sets of different sizes use mercer.Ragged.from_list."
    )


def _vectors(X: Any, place: _Place) -> Any:
    if is_sparse(X):
        return _csr(X, place)
    A = _as_matrix(X, place)
    if A.dtype == bool:
        A = A.view(np.uint8)
    if A.dtype == np.uint8:
        return np.ascontiguousarray(A)
    with np.errstate(over="ignore"):  # values too large for float32 are reported as infinity
        return np.ascontiguousarray(A, dtype=np.float32)


def _csr(X: Any, place: _Place) -> Any:
    if X.ndim != 2 or X.shape[0] == 0 or X.shape[1] == 0:
        raise place.error(f"got a sparse array of shape {X.shape}. Pass (n_items, n_features).")
    with np.errstate(over="ignore"):
        C = X.tocsr().astype(np.float32, copy=False)
    if not C.has_canonical_format:
        C = C.copy()
        C.sum_duplicates()
    return C


def _bits(X: Any, place: _Place) -> npt.NDArray[np.uint8]:
    if is_sparse(X):
        return _pack_sparse(X.tocsr(), place)
    A = _as_matrix(X, place)
    if A.dtype == np.uint8:
        return np.ascontiguousarray(A)
    odd = np.flatnonzero(((A != 0) & (A != 1)).any(axis=1))
    if len(odd):
        raise place.error(
            f"row {place.first_row + odd[0]} has values other than 0 and 1. Pass booleans, "
            "0 and 1, or bits packed by numpy.packbits; for counts use the kernel MinMax."
        )
    return pack(A)


def _pack_sparse(C: Any, place: _Place) -> npt.NDArray[np.uint8]:
    parts = [_bits(C[rows : rows + 4096].toarray(), place) for rows in range(0, C.shape[0], 4096)]
    return np.concatenate(parts)


def _sets(X: Any, place: _Place) -> Ragged:
    sets = X if isinstance(X, Ragged) else Ragged.from_list(X)
    if sets.values.dtype.kind not in "biuf":
        raise place.error(f"the vectors are of type {sets.values.dtype}. Pass numbers.")
    places = None if sets.positions is None else _places(sets, place)
    with np.errstate(over="ignore"):  # values too large for float32 are reported as infinity
        values = sets.values.astype(
            sets.values.dtype if sets.values.dtype == np.uint8 else np.float32, copy=False
        )
    return Ragged(np.ascontiguousarray(values), sets.offsets, places)


def _places(sets: Ragged, place: _Place) -> Array:
    """Return the positions of vectors as float32, or raise InputError."""
    given = np.asarray(sets.positions)
    if given.ndim != 2 or given.dtype.kind not in "biuf":
        raise place.error(
            f"positions have shape {given.shape} and type {given.dtype}. Pass numbers, one row "
            "per vector: (n_vectors, n_coordinates)."
        )
    with np.errstate(over="ignore"):
        places = np.ascontiguousarray(given, dtype=np.float32)
    bad = np.flatnonzero(~np.isfinite(places).all(axis=1))
    if len(bad):
        row = place.first_row + int(np.searchsorted(sets.offsets, bad[0], "right")) - 1
        raise place.error(
            f"{len(bad)} of {len(places)} positions contain NaN or infinity (first: row {row}). "
            "Leave these vectors out."
        )
    return places


_CHECKS = {"vectors": _vectors, "bits": _bits, "sets": _sets}
