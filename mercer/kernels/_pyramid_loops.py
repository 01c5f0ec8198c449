"""The compiled loops that make and intersect sparse histograms.

A histogram is a row of distinct bins and a row of counts. All rows of bins are stored in one
array, as are all rows of counts, and `offsets` gives where each row begins. The number of a bin,
shifted to the right by `down` bits, is the index of its coefficient.
"""

import numpy as np
from numba import njit

from mercer.runtime.jit import FAST, cached_njit
from mercer.runtime.machine import SPREAD, scattered

LEVEL_BITS = 58  # of the number of a uniform bin: the level is stored above them
ROOM = 8  # places in the table of a query for each of its bins: most lookups end at the first


@cached_njit(**FAST)
def grid(vectors, shifts, finest, bins):  # type: ignore[no-untyped-def]
    """Fill bins[i, l] with the bin of vector i on level l, whose bins have side finest·2^l.

    Halving whole numbers nests the bins exactly. A bin is identified by a hash of its coordinates.
    """
    n_features = vectors.shape[1]
    places = np.empty(n_features, np.int64)
    for i in range(vectors.shape[0]):
        for j in range(n_features):
            places[j] = np.int64(np.floor((vectors[i, j] + shifts[j]) / finest))
        for level in range(bins.shape[1]):
            word = np.uint64(level)
            for j in range(n_features):
                word = scattered((word + SPREAD) ^ np.uint64(places[j]))
                places[j] >>= 1
            low = word >> np.uint64(64 - LEVEL_BITS)
            bins[i, level] = np.int64((np.uint64(level) << np.uint64(LEVEL_BITS)) | low)


@cached_njit(**FAST)
def count(points, offsets, bins, counts, ends):  # type: ignore[no-untyped-def]
    """Fill bins, counts and ends with the histograms of sets; return how many bins there are.

    Row i of `points` holds the bins that point i lies in, or -1; set s begins at row offsets[s].
    """
    place = 0
    for s in range(len(offsets) - 1):
        found = np.sort(points[offsets[s] : offsets[s + 1]].ravel())
        first = np.searchsorted(found, 0)
        for i in range(first, len(found)):
            if i == first or found[i] != found[i - 1]:
                bins[place] = found[i]
                counts[place] = 0
                place += 1
            counts[place - 1] += 1
        ends[s + 1] = place
    return place


@njit(**FAST)
def _slot(number, n_bits):  # type: ignore[no-untyped-def]
    return np.int64((np.uint64(number) * SPREAD) >> np.uint64(64 - n_bits))


@njit(**FAST)
def _bits_for(n_bins):  # type: ignore[no-untyped-def]
    """Return the size of a table for `n_bins` bins, as the exponent of a power of 2."""
    n_bits = 4
    while (1 << n_bits) < ROOM * n_bins:
        n_bits += 1
    return n_bits


@njit(**FAST)
def _table_for(offsets):  # type: ignore[no-untyped-def]
    """Return a table that has room for the longest row."""
    longest = 0
    for i in range(len(offsets) - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    return np.empty(1 << _bits_for(longest), np.int32)


@njit(**FAST)
def _enter(X, i, table):  # type: ignore[no-untyped-def]
    """Enter the position of each bin of row i in a hash table, counted from 1; 0 marks a free slot.

    Return how many bits address the part of the table that is used.
    """
    offsets, bins, _ = X
    n_bits = _bits_for(offsets[i + 1] - offsets[i])
    last = (1 << n_bits) - 1
    table[: last + 1] = 0
    for a in range(offsets[i], offsets[i + 1]):
        slot = _slot(bins[a], n_bits)
        while table[slot] != 0:
            slot = (slot + 1) & last
        table[slot] = a - offsets[i] + 1
    return n_bits


@njit(**FAST)
def _intersect(X, i, table, n_bits, Y, j, coefficients, down):  # type: ignore[no-untyped-def]
    """Sum coefficient · min(count, count) over the bins that rows i and j share.

    Looking bins up in the table of row i takes half the time of merging two sorted rows.
    """
    _, x_bins, x_counts = X
    offsets, y_bins, y_counts = Y
    first, last = X[0][i] - 1, (1 << n_bits) - 1
    total = 0.0
    for b in range(offsets[j], offsets[j + 1]):
        slot = _slot(y_bins[b], n_bits)
        place = table[slot]
        while place != 0:
            a = first + place
            if x_bins[a] == y_bins[b]:
                shared = min(np.int64(x_counts[a]), np.int64(y_counts[b]))
                total += coefficients[np.int64(y_bins[b]) >> down] * shared
                break
            slot = (slot + 1) & last
            place = table[slot]
    return total


@cached_njit(**FAST)
def tile(X, Y, coefficients, down, out):  # type: ignore[no-untyped-def]
    """Fill out[i, j] with the weighted intersection of rows i of X and j of Y.

    X and Y are (offsets, bins, counts). Sums are in double precision.
    """
    table = _table_for(X[0])
    for i in range(out.shape[0]):
        n_bits = _enter(X, i, table)
        for j in range(out.shape[1]):
            out[i, j] = _intersect(X, i, table, n_bits, Y, j, coefficients, down)


@cached_njit(**FAST)
def gather(Q, X, ids, coefficients, down, out):  # type: ignore[no-untyped-def]
    """Fill out[i, j] with the intersection of rows i of Q and ids[i, j] of X; ids of -1 give 0."""
    table = _table_for(Q[0])
    for i in range(ids.shape[0]):
        n_bits = _enter(Q, i, table)
        for j in range(ids.shape[1]):
            row = ids[i, j]
            if row >= 0:
                out[i, j] = _intersect(Q, i, table, n_bits, X, row, coefficients, down)
            else:
                out[i, j] = 0


@cached_njit(**FAST)
def own(X, coefficients, down, out):  # type: ignore[no-untyped-def]
    """Fill out[i] with the intersection of row i with itself."""
    offsets, bins, counts = X
    for i in range(out.shape[0]):
        total = 0.0
        for a in range(offsets[i], offsets[i + 1]):
            total += coefficients[np.int64(bins[a]) >> down] * np.int64(counts[a])
        out[i] = total
