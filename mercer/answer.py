"""From queries to rankings, and from rankings to `Matches`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from mercer import parallel
from mercer.arrays import Array
from mercer.embeddings import Embedding
from mercer.errors import InputError
from mercer.kernels import Kernel
from mercer.matches import Matches
from mercer.pace import Pace
from mercer.params import check_count
from mercer.search import Searcher
from mercer.search.parts import Part, Queries
from mercer.search.rerank import SPARE, Ranking
from mercer.segments import Segments

__all__ = ["DISPROVED", "best", "certified", "checked_effort", "listed", "rankings", "run"]

Found = TypeVar("Found")
QUERIES = 256  # answered together: more would not fit in the cache with their bounds
KEPT = 1 << 22  # items kept for the queries of one task, at most

DISPROVED = (
    "No answer of this index is certified any more: its kernel is not positive semi-definite, "
    "not the same at every call, or less precise than it declares. Check it with "
    "mercer.testing.check_kernel."
)


def checked_effort(
    searcher: Searcher, k: int, candidates: int | None, effort: int | None
) -> int | None:
    """Return how hard a search is to look, or say what is wrong with its numbers."""
    check_count("Index.search", "k", k)
    if candidates is not None:
        check_count("Index.search", "candidates", candidates)
    if effort is None:
        return getattr(searcher, searcher.knob) if searcher.knob else None
    if searcher.knob is None:
        raise InputError(
            f"Index.search: {searcher!r} has no effort to choose. Leave it out, or change "
            "`candidates`."
        )
    check_count("Index.search", "effort", effort)
    return effort


def rankings(
    kernel: Kernel, embedding: Embedding, Q: Any, parts: list[Part], k: int, bounded: bool,
    where: str, n_jobs: int | None, pace: Pace,
) -> list[Ranking]:  # fmt: skip
    """Prepare queries, and return one empty ranking for every block of them.

    A block embeds its own queries, on the thread that ranks them.
    """
    P = kernel.prepare(Q, where=where)
    for part in parts[:1]:
        kernel._require_alike(P, part.items, ("the queries", "the items"))
    tolerances = {part.first: kernel.tolerance(P, part.items) for part in parts}
    step = min(QUERIES, KEPT // (k + SPARE), -(-len(P) // pace.threads(len(P), n_jobs)))
    return [
        Ranking(kernel, Queries(P[span], embedding, span.start), parts, k, tolerances, bounded)
        for span in parallel.spans(len(P), max(1, step))
    ]


def run(
    function: Callable[[Ranking], Found], tasks: list[Ranking], n_jobs: int | None,
    show_progress: bool | None, pace: Pace,
) -> tuple[list[Found], str | None]:  # fmt: skip
    """Do the same with every ranking; also return the first disproof of the kernel's claims."""

    def timed(ranking: Ranking) -> Found:
        with pace.timing(len(ranking.queries)):
            return function(ranking)

    found = parallel.run(
        timed, [(ranking,) for ranking in tasks], n_jobs=n_jobs, label="searching",
        show=show_progress,
    )  # fmt: skip
    return found, next((ranking.disproof for ranking in tasks if ranking.disproof), None)


def best(ranking: Ranking, k: int, segments: Segments, n_landmarks: int) -> Matches:
    """Return the k best items of every query; -1 or None where there are fewer."""
    if ranking.parts:
        rows, scores, distances, tolerance = ranking.settle()
    else:
        ranking.proven[:] = True
        rows = np.empty((len(ranking.queries), 0), np.int64)
        scores = distances = np.empty(rows.shape)
        tolerance = np.zeros(len(rows))
    rows, scores, distances = (
        _widened(values, k, nothing)
        for values, nothing in ((rows, -1), (scores, -np.inf), (distances, np.inf))
    )
    distances[rows < 0] = np.inf
    return _matches(ranking, slice(None), segments.names(rows), scores, distances, tolerance,
                    n_landmarks)  # fmt: skip


def _widened(values: Array, k: int, nothing: float) -> Array:
    """Return k columns, with `nothing` in those that are missing."""
    if values.shape[1] == k:
        return values
    wide = np.full((len(values), k), nothing, values.dtype)
    wide[:, : values.shape[1]] = values
    return wide


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


def certified(found: list[Matches], holds: bool, probability: float = 0.0) -> Matches:
    """Join blocks of queries; nothing is exact, nor probable, unless the kernel's claims hold."""
    whole = Matches.concatenate(found)
    exact = whole.exact & holds
    stated = np.maximum(exact, probability * holds).astype(np.float32)
    return replace(whole, exact=exact, probability=stated)


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
