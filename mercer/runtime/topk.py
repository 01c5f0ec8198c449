"""Keep and merge the k best items.

The order is total: larger scores first and, where scores are equal, smaller rows. So the
answer depends neither on the number of threads nor on how the rows were cut into blocks.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mercer.runtime.arrays import Ids
from mercer.runtime.jit import cached_njit
from mercer.runtime.machine import borrow, reaching, trailing_zeros

STRIDE = 64  # scores compared at a time with the worst one kept

Best = tuple[Ids, npt.NDArray[np.floating]]


def empty(n_queries: int, k: int, dtype: npt.DTypeLike = np.float32) -> Best:
    """Return empty heaps: ids of -1 and scores of minus infinity."""
    ids, scores = np.empty((n_queries, k), np.int64), np.empty((n_queries, k), dtype)
    ids.fill(-1)
    scores.fill(-np.inf)
    return ids, scores


@cached_njit(nogil=True)
def update(ids, scores, tile, first_row):  # type: ignore[no-untyped-def]
    """Offer a tile of scores, shape (n_queries, n_rows), to the heaps of `empty`, in place.

    Each row of `ids` and `scores` is a heap whose root is the worst item kept. Column j of the
    tile is row ``first_row + j``.
    """
    n_rows = tile.shape[1]
    for query in range(tile.shape[0]):
        row = borrow(tile, query)
        best_ids, best_scores = borrow(ids, query), borrow(scores, query)
        for start in range(0, n_rows // STRIDE * STRIDE, STRIDE):
            mask = reaching(row, start, best_scores[0])  # 0 for most of the tile
            while mask != 0:
                column = start + trailing_zeros(mask)
                _offer(best_ids, best_scores, first_row + column, row[column])
                mask &= mask - np.uint64(1)
        for column in range(n_rows // STRIDE * STRIDE, n_rows):
            _offer(best_ids, best_scores, first_row + column, row[column])


@cached_njit(nogil=True)
def offer(ids, scores, new_ids, new_scores):  # type: ignore[no-untyped-def]
    """Offer ids and scores, of shape (n_queries, n), to the heaps of `empty`; -1 is skipped."""
    for query in range(new_ids.shape[0]):
        best_ids, best_scores = borrow(ids, query), borrow(scores, query)
        for place in range(new_ids.shape[1]):
            if new_ids[query, place] >= 0:
                _offer(best_ids, best_scores, new_ids[query, place], new_scores[query, place])


@cached_njit(nogil=True)
def insert(ids, scores, rows, new_scores, first_row, n_offered):  # type: ignore[no-untyped-def]
    """Insert rows ``first_row + rows`` into lists that are sorted best first, in place.

    Faster than `offer` where candidates are nearly sorted, best first. Rows of -1 are skipped; the
    number of others is added to `n_offered` of each query.
    """
    for query in range(rows.shape[0]):
        best_ids, best_scores = borrow(ids, query), borrow(scores, query)
        last = len(best_ids) - 1
        for column in range(rows.shape[1]):
            if rows[query, column] < 0:
                continue
            n_offered[query] += 1
            row, score = first_row + rows[query, column], new_scores[query, column]
            if not is_worse(best_scores, best_ids, last, score, row):
                continue
            place = last
            while place > 0 and is_worse(best_scores, best_ids, place - 1, score, row):
                best_ids[place], best_scores[place] = best_ids[place - 1], best_scores[place - 1]
                place -= 1
            best_ids[place], best_scores[place] = row, score


@cached_njit(nogil=True)
def _offer(ids, scores, row, score):  # type: ignore[no-untyped-def]
    """Replace the root with an item, if the root is worse, and let the item sink to its place."""
    if not is_worse(scores, ids, 0, score, row):
        return
    k = len(ids)
    place = 0
    while True:
        child = 2 * place + 1
        if child >= k:
            break
        if child + 1 < k and is_worse(scores, ids, child + 1, scores[child], ids[child]):
            child += 1
        if not is_worse(scores, ids, child, score, row):
            break
        ids[place], scores[place] = ids[child], scores[child]
        place = child
    ids[place], scores[place] = row, score


@cached_njit(nogil=True)
def is_worse(scores, ids, place, score, row):  # type: ignore[no-untyped-def]
    """Whether the item at `place` ranks behind (score, row)."""
    return scores[place] < score or (scores[place] == score and ids[place] > row)


def ordered(ids: Ids, scores: npt.NDArray[np.floating]) -> Best:
    """Return ids and scores sorted best first."""
    order = np.lexsort((ids, -scores), axis=-1)
    return np.take_along_axis(ids, order, 1), np.take_along_axis(scores, order, 1)


def merge(parts: Sequence[Best], k: int) -> Best:
    """Return the k best of several answers to the same queries, best first."""
    ids = np.concatenate([part[0] for part in parts], axis=1)
    scores = np.concatenate([part[1] for part in parts], axis=1)
    best_ids, best_scores = ordered(ids, scores)
    return best_ids[:, :k], best_scores[:, :k]
