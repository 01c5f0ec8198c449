"""The compiled loops that settle a ranking in double precision."""

import math

import numpy as np

from mercer.runtime.jit import cached_njit
from mercer.runtime.topk import is_worse


@cached_njit(nogil=True)
def contenders(ids, scores, margins, k):  # type: ignore[no-untyped-def]
    """Return the ids whose score is within the margin of the k-th, -1 beside them, best first.

    Both come with the best first. There are k columns, and more where a query needs them.
    """
    n, most = ids.shape
    width = k
    for i in range(n):
        while width < most and scores[i, width] >= scores[i, k - 1] - margins[i]:
            width += 1
    kept = np.full((n, width), -1, np.int64)
    for i in range(n):
        for j in range(width):
            if scores[i, j] >= scores[i, k - 1] - margins[i]:
                kept[i, j] = ids[i, j]
    return kept


@cached_njit(nogil=True)
def keep_values(rows, single, double, slack, scores):  # type: ignore[no-untyped-def]
    """Copy the values of rows to their scores; return the place of the first odd one, or -1.

    Rows of -1 are skipped. A value is odd that differs from the `single` one by more than `slack`.
    """
    odd = -1
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            if rows[i, j] >= 0:
                scores[i, j] = double[i, j]
                if odd < 0 and abs(single[i, j] - double[i, j]) > slack[i, j]:
                    odd = i * rows.shape[1] + j
    return odd


@cached_njit(nogil=True)
def settled(ids, scores, squares, k):  # type: ignore[no-untyped-def]
    """Return the k best ids of each query, their scores and distances.

    The larger score comes first, then the smaller id; -1 has the score of minus infinity.
    `squares` has k(q, q) + k(x, x).
    """
    n, width = ids.shape
    best_ids = np.full((n, k), -1, np.int64)
    best_scores, distances = np.full((n, k), -np.inf), np.full((n, k), np.inf)
    order = np.empty(width, np.int64)
    for i in range(n):
        n_found = 0
        for j in range(width):
            if ids[i, j] < 0:
                continue
            place = n_found
            while place > 0 and is_worse(
                scores[i], ids[i], order[place - 1], scores[i, j], ids[i, j]
            ):
                order[place] = order[place - 1]
                place -= 1
            order[place] = j
            n_found += 1
        for place in range(min(k, n_found)):
            j = order[place]
            best_ids[i, place], best_scores[i, place] = ids[i, j], scores[i, j]
            distances[i, place] = math.sqrt(max(squares[i, j] - 2 * scores[i, j], 0.0))
    return best_ids, best_scores, distances


@cached_njit(nogil=True)
def drop_known(rows, known):  # type: ignore[no-untyped-def]
    """Set to -1, in place, what is among the known rows of its query; those must increase."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            low, high = 0, known.shape[1]
            while low < high:
                middle = (low + high) // 2
                if known[i, middle] < rows[i, j]:
                    low = middle + 1
                else:
                    high = middle
            if low < known.shape[1] and known[i, low] == rows[i, j]:
                rows[i, j] = -1


@cached_njit(nogil=True)
def keep_most_promising(rows, values, ends, n, following):  # type: ignore[no-untyped-def]
    """Keep the n largest values of each query over several lists, and set the other rows to -1.

    The lists stand side by side, each decreasing; `ends` says where each ends. `following` gets
    the largest value that was left out. Of equal values, those of the first list come first.
    """
    n_lists = len(ends)
    heads = np.empty(n_lists, np.int64)
    for i in range(rows.shape[0]):
        heads[0] = 0
        for one in range(1, n_lists):
            heads[one] = ends[one - 1]
        for kept in range(n + 1):
            best = -1
            for one in range(n_lists):
                if heads[one] < ends[one] and (
                    best < 0 or values[i, heads[one]] > values[i, heads[best]]
                ):
                    best = one
            if best < 0:
                break
            if kept < n:
                heads[best] += 1
            else:
                following[i] = values[i, heads[best]]
        for one in range(n_lists):
            rows[i, heads[one] : ends[one]] = -1
