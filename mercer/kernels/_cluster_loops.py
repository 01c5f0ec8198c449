"""The compiled loops that find the center nearest to each vector, in a list or down a tree."""

import numpy as np
from numba import njit

from mercer.runtime.jit import FAST, cached_njit
from mercer.runtime.machine import borrow


@njit(**FAST)
def _nearest(x, centers, start, stop):  # type: ignore[no-untyped-def]
    """Return the row, from `start` to `stop`, of the center nearest to x.

    Distances are sums of squared differences, so nothing cancels far from the origin.
    """
    best, least = start, np.float32(0)
    for j in range(start, stop):
        center = borrow(centers, j)
        total = np.float32(0)
        for i in range(x.shape[0]):
            total += (x[i] - center[i]) * (x[i] - center[i])
        if j == start or total < least:
            best, least = j, total
    return best


@cached_njit(**FAST)
def nearest(vectors, centers, out):  # type: ignore[no-untyped-def]
    """Fill out[i] with the row of the nearest center of vector i."""
    for i in range(vectors.shape[0]):
        out[i] = _nearest(borrow(vectors, i), centers, 0, centers.shape[0])


@cached_njit(**FAST)
def descend(vectors, centers, children, out):  # type: ignore[no-untyped-def]
    """Fill out[i] with the nodes that vector i lies in, from the first level on; -1 below a leaf.

    The children of node n are rows children[n + 1] to children[n + 2] of the centers; the first
    level is rows 0 to children[1].
    """
    for i in range(vectors.shape[0]):
        node, inside = -1, True
        for level in range(out.shape[1]):
            start, stop = children[node + 1], children[node + 2]
            inside = inside and start < stop
            if inside:
                node = _nearest(borrow(vectors, i), centers, start, stop)
            out[i, level] = node if inside else -1
