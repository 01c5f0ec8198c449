"""The compiled loops over packed codes, and the choice of lists that a query scans."""

import numpy as np
from numba import njit

from mercer.runtime.jit import cached_njit
from mercer.runtime.machine import borrow, prefetch

AHEAD = 8  # codes between prefetching and using one
OPTIONS = {"nogil": True, "fastmath": {"reassoc", "contract", "nsz"}}


@cached_njit(nogil=True)
def lay_out(projections, weights, turned):  # type: ignore[no-untyped-def]
    """Copy projections with zeros up to the last bit of the last byte, in two orders.

    In `turned` the halves of each byte are swapped: faiss puts the first quantiser into the low
    half of a byte, and numpy the first bits into the high one.
    """
    n_bits = projections.shape[1]
    for i in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            weights[i, j] = projections[i, j] if j < n_bits else 0
            turned[i, j ^ 4] = weights[i, j]


@cached_njit(**OPTIONS)
def asymmetric_scores(weights, codes, rows, out):  # type: ignore[no-untyped-def]
    """Fill out[i, j] with Σ_b ± weights[i, b], the signs being the bits of code rows[i, j].

    `weights` has eight columns for each byte of a code. Rows of -1 are skipped.
    """
    table = np.empty((codes.shape[1], 256), np.float32)
    for i in range(rows.shape[0]):
        fill_table(weights[i], table)
        for j in range(rows.shape[1]):
            if j + AHEAD < rows.shape[1] and rows[i, j + AHEAD] >= 0:
                prefetch(codes, rows[i, j + AHEAD])
            if rows[i, j] >= 0:
                total = np.float32(0)
                for byte in range(codes.shape[1]):
                    total += table[byte, codes[rows[i, j], byte]]
                out[i, j] = total


@njit(**OPTIONS)
def fill_table(weights, table):  # type: ignore[no-untyped-def]
    """Fill table[b, v] with the sum of the weights of byte b, signed by the bits of v."""
    for byte in range(table.shape[0]):
        table[byte, 0] = 0
        for bit in range(8):  # from the lowest one: each bit doubles the part that is filled
            weight, known = weights[8 * byte + 7 - bit], 1 << bit
            for value in range(known):
                table[byte, known + value] = table[byte, value] + weight
                table[byte, value] -= weight


@cached_njit(nogil=True, fastmath={"reassoc", "nsz"})
def choose_lists(distances, reach, chosen):  # type: ignore[no-untyped-def]
    """Write the lists that are at most `reach` farther than the nearest into rows of `chosen`.

    Both have one column for each list. Rows are filled from the left, and the rest is -1.
    """
    for i in range(distances.shape[0]):
        row, lists = borrow(distances, i), borrow(chosen, i)
        least = row[0]
        for j in range(len(row)):
            least = min(least, row[j])
        n_chosen = 0
        for j in range(len(row)):
            lists[j] = -1  # in this loop, while its place is in the cache
            if row[j] <= least + reach:
                lists[n_chosen] = j
                n_chosen += 1


@cached_njit(nogil=True)
def negate(distances, rows):  # type: ignore[no-untyped-def]
    """Turn distances into values, in place: minus them, and minus infinity for rows of -1."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            distances[i, j] = -distances[i, j] if rows[i, j] >= 0 else -np.inf
