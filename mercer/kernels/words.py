"""What kernels of words and positions share: words learned from vectors, and where they stand."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mercer import items
from mercer.errors import InputError
from mercer.items.ragged import Ragged
from mercer.kernels.clusters import k_means, nearest
from mercer.runtime.arrays import Array, Ids
from mercer.runtime.params import check_count

__all__ = ["check_words", "learned_words", "positions_of", "words_of"]

VECTORS_A_WORD = 256  # that words are learned from, at most


def learned_words(X: Any, n_words: int, seed: int, where: str) -> tuple[Ragged, Array]:
    """Return checked sets with positions, and words learned from their vectors by k-means."""
    sets = items.check(X, "sets", where=where)
    check_count(where, "n_words", n_words)
    positions_of(sets, where)
    if not len(sets.values):
        raise InputError(f"{where}: all sets are empty. Pass sets of vectors.")
    chosen = np.random.default_rng(seed).permutation(len(sets.values))
    return sets, k_means(
        sets.values[np.sort(chosen[: VECTORS_A_WORD * n_words])], n_words, seed
    )  # fmt: skip


def check_words(label: str, words: npt.NDArray[np.float32]) -> None:
    """Raise InputError unless words are a matrix of finite numbers."""
    if words.ndim != 2 or not words.size or not np.isfinite(words).all():
        raise InputError(
            f"{label}: words have shape {words.shape}. Pass finite numbers, one row a word, or use "
            f"{label}.for_data(X)."
        )


def words_of(X: Ragged, words: npt.NDArray[np.float32], label: str) -> Ids:
    """Return the nearest word of every vector."""
    if len(X.values) and X.values.shape[1] != words.shape[1]:
        raise InputError(
            f"{label}: vectors have {X.values.shape[1]} features but the words {words.shape[1]}. "
            "Pass sets from the source that the words were learned from."
        )
    return nearest(X.values, words) if len(X.values) else np.empty(0, np.int64)


def positions_of(X: Ragged, label: str, n_coordinates: int | None = None) -> Array:
    """Return where the vectors of checked sets stand, or say what is wrong with that."""
    if X.positions is None:
        raise InputError(
            f"{label}: the sets have no positions. Pass mercer.Ragged(values, offsets, positions)."
        )
    found = np.asarray(X.positions, np.float64)
    width = found.shape[1] if found.ndim == 2 else 0
    if width == 0 or n_coordinates not in (None, width):
        wanted = "n_coordinates" if n_coordinates is None else n_coordinates
        raise InputError(
            f"{label}: positions have shape {found.shape}. Pass one row a vector: "
            f"(n_vectors, {wanted})."
        )
    return found
