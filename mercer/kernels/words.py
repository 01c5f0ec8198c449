"""Pyramids over visual words: what the kernels of words and positions share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mercer import items
from mercer.arrays import Array, Ids
from mercer.errors import InputError
from mercer.kernels.clusters import k_means, nearest
from mercer.kernels.pyramids import Pyramid
from mercer.ragged import Ragged

__all__ = ["OfWords", "learn_words"]

MOST_WORDS = 1 << 15  # two of them and a number fit in one word of the machine
SAMPLE = 50_000  # vectors that words are learned from


class OfWords(Pyramid):
    """A pyramid of sets whose vectors are known by their word and their position.

    A subclass has `words`, shape (n_words, n_features), as a parameter; the word of a vector is
    the nearest of them.
    """

    words: npt.NDArray[np.float32]

    def _validate(self) -> None:
        super()._validate()
        words = self.words
        if words.ndim != 2 or not 0 < len(words) <= MOST_WORDS or not np.isfinite(words).all():
            raise InputError(
                f"{self.label}: words have shape {words.shape}. Pass 1 to {MOST_WORDS:,} finite "
                f"vectors, one a row, or use {self.label}.for_data(X)."
            )

    def _words_of(self, X: Ragged) -> Ids:
        """Return the word of every vector."""
        width = self.words.shape[1]
        if len(X.values) and X.values.shape[1] != width:
            raise InputError(
                f"{self.label}: vectors have {X.values.shape[1]} features but the words have "
                f"{width}. Pass sets from the source that the words were learned from."
            )
        return nearest(X.values, self.words) if len(X.values) else np.empty(0, np.int64)

    def _places_of(self, X: Ragged) -> npt.NDArray[np.float64]:
        """Return the position of every vector."""
        if X.positions is None and len(X.values):
            raise InputError(
                f"{self.label}: the sets have no positions. Pass mercer.Ragged(values, offsets, "
                "positions)."
            )
        places: Array = np.empty((0, 1)) if X.positions is None else X.positions
        return np.asarray(places, np.float64)


def learn_words(
    X: Any, n_words: int, seed: int, where: str
) -> tuple[Ragged, npt.NDArray[np.float32]]:
    """Return checked sets, and the words of a random sample of their vectors (k-means)."""
    sets: Ragged = items.check(X, "sets", where=where)
    n = len(sets.values)
    if not n:
        raise InputError(f"{where}: all sets are empty. Pass at least one vector.")
    rows = np.random.default_rng(seed).permutation(n)[:SAMPLE]
    return sets, k_means(sets.values[np.sort(rows)], n_words, seed)
