"""The proximity distribution kernel: which words stand next to which (M §3.7, Ling and Soatto)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mercer.errors import InputError
from mercer.kernels._proximity_loops import RANK_BITS, fill, neighbours
from mercer.kernels.words import OfWords, learn_words
from mercer.params import check_count
from mercer.ragged import Ragged

__all__ = ["ProximityDistribution"]


class ProximityDistribution(OfWords):
    """k(Y, Z) = Σ over words a, b and ranks r of min(H_Y(a, b, r), H_Z(a, b, r)) (M §3.7).

    H(a, b, r) counts the points of word a that have a point of word b among their r nearest
    neighbours, with as many as there are; a point is not its own neighbour, and of points equally
    far the one listed first is nearer. A set of m > R points has k(Y, Y) = m R (R + 1) / 2.

    What is kept is much less than H: for each pair of words the ranks at which its counts rise.
    With y_1 ≤ y_2 ≤ ... those of Y and z_j those of Z, Σ_r min(H_Y, H_Z) is
    Σ_j min(R + 1 - y_j, R + 1 - z_j): again an intersection of histograms, so the kernel is
    positive semi-definite and can be hashed as the pyramid match is.

    Finding the neighbours takes a time that grows with the square of the size of a set.

    Parameters
    ----------
    words : array_like, shape (n_words, n_features)
        The word of a vector is the nearest of these. `for_data` learns them.
    n_ranks : int
        R, how many neighbours are looked at.
    normalize : {None, "minimum"}
        As in `PyramidMatch`.

    Examples
    --------
    >>> import mercer
    >>> from mercer import kernels
    >>> values, places = [[0.0], [1.0], [0.0], [1.0]], [[0.0], [1.0], [0.0], [2.0]]
    >>> photos = mercer.Ragged(values, [0, 2, 4], places)
    >>> kernels.ProximityDistribution([[0.0], [1.0]], n_ranks=3)(photos)
    array([[6., 6.],
           [6., 6.]], dtype=float32)
    """

    def __init__(
        self, words: npt.ArrayLike, n_ranks: int = 64, *, normalize: str | None = None
    ) -> None:
        self.words = np.ascontiguousarray(words, np.float32)
        self.n_ranks = n_ranks
        self.normalize = normalize
        self._validate()

    def _validate(self) -> None:
        super()._validate()
        check_count("ProximityDistribution", "n_ranks", self.n_ranks)
        if self.n_ranks >= 1 << RANK_BITS:
            raise InputError(
                f"ProximityDistribution: n_ranks is {self.n_ranks}. Pass less than "
                f"{1 << RANK_BITS:,}."
            )

    @property
    def coefficients(self) -> npt.NDArray[np.float64]:
        """All bins count alike."""
        return np.ones(1)

    @property
    def coefficient_shift(self) -> int:
        """No bit of a bin's number matters."""
        return 63

    @classmethod
    def for_data(
        cls, X: Any, n_words: int = 200, n_ranks: int = 64, seed: int = 0, *,
        normalize: str | None = None,
    ) -> Self:  # fmt: skip
        """Return this kernel with words learned from the data.

        Parameters
        ----------
        X : sets
            The data; words are learned by k-means from at most 50,000 vectors.
        n_words : int
            How many words; fewer where there are fewer vectors.
        n_ranks : int
            How many neighbours are looked at.
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
        >>> kernels.ProximityDistribution.for_data(photos, n_words=5).words.shape
        (5, 4)
        """
        check_count("ProximityDistribution.for_data", "n_words", n_words)
        words = learn_words(X, n_words, seed, "ProximityDistribution.for_data")[1]
        return cls(words, n_ranks, normalize=normalize)

    def _histograms(self, X: Ragged) -> tuple[Ragged, Ragged]:
        places, words = self._places_of(X), self._words_of(X)
        n = neighbours(X.offsets, self.n_ranks)
        bins, counts = np.empty((n, 1), np.int64), np.empty((n, 1), np.int32)
        ends = np.zeros(len(X.offsets), np.int64)
        fill(
            words, places, X.offsets, len(self.words), self.n_ranks, bins.reshape(-1),
            counts.reshape(-1), ends,
        )  # fmt: skip
        return Ragged(bins, ends), Ragged(counts, ends)
