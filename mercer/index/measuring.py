"""Measure the recall of an index on a sample of its own items, or on queries of the user."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer.index.comparison import Comparison
from mercer.index.curve import NEVER, Curve
from mercer.index.ranking import Ranking
from mercer.index.recipe import Recipe
from mercer.index.segments import Segments
from mercer.index.views import SINGLE, Queries, View
from mercer.kernels import Prepared
from mercer.kernels.memory import clock
from mercer.runtime import parallel
from mercer.runtime.arrays import Array, Ids
from mercer.search.base import Candidates, Rows

TRUE, EXTRA = 50, 78  # true items kept of each query, and more that may tie with them
SAME = 1e-6  # relative difference up to which values count as equal
QUERIES, LEAST, FEWEST = 100, 32, 16  # queries that are asked: at most, and at least, also of
PAIRS = 10_000_000  # pairs compared for them, at most, if these are not too few;
# where Python code runs for every pair, a tenth of the landmarks, for a tenth of the time
DEPTH = 1000  # candidates, at most
USUAL = 100  # candidates of the searches that are timed
TIMING, TIMED = 8, 64  # queries and candidates evaluated to see what one costs
CLIMBING = 0.002  # recall that twice the effort must add for still more to be tried


class Truth(NamedTuple):
    """The best items of sample queries, by comparing everything."""

    queries: Prepared
    rows: Ids  # (m, TRUE + EXTRA) rows of all segments, best first; -1 for none
    counted: Array  # (m, TRUE): see `Curve`
    own: list[set[int]]  # rows that are the query itself, or equal to it
    seconds: float  # for one query


def measured(
    recipe: Recipe, segments: Segments, queries: Prepared | None = None, thorough: bool = False
) -> Curve:
    """Return the curve of an index.

    How many queries are asked depends on the number of items, and where Python code runs for every
    pair, on what building took: a few percent of it.

    Parameters
    ----------
    recipe : Recipe
        The kernel, and how candidates are found.
    segments : Segments
        The items.
    queries : Prepared, optional
        What will be asked; by default some of the items, which are left out of their own answers.
    thorough : bool
        Whether to ask as many queries as may be, and to try the smallest efforts too.
    """
    views, n = segments.views(None), n_queries(recipe, len(segments))
    if thorough and not recipe.kernel.runs_python:
        n = QUERIES
    drawn = sample(segments, n) if queries is None else _some(queries, n)
    truth = found(recipe, segments, drawn, queries is None)
    return climbed(recipe, views, truth, queries is not None, fast=thorough)


def n_queries(recipe: Recipe, n: int) -> int:
    """Return how many queries are asked of n items."""
    if recipe.kernel.runs_python:
        return max(FEWEST, min(QUERIES, recipe.embedding.n_landmarks_ // 10))
    return max(LEAST, min(QUERIES, PAIRS // n))


def sample(segments: Segments, n: int) -> Prepared:
    """Return n live items, evenly spaced, in random order."""
    rng = np.random.default_rng(0)
    total = len(segments)
    chosen = np.unique(np.linspace(0, total - 1, min(n, total)).astype(int))
    parts, first = [], 0
    for segment in segments.members:
        inside = chosen[(chosen >= first) & (chosen < first + len(segment))] - first
        parts.append(segment.items.take(segment.live_rows[inside]))
        first += len(segment)
    P = Prepared.join([part for part in parts if len(part)])
    return P.take(rng.permutation(len(P)))


def _some(P: Prepared, n: int) -> Prepared:
    return P.take(np.random.default_rng(0).permutation(len(P))[:n])


def found(recipe: Recipe, segments: Segments, P: Prepared, own: bool) -> Truth:
    """Compare queries with everything; items equal to their query are left out if `own`."""
    views = segments.views(None)
    total = sum(view.n_allowed for view in views)
    wanted = min(total, TRUE + EXTRA)
    started = clock()
    comparison = Comparison(recipe, P, wanted)
    for view in views:
        comparison.compare(view)
    rankings = comparison.merged()
    for ranking in rankings:
        ranking.finish(views, {view.first: 0.0 for view in views})
    seconds = (clock() - started) / len(P)
    rows = np.concatenate([one.ids[:, :wanted] for one in rankings])
    scores = np.concatenate([one.scores[:, :wanted] for one in rankings]).astype(np.float64)
    equal: list[set[int]] = [set() for _ in range(len(P))]
    if own:
        rows, scores, equal = _without_own(recipe, views, P, rows, scores)
    return Truth(P, rows, _counted(rows, scores), equal, seconds)


def _without_own(
    recipe: Recipe, views: list[View], P: Prepared, rows: Ids, scores: Array
) -> tuple[Ids, Array, list[set[int]]]:
    """Move rows that are equal to their query behind all others, as missing."""
    own = recipe.kernel.diag(P, dtype=np.float64)[:, None]
    diag = np.zeros(rows.shape)
    for view in views:
        places = view.find(rows)
        diag = np.where(places >= 0, view.diag[places], diag)
    slack = SAME * np.maximum(np.abs(own), np.abs(diag))
    equal = (np.abs(scores - own) <= slack) & (np.abs(diag - own) <= slack) & (rows >= 0)
    order = np.argsort(equal, axis=1, kind="stable")
    kept = np.where(equal, -1, rows), np.where(equal, -np.inf, scores)
    ids, values = (np.take_along_axis(one, order, 1) for one in kept)
    return ids, values, [set(r[e].tolist()) for r, e in zip(rows, equal, strict=True)]


def _counted(rows: Ids, scores: Array) -> Array:
    """Return how many rows score at least as high as the k-th one, for every k."""
    k = min(TRUE, rows.shape[1])
    last = scores[:, :k]
    floor = np.where(np.isfinite(last), last - SAME * np.abs(last), np.inf)
    there = rows >= 0
    counts = [((scores >= floor[:, i : i + 1]) & there).sum(axis=1) for i in range(k)]
    found: Array = np.maximum.accumulate(np.stack(counts, axis=1), axis=1)
    return found.astype(np.uint16)


# ---- how deep the truth lies among the candidates


def climbed(
    recipe: Recipe, views: list[View], truth: Truth, foreign: bool, depth: int = DEPTH,
    fast: bool = False,
) -> Curve:  # fmt: skip
    """Try one effort after the other, from the usual one, or the least if `fast`, while it pays."""
    ranking = Ranking(recipe, Queries(truth.queries, recipe.embedding), views, 1, {})
    vectors = ranking.queries.vectors
    started = clock()
    if fast:  # speeds matter: time what a search does, with everything in place
        recipe.embedding.query(truth.queries)
    embedding = (clock() - started) / len(vectors)
    efforts = _efforts(recipe, views, fast)
    built = _without_queries(ranking, truth)
    kept: list[tuple[int, int, Array, float]] = []
    for effort in efforts:
        n = min(depth, _depth(recipe, views, effort) if effort else depth)
        if n < min(TRUE, depth) and effort != efforts[-1]:
            continue
        started = clock()
        some = _candidates(ranking, built, vectors, n, effort or None)
        if fast:
            started = clock()
            _candidates(ranking, built, vectors, min(n, USUAL), effort or None)
        seconds = embedding + (clock() - started) / len(vectors)
        kept.append((effort, n, _ranks(some, truth), seconds))
        if not _climbs([ranks for _, _, ranks, _ in kept]):
            break
    evaluating = _evaluating(ranking, views, truth)
    return Curve(
        np.array([effort for effort, *_ in kept], np.int64),
        np.array([n for _, n, *_ in kept], np.int64),
        np.stack([ranks for _, _, ranks, _ in kept]),
        truth.counted,
        np.array([*(seconds for *_, seconds in kept), evaluating, truth.seconds]),
        sum(view.n_allowed for view in views),
        foreign,
    )


def _efforts(recipe: Recipe, views: list[View], fast: bool) -> list[int]:
    """Return the efforts to try: 0 where there is no effort."""
    rows = max(views, key=lambda view: view.n_rows).rows
    usual = recipe.searcher.usual_effort(rows)
    if usual is None:
        return [0]
    return sorted({usual, *(e for e in recipe.searcher.efforts(rows) if fast or e > usual)})


def _depth(recipe: Recipe, views: list[View], effort: int) -> int:
    largest = max(views, key=lambda view: view.n_rows)
    return max(1, recipe.searcher.depth(largest.rows, effort))


def _climbs(ranks: list[Array]) -> bool:
    """Whether the last effort found more than the one before, and something is left to find."""
    shares = [float((one[:, :10] < NEVER).mean()) for one in ranks[-2:]]
    return shares[-1] < 1 and (len(shares) < 2 or shares[1] - shares[0] > CLIMBING)


def _without_queries(ranking: Ranking, truth: Truth) -> list[Rows]:
    """Return what the searcher built for each view, as if no query were among the items."""
    own = np.array(sorted(set().union(*truth.own)), np.int64)
    return [
        ranking.searcher.without(view.rows, own[(own >= view.first) & (own < end)] - view.first)
        for view in ranking.views
        for end in [view.first + view.n_rows]
    ]


def _candidates(
    ranking: Ranking, built: list[Rows], vectors: Array, n: int, effort: int | None
) -> Candidates:
    """Return the candidates of all views, the most promising first."""

    def find(span: slice) -> tuple[Ids, Array]:
        some = [
            ranking.searcher.candidates(rows, vectors[span], n, view.allowed, effort)
            for rows, view in zip(built, ranking.views, strict=True)
        ]
        rows = [
            np.where(one.rows >= 0, one.rows + view.first, -1)
            for one, view in zip(some, ranking.views, strict=True)
        ]
        joined, values = (np.concatenate(c, axis=1) for c in (rows, [one.values for one in some]))
        order = np.argsort(-values, axis=1, kind="stable")[:, :n]
        return np.take_along_axis(joined, order, 1), np.take_along_axis(values, order, 1)

    step = max(1, -(-len(vectors) // parallel.count()))
    parts = parallel.run(find, [(span,) for span in parallel.spans(len(vectors), step)])
    return Candidates(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _ranks(some: Candidates, truth: Truth) -> Array:
    """Return how many candidates come no later than each true item."""
    ranks = np.full(truth.rows.shape, NEVER, np.uint16)
    for query, (rows, true) in enumerate(zip(some.rows, truth.rows, strict=True)):
        named = [row for row in rows.tolist() if row >= 0 and row not in truth.own[query]]
        places = {row: place for place, row in enumerate(named, 1)}
        ranks[query] = [min(places.get(row, NEVER), NEVER) for row in true.tolist()]
    return ranks


def _evaluating(ranking: Ranking, views: list[View], truth: Truth) -> float:
    """Return what evaluating the kernel of one item takes, in seconds."""
    view = max(views, key=lambda one: one.n_rows)
    rng = np.random.default_rng(0)
    rows = rng.integers(0, view.n_rows, (min(TIMING, len(truth.queries)), TIMED))
    P = truth.queries[: len(rows)]
    if not ranking.kernel.runs_python:  # whatever is compiled
        ranking.kernel.gather(P, view.items, rows, SINGLE)
    started = clock()
    ranking.kernel.gather(P, view.items, rows, SINGLE)
    return (clock() - started) / rows.size / parallel.count(ranking.kernel.n_jobs)
