"""Bits: features that an item has or lacks, eight to a byte."""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mercer.errors import InputError
from mercer.items.kind import FileType, register
from mercer.items.vectors import Vectors, as_matrix
from mercer.runtime.arrays import Array, is_sparse

ROWS = 4096  # of a sparse matrix, packed in one go


class Bits(Vectors):
    """Booleans or 0 and 1, or bytes as ``numpy.packbits`` makes them, kept as packed uint8."""

    name = "bits"
    files: ClassVar[tuple[FileType, ...]] = ()

    def check(self, X: Any, first_row: int = 0) -> npt.NDArray[np.uint8]:
        """Return packed bytes; bytes that are C-contiguous already are never copied."""
        if is_sparse(X):
            starts = range(0, X.shape[0], ROWS)
            return np.concatenate([self.check(X[i : i + ROWS].toarray(), i) for i in starts])
        A = as_matrix(X, first_row)
        if A.dtype == np.uint8:
            return np.ascontiguousarray(A)
        odd = np.flatnonzero(((A != 0) & (A != 1)).any(axis=1))
        if len(odd):
            raise InputError(
                f"row {first_row + odd[0]} has values other than 0 and 1. Pass booleans, "
                "0 and 1, or bits packed by numpy.packbits; for counts use the kernel MinMax."
            )
        return pack_bits(A)

    def holds(self, X: Any) -> bool:
        """Return False: packed bytes are kept as an array, which `Vectors` holds."""
        return False


def pack_bits(X: Array) -> npt.NDArray[np.uint8]:
    """Pack an array of 0 and 1 into bits, eight to a byte, like ``numpy.packbits``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import items
    >>> items.pack_bits(np.array([[1, 1, 0]]))
    array([[192]], dtype=uint8)
    """
    return np.packbits(X.astype(bool, copy=False), axis=1)


register(Bits())
