"""Vectors: one row of numbers per item."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from mercer.errors import InputError, StoreError
from mercer.items.files import arrow, binary, npy, text
from mercer.items.kind import FileType, Items, Kind, register
from mercer.items.ragged import Ragged
from mercer.items.sparse import SPARSE
from mercer.runtime.arrays import Array, is_sparse

KEPT = (np.dtype(np.float32), np.dtype(np.uint8))  # types that rows are kept in
STORED = "biufcUSmM"  # kinds of arrays that are plain data


class Vectors(Kind):
    """Arrays of shape (n, d), kept as float32 or uint8; sparse matrices are taken as well."""

    name = "vectors"
    has_columns = True
    files: ClassVar[tuple[FileType, ...]] = (
        FileType((".npy",), lambda path, _: Items(npy.read_npy(path))),
        FileType((".npz",), lambda path, options: Items(npy.read_npz(path, options.key))),
        FileType((".fvecs", ".ivecs", ".bvecs"), lambda path, _: Items(binary.read_vecs(path))),
        FileType((".fbin", ".u8bin", ".i8bin"), lambda path, _: Items(binary.read_bin(path))),
        FileType((".csv", ".tsv"), text.read_items, has_columns=True),
        FileType((".parquet", ".feather", ".arrow"), arrow.read_items, has_columns=True),
    )

    def check(self, X: Any, first_row: int = 0) -> Any:
        """Return C-contiguous rows of float32 or uint8; rows that are so already are not copied."""
        if type(X) is np.ndarray and X.ndim == 2 and X.size and X.dtype in KEPT:
            return np.ascontiguousarray(X)
        if is_sparse(X):
            return SPARSE.check(X, first_row)
        A = as_matrix(X, first_row)
        if A.dtype == bool:
            A = A.view(np.uint8)
        if A.dtype == np.uint8:
            return np.ascontiguousarray(A)
        with np.errstate(over="ignore"):  # values too large for float32 are reported as infinity
            return np.ascontiguousarray(A, dtype=np.float32)

    def holds(self, X: Any) -> bool:
        """Whether X is an array of numbers or strings."""
        return isinstance(X, np.ndarray) and X.dtype != object

    def join(self, several: Sequence[Any]) -> Array:
        """Return all rows."""
        return np.concatenate(several)

    def form(self, X: Any) -> tuple[str, int] | None:
        """Return the type and width of the matrix."""
        shape = X.shape if isinstance(X, np.ndarray) else np.shape(X)
        return ("dense", int(shape[1])) if len(shape) == 2 else None

    def same(self, X: Any, Y: Any) -> bool:
        """Whether two arrays are equal."""
        return np.array_equal(X, Y)

    def values(self, X: Any) -> Array:
        """Return the array itself."""
        return np.asarray(X)

    def pack(self, X: Any) -> Any:
        """Return the array itself."""
        if X.dtype.kind not in STORED:
            raise StoreError(
                f"save: cannot store items in an array of {X.dtype}. Pass an array of numbers or "
                "strings, or a list."
            )
        return X

    def unpack(self, tree: Any) -> Any:
        """Return the array."""
        if not isinstance(tree, np.ndarray):
            raise StoreError("it has items that should be an array and are not.")
        return tree


def as_matrix(X: Any, first_row: int = 0) -> Array:
    """Return what the user passed as a two-dimensional array of numbers, or raise InputError."""
    if isinstance(X, Ragged):
        raise InputError(
            "got sets of vectors (Ragged). Pass one vector per item, or use a kernel of sets."
        )
    if np.ma.is_masked(X):
        mask = np.ma.getmaskarray(X)
        row = first_row + int(np.argmax(mask.any(axis=-1)))
        raise InputError(
            f"{mask.sum()} values are masked (first: row {row}). Fill them, or leave the items out."
        )
    try:
        A = np.asarray(X)
    except ValueError:
        raise InputError(_describe_uneven(X)) from None
    if A.dtype == object and A.ndim == 2 and (odd := _first_odd(A)) is not None:
        raise InputError(
            f"row {first_row + odd[0]}, column {odd[1]} holds {A[odd]!r}, not a number. Pass "
            "numbers, without gaps, or leave the column out."
        )
    if A.dtype.kind not in "biuf":
        raise InputError(
            f"items are of type {A.dtype}, not numbers. "
            "Pass numbers, or use a kernel for such items (mercer.kernels.from_function)."
        )
    if A.ndim == 1 and A.size:
        raise InputError(
            f"got one dimension with {len(A)} values. Pass one row per item: "
            "X[None, :] for one item, X[:, None] for many of one feature."
        )
    if A.size == 0:
        raise InputError("there are no items. Pass at least one, with at least one feature.")
    if A.ndim != 2:
        raise InputError(f"got shape {A.shape}. Pass one row per item: (n_items, n_features).")
    return A


def _first_odd(A: Array) -> tuple[int, int] | None:
    """Return row and column of the first object that is no number, or None."""
    for row, column in np.ndindex(A.shape):
        try:
            float(A[row, column])
        except (TypeError, ValueError):
            return row, column
    return None


def _describe_uneven(X: Any) -> str:
    sizes = [len(row) if hasattr(row, "__len__") else 1 for row in X]
    row = next((i for i, size in enumerate(sizes) if size != sizes[0]), 0)
    return (
        f"row {row} has {sizes[row]} values but row 0 has {sizes[0]}. Pass rows of the same "
        "length; for sets of different sizes use mercer.Ragged.from_list."
    )


VECTORS = register(Vectors())
