"""The compiled loops that find the nearest center of vectors, alone or down a tree."""

from __future__ import annotations

import numpy as np
from numba import njit

from mercer.jit import cached_njit
from mercer.kernels._loops import FAST
from mercer.machine import borrow

__all__ = ["descend", "nearest"]


@njit(**FAST)
def _nearest(x, centers, start, stop):  # type: ignore[no-untyped-def]
    """Return which row of the centers from `start` to `stop` is nearest to x.

    By differences, not by inner products: nothing cancels far from the origin.
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
    """Fill out[i] with the nodes that vector i lies in, from the root down; -1 below a leaf.

    The children of a node n are rows children[n] to children[n + 1] of the centers.
    """
    for i in range(vectors.shape[0]):
        node = 0
        for level in range(out.shape[1]):
            out[i, level] = node
            if node >= 0:
                start, stop = children[node], children[node + 1]
                node = _nearest(borrow(vectors, i), centers, start, stop) if start < stop else -1
