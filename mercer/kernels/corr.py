"""Geometric correspondences between features of images (Kulis and Grauman 2012, §6.2)."""

import math
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mercer.errors import InputError
from mercer.items.ragged import Ragged
from mercer.kernels import _set_loops
from mercer.kernels.prepared import Prepared
from mercer.kernels.sampling import mean_between, sampled
from mercer.kernels.sets import SetKernel, best_means, run_maxima
from mercer.kernels.similarity import unit
from mercer.runtime.arrays import Array, DType, Ids
from mercer.runtime.params import check_number

SAMPLE = 64  # sets from which `for_data` estimates a mean distance
DOUBLE = np.dtype(np.float64)


class Corr(SetKernel):
    """k(Y, Z) = exp(-gamma D), D the mean cost of the best correspondences, both ways.

    The kernel of Kulis and Grauman (2012, §6.2). The cost of two features is
    |f - g|² + (position_weight / image_size) |p - q|, low if they are both similar and close to
    each other. D is the mean least cost over the features of Y plus that over the features of Z.
    The kernel is 0 if a set is empty. It is not positive semi-definite in general (theory: words),
    so `mercer.exact` cannot use it; `mercer.klsh` drops the negative eigenvalues.

    Parameters
    ----------
    gamma : float
        The sharpness, a factor as in RBF; the paper divides by γ = 1 / gamma.
        `Corr.for_data` chooses it from the mean D of the data.
    position_weight : float
        The weight of a distance of one image size, relative to a squared distance of features.
        The default is meant for features of length 1. With 0, positions are not needed.
    image_size : float
        The size of an image, in the unit of the positions.

    Examples
    --------
    >>> import mercer
    >>> from mercer import kernels
    >>> photos = mercer.Ragged([[1.0, 0.0], [0.0, 1.0]], [0, 1, 2], [[10, 10], [40, 50]])
    >>> kernels.Corr(gamma=0.5)(photos).round(3)
    array([[1.   , 0.129],
           [0.129, 1.   ]], dtype=float32)
    """

    psd = False

    def __init__(
        self, gamma: float = 1.0, position_weight: float = 0.25, image_size: float = 270.0
    ) -> None:
        self.gamma = gamma
        self.position_weight = position_weight
        self.image_size = image_size
        self._validate()

    def _validate(self) -> None:
        check_number("gamma", self.gamma, above=0)
        check_number("position_weight", self.position_weight, at_least=0)
        check_number("image_size", self.image_size, above=0)

    @classmethod
    def for_data(
        cls, X: Any, position_weight: float = 0.25, image_size: float = 270.0, seed: int = 0
    ) -> Self:
        """Return this kernel with gamma = 1 / mean D of different sets of X.

        Parameters
        ----------
        X : sets
            The data; a random sample of at most 64 sets is used.
        position_weight, image_size : float
            As for the kernel.
        seed : int
            Chooses the sample.

        Examples
        --------
        >>> import mercer
        >>> from mercer import kernels
        >>> photos = mercer.Ragged([[1.0, 0.0], [0.0, 1.0]], [0, 1, 2], [[10, 10], [40, 50]])
        >>> round(kernels.Corr.for_data(photos).gamma, 3)
        0.244
        """
        probe = cls(1.0, position_weight, image_size)
        X = probe.prepare(X).sets
        sample = sampled(X.take(np.flatnonzero(np.diff(X.offsets))), seed, SAMPLE)
        y = probe._vectors(sample, DOUBLE)
        costs = [probe._costs(y[sample.offsets[i] : sample.offsets[i + 1]], y, sample.offsets,
                              DOUBLE) for i in range(len(sample))]  # fmt: skip
        return cls(
            1 / mean_between(np.reshape(costs, 2 * (len(sample),))), position_weight, image_size
        )

    @property
    def _weight(self) -> float:
        return float(self.position_weight) / float(self.image_size)

    def _prepare(self, X: Ragged) -> dict[str, Any]:
        """Return the sets, with the largest |f|² and the largest |p| of each."""
        if X.positions is None and len(X.values) and self.position_weight > 0:
            raise InputError(
                "the sets have no positions. Pass mercer.Ragged(values, offsets, "
                "positions), or compare features alone with position_weight=0."
            )
        squares, reach = _squared(X.values), np.sqrt(_squared(_places(X)))
        return {
            "sets": X,
            "squares": run_maxima(squares, X.offsets),
            "reach": run_maxima(reach, X.offsets),
        }

    def _vectors(self, sets: Ragged, dtype: DType) -> Prepared:
        squares = _squared(sets.values).astype(dtype)
        places = _places(sets).astype(dtype)
        parts = {"vectors": sets.values.astype(dtype), "squares": squares, "places": places}
        return Prepared(self, parts)

    def _fill(self, x: Prepared, y: Prepared, block: Array) -> None:
        with np.errstate(invalid="ignore"):  # BLAS may raise the flag for lanes it does not use
            np.matmul(x.vectors, y.vectors.T, out=block)
        others = np.ascontiguousarray(y.places.T)
        weight = block.dtype.type(self._weight)
        _set_loops.to_matches(block, x.squares, x.places, y.squares, others, weight)

    def _costs(self, x: Prepared, y: Prepared, offsets: Ids, dtype: DType) -> Array:
        there, back = best_means(self, x, y, offsets, dtype)
        return -(there + back)

    def _compare(self, x: Prepared, y: Prepared, offsets: Ids, dtype: DType) -> Array:
        return np.exp(-self.gamma * self._costs(x, y, offsets, dtype))

    def _diag(self, P: Prepared, dtype: DType) -> Array:
        return np.asarray(np.diff(P.sets.offsets) > 0, dtype)

    def tolerance(self, *prepared: Prepared, dtype: npt.DTypeLike = np.float32) -> float:
        """Bound the error: an absolute error e of D becomes a factor exp(gamma e).

        With S the largest |f|², d features and c coordinates, a matrix product is off by d u S,
        |f|² + |g|² - 2⟨f, g⟩ by (2d + 12) u S, and |p - q| ≤ 2 |p| by c + 6 roundings; k(Y, Y)
        is 1.
        """
        u = unit(dtype)
        X = prepared[0].sets
        largest = max(float(P.squares.max()) for P in prepared)
        reach = max(float(P.reach.max()) for P in prepared)
        features = (2 * X.values.shape[1] + 12) * largest
        places = (_places(X).shape[1] + 6) * 2 * self._weight * reach
        return math.expm1(min(2 * self.gamma * u * (features + places), 100.0)) + 6 * u


def _squared(values: Array) -> npt.NDArray[np.float64]:
    """Return |v|² of every row, in double precision."""
    return np.asarray(np.einsum("ij,ij->i", values, values, dtype=np.float64))


def _places(sets: Ragged) -> Array:
    """Return the positions of all vectors, with 0 coordinates if the sets have none."""
    return np.empty((len(sets.values), 0), np.float32) if sets.positions is None else sets.positions
