"""The compiled loops of searching."""

import math

import numpy as np
from numba import njit

from mercer.runtime.jit import cached_njit
from mercer.runtime.machine import borrow, prefetch, reaching, trailing_zeros

STRIDE = 64  # bounds compared at a time with the floor
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

    Column j of `tile` bounds row ``first_row + j``. With `look_again`, a bound that reaches the
    floor is replaced by the product of the whole vectors Zq and Z. An empty `allowed` allows every
    row; `counts` has the lengths of the lists, which must have room for the whole tile. Return
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
    """Copy each query's list, the largest bounds first; places beyond its end do not change."""
    for i in range(len(counts)):
        order = np.argsort(-bounds[i, : counts[i]])
        for j in range(counts[i]):
            sorted_rows[i, j] = rows[i, order[j]]
            sorted_bounds[i, j] = bounds[i, order[j]]


@cached_njit(nogil=True)
def encode_queries(  # type: ignore[no-untyped-def]
    Zq, n_head, lost, least, step, middle, longest, largest, rounding, codes, factors
):
    """Fill in the bytes of queries and the factors of their bounds (theory: heads).

    `lost` has the residuals of the heads, `longest` the norms max |c - m| and max |e|, `largest`
    the largest first component and residual of all rows.
    """
    for i in range(Zq.shape[0]):
        tau = 0.0
        for j in range(1, n_head):
            tau = max(tau, abs(Zq[i, j] * step[j - 1]) / 127)
        tau = tau if tau > 0 else 1.0
        constant, squares, rests, sizes = 0.0, 0.0, 0.0, 0.0
        for j in range(1, n_head):
            z = np.float64(Zq[i, j])
            code = np.rint(z * step[j - 1] / tau)
            rest = z * step[j - 1] - tau * code
            constant += z * least[j - 1] + rest * middle[j - 1]
            squares += z * z
            rests += rest * rest
            sizes += abs(code)
            codes[i, j - 1] = np.int8(code)
        up = 1 + 1e-12
        constant += up * (math.sqrt(rests) * longest[0] + math.sqrt(squares) * longest[1])
        size = 255 * tau * sizes + abs(constant)
        size += abs(Zq[i, 0]) * largest[0] + lost[i] * largest[1]
        factors[i, 0], factors[i, 1] = tau, constant + rounding * size
        factors[i, 2], factors[i, 3] = Zq[i, 0], lost[i]
