"""Kernels of real vectors: linear, cosine, polynomial, RBF, Laplacian."""

from typing import Any

import numpy as np
import numpy.typing as npt

from mercer import items
from mercer.kernels import _loops
from mercer.kernels.prepared import Prepared
from mercer.kernels.similarity import scaled_rows, unit
from mercer.kernels.sums import FEW_ROWS, DotProduct, ExpDistance, as_type
from mercer.runtime.arrays import Array, DType, Ids
from mercer.runtime.params import check_count, check_number


class Linear(DotProduct):
    """k(x, y) = ⟨x, y⟩.

    Examples
    --------
    >>> from mercer import kernels
    >>> kernels.Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]], dtype=float32)
    """

    additive = True


class Cosine(DotProduct):
    """k(x, y) = ⟨x, y⟩ / (‖x‖ ‖y‖); 0 where a vector is 0.

    Examples
    --------
    >>> from mercer import kernels
    >>> kernels.Cosine()([[3.0, 4.0]], [[6.0, 8.0], [0.0, 0.0]])
    array([[1., 0.]], dtype=float32)
    """

    def _prepare(self, X: Any) -> dict[str, Any]:
        norms = np.sqrt(_squared_norms(X))
        extreme = np.flatnonzero((norms > 0) & ((norms < 1e-15) | (norms > 1e15)))
        if len(extreme):  # their products would leave the range of float32
            powers = 2.0 ** np.round(np.log2(norms[extreme]))  # dividing by these is exact
            X = _divided(X, extreme, powers)
            norms[extreme] /= powers
        with np.errstate(divide="ignore"):
            return {"rows": X, "measures": np.where(norms > 0, 1 / norms, 0.0)}

    def _map(self, P: Prepared, dtype: DType) -> Array:
        return np.asarray(super()._map(P, dtype) * P.measures.astype(dtype)[:, None])

    def features(self, P: Prepared) -> Any:
        """Return the vectors, scaled to length 1."""
        return scaled_rows(as_type(P.rows, np.dtype(np.float32)), P.measures)

    def _finish(self, sums: Array, n_features: int, a: Any, b: Any) -> None:
        if a is not None:  # not yet scaled to unit length
            sums *= a
            sums *= b

    def _diag(self, P: Prepared, dtype: DType) -> Array:
        return np.asarray(P.measures > 0, dtype)


class Polynomial(DotProduct):
    """k(x, y) = (gamma ⟨x, y⟩ + coef0)^degree.

    Positive semi-definite for an integer degree and coef0 ≥ 0, which are required.

    Parameters
    ----------
    degree : int
        The power, at least 1.
    gamma : float, optional
        The factor; 1 / n_features by default, as in scikit-learn.
    coef0 : float
        The constant, at least 0.

    Examples
    --------
    >>> from mercer import kernels
    >>> kernels.Polynomial(degree=2, gamma=1.0)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]], dtype=float32)
    """

    explicit = False

    def __init__(self, degree: int = 3, gamma: float | None = None, coef0: float = 1.0) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self._validate()

    def _validate(self) -> None:
        check_count("degree", self.degree)
        check_number("coef0", self.coef0, at_least=0)
        check_number("gamma", self.gamma, above=0, optional=True)

    def _finish(self, sums: Array, n_features: int, a: Any, b: Any) -> None:
        sums *= sums.dtype.type(1 / n_features if self.gamma is None else self.gamma)
        sums += sums.dtype.type(self.coef0)
        with np.errstate(over="ignore"):  # an overflow is reported with the pair that caused it
            _raise_to(sums, int(self.degree))

    def tolerance(self, *prepared: Prepared, dtype: npt.DTypeLike = np.float32) -> float:
        """Bound the error: that of the base, and one more rounding, for each factor."""
        base = super().tolerance(*prepared, dtype=dtype)
        return float((1 + base + unit(dtype)) ** self.degree - 1)


