"""Words learned from vectors, and their positions, for the kernels that compare both."""

from typing import Any

import numpy as np
import numpy.typing as npt

from mercer import items
from mercer.errors import InputError
from mercer.items.ragged import Ragged
from mercer.kernels.clusters import k_means, nearest
from mercer.kernels.sampling import sampled
from mercer.runtime.arrays import Array, Ids
from mercer.runtime.params import check_count

VECTORS_A_WORD = 256  # vectors per word to learn from, at most


def learned_words(X: Any, n_words: int, seed: int) -> tuple[Ragged, Array]:
    """Return checked sets with positions, and words learned from their vectors by k-means."""
    sets = items.check(X, "sets")
    check_count("n_words", n_words)
    positions_of(sets)
    if not len(sets.values):
        raise InputError("all sets are empty. Pass sets of vectors.")
    return sets, k_means(sampled(sets.values, seed, VECTORS_A_WORD * n_words), n_words, seed)


def check_words(label: str, words: npt.NDArray[np.float32]) -> None:
    """Raise InputError unless words are a matrix of finite numbers."""
    if words.ndim != 2 or not words.size or not np.isfinite(words).all():
        raise InputError(
            f"{label}: words have shape {words.shape}. Pass finite numbers, one row a word, or use "
            f"{label}.for_data(X)."
        )


def words_of(X: Ragged, words: npt.NDArray[np.float32]) -> Ids:
    """Return the nearest word of every vector."""
    if len(X.values) and X.values.shape[1] != words.shape[1]:
        raise InputError(
            f"vectors have {X.values.shape[1]} features but the words {words.shape[1]}. "
            "Pass sets from the source that the words were learned from."
        )
    return nearest(X.values, words) if len(X.values) else np.empty(0, np.int64)


def positions_of(X: Ragged, n_coordinates: int | None = None) -> Array:
    """Return the positions of the vectors of checked sets, or raise InputError."""
    if X.positions is None:
        raise InputError(
            "the sets have no positions. Pass mercer.Ragged(values, offsets, positions)."
        )
    found = np.asarray(X.positions, np.float64)
    width = found.shape[1] if found.ndim == 2 else 0
    if width == 0 or n_coordinates not in (None, width):
        wanted = "n_coordinates" if n_coordinates is None else n_coordinates
        raise InputError(
            f"positions have shape {found.shape}. Pass one row a vector: (n_vectors, {wanted})."
        )
    return found
