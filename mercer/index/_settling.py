"""The compiled loops that settle a ranking in double precision.

They fill arrays passed to them: returning one takes numba longer than settling a query.
"""

import math

import numpy as np

from mercer.runtime.jit import cached_njit
from mercer.runtime.topk import is_worse


@cached_njit(nogil=True)
def contenders(ids, scores, margins, k, kept):  # type: ignore[no-untyped-def]
    """Keep the ids whose score is at most twice the margin below the k-th; -1 for others.

    Ids and scores are sorted best first.
    """
    for i in range(ids.shape[0]):
        floor = scores[i, k - 1] - 2 * margins[i]
        for j in range(ids.shape[1]):
            kept[i, j] = ids[i, j] if scores[i, j] >= floor else -1


@cached_njit(nogil=True)
def find_rows(ids, first, n, rows):  # type: ignore[no-untyped-def]
    """Fill in which of the n rows from `first` on each id is; -1 for other ids."""
    for i in range(ids.shape[0]):
        for j in range(ids.shape[1]):
            row = ids[i, j] - first
            rows[i, j] = row if ids[i, j] >= 0 and 0 <= row < n else -1


@cached_njit(nogil=True)
def keep_values(  # type: ignore[no-untyped-def]
    rows, single, double, queries_diag, rows_diag, tolerance, tiny, scores, diag
):
    """Copy the values of rows to their scores, and their k(x, x) to `diag`; -1 is skipped.

    Return the place of the first value that differs from the `single` one by more than
    `tolerance` allows, or -1.
    """
    odd = -1
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            if rows[i, j] < 0:
                continue
            value, diag[i, j] = double[i, j], rows_diag[rows[i, j]]
            scores[i, j] = value
            scale = max(math.sqrt(abs(queries_diag[i] * diag[i, j])), abs(value))
            if odd < 0 and abs(single[i, j] - value) > tolerance * scale + tiny:
                odd = i * rows.shape[1] + j
    return odd


@cached_njit(nogil=True)
def bound_errors(diag, worst_scale, usual_scale, tiny, root, worst, usual):  # type: ignore[no-untyped-def]
    """Fill in √k(q, q), and the rounding of items of any and of usual length."""
    for i in range(len(diag)):
        root[i] = math.sqrt(max(diag[i], 0.0))
        worst[i] = worst_scale * root[i] + tiny
        usual[i] = usual_scale * root[i]


@cached_njit(nogil=True)
def outside_bounds(  # type: ignore[no-untyped-def]
    rows,
    scores,
    bounds,
    residuals,
    queries_residuals,
    diag,
    root,
    tolerance,
    rounding,
    relaxed,
    tiny,
):
    """Return the place of the first score that violates |k - z·z| ≤ R R', or -1.

    `bounds` are z·z plus the share `relaxed` of R R', and allow for their own rounding.
    """
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            if rows[i, j] < 0:
                continue
            residual = np.float64(residuals[i, j]) * queries_residuals[i]
            scale = root[i] * math.sqrt(max(diag[i, j], 0.0))
            slack = tolerance * scale + tiny
            above = scores[i, j] - (bounds[i, j] + (1 - relaxed) * residual)
            if above > slack or above < -(2 * residual + rounding * scale + slack):
                return i * rows.shape[1] + j
    return -1


@cached_njit(nogil=True)
def judge(  # type: ignore[no-untyped-def]
    listed, scores, proven, margins, allowed, root, rounding, unit, tolerance
):
    """State the tolerance of the k best of each query (theory: settling).

    `listed` has the float32 scores of whole lists, `scores` those of the k best in double
    precision. A row that fell out of a list may exceed the last of the best because of rounding,
    the `margins`; the tolerance covers this up to what is `allowed`. It also covers the `rounding`
    of two values in double precision, a share of `root`, and that of the last one to float32.
    Lists that are not full lost no row. Return whether, for a `proven` answer, some row may exceed
    the last one by more than is allowed.
    """
    doubtful = False
    for i in range(listed.shape[0]):
        fallen, last = listed[i, -1], scores[i, -1]
        above = fallen + margins[i] - last if math.isfinite(fallen) else 0.0
        doubtful |= proven[i] and above > allowed[i]
        rounded = 2 * rounding * root[i] + (unit * abs(last) if math.isfinite(last) else 0.0)
        tolerance[i] = max(rounded, min(above, allowed[i]))
    return doubtful


@cached_njit(nogil=True)
def keep_best(  # type: ignore[no-untyped-def]
    ids, scores, queries_diag, diag, best_ids, best_scores, distances
):
    """Keep the best ids of each query, with their scores and distances.

    The larger score comes first, then the smaller id; -1 has the score of minus infinity.
    `diag` has the k(x, x) of each.
    """
    (n, width), k = ids.shape, best_ids.shape[1]
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
        for place in range(k):
            if place >= n_found:
                best_ids[i, place] = -1
                best_scores[i, place], distances[i, place] = -np.inf, np.inf
                continue
            j = order[place]
            best_ids[i, place], best_scores[i, place] = ids[i, j], scores[i, j]
            square = queries_diag[i] + diag[i, j] - 2 * scores[i, j]
            distances[i, place] = math.sqrt(max(square, 0.0))


@cached_njit(nogil=True)
def drop_known(rows, known):  # type: ignore[no-untyped-def]
    """Set rows that are among those `known` for their query to -1; known rows must increase."""
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
