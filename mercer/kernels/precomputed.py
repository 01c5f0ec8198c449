"""A kernel that is given as the matrix of all its values."""

from typing import Any

import numpy as np
import numpy.typing as npt

from mercer.errors import InputError
from mercer.kernels.base import Kernel
from mercer.kernels.callables import check_symmetry
from mercer.kernels.prepared import Prepared
from mercer.kernels.similarity import unit
from mercer.runtime.arrays import Array, DType, Ids


class Precomputed(Kernel):
    """k(i, j) = K[i, j]: items are row numbers of a matrix.

    Parameters
    ----------
    K : array_like, shape (n, n)
        All kernel values; symmetric.
    psd : bool
        Whether it is positive semi-definite.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import kernels
    >>> K = np.array([[1.0, 0.2, 0.7], [0.2, 1.0, 0.1], [0.7, 0.1, 1.0]])
    >>> kernels.Precomputed(K)([0], [1, 2])
    array([[0.2, 0.7]], dtype=float32)
    """

    input = "any"

    def __init__(self, K: npt.ArrayLike, psd: bool = False) -> None:
        self.K = np.asarray(K)
        self.psd = psd
        self._validate()

    def _validate(self) -> None:
        K = self.K
        if K.ndim != 2 or K.shape[0] != K.shape[1] or K.dtype.kind not in "biuf":
            raise InputError(
                f"K has shape {K.shape} and type {K.dtype}. Pass the square matrix "
                "of all kernel values."
            )
        if not np.isfinite(K).all():
            row = int(np.argmax(~np.isfinite(K).all(axis=1)))
            raise InputError(f"row {row} of K contains NaN or infinity.")
        check_symmetry("Precomputed", K)

    def _prepare(self, X: Any) -> dict[str, Any]:
        rows = np.asarray(X)
        if rows.ndim != 1 or rows.dtype.kind not in "iu":
            raise InputError(
                f"items have shape {rows.shape} and type {rows.dtype}. "
                f"Pass row numbers of the matrix: integers from 0 to {len(self.K) - 1}."
            )
        if rows.min() < 0 or rows.max() >= len(self.K):
            worst = rows.min() if rows.min() < 0 else rows.max()
            raise InputError(f"item {worst} is not a row of the matrix of {len(self.K)} items.")
        return {"rows": rows.astype(np.int64)}

    def _tile(self, P: Prepared, R: Prepared, out: Array) -> None:
        out[:] = self.K[np.ix_(P.rows, R.rows)]

    def _gather(self, P: Prepared, R: Prepared, ids: Ids, dtype: DType) -> Array:
        return np.asarray(self.K[P.rows[:, None], R.rows[ids]], dtype)

    def tolerance(self, *prepared: Prepared, dtype: npt.DTypeLike = np.float32) -> float:
        """Allow for a few roundings in the matrix as given, and one here."""
        stored = self.K.dtype if self.K.dtype.kind == "f" else np.float64
        return 16 * unit(stored) + unit(dtype)

    def __repr__(self) -> str:
        return f"Precomputed(<{len(self.K)} x {len(self.K)} matrix>)"
