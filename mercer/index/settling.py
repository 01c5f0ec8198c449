"""Settle a ranking: score the best of it once more, in double precision."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer.index._settling import contenders, keep_values, settled
from mercer.index.parts import DOUBLE, Part
from mercer.index.ranking import TILE_ROWS, Ranking
from mercer.kernels.similarity import TINY, unit
from mercer.runtime import topk
from mercer.runtime.arrays import Array, Ids

WIDER = 16  # times the rounding of a usual item: up to here it is stated, not looked into


class _Listed(NamedTuple):
    """Rows of each query whose values in double precision are known; -1 for none."""

    ids: Ids
    scores: Array
    own: Array  # k(x, x)


def settle(ranking: Ranking) -> tuple[Ids, Array, Array, Array]:
    """Return the rows, scores and distances of the best, and the tolerance that holds for them.

    The list of a ranking has some spare places, and a row falls out of it with a float32 score not
    above the last one. Mostly that is so far below the k-th best that rounding does not matter.
    Where it is not, the rounding of items of usual length is stated as tolerance, and all items
    that are much longer are scored in double precision.
    """
    margins = _margins(ranking)
    listed = _scored_again(ranking, contenders(ranking.ids, ranking.scores, 2 * margins, ranking.k))
    ids, scores, distances = _best(ranking, listed)
    full = np.isfinite(ranking.scores[:, -1])  # otherwise nothing fell out
    last, fallen = (np.where(full, one[:, -1], 0) for one in (scores, ranking.scores))
    above = np.where(full, fallen + margins - last, 0)
    # kernels that are not positive semi-definite may exceed √(k k), and round by their values
    allowed = WIDER * ranking.usual_error + (margins - ranking.worst_error)
    doubtful = ranking.proven & (above > allowed + 2 * TINY)
    if doubtful.any():
        more = _overlooked(ranking, doubtful, last - fallen + allowed)
        ids, scores, distances = _best(ranking, _joined(listed, more))
    tolerance = double_tolerance(ranking, scores[:, -1])
    return ids, scores, distances, np.maximum(tolerance, np.minimum(above, allowed))


def double_tolerance(ranking: Ranking, scores: Array) -> Array:
    """Bound how far rounding can move an item past a score of each query, in double precision.

    That is returned in float32, which rounds it once more.
    """
    P = ranking.queries.items
    scale = max((part.tolerance(P, DOUBLE) * part.largest for part in ranking.parts), default=0.0)
    rounded = unit(np.float32) * np.abs(np.where(np.isneginf(scores), 0, scores))
    return np.asarray(2 * scale * ranking.root + rounded)


def _margins(ranking: Ranking) -> Array:
    """Bound the rounding of the float32 scores, for each query."""
    if ranking.kernel.psd:
        return ranking.worst_error
    there = np.where(ranking.ids >= 0, ranking.scores, 0)
    largest = np.abs(there).max(axis=1)  # may exceed √(k k)
    own = np.float32(max(ranking.tolerances.values())) * largest
    return np.asarray(np.maximum(ranking.worst_error, own))


def _best(ranking: Ranking, listed: _Listed) -> tuple[Ids, Array, Array]:
    """Return rows, scores and distances of the k best of listed rows."""
    squares = ranking.queries.own[:, None] + listed.own
    ids, scores, distances = settled(listed.ids, listed.scores, squares, ranking.k)
    return ids, scores, distances


def _scored_again(ranking: Ranking, kept: Ids) -> _Listed:
    """Return rows with their values in double precision."""
    places = [part.find(kept) for part in ranking.parts]
    own, scores = np.zeros(kept.shape), np.full(kept.shape, -np.inf)
    for part, rows in zip(ranking.parts, places, strict=True):
        own = np.where(rows >= 0, part.own[rows], own)
    scale = np.sqrt(np.abs(ranking.queries.own[:, None] * own))
    for part, rows in zip(ranking.parts, places, strict=True):
        _evaluate_again(ranking, part, rows, scale, scores)
    return _Listed(kept, scores, own)


def _evaluate_again(ranking: Ranking, part: Part, rows: Ids, scale: Array, scores: Array) -> None:
    """Fill in the values of rows in double precision, and test that they agree with the first.

    `exact` rests on that too. `scale` has √(k(q, q) k(x, x)).
    """
    kernel, queries = ranking.kernel, ranking.queries
    first = queries.first, part.first
    double = kernel.gather(queries.items, part.items, rows, DOUBLE, first)
    double[rows < 0] = 0
    slack = 1.01 * ranking.tolerances[part.first] * np.maximum(scale, np.abs(double)) + TINY
    odd = keep_values(rows, ranking.scores, double, slack, scores)
    if odd >= 0 and ranking.disproof is None:
        i, j = divmod(odd, rows.shape[1])
        ranking.disproof = (
            f"{kernel!r} gave {ranking.scores[i, j]:.9g} and then {double[i, j]:.9g} for "
            f"query {queries.first + i} and row {part.first + rows[i, j]}, further apart "
            f"than its tolerance allows ({slack[i, j]:.2g})"
        )


def _overlooked(ranking: Ranking, doubtful: Array, least: Array) -> _Listed:
    """Return the best of all rows whose rounding may exceed `least`, of some queries."""
    queries = np.flatnonzero(doubtful)
    P = ranking.queries.items.take(queries)
    best = _nothing(len(queries), ranking.k)
    for part in ranking.parts:
        scale = ranking.tolerances[part.first] * ranking.root[queries]
        length = float((least[queries] / scale).min())
        for ids, items, own in part.longer_than(length, TILE_ROWS):
            values = np.empty((len(P), len(ids)))
            ranking.kernel.tile(P, items, values, (ranking.queries.first + queries, int(ids[0])))
            new = _Listed(np.tile(ids, (len(P), 1)), values, np.tile(own, (len(P), 1)))
            best = _first(_joined(best, new), ranking.k)
    spread = _nothing(len(ranking.queries), ranking.k)
    for wide, narrow in zip(spread, best, strict=True):
        wide[queries] = narrow
    return spread


def _nothing(n: int, k: int) -> _Listed:
    return _Listed(*topk.empty(n, k, np.float64), np.zeros((n, k)))


def _joined(left: _Listed, right: _Listed) -> _Listed:
    """Return the rows of both lists, those of the right one that the left one has as -1."""
    new = [~np.isin(mine, known) for known, mine in zip(left.ids, right.ids, strict=True)]
    ids = np.where(new, right.ids, -1)
    scores = np.where(ids >= 0, right.scores, -np.inf)
    return _Listed(
        np.concatenate([left.ids, ids], axis=1),
        np.concatenate([left.scores, scores], axis=1),
        np.concatenate([left.own, right.own], axis=1),
    )


def _first(listed: _Listed, k: int) -> _Listed:
    """Return the k best of each query, best first."""
    order = np.lexsort((listed.ids, -listed.scores), axis=-1)[:, :k]
    return _Listed(*(np.take_along_axis(part, order, 1) for part in listed))
