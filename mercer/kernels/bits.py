"""Kernels of sets given as bits, such as molecular fingerprints."""

from typing import Any

import numpy as np
import numpy.typing as npt

from mercer.kernels import _bit_loops
from mercer.kernels.base import Kernel
from mercer.kernels.prepared import Prepared
from mercer.kernels.similarity import unit
from mercer.runtime.arrays import Array, DType, Ids
from mercer.runtime.params import check_number


class Tversky(Kernel):
    """k(x, y) = |x∩y| / (|x∩y| + a |x-y| + b |y-x|), and 1 where that is 0/0.

    Positive semi-definite for a = b ≥ 1/2: a = b = 1 is Tanimoto's, a = b = 1/2 is Dice's. With
    a ≠ b it is not symmetric: x is the query and y the item.

    Parameters
    ----------
    a, b : float
        The weights of elements found only in the first and only in the second set, at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import kernels
    >>> bits = np.array([[1, 1, 0, 0], [1, 1, 1, 0]], dtype=bool)
    >>> kernels.Tversky(a=0.5, b=0.5)(bits).round(3)
    array([[1. , 0.8],
           [0.8, 1. ]], dtype=float32)
    """

    input = "bits"
    tile_shape = (256, 4096)

    def __init__(self, a: float = 1.0, b: float = 1.0) -> None:
        self.a = a
        self.b = b
        self._validate()

    def _validate(self) -> None:
        check_number("a", self.a, at_least=0)
        check_number("b", self.b, at_least=0)
        self.symmetric = bool(self.a == self.b)
        # with θ = a = b the kernel is Σ_j c_j (|x∩y|/(|x|+|y|))^j, c_j ≥ 0 for θ ≥ 1/2
        self.psd = self.symmetric and self.a >= 0.5

    def _prepare(self, X: Any) -> dict[str, Any]:
        words = _as_words(X)
        counts = np.empty(len(words), np.float32)
        _bit_loops.count(words, counts)
        return {"words": words, "counts": counts}

    def given(self, P: Prepared) -> Any:
        """Return the bytes, without those that fill the last word."""
        width = P.words.shape[1] * P.words.itemsize if P.form is None else P.form[1]
        return np.ascontiguousarray(P.words).view(np.uint8)[:, :width]

    def sound(self, P: Prepared) -> bool:
        """Whether the number of words matches the width of the items."""
        words, counts = P.words, P.counts
        wide = P.form is not None and words.shape[1:] == (-(-P.form[1] // 8),)
        return (
            wide
            and words.flags.c_contiguous
            and words.dtype == np.uint64
            and counts.dtype == np.float32
        )

    def _weights(self, dtype: DType) -> tuple[Any, Any]:
        return dtype.type(self.a), dtype.type(self.b)

    def _tile(self, P: Prepared, R: Prepared, out: Array) -> None:
        _bit_loops.tile(P.words, P.counts, R.words, R.counts, *self._weights(out.dtype), out)

    def _gather(self, P: Prepared, R: Prepared, ids: Ids, dtype: DType) -> Array:
        out = np.empty(ids.shape, dtype)
        _bit_loops.gather(P.words, P.counts, R.words, R.counts, ids, *self._weights(dtype), out)
        return out

    def tolerance(self, *prepared: Prepared, dtype: npt.DTypeLike = np.float32) -> float:
        """Bound the error: counts below 2^24 are exact; a handful of roundings remain."""
        return 8 * unit(dtype)


class Tanimoto(Tversky):
    """k(x, y) = |x∩y| / |x∪y|, also called Jaccard; 1 for two empty sets.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import kernels
    >>> fingerprints = np.packbits([[1, 1, 0, 0], [1, 1, 1, 0]], axis=1)
    >>> kernels.Tanimoto()(fingerprints).round(3)
    array([[1.   , 0.667],
           [0.667, 1.   ]], dtype=float32)
    """

    def __init__(self) -> None:
        super().__init__(1.0, 1.0)


def _as_words(X: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    """Return packed bytes as 64-bit words, without a copy if each row is whole words."""
    if X.shape[1] % 8 == 0:
        return X.view(np.uint64)
    padded = np.zeros((len(X), -(-X.shape[1] // 8) * 8), np.uint8)
    padded[:, : X.shape[1]] = X
    return padded.view(np.uint64)
