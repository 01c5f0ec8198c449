"""Settle a ranking: score its best rows again, in double precision."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer.index._settling import (
    contenders,
    judge,
    keep_best,
    keep_values,
)
from mercer.index.ranking import TILE_ROWS, Ranking
from mercer.index.views import DOUBLE, SINGLE, View
from mercer.kernels.similarity import TINY, unit
from mercer.runtime import topk
from mercer.runtime.arrays import Array, Ids

WIDER = 16  # times the rounding of a usual item, up to which it is stated and not investigated
AGREE = 1.01  # times the tolerance: float32 and double precision both round


class _Listed(NamedTuple):
    """Rows of each query whose values in double precision are known; -1 for none."""

    ids: Ids
    scores: Array
    diag: Array  # k(x, x)


class Settled(NamedTuple):
    """The k best rows of each query, settled."""

    rows: Ids
    scores: Array
    distances: Array
    tolerance: Array  # that holds for them


def settle(ranking: Ranking) -> Settled:
    """Return the best rows, and the tolerance that holds for them.

    The list of a ranking has some spare places, and a row that falls out of it has a float32 score
    not above the last one. Usually that is so far below the k-th best that rounding does not
    matter. Otherwise, the rounding of items of usual length is stated as tolerance, and all items
    that are much longer are scored in double precision.
    """
    margins = _margins(ranking)
    listed = _scored_again(ranking, margins)
    rows, scores, distances = _best(ranking, listed)
    # kernels that are not positive semi-definite may exceed √(k k), and round by their values
    allowed = WIDER * ranking.errors.usual + (margins - ranking.errors.worst) + 2 * TINY
    tolerance = np.empty(len(rows))
    rounding = double_rounding(ranking), unit(SINGLE)
    known = ranking.proven, margins, allowed, ranking.errors.root, *rounding, tolerance
    if judge(ranking.scores, scores, *known):
        with np.errstate(invalid="ignore"):  # lists that are not full lost no row
            above = ranking.scores[:, -1] + margins - scores[:, -1]
        more = _overlooked(ranking, ranking.proven & (above > allowed), margins + allowed - above)
        rows, scores, distances = _best(ranking, _joined(listed, more))
        judge(ranking.scores, scores, *known)
    return Settled(rows, scores, distances, tolerance)


def double_rounding(ranking: Ranking) -> float:
    """Return how far rounding may move a value in double precision, as a share of √k(q, q)."""
    P = ranking.queries.items
    return max([view.tolerance(P, DOUBLE) * view.largest for view in ranking.views], default=0.0)


def _margins(ranking: Ranking) -> Array:
    """Bound the rounding of the float32 scores, for each query."""
    if ranking.kernel.psd:
        return ranking.errors.worst
    there = np.where(ranking.ids >= 0, ranking.scores, 0)
    largest = np.abs(there).max(axis=1)  # may exceed √(k k)
    by_value = np.float32(max(ranking.tolerances.values())) * largest
    return np.asarray(np.maximum(ranking.errors.worst, by_value))


def _best(ranking: Ranking, listed: _Listed) -> tuple[Ids, Array, Array]:
    """Return rows, scores and distances of the k best of listed rows."""
    shape = len(listed.ids), ranking.k
    best = np.empty(shape, np.int64), np.empty(shape), np.empty(shape)
    keep_best(listed.ids, listed.scores, ranking.queries.diag, listed.diag, *best)
    return best


def _scored_again(ranking: Ranking, margins: Array) -> _Listed:
    """Return the rows that may be among the best with their values in double precision."""
    shape = ranking.ids.shape
    listed = _Listed(np.empty(shape, np.int64), np.empty(shape), np.zeros(shape))
    contenders(ranking.ids, ranking.scores, margins, ranking.k, listed.ids)
    listed.scores.fill(-np.inf)
    for view in ranking.views:
        _evaluate_again(ranking, view, listed)
    return listed


def _evaluate_again(ranking: Ranking, view: View, listed: _Listed) -> None:
    """Fill in values in double precision, and test that they agree with those in float32.

    `exact` depends on that too.
    """
    kernel, queries, rows = ranking.kernel, ranking.queries, view.find(listed.ids)
    double = kernel.gather(queries.items, view.items, rows, DOUBLE, (queries.first, view.first))
    tolerance = AGREE * ranking.tolerances[view.first]
    odd = keep_values(
        rows, ranking.scores, double, queries.diag, view.diag, tolerance, TINY, listed.scores,
        listed.diag,
    )  # fmt: skip
    if odd >= 0 and ranking.disproof is None:
        i, j = divmod(odd, rows.shape[1])
        ranking.disproof = (
            f"{kernel!r} gave {ranking.scores[i, j]:.9g} and then {double[i, j]:.9g} for "
            f"query {queries.first + i} and row {view.first + rows[i, j]}, further apart "
            f"than its tolerance allows ({tolerance:.2g} of their scale)"
        )


def _overlooked(ranking: Ranking, doubtful: Array, least: Array) -> _Listed:
    """Return the best of all rows whose rounding may exceed `least`, for doubtful queries."""
    queries = np.flatnonzero(doubtful)
    P = ranking.queries.items.take(queries)
    best = _nothing(len(queries), ranking.k)
    for view in ranking.views:
        scale = ranking.tolerances[view.first] * ranking.errors.root[queries]
        length = float((least[queries] / scale).min())
        for ids, items, diag in view.longer_than(length, TILE_ROWS):
            values = np.empty((len(P), len(ids)))
            ranking.kernel.tile(P, items, values, (ranking.queries.first + queries, int(ids[0])))
            new = _Listed(np.tile(ids, (len(P), 1)), values, np.tile(diag, (len(P), 1)))
            best = _first(_joined(best, new), ranking.k)
    spread = _nothing(len(ranking.queries), ranking.k)
    for wide, narrow in zip(spread, best, strict=True):
        wide[queries] = narrow
    return spread


def _nothing(n: int, k: int) -> _Listed:
    return _Listed(*topk.empty(n, k, np.float64), np.zeros((n, k)))


def _joined(left: _Listed, right: _Listed) -> _Listed:
    """Return the rows of both lists, with -1 for those of the right that the left has too."""
    new = [~np.isin(mine, known) for known, mine in zip(left.ids, right.ids, strict=True)]
    ids = np.where(new, right.ids, -1)
    scores = np.where(ids >= 0, right.scores, -np.inf)
    return _Listed(
        np.concatenate([left.ids, ids], axis=1),
        np.concatenate([left.scores, scores], axis=1),
        np.concatenate([left.diag, right.diag], axis=1),
    )


def _first(listed: _Listed, k: int) -> _Listed:
    """Return the k best of each query, best first."""
    order = np.lexsort((listed.ids, -listed.scores), axis=-1)[:, :k]
    return _Listed(*(np.take_along_axis(column, order, 1) for column in listed))
