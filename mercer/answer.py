"""From a ranking to `Matches`."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.matches import Matches
from mercer.search.rerank import Ranking
from mercer.segments import Segments

__all__ = ["best", "listed"]


def best(ranking: Ranking, k: int, segments: Segments, n_landmarks: int) -> Matches:
    """Return the k best items of every query; -1 or None where there are fewer."""
    if ranking.parts:
        rows, scores, distances, tolerance = ranking.settle()
    else:
        ranking.proven[:] = True
        rows = np.empty((len(ranking.queries), 0), np.int64)
        scores = distances = np.empty(rows.shape)
        tolerance = np.zeros(len(rows))
    missing = ((0, 0), (0, k - rows.shape[1]))
    rows = np.pad(rows, missing, constant_values=-1)
    scores = np.pad(scores, missing, constant_values=-np.inf)
    distances = np.where(rows >= 0, np.pad(distances, missing), np.inf)
    return _matches(ranking, slice(None), segments.names(rows), scores, distances, tolerance,
                    n_landmarks)  # fmt: skip


def listed(
    ranking: Ranking, query: int, rows: Array, scores: Array, segments: Segments, n_landmarks: int
) -> Matches:
    """Return a list of items of one query, best first."""
    own = np.empty(len(rows))
    for part in ranking.parts:
        inside = (rows >= part.first) & (rows < part.first + len(part.items))
        own[inside] = part.own[rows[inside] - part.first]
    squares = ranking.queries.own[query] + own - 2 * scores
    error = max((ranking.error(part)[query] for part in ranking.parts), default=0.0)
    distances = np.sqrt(np.maximum(squares, 0))
    return _matches(ranking, slice(query, query + 1), segments.names(rows[None]), scores[None],
                    distances[None], np.full(1, error), n_landmarks)  # fmt: skip


def _matches(
    ranking: Ranking, queries: slice, ids: Array, scores: Array, distances: Array,
    tolerance: Array, n_landmarks: int,
) -> Matches:  # fmt: skip
    proven = ranking.proven[queries].copy()
    return Matches(
        ids=ids,
        scores=scores.astype(np.float32),
        distances=distances.astype(np.float32),
        exact=proven,
        evaluations=ranking.evaluations[queries].copy(),
        landmark_evaluations=np.full(len(ids), n_landmarks, np.int64),
        tolerance=tolerance.astype(np.float32),
        probability=proven.astype(np.float32),
        kernel=repr(ranking.kernel),
    )
