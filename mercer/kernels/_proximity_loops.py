"""The compiled loops of proximity distributions: who stands next to whom, and which words are."""

from __future__ import annotations

import numpy as np
from numba import njit

from mercer.jit import cached_njit

__all__ = ["RANK_BITS", "fill", "neighbours"]

RANK_BITS = 16  # of an event: the rank stands below the pair of words
PAIR_SHIFT = 32  # of a bin: which event of a pair it is stands below the pair
OPTIONS = {"nogil": True, "error_model": "numpy"}  # no fastmath: ties are decided by equality


@njit(**OPTIONS)
def _keep_nearest(places, i, start, stop, near, gaps):  # type: ignore[no-untyped-def]
    """Fill the rows nearest to row i, without itself, nearest first; return how many.

    Of rows equally far the first comes first: they are met in this order, and only a nearer one
    takes a place.
    """
    n = 0
    for j in range(start, stop):
        gap = 0.0
        for c in range(places.shape[1]):
            gap += (places[i, c] - places[j, c]) ** 2
        if j == i or (n == len(near) and gap >= gaps[n - 1]):
            continue
        place = min(n, len(near) - 1)
        while place > 0 and gaps[place - 1] > gap:
            near[place], gaps[place] = near[place - 1], gaps[place - 1]
            place -= 1
        near[place], gaps[place] = j, gap
        n = min(n + 1, len(near))
    return n


@cached_njit(**OPTIONS)
def neighbours(offsets, n_ranks):  # type: ignore[no-untyped-def]
    """Return how many neighbours all points of all sets have, counted up to n_ranks each."""
    total = 0
    for s in range(len(offsets) - 1):
        size = offsets[s + 1] - offsets[s]
        total += size * min(n_ranks, max(size - 1, 0))
    return total


@cached_njit(**OPTIONS)
def fill(words, places, offsets, n_words, n_ranks, bins, counts, ends):  # type: ignore[no-untyped-def]
    """Fill bins, counts and ends with the proximity distributions of sets.

    An event is a point with a word and the word of its r-th neighbour. The bin of the k-th of all
    events of a pair of words, by rank, counts n_ranks + 1 - r.
    """
    near, gaps = np.empty(n_ranks, np.int64), np.empty(n_ranks)
    first = 0
    for s in range(len(offsets) - 1):
        n = first
        for i in range(offsets[s], offsets[s + 1]):
            n_near = _keep_nearest(places, i, offsets[s], offsets[s + 1], near, gaps)
            for rank in range(n_near):
                pair = words[i] * n_words + words[near[rank]]
                bins[n] = (pair << RANK_BITS) | (rank + 1)
                n += 1
        events = np.sort(bins[first:n])
        k = 0
        for e in range(len(events)):
            pair = events[e] >> RANK_BITS
            k = k + 1 if e > 0 and pair == events[e - 1] >> RANK_BITS else 0
            bins[first + e] = (pair << PAIR_SHIFT) | k
            counts[first + e] = n_ranks + 1 - (events[e] & ((1 << RANK_BITS) - 1))
        first = n
        ends[s + 1] = n
