"""The nearest of some rows by all their decoded vectors: filters that leave few rows."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mercer import parallel, topk
from mercer.arrays import Ids
from mercer.search.base import Candidates, Floats, Mask

__all__ = ["allowed_rows", "nearest"]

TILE = 4096  # rows decoded at a time
PAIRS = 5000  # a search among n rows costs as much as decoding this many, of all n allowed


def allowed_rows(n_rows: int, n: int, allowed: Mask | None) -> Ids | None:
    """Return the rows to compare one by one, or None where a search is cheaper.

    A search has to look at more rows the fewer are allowed, so that it costs as much as
    comparing √(5000 n_rows). Where all that are allowed are asked for, nothing is left to search.
    """
    n_allowed = n_rows if allowed is None else int(np.count_nonzero(allowed))
    if n_allowed > max(n, math.sqrt(PAIRS * n_rows)):
        return None
    return np.arange(n_rows) if allowed is None else np.flatnonzero(allowed)


def nearest(Zq: Floats, rows: Ids, decode: Callable[[Ids], Floats], n: int) -> Candidates:
    """Return the n nearest of the given rows for each query, by minus the squared distance.

    Parameters
    ----------
    Zq : ndarray of float32, shape (n_queries, d)
        Query vectors.
    rows : ndarray of int64
        Which rows, increasing.
    decode : callable
        Returns the vectors of rows, shape (len(rows), d).
    n : int
        How many at most.
    """
    ids, values = topk.empty(len(Zq), min(n, len(rows)))
    lengths = np.einsum("ij,ij->i", Zq, Zq)[:, None]
    for span in parallel.spans(len(rows) if ids.size else 0, TILE):
        Z = decode(rows[span])
        tile = 2 * (Zq @ Z.T)
        tile -= np.einsum("ij,ij->i", Z, Z)
        tile -= lengths
        topk.update(ids, values, np.ascontiguousarray(tile), span.start)
    places, values = topk.ordered(ids, values)
    return Candidates(rows[places] if places.size else places, values.astype(np.float32))
