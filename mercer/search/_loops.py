"""The compiled loops of searching."""

import numpy as np
from numba import njit

from mercer.runtime.jit import cached_njit
from mercer.runtime.machine import borrow, prefetch, reaching, trailing_zeros

STRIDE = 64  # bounds compared with the floor at a time
AHEAD = 8  # rows between prefetching and using a row
# sums may be taken in any order (the bounds allow for it), but infinity must stay infinity
OPTIONS = {"nogil": True, "fastmath": {"reassoc", "contract", "nsz"}, "error_model": "numpy"}


@njit(**OPTIONS)
def _hits(values, floor, found):  # type: ignore[no-untyped-def]
    """Write the places of the values that reach the floor; return how many."""
    n_found = 0
    whole = len(values) // STRIDE * STRIDE
    for start in range(0, whole, STRIDE):
        mask = reaching(values, start, floor)
        while mask != 0:
            found[n_found] = start + trailing_zeros(mask)
            n_found += 1
            mask &= mask - np.uint64(1)
    for place in range(whole, len(values)):
        found[n_found] = place
        n_found += values[place] >= floor
    return n_found


@njit(**OPTIONS)
def _dot(x, y):  # type: ignore[no-untyped-def]
    total = np.float32(0)
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@cached_njit(**OPTIONS)
def keep_reaching(  # type: ignore[no-untyped-def]
    tile, floors, first_row, Zq, Z, look_again, allowed, rows, bounds, counts
):
    """Append the rows whose bound reaches the floor, and their bounds, to each query's list.

    Column j of `tile` bounds row ``first_row + j``. With `look_again` the product of the whole
    vectors Zq and Z takes its place where it reaches the floor. An empty `allowed` allows every
    row; `counts` tells how long the lists are, and there must be room for the whole tile. Return
    how many values of the tile reach their floors.
    """
    total = 0
    found = np.empty(tile.shape[1] + 1, np.int64)
    for i in range(tile.shape[0]):
        values, q = borrow(tile, i), borrow(Zq, i)
        n_found = _hits(values, floors[i], found)
        total += n_found
        for t in range(n_found):
            row = first_row + found[t]
            bound = values[found[t]]
            if look_again:
                if t + AHEAD < n_found:
                    prefetch(Z, first_row + found[t + AHEAD])
                bound = _dot(q, borrow(Z, row))
            if bound >= floors[i] and (len(allowed) == 0 or allowed[row]):
                rows[i, counts[i]] = row
                bounds[i, counts[i]] = bound
                counts[i] += 1
    return total


@cached_njit(**OPTIONS)
def products(Zq, Z, rows, out):  # type: ignore[no-untyped-def]
    """Fill out[i, j] with the product of query i and row rows[i, j]; -1 is skipped."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            if j + AHEAD < rows.shape[1] and rows[i, j + AHEAD] >= 0:
                prefetch(Z, rows[i, j + AHEAD])
            if rows[i, j] >= 0:
                out[i, j] = _dot(borrow(Zq, i), borrow(Z, rows[i, j]))


@cached_njit(nogil=True)
def sort_lists(rows, bounds, counts, sorted_rows, sorted_bounds):  # type: ignore[no-untyped-def]
    """Copy each query's list, the largest bounds first; what lies beyond its end is kept."""
    for i in range(len(counts)):
        order = np.argsort(-bounds[i, : counts[i]])
        for j in range(counts[i]):
            sorted_rows[i, j] = rows[i, order[j]]
            sorted_bounds[i, j] = bounds[i, order[j]]