class RBF(ExpDistance):
    """k(x, y) = exp(-gamma ‖x - y‖²); it ranks as the Euclidean distance.

    Parameters
    ----------
    gamma : float, optional
        The sharpness. By default an index chooses it from the mean squared distance of the data
        (`RBF.for_data`); elsewhere the default is 1 / n_features, as in scikit-learn.

    Examples
    --------
    >>> from mercer import kernels
    >>> kernels.RBF(gamma=0.5)([[0.0], [1.0]]).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]], dtype=float32)
    """

    _term = _loops.SquaredTerm()
    tile_shape = (512, 4096)
    power = 2
    ranks_as = Linear().radial()

    def __init__(self, gamma: float | None = None) -> None:
        self.gamma = gamma
        self._validate()

    def _measure(self, X: Any) -> npt.NDArray[np.float64]:
        return _squared_norms(X)

    def _tile(self, P: Prepared, R: Prepared, out: Array) -> None:
        P, R = self._in_faster_form(P, R)
        if items.is_sparse(P.rows) or min(len(P), len(R)) < FEW_ROWS:
            return super()._tile(P, R, out)
        # |x|² + |y|² - 2⟨x, y⟩ cancels; in double precision what is lost stays below float32
        double = np.dtype(np.float64)
        sums = np.matmul(-2 * as_type(P.rows, double), as_type(R.rows, double).T)
        sums += P.measures[:, None]
        sums += R.measures
        np.maximum(sums, 0, out=out, casting="same_kind")
        return self._finish(out, P.rows.shape[1], None, None)

    def tolerance(self, *prepared: Prepared, dtype: npt.DTypeLike = np.float32) -> float:
        """Bound the error: that of direct differences, and what the matrix product cancels."""
        n_features = int(prepared[0].rows.shape[1])
        largest = max(float(P.measures.max()) for P in prepared)
        lost = 4 * (n_features + 4) * unit(np.float64) * largest * self.rate(n_features)
        return super().tolerance(*prepared, dtype=dtype) + lost


class Laplacian(ExpDistance):
    """k(x, y) = exp(-gamma Σ|x_i - y_i|); it ranks as the city-block distance.

    Parameters
    ----------
    gamma : float, optional
        The sharpness. By default an index chooses it from the mean distance of the data
        (`Laplacian.for_data`); elsewhere the default is 1 / n_features, as in scikit-learn.

    Examples
    --------
    >>> from mercer import kernels
    >>> kernels.Laplacian(gamma=1.0)([[0.0, 0.0]], [[1.0, 0.0]]).round(3)
    array([[0.368]], dtype=float32)
    """

    _term = _loops.AbsoluteTerm()
    power = 1

    def __init__(self, gamma: float | None = None) -> None:
        self.gamma = gamma
        self._validate()


def _raise_to(values: Array, degree: int) -> None:
    """Raise values to a power, in place, by repeated squaring: much faster than ``**``."""
    if degree == 1:
        return
    base = values.copy() if degree % 2 else None
    _raise_to(values, degree // 2)
    values *= values
    if base is not None:
        values *= base


def _divided(X: Any, rows: Ids, by: Array) -> Any:
    """Return a copy of X in which these rows are divided by these numbers."""
    divided = X.astype(np.float32, copy=True)
    for row, divisor in zip(rows, by, strict=True):
        if items.is_sparse(X):
            place: Any = slice(X.indptr[row], X.indptr[row + 1])
            divided.data[place] = X.data[place].astype(np.float64) / divisor
        else:
            divided[row] = X[row].astype(np.float64) / divisor
    return divided


def _squared_norms(X: Any) -> npt.NDArray[np.float64]:
    """Return ‖x‖² of every row in double precision, block by block."""
    if items.is_sparse(X):
        return np.asarray(X.astype(np.float64).multiply(X).sum(axis=1)).ravel()
    parts = [np.einsum("ij,ij->i", B, B, dtype=np.float64) for _, B in items.blocks(X, 65536)]
    return np.concatenate(parts)
