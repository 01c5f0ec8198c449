"""The proximity distribution kernel (Kulis, Jain and Grauman 2009, §3.7.2)."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mercer.errors import InputError
from mercer.items.ragged import Ragged
from mercer.kernels import _proximity_loops as _loops
from mercer.kernels.pyramids import Pyramid
from mercer.kernels.words import check_words, learned_words, positions_of, words_of
from mercer.runtime.arrays import Array, Ids
from mercer.runtime.border import border
from mercer.runtime.params import check_count

MOST_RANKS = 255  # so that a rank fits in a byte
MOST_WORDS = 1 << 15


class ProximityDistribution(Pyramid):
    """k(Y, Z) = Σ_(i,j,r) min(H_Y(i, j, r), H_Z(i, j, r)) over words i, j and ranks r = 1 … R.

    H(i, j, r) counts how often word j is among the r nearest neighbours, by position, of a point
    with word i. A point is not its own neighbour, and of equally near points the smaller word comes
    first, so the order of the points in a set does not matter. k(Y, Y) = |Y| R (R + 1) / 2 for sets
    of more than R points.

    H grows with r and is stored as the ranks at which it grows, one byte each: with r_u the rank of
    the u-th point, Σ_r min(H_Y, H_Z) = Σ_u min(R + 1 - r_u(Y), R + 1 - r_u(Z)), an intersection
    over bins (i, j, u).

    Parameters
    ----------
    words : array_like of float, shape (n_words, n_features)
        Typical vectors; every vector of a set is replaced by its nearest word.
    n_ranks : int
        R, how many neighbours count.

    Examples
    --------
    >>> import mercer
    >>> from mercer import kernels
    >>> sets = mercer.Ragged([[0.1], [0.9], [0.1], [0.8]], [0, 2, 4], [[1], [2], [7], [9]])
    >>> kernels.ProximityDistribution(words=[[0.0], [1.0]], n_ranks=3)(sets)
    array([[6., 6.],
           [6., 6.]], dtype=float32)
    """

    def __init__(self, words: npt.ArrayLike, n_ranks: int = 64) -> None:
        self.words = np.ascontiguousarray(words, np.float32)
        self.n_ranks = n_ranks
        self._validate()

    def _validate(self) -> None:
        super()._validate()
        check_words("ProximityDistribution", self.words)
        check_count("n_ranks", self.n_ranks)
        for what, n, most in (("n_ranks", self.n_ranks, MOST_RANKS),
                              ("the number of words", len(self.words), MOST_WORDS)):  # fmt: skip
            if n > most:
                raise InputError(f"{what} is {n}. Pass at most {most}.")

    @property
    def coefficients(self) -> npt.NDArray[np.float64]:
        """All pairs of words count alike."""
        return np.ones(1)

    @property
    def coefficient_shift(self) -> int:
        """All bins have the same coefficient."""
        return 63

    @property
    def _n_features(self) -> int:
        return int(self.words.shape[1])

    def _histograms(self, X: Ragged) -> tuple[Ragged, Ragged]:
        words = words_of(X, self.words)
        positions = positions_of(X)
        rows = [
            self._events(words[start:stop], positions[start:stop])
            for start, stop in zip(X.offsets[:-1], X.offsets[1:], strict=True)
        ]
        ends = np.cumsum([0] + [len(bins) for bins, _ in rows])
        bins = np.concatenate([bins for bins, _ in rows]).reshape(-1, 1)
        counts = np.concatenate([counts for _, counts in rows]).reshape(-1, 1)
        return Ragged(bins, ends), Ragged(counts, ends)

    def _events(self, words: Ids, positions: Array) -> tuple[Ids, npt.NDArray[np.uint8]]:
        """Return the bins (i, j, u) of one set, and R + 1 - r_u of each."""
        widest = int(np.argmax(np.ptp(positions, axis=0))) if len(words) else 0
        order = np.argsort(positions[:, widest])
        near = np.empty((len(words), min(self.n_ranks, max(0, len(words) - 1))), np.int64)
        turned = np.roll(positions[order], -widest, axis=1)  # the widest coordinate first
        _loops.neighbours(words[order], turned, near)
        return _by_pairs(words[order], near, len(self.words), self.n_ranks)

    @classmethod
    @border
    def for_data(cls, X: Any, seed: int = 0, *, n_words: int = 200, n_ranks: int = 64) -> Self:
        """Return this kernel with words learned from the data.

        Parameters
        ----------
        X : items
            Sets of vectors with positions.
        seed : int
            Chooses a sample of vectors and the words.
        n_words : int
            How many words.
        n_ranks : int
            How many neighbours count.

        Examples
        --------
        >>> import numpy as np
        >>> import mercer
        >>> from mercer import kernels
        >>> rng = np.random.default_rng(0)
        >>> offsets = np.arange(0, 1001, 20)
        >>> sets = mercer.Ragged(rng.random((1000, 16)), offsets, rng.random((1000, 2)))
        >>> kernels.ProximityDistribution.for_data(sets, n_words=50, n_ranks=8)
        ProximityDistribution(<50 words of 16 features>, n_ranks=8)
        """
        _, words = learned_words(X, n_words, seed)
        return cls(words, n_ranks)

    def __repr__(self) -> str:
        n, n_features = self.words.shape
        return (
            f"ProximityDistribution(<{n} words of {n_features} features>, n_ranks={self.n_ranks})"
        )


def _by_pairs(
    words: Ids, near: Ids, n_words: int, n_ranks: int
) -> tuple[Ids, npt.NDArray[np.uint8]]:
    """Number the points of each pair of words by their ranks; near[p, r] is a word."""
    pairs = words[:, None] * n_words + near
    events = np.sort((pairs * n_ranks + np.arange(near.shape[1])).ravel())
    pairs, ranks = np.divmod(events, n_ranks)
    places = np.arange(len(pairs))
    begins = np.append(True, pairs[1:] != pairs[:-1])[: len(pairs)]
    units = places - np.maximum.accumulate(np.where(begins, places, 0))
    return units * n_words**2 + pairs, (n_ranks - ranks).astype(np.uint8)
