"""The compiled loops over pairs of packed bits."""

import numpy as np
from numba import njit

from mercer.kernels._loops import AHEAD
from mercer.runtime.jit import FAST, cached_njit
from mercer.runtime.machine import borrow, popcount, prefetch


@cached_njit(**FAST)
def count(X, out):  # type: ignore[no-untyped-def]
    """Fill out[i] with the number of bits set in row i."""
    for i in range(X.shape[0]):
        total = np.uint64(0)
        for word in range(X.shape[1]):
            total += popcount(X[i, word])
        out[i] = total


@njit(**FAST)
def _common(x, y):  # type: ignore[no-untyped-def]
    """Return |x∩y|."""
    total = np.uint64(0)
    for word in range(x.shape[0]):
        total += popcount(x[word] & y[word])
    return total


@njit(**FAST)
def _tversky(common, n_x, n_y, a, b, one):  # type: ignore[no-untyped-def]
    """Return |x∩y| / (|x∩y| + a |x-y| + b |y-x|); 1 for two empty sets."""
    below = common + a * (n_x - common) + b * (n_y - common)
    return common / below if below > 0 else one


@cached_njit(**FAST)
def tile(X, n_X, Y, n_Y, a, b, out):  # type: ignore[no-untyped-def]
    """Fill out[i, j] with the similarity of X[i] and Y[j]; n_X, n_Y: bits set in each row."""
    one = out.dtype.type(1)
    for i in range(X.shape[0]):
        for j in range(Y.shape[0]):
            common = out.dtype.type(_common(borrow(X, i), borrow(Y, j)))
            out[i, j] = _tversky(common, n_X[i], n_Y[j], a, b, one)


@cached_njit(**FAST)
def gather(Q, n_Q, X, n_X, ids, a, b, out):  # type: ignore[no-untyped-def]
    """Fill out[i, j] with the similarity of Q[i] and X[ids[i, j]]; ids of -1 give 0."""
    one = out.dtype.type(1)
    n_ids = ids.shape[1]
    for i in range(Q.shape[0]):
        for j in range(n_ids):
            if j + AHEAD < n_ids and ids[i, j + AHEAD] >= 0:
                prefetch(X, ids[i, j + AHEAD])
            row = ids[i, j]
            if row >= 0:
                common = out.dtype.type(_common(borrow(Q, i), borrow(X, row)))
                out[i, j] = _tversky(common, n_Q[i], n_X[row], a, b, one)
            else:
                out[i, j] = 0
