"""The spatial pyramid: words matched by position (Kulis, Jain and Grauman 2009, §3.7.1)."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mercer.errors import InputError
from mercer.items.ragged import Ragged
from mercer.kernels.pyramids import Pyramid, histograms, level_weights
from mercer.kernels.words import check_words, learned_words, positions_of, words_of
from mercer.runtime.border import border
from mercer.runtime.params import check_count

MOST_BITS = 62  # of the number of a bin


class SpatialPyramid(Pyramid):
    """k(Y, Z) = Σ over words of the pyramid match of the positions of the word.

    Every vector of a set is replaced by its nearest word. On the finest level the frame is cut
    into 2^(n_levels - 1) parts along each coordinate, and on each coarser level into half as many,
    down to one, where sets are bags of words. k(Y, Y) = w_0 |Y|.

    Parameters
    ----------
    words : array_like of float, shape (n_words, n_features)
        Typical vectors.
    frame : array_like of float, shape (2, n_coordinates)
        The least and the largest position. Positions outside count as on the border.
    n_levels : int
        How many levels.
    weights : array_like of float, shape (n_levels,), optional
        w_i, finest first; not increasing and not negative. By default 1/2^i.

    Examples
    --------
    >>> import mercer
    >>> from mercer import kernels
    >>> one = mercer.Ragged([[0.1], [0.9]], [0, 2], positions=[[10, 10], [80, 20]])
    >>> other = mercer.Ragged([[0.2], [0.8]], [0, 2], positions=[[15, 10], [10, 90]])
    >>> pyramid = kernels.SpatialPyramid(words=[[0.0], [1.0]], frame=[[0, 0], [100, 100]])
    >>> pyramid(one, other)
    array([[1.25]], dtype=float32)
    """

    def __init__(
        self, words: npt.ArrayLike, frame: npt.ArrayLike, n_levels: int = 3, *,
        weights: npt.ArrayLike | None = None,
    ) -> None:  # fmt: skip
        self.words = np.ascontiguousarray(words, np.float32)
        self.frame = np.asarray(frame, np.float64)
        self.n_levels = n_levels
        self.weights = None if weights is None else np.asarray(weights, np.float64)
        self._validate()

    def _validate(self) -> None:
        super()._validate()
        check_words("SpatialPyramid", self.words)
        check_count("n_levels", self.n_levels)
        frame = self.frame
        if frame.ndim != 2 or len(frame) != 2 or not frame.size or not np.isfinite(frame).all():
            raise InputError(
                f"frame has shape {frame.shape}. Pass the least and the largest "
                "position: (2, n_coordinates)."
            )
        if (frame[1] < frame[0]).any():
            raise InputError("frame ends before it begins. Pass [least, largest].")
        level_weights("SpatialPyramid", self.weights, self.n_levels)
        if self.coefficient_shift + self.n_levels.bit_length() > MOST_BITS:
            raise InputError(
                f"{len(self.words)} words in {2 ** (self.n_levels - 1)} parts "
                f"along {frame.shape[1]} coordinates are too many bins. Use fewer levels."
            )

    @property
    def coefficients(self) -> npt.NDArray[np.float64]:
        """w_i - w_(i+1) of every level, and w of the last."""
        weights = level_weights("SpatialPyramid", self.weights, self.n_levels)
        return np.asarray(weights - np.append(weights[1:], 0.0))

    @property
    def coefficient_shift(self) -> int:
        """The level is stored above word and place."""
        return len(self.words).bit_length() + (self.n_levels - 1) * int(self.frame.shape[1])

    @property
    def _n_features(self) -> int:
        return int(self.words.shape[1])

    def _histograms(self, X: Ragged) -> tuple[Ragged, Ragged]:
        words = words_of(X, self.words)
        places = self._places(X)
        points = np.empty((len(words), self.n_levels), np.int64)
        for level in range(self.n_levels):
            bins = words
            for place in places.T:
                bins = bins << (self.n_levels - 1) | place >> level
            points[:, level] = bins | level << self.coefficient_shift
        return histograms(points, X.offsets)

    def _places(self, X: Ragged) -> npt.NDArray[np.int64]:
        """Return the part of the frame, on the finest level, that each vector lies in."""
        positions = positions_of(X, self.frame.shape[1])
        n_parts = 2 ** (self.n_levels - 1)
        side = np.where(self.frame[1] > self.frame[0], self.frame[1] - self.frame[0], 1.0)
        parts = np.floor((positions - self.frame[0]) / side * n_parts)
        return np.asarray(parts.clip(0, n_parts - 1), np.int64)

    @classmethod
    @border
    def for_data(cls, X: Any, seed: int = 0, *, n_words: int = 200, n_levels: int = 3) -> Self:
        """Return this kernel with words and frame learned from the data.

        Parameters
        ----------
        X : items
            Sets of vectors with positions. All share one frame: if their frames differ, as for
            photos of different sizes, scale the positions to one range first.
        seed : int
            Chooses a sample of vectors and the words.
        n_words : int
            How many words.
        n_levels : int
            How many levels.

        Examples
        --------
        >>> import numpy as np
        >>> import mercer
        >>> from mercer import kernels
        >>> rng = np.random.default_rng(0)
        >>> offsets = np.arange(0, 1001, 20)
        >>> sets = mercer.Ragged(rng.random((1000, 16)), offsets, rng.random((1000, 2)))
        >>> kernels.SpatialPyramid.for_data(sets, n_words=50)
        SpatialPyramid(<50 words of 16 features>, n_levels=3)
        """
        sets, words = learned_words(X, n_words, seed)
        positions = positions_of(sets)
        return cls(words, [positions.min(axis=0), positions.max(axis=0)], n_levels)

    def __repr__(self) -> str:
        n, n_features = self.words.shape
        more = "" if self.weights is None else f", weights={self.weights!r}"
        return (
            f"SpatialPyramid(<{n} words of {n_features} features>, n_levels={self.n_levels}{more})"
        )
