"""The compiled loops over blocks of vector similarities, cut into the sets they belong to.

A block holds the similarities of some vectors of one set, its rows, with vectors of many sets, its
columns. `starts` says where the sets of its columns begin and where the last one ends.
"""

import math

import numpy as np

from mercer.runtime.jit import FAST, cached_njit
from mercer.runtime.machine import borrow

# infinite values are kept as they are, so that they can be reported
FINITE_OR_NOT = FAST | {"fastmath": {"nnan", "nsz", "reassoc", "arcp", "contract"}}


@cached_njit(**FINITE_OR_NOT)
def add_sums(block, starts, sums):  # type: ignore[no-untyped-def]
    """Add the values of each set's columns to sums[set], in double precision."""
    for i in range(block.shape[0]):
        row = borrow(block, i)
        for s in range(sums.shape[0]):
            total = 0.0
            for j in range(starts[s], starts[s + 1]):
                total += row[j]
            sums[s] += total


@cached_njit(**FINITE_OR_NOT)
def keep_best(block, starts, first, best_of_rows, best_of_columns):  # type: ignore[no-untyped-def]
    """Raise best_of_rows[i, first + set] and best_of_columns[j] to the largest value seen."""
    for i in range(block.shape[0]):
        row = borrow(block, i)
        for s in range(starts.shape[0] - 1):
            best = best_of_rows[i, first + s]
            for j in range(starts[s], starts[s + 1]):
                best = max(best, row[j])
            best_of_rows[i, first + s] = best
        for j in range(row.shape[0]):
            best_of_columns[j] = max(best_of_columns[j], row[j])


@cached_njit(**FINITE_OR_NOT)
def to_matches(block, squares, places, others, other_places, weight):  # type: ignore[no-untyped-def]
    """Turn ⟨f, g⟩ into -(|f - g|² + weight |p - q|), in place.

    `squares` and `others` are |f|² and |g|²; `places` has the positions of the rows as rows, and
    `other_places` those of the columns as columns.
    """
    zero, two = block.dtype.type(0), block.dtype.type(2)
    apart = np.empty(block.shape[1], block.dtype)
    for i in range(block.shape[0]):
        row = borrow(block, i)
        apart[:] = zero
        for c in range(places.shape[1]):
            along = borrow(other_places, c)
            for j in range(apart.shape[0]):
                apart[j] += (along[j] - places[i, c]) * (along[j] - places[i, c])
        for j in range(row.shape[0]):
            # rounding may make a squared distance negative
            square = max(squares[i] + others[j] - two * row[j], zero)
            row[j] = -(square + weight * math.sqrt(apart[j]))
