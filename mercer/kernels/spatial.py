"""The spatial pyramid: which words two images have in common, and in which places."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mercer.errors import InputError
from mercer.kernels import _pyramid_loops as _loops
from mercer.kernels.pyramids import histograms, level_weights
from mercer.kernels.words import OfWords, learn_words
from mercer.params import check_count
from mercer.ragged import Ragged

__all__ = ["SpatialPyramid"]

MOST_LEVELS = 10


class SpatialPyramid(OfWords):
    """k(Y, Z) = Σ over words of a pyramid match of the positions of that word (M §3.7).

    Level i cuts the images into 2^(L-1-i) cells along each coordinate, L being the number of
    levels: the last level is the whole image, where the kernel is an intersection of histograms
    of words. Two features meet in a cell if they have the same word, and count with the weight of
    the finest level they meet on. k(Y, Y) = w_0 |Y|.

    Parameters
    ----------
    words : array_like, shape (n_words, n_features)
        The word of a vector is the nearest of these. `for_data` learns them.
    origin, size : array_like of float, shape (n_coordinates,)
        Where images begin and how large they are, in the unit of the positions. Positions outside
        count as those at the border.
    n_levels : int
        How many levels.
    weights : array_like of float, shape (n_levels,), optional
        w_i, finest first; not increasing and not negative. By default 1/2^i.
    normalize : {None, "minimum"}
        As in `PyramidMatch`.

    Examples
    --------
    >>> import mercer
    >>> from mercer import kernels
    >>> photos = mercer.Ragged([[0.0], [1.0], [0.1]], [0, 2, 3], [[1, 1], [9, 9], [2, 8]])
    >>> kernels.SpatialPyramid([[0.0], [1.0]], origin=[0, 0], size=[10, 10], n_levels=2)(photos)
    array([[2. , 0.5],
           [0.5, 1. ]], dtype=float32)
    """

    def __init__(
        self,
        words: npt.ArrayLike,
        origin: npt.ArrayLike,
        size: npt.ArrayLike,
        n_levels: int = 3,
        *,
        weights: npt.ArrayLike | None = None,
        normalize: str | None = None,
    ) -> None:
        self.words = np.ascontiguousarray(words, np.float32)
        self.origin = np.asarray(origin, np.float64)
        self.size = np.asarray(size, np.float64)
        self.n_levels = n_levels
        self.weights = None if weights is None else np.asarray(weights, np.float64)
        self.normalize = normalize
        self._validate()

    def _validate(self) -> None:
        super()._validate()
        check_count("SpatialPyramid", "n_levels", self.n_levels)
        if self.n_levels > MOST_LEVELS:
            raise InputError(
                f"SpatialPyramid: n_levels is {self.n_levels}. Pass at most {MOST_LEVELS}: the "
                f"last has {2 ** (MOST_LEVELS - 1)} cells along each coordinate."
            )
        alike = self.origin.ndim == 1 and self.origin.shape == self.size.shape and self.origin.size
        finite = alike and np.isfinite(self.origin).all() and np.isfinite(self.size).all()
        if not finite or not (self.size > 0).all() or len(self.origin) > 3:
            raise InputError(
                f"SpatialPyramid: origin is {self.origin} and size is {self.size}. Pass one number "
                "each for every coordinate, at most three, sizes above 0."
            )
        level_weights("SpatialPyramid", self.weights, self.n_levels)

    @property
    def coefficients(self) -> npt.NDArray[np.float64]:
        """w_i - w_(i+1) of every level, and w of the last."""
        weights = level_weights("SpatialPyramid", self.weights, self.n_levels)
        return np.asarray(weights - np.append(weights[1:], 0.0))

    @property
    def coefficient_shift(self) -> int:
        """The level stands in the highest bits."""
        return _loops.LEVEL_BITS

    @classmethod
    def for_data(
        cls, X: Any, n_words: int = 200, n_levels: int = 3, seed: int = 0, *,
        normalize: str | None = None,
    ) -> Self:  # fmt: skip
        """Return this kernel with words learned from the data, and images as large as it shows.

        Parameters
        ----------
        X : sets
            The data, with positions; words are learned by k-means from at most 50,000 vectors.
        n_words : int
            How many words; fewer where there are fewer vectors.
        n_levels : int
            How many levels.
        seed : int
            Chooses the sample and where k-means begins.
        normalize : {None, "minimum"}
            As in the class.

        Examples
        --------
        >>> import numpy as np
        >>> import mercer
        >>> from mercer import kernels
        >>> rng = np.random.default_rng(0)
        >>> photos = mercer.Ragged(rng.random((60, 4)), [0, 20, 60], rng.random((60, 2)))
        >>> kernels.SpatialPyramid.for_data(photos, n_words=5).words.shape
        (5, 4)
        """
        check_count("SpatialPyramid.for_data", "n_words", n_words)
        sets, words = learn_words(X, n_words, seed, "SpatialPyramid.for_data")
        if sets.positions is None:
            raise InputError(
                "SpatialPyramid.for_data: the sets have no positions. Pass mercer.Ragged(values, "
                "offsets, positions)."
            )
        origin = sets.positions.min(axis=0).astype(np.float64)
        size = sets.positions.max(axis=0) - origin
        return cls(words, origin, np.where(size > 0, size, 1.0), n_levels, normalize=normalize)

    def _histograms(self, X: Ragged) -> tuple[Ragged, Ragged]:
        places = self._places_of(X)
        if len(X.values) and places.shape[1] != len(self.origin):
            raise InputError(
                f"SpatialPyramid: positions have {places.shape[1]} coordinates but origin and size "
                f"have {len(self.origin)}. Pass as many."
            )
        return histograms(self._bins(self._words_of(X), places), X.offsets)

    def _bins(
        self, words: npt.NDArray[np.int64], places: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.int64]:
        """Return the bin of every vector on every level: level, word and cell side by side."""
        finest = self.n_levels - 1
        shares = (places - self.origin) / self.size if len(places) else places
        cells = np.clip(np.floor(shares * 2**finest), 0, 2**finest - 1).astype(np.int64)
        bins = np.empty((len(words), self.n_levels), np.int64)
        for level in range(self.n_levels):
            number = words.copy()
            for coordinate in range(cells.shape[1]):
                number = (number << finest) | (cells[:, coordinate] >> level)
            bins[:, level] = (level << _loops.LEVEL_BITS) | number
        return bins
