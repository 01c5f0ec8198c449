"""The pyramid match of two sets of points, in one pass (Grauman and Darrell 2007, §3)."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mercer import items
from mercer.errors import InputError
from mercer.items.ragged import Ragged
from mercer.kernels import _pyramid_loops as _loops
from mercer.kernels.pyramids import Pyramid, histograms, level_weights, shares
from mercer.kernels.sampling import sampled
from mercer.runtime.border import border
from mercer.runtime.params import check_count, check_number

FARTHEST = 2.0**52  # bins from the origin: beyond, double precision cannot tell bins apart
MOST_LEVELS = 24
HALVINGS = 16  # of the range of the data, at most
STEP = 2**0.25  # ratio between sides tried for the finest level
# of the points, matched with the nearest set: less leaves normalised values too small to hash
NEIGHBOURS_SHARE = 0.25
ALL_SHARE = 0.5  # of the points, matched with a typical set: no coarser level is needed


class PyramidMatch(Pyramid):
    """k(Y, Z) = w_L I_L + Σ_i (w_i - w_(i+1)) I_i, the pyramid match.

    I_i counts the points of two sets that meet in bins of side ``finest · 2^i`` (Grauman and
    Darrell 2007, eq. 3). A pair of points counts with the weight of the finest level on which it
    meets, so the sum approximates the best matching of the smaller set into the larger.
    k(Y, Y) = w_0 |Y|.

    Uniform bins work in few dimensions, at most about ten: reduce wider vectors by PCA, and scale
    all features to one range. For more dimensions see `VocabularyPyramid`.

    Parameters
    ----------
    finest : float
        The side of the smallest bins. Levels finer than any real match only add to k(Y, Y), so
        that all similarities vanish; `for_data` finds a suitable side.
    n_levels : int
        How many levels; the side of the bins doubles from each to the next.
    weights : array_like of float, shape (n_levels,), optional
        w_i, finest first; not increasing and not negative. By default 1/2^i.
    shift : int or None
        Seed of the random shift of all bins, one for all levels, so that the bins are nested.
        None: no shift.
    normalize : {None, "minimum"}
        "minimum" divides by the smaller k(x, x): additional points of the larger set then cost
        nothing. The result is not positive semi-definite, and no hashing exists for it (Grauman
        and Darrell 2007, §3.5). For the product normalisation use ``.normalized()``.

    Examples
    --------
    >>> import mercer
    >>> from mercer import kernels
    >>> sets = mercer.Ragged.from_list([[[1.0], [9.0]], [[1.5], [4.0], [12.5]]])
    >>> kernels.PyramidMatch(finest=1.0, n_levels=4, shift=None)(sets)
    array([[2.   , 1.125],
           [1.125, 3.   ]], dtype=float32)
    """

    def __init__(
        self, finest: float, n_levels: int, *, weights: npt.ArrayLike | None = None,
        shift: int | None = 0, normalize: str | None = None,
    ) -> None:  # fmt: skip
        self.finest = finest
        self.n_levels = n_levels
        self.weights = None if weights is None else np.asarray(weights, np.float64)
        self.shift = shift
        self.normalize = normalize
        self._validate()

    def _validate(self) -> None:
        super()._validate()
        check_number("finest", self.finest, above=0)
        check_count("n_levels", self.n_levels)
        if self.n_levels > MOST_LEVELS:
            raise InputError(
                f"n_levels is {self.n_levels}. Pass at most {MOST_LEVELS}: the bins "
                f"of the last are {2**MOST_LEVELS:,} times as wide as those of the first."
            )
        check_count("shift", self.shift, at_least=0, optional=True)
        level_weights("PyramidMatch", self.weights, self.n_levels)

    @property
    def coefficients(self) -> npt.NDArray[np.float64]:
        """w_i - w_(i+1) of every level, and w of the last."""
        weights = level_weights("PyramidMatch", self.weights, self.n_levels)
        return np.asarray(weights - np.append(weights[1:], 0.0))

    @property
    def coefficient_shift(self) -> int:
        """The level is stored in the highest bits."""
        return _loops.LEVEL_BITS

    def shifts(self, n_features: int) -> npt.NDArray[np.float64]:
        """Return how far the bins are shifted along each feature.

        Examples
        --------
        >>> from mercer import kernels
        >>> kernels.PyramidMatch(finest=1.0, n_levels=4, shift=None).shifts(2)
        array([0., 0.])
        """
        if self.shift is None:
            return np.zeros(n_features)
        coarsest = self.finest * 2.0 ** (self.n_levels - 1)
        return np.asarray(coarsest * np.random.default_rng(self.shift).random(n_features))

    def _histograms(self, X: Ragged) -> tuple[Ragged, Ragged]:
        vectors = X.values.astype(np.float32, copy=False)
        farthest = float(np.abs(vectors).max(initial=0))
        if farthest / self.finest > FARTHEST:
            raise InputError(
                f"a value of {farthest:.3g} is too far from 0 for bins of side "
                f"{self.finest:.3g}. Scale the vectors, or use wider bins."
            )
        bins = np.empty((len(vectors), self.n_levels), np.int64)
        _loops.grid(vectors, self.shifts(vectors.shape[1]), float(self.finest), bins)
        return histograms(bins, X.offsets)

    @classmethod
    @border
    def for_data(cls, X: Any, seed: int = 0, *, normalize: str | None = None) -> Self:
        """Return this kernel with levels that suit the data.

        The finest level is the finest on which a typical set shares a quarter of its points
        with the nearest other set; the coarsest is the first on which two typical sets share half.

        Parameters
        ----------
        X : items
            Sets of vectors; a random sample of at most 1,000 is used.
        seed : int
            Chooses the sample and the shift of the bins.
        normalize : {None, "minimum"}
            As in the class.

        Examples
        --------
        >>> import numpy as np
        >>> import mercer
        >>> from mercer import kernels
        >>> rng = np.random.default_rng(0)
        >>> sets = mercer.Ragged.from_list([rng.random((20, 2)) for _ in range(50)])
        >>> kernels.PyramidMatch.for_data(sets).n_levels
        3
        """
        sides = _chosen_sides(sampled(items.check(X, "sets"), seed), seed)
        return cls(float(f"{sides[0]:.3g}"), len(sides), shift=seed, normalize=normalize)


def _chosen_sides(sets: Ragged, seed: int) -> list[float]:
    """Return the sides of useful bins, finest first."""
    span = float(np.ptp(sets.values, axis=0).max(initial=0)) if len(sets.values) else 0.0
    if span == 0 or len(sets) < 2:
        return [2 * span or 1.0]

    def shared(side: float) -> tuple[float, float]:
        return shares(PyramidMatch(side, 1, shift=seed), sets)

    def suits(side: float) -> bool:
        return shared(side)[0] >= NEIGHBOURS_SHARE

    side = _last(suits, 2 * span, 2.0)  # roughly, then finely
    sides = [_last(suits, side, STEP)]
    # a level on which any two sets meet makes all coarser ones useless
    while sides[-1] < 2 * span and shared(sides[-1])[1] < ALL_SHARE:
        sides.append(2 * sides[-1])
    return sides


def _last(suits: Callable[[float], bool], side: float, factor: float) -> float:
    """Divide the side by the factor while the result suits; return the last that does."""
    for _ in range(HALVINGS):
        if not suits(side / factor):
            break
        side /= factor
    return side
