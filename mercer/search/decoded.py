"""Compare rows one by one, by their decoded vectors: for filters that leave few rows."""

import math
from collections.abc import Callable

import numpy as np

from mercer.runtime import parallel, topk
from mercer.runtime.arrays import Ids
from mercer.search.base import Allowed, Candidates, Floats

TILE = 4096  # rows decoded at a time
PAIRS = 5000  # a search costs as much as decoding this many rows, if all rows are allowed


def compared_one_by_one(n_rows: int, n_queries: int, n: int, allowed: Allowed | None) -> Ids | None:
    """Return the rows to compare one by one, or None where a search is cheaper.

    The fewer rows are allowed, the more of them a search has to look at. The costs are equal at
    √(5000 n_rows) allowed rows for many queries, which share the decoding, and at a tenth of that
    for one. If at most n rows are allowed, there is nothing to search.
    """
    if allowed is None:
        return np.arange(n_rows) if n_rows <= n else None
    shared = min(1.0, (1 + n_queries / 32) / 9)
    few = len(allowed) <= max(n, shared * math.sqrt(PAIRS * n_rows))
    return allowed.rows if few else None


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
        How many rows at most.
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
