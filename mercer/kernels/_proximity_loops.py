"""The compiled loop that finds the nearest neighbours of points by position."""

import numpy as np
from numba import njit

from mercer.runtime.jit import cached_njit

# no fastmath: equal distances must come out equal, whichever way they are computed
STRICT = {"nogil": True, "error_model": "numpy"}


@njit(**STRICT)
def _insert(distance, word, distances, words, size):  # type: ignore[no-untyped-def]
    """Insert a point into the nearest so far, by distance and then by word; return their number."""
    if size == len(words):
        last = size - 1
        if (distance, word) >= (distances[last], words[last]):
            return size
    else:
        last = size
        size += 1
    while last > 0 and (distance, word) < (distances[last - 1], words[last - 1]):
        distances[last], words[last] = distances[last - 1], words[last - 1]
        last -= 1
    distances[last], words[last] = distance, word
    return size


@cached_njit(**STRICT)
def neighbours(words, positions, near):  # type: ignore[no-untyped-def]
    """Fill near[i] with the words of the points nearest to point i, the nearest first.

    Points are sorted by their first coordinate; from each point the loop goes both ways until
    this coordinate alone is too far. Of equally near points the smaller word comes first.
    """
    n, n_coordinates = positions.shape
    distances = np.empty(near.shape[1])
    for i in range(n):
        left, right, size = i - 1, i + 1, 0
        while left >= 0 or right < n:
            back = positions[i, 0] - positions[left, 0] if left >= 0 else np.inf
            ahead = positions[right, 0] - positions[i, 0] if right < n else np.inf
            gap = min(back, ahead)
            if size == near.shape[1] and gap * gap > distances[size - 1]:
                break
            j = left if back <= ahead else right
            left, right = (left - 1, right) if j == left else (left, right + 1)
            distance = 0.0
            for c in range(n_coordinates):
                distance += (positions[i, c] - positions[j, c]) ** 2
            size = _insert(distance, words[j], distances, near[i], size)
