"""Sparse vectors: SciPy's matrices, row by row."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.errors import InputError, StoreError
from mercer.items.files import npy
from mercer.items.kind import FileType, Items, Kind, Mask, register
from mercer.runtime.arrays import Array, is_sparse


class Sparse(Kind):
    """SciPy's sparse matrices and arrays, kept as CSR of float32."""

    name = "sparse"
    has_columns = True
    files = (
        FileType(
            (".npz",),
            lambda path, _: Items(npy.read_sparse(path)),
            lambda path, options: options.key is None and npy.is_sparse_file(path),
        ),
    )

    def check(self, X: Any, first_row: int = 0) -> Any:
        """Return CSR with sorted indices, without duplicates."""
        if not is_sparse(X) or X.ndim != 2 or X.shape[0] == 0 or X.shape[1] == 0:
            shape = getattr(X, "shape", None)
            raise InputError(
                f"got a sparse array of shape {shape}. Pass (n_items, n_features)."
                if is_sparse(X)
                else f"got {type(X).__name__}. Pass a sparse matrix: scipy.sparse.csr_array(X)."
            )
        with np.errstate(over="ignore"):
            C = X.tocsr().astype(np.float32, copy=False)
        if not C.has_canonical_format:
            C = C.copy()
            C.sum_duplicates()
        return C

    def holds(self, X: Any) -> bool:
        """Whether X is a sparse matrix or array."""
        return is_sparse(X)

    def join(self, several: Sequence[Any]) -> Any:
        """Return all rows."""
        from scipy import sparse  # type: ignore[import-untyped]

        return sparse.vstack(several, format="csr")

    def form(self, X: Any) -> tuple[str, int]:
        """Return the type and width of the matrix."""
        return "sparse", int(X.shape[1])

    def same(self, X: Any, Y: Any) -> bool:
        """Whether two matrices are equal."""
        return bool(is_sparse(Y) and X.shape == Y.shape and (X != Y).nnz == 0)

    def values(self, X: Any) -> Array:
        """Return the stored numbers."""
        return np.asarray(X.data)

    def rows_with(self, X: Any, odd: Mask) -> Mask:
        """Return which rows have a marked value."""
        found = np.zeros(X.shape[0], bool)
        found[np.repeat(np.arange(len(found)), np.diff(X.indptr))[odd]] = True
        return found

    def pack(self, X: Any) -> Any:
        """Return the three arrays of CSR, the shape, and the name of SciPy's class."""
        import scipy.sparse  # type: ignore[import-untyped]

        return {
            "class": "csr_matrix" if scipy.sparse.isspmatrix(X) else "csr_array",
            "shape": list(X.shape),
            "data": X.data,
            "indices": X.indices,
            "indptr": X.indptr,
        }

    def unpack(self, tree: Any) -> Any:
        """Return the matrix."""
        import scipy.sparse

        classes = {"csr_array": scipy.sparse.csr_array, "csr_matrix": scipy.sparse.csr_matrix}
        found = classes[tree["class"]](tuple(tree["shape"]), dtype=tree["data"].dtype)
        # set, not passed: the constructor would read and perhaps convert the indices
        found.data, found.indices, found.indptr = tree["data"], tree["indices"], tree["indptr"]
        if not _is_sound(found):
            raise StoreError("its sparse items name features or numbers that are not there.")
        return found


def _is_sound(X: Any) -> bool:
    """Whether a matrix is safe for compiled loops: none of its indices points outside."""
    n, width = X.shape
    integers = X.indices.dtype.kind == X.indptr.dtype.kind == "i"
    return (
        integers
        and X.data.ndim == X.indices.ndim == X.indptr.ndim == 1
        and X.data.dtype.kind in "biuf"
        and len(X.data) == len(X.indices)
        and len(X.indptr) == n + 1
        and X.indptr[0] == 0
        and X.indptr[-1] == len(X.indices)
        and bool((np.diff(X.indptr) >= 0).all())
        and int(X.indices.min(initial=0)) >= 0
        and int(X.indices.max(initial=0)) < width
    )


SPARSE = register(Sparse())
