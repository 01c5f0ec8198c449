"""The compiled loops over packed codes."""

from __future__ import annotations

import numpy as np

from mercer.jit import cached_njit
from mercer.machine import prefetch

__all__ = ["asymmetric_scores"]

AHEAD = 8  # codes between prefetching and using one
OPTIONS = {"nogil": True, "fastmath": {"reassoc", "contract", "nsz"}}


@cached_njit(**OPTIONS)
def asymmetric_scores(projections, codes, rows, out):  # type: ignore[no-untyped-def]
    """Fill out[i, j] with Σ_b ± projections[i, b], the signs being the bits of code rows[i, j].

    The sums of all 256 values of a byte are looked up. Rows of -1 are skipped.
    """
    n_bytes = codes.shape[1]
    table = np.empty((n_bytes, 256), np.float32)
    for i in range(rows.shape[0]):
        _fill_table(projections[i], table)
        for j in range(rows.shape[1]):
            if j + AHEAD < rows.shape[1] and rows[i, j + AHEAD] >= 0:
                prefetch(codes, rows[i, j + AHEAD])
            if rows[i, j] >= 0:
                total = np.float32(0)
                for byte in range(n_bytes):
                    total += table[byte, codes[rows[i, j], byte]]
                out[i, j] = total


@cached_njit(**OPTIONS)
def _fill_table(projection, table):  # type: ignore[no-untyped-def]
    """Fill table[b, v] with the sum of byte b of a projection under the signs of the bits of v."""
    n_bits = len(projection)
    for byte in range(table.shape[0]):
        table[byte, 0] = 0
        for bit in range(8 * byte, min(8 * byte + 8, n_bits)):
            table[byte, 0] -= projection[bit]
        for value in range(1, 256):
            lowest = value & -value  # the value without its lowest bit is known already
            place = 8 * byte + 7
            while lowest > 1:
                lowest >>= 1
                place -= 1
            added = 2 * projection[place] if place < n_bits else np.float32(0)
            table[byte, value] = table[byte, value & (value - 1)] + added
