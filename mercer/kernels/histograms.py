"""Kernels of nonnegative vectors: histograms, counts, bags of words."""

from typing import Any

import numpy as np
import numpy.typing as npt

from mercer import items
from mercer.kernels import _loops
from mercer.kernels.facts import Homogeneous
from mercer.kernels.prepared import Prepared
from mercer.kernels.similarity import require_range
from mercer.kernels.sums import DotProduct, ExpDistance, FeatureSum, row_sums
from mercer.runtime.arrays import Array, DType


class Hellinger(DotProduct):
    """k(x, y) = Σ √(x_i y_i), also called Bhattacharyya: the linear kernel of square roots.

    Examples
    --------
    >>> from mercer import kernels
    >>> kernels.Hellinger()([[0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]]).round(3)
    array([[1.   , 0.707]], dtype=float32)
    """

    nonnegative = additive = True
    _term = _loops.SquareRootTerm()

    def _diag(self, P: Prepared, dtype: DType) -> Array:
        return row_sums(P.rows, dtype)

    def _map(self, P: Prepared, dtype: DType) -> Any:
        rows: Any = super()._map(P, dtype)
        return rows.sqrt() if items.is_sparse(rows) else np.sqrt(rows, dtype=dtype)


class _BelowHellinger(FeatureSum):
    """A kernel at or slightly below Hellinger's: intersection ≤ χ² ≤ JS ≤ Hellinger."""

    nonnegative = additive = True
    nearly = ceiling = Hellinger()

    def _diag(self, P: Prepared, dtype: DType) -> Array:
        return row_sums(P.rows, dtype)  # the term of two equal values is that value


class Chi2(_BelowHellinger):
    """k(x, y) = Σ 2 x_i y_i / (x_i + y_i), the additive χ² kernel; 0/0 is 0.

    k(x, x) = Σ x_i, which is 1 for histograms that sum to 1. Note that scikit-learn calls its
    exponential kernel "chi2"; that one is `ExpChi2` here.

    Examples
    --------
    >>> from mercer import kernels
    >>> kernels.Chi2()([[0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]]).round(3)
    array([[1.   , 0.667]], dtype=float32)
    """

    _term = _loops.Chi2Term()
    homogeneous = Homogeneous(lambda w: 1 / np.cosh(w / 2), lambda f: 1 / np.cosh(np.pi * f))


class ExpChi2(ExpDistance):
    """k(x, y) = exp(-gamma Σ (x_i - y_i)² / (x_i + y_i)), the exponential χ² kernel.

    On histograms that sum to 1 it equals ``Chi2().exp(2 * gamma)`` and so ranks as `Chi2`.
    As in scikit-learn, gamma multiplies; Kulis and Grauman (2012, eq. 10) divide by it.

    Parameters
    ----------
    gamma : float, optional
        The sharpness. By default an index chooses it from the mean distance of the data
        (`ExpChi2.for_data`); elsewhere the default is 1, as in scikit-learn.

    Examples
    --------
    >>> from mercer import kernels
    >>> kernels.ExpChi2(gamma=0.5)([[0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]]).round(3)
    array([[1.   , 0.717]], dtype=float32)
    """

    nonnegative = True
    _term = _loops.Chi2DistanceTerm()
    ranks_as = Chi2().radial()

    def __init__(self, gamma: float | None = None) -> None:
        self.gamma = gamma
        self._validate()

    def rate(self, n_features: int) -> float:
        """Return gamma, or its default, 1: histograms sum to 1 however many features they have."""
        return 1.0 if self.gamma is None else float(self.gamma)


class Intersection(_BelowHellinger):
    """k(x, y) = Σ min(x_i, y_i); on histograms that sum to 1 it ranks as the city-block distance.

    Examples
    --------
    >>> from mercer import kernels
    >>> kernels.Intersection()([[0.5, 0.5]], [[0.25, 0.75]])
    array([[0.75]], dtype=float32)
    """

    _term = _loops.MinimumTerm()
    homogeneous = Homogeneous(
        lambda w: np.exp(-np.abs(w) / 2), lambda f: 2 / np.pi / (1 + 4 * f**2)
    )


class JensenShannon(_BelowHellinger):
    """k(x, y) = Σ x_i/2 log2((x_i + y_i)/x_i) + y_i/2 log2((x_i + y_i)/y_i); 0 log is 0.

    On histograms that sum to 1 it is 1 minus the Jensen–Shannon divergence in bits.

    Examples
    --------
    >>> from mercer import kernels
    >>> kernels.JensenShannon()([[0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]]).round(3)
    array([[1.   , 0.689]], dtype=float32)
    """

    _term = _loops.JensenShannonTerm()
    _roundings = 20  # two series of logarithms, see _loops._jensen_shannon
    homogeneous = Homogeneous(
        lambda w: _js(np.exp(w / 2), np.exp(-w / 2)),
        lambda f: 2 / np.log(4) / np.cosh(np.pi * f) / (1 + 4 * f**2),
    )


def _js(a: Array, b: Array) -> Array:
    """Return the Jensen–Shannon term of two positive numbers."""
    return np.asarray(a / 2 * np.log2((a + b) / a) + b / 2 * np.log2((a + b) / b))


class MinMax(FeatureSum):
    """k(x, y) = Σ min(x_i, y_i) / Σ max(x_i, y_i), Tanimoto for counts; 1 for two zero vectors.

    Examples
    --------
    >>> from mercer import kernels
    >>> kernels.MinMax()([[2.0, 0.0, 1.0]], [[1.0, 1.0, 1.0]])
    array([[0.5]], dtype=float32)
    """

    nonnegative = True
    _term = _loops.MinimumTerm()
    _roundings = 8

    def _measure(self, X: Any) -> npt.NDArray[np.float64]:
        if items.is_sparse(X):
            sizes = np.asarray(X @ np.ones(X.shape[1]))  # SciPy's own sum rounds to float32 first
        else:
            parts = [block.sum(axis=1, dtype=np.float64) for _, block in items.blocks(X, 65536)]
            sizes = np.concatenate(parts)
        require_range(self.label, "the sum", sizes)
        return sizes

    def _finish(self, sums: Array, n_features: int, a: Any, b: Any) -> None:
        # Σ max = Σ x + Σ y - Σ min, which is at least the larger of the two: nothing cancels
        total = np.maximum(a + b - sums, np.finfo(sums.dtype).tiny)
        sums /= total
        sums[np.broadcast_to(a + b, sums.shape) == 0] = 1

    def _diag(self, P: Prepared, dtype: DType) -> Array:
        return np.ones(len(P), dtype)
