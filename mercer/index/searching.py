"""A search under way: from queries to rankings, and from rankings to `Matches`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np

from mercer.index.comparison import Comparison
from mercer.index.estimating import estimated
from mercer.index.matches import Matches
from mercer.index.pace import Pace
from mercer.index.ranking import SPARE, Ranking, usual_candidates
from mercer.index.recipe import Recipe
from mercer.index.segments import Segments
from mercer.index.settling import Settled, double_rounding, settle
from mercer.index.views import Queries, View
from mercer.kernels import Prepared
from mercer.kernels.announcing import announce
from mercer.kernels.similarity import unit
from mercer.runtime import parallel, progress
from mercer.runtime.arrays import Array
from mercer.runtime.params import check_count
from mercer.search.base import LISTED

Found = TypeVar("Found")
QUERIES = 256  # answered together: more would not fit in the cache with their bounds
WIDE = 1000  # the most empty places in an answer
KEPT = 1 << 22  # items kept for the queries of one task, at most

DISPROVED = (
    "No answer of this index is certified any more: its kernel is not positive semi-definite, "
    "not the same at every call, or less precise than it declares. Check it with "
    "mercer.testing.check_kernel."
)


def places(k: int, n: int) -> int:
    """Return how many places there are in the answer to a search for the k best of n items."""
    check_count("k", k)
    return k if k <= n + WIDE else n


@dataclass
class Search:
    """Queries that are being answered.

    Attributes
    ----------
    recipe : Recipe
        The kernel, and how candidates are found.
    segments : Segments
        What is searched; it does not change even if the index does.
    pace : Pace
        How long queries took lately.
    recall : float or None
        The share of the true items that is expected to be found; None if that is not known.
    disproof : str or None
        How the kernel broke its claims; None if it did not.
    """

    recipe: Recipe
    segments: Segments
    pace: Pace
    recall: float | None = None
    disproof: str | None = None
    embeds: bool = True  # whether queries are compared with landmarks

    # ---- questions

    def best(
        self, Q: Any, k: int, allowed: Any, candidates: int | None = None,
        effort: int | None = None, relaxed: float = 1.0, everything: bool = False,
    ) -> Matches:  # fmt: skip
        """Return the k most similar items for every query; `everything` compares all of them."""
        k = places(k, len(self.segments))
        views = self.segments.views(allowed)
        if not self.recipe.keeps_items:
            P = self._prepared(Q, views)
            return estimated(self.recipe, self.segments, P, views, k, effort)
        kept = max(1, min(k, sum([view.n_allowed for view in views])))
        if everything or (candidates is None and self.recipe.exhaustive):
            P = self._prepared(Q, views)
            n = sum(view.n_allowed for view in views)
            announce(self.recipe.kernel, len(P) * n, f"search, {len(P):,} queries")
            return self._compared(P, views, kept, k)

        def answer(ranking: Ranking) -> Matches:
            if candidates is None and self.recipe.bounded:
                ranking.search_all(relaxed)
            else:
                ranking.search_some(candidates or usual_candidates(kept), effort)
            return self._best_of(ranking, k)

        # where Python runs for every pair, no query is given up, so blocks must be small
        listed = self.recipe.kernel.runs_python
        return Matches.concatenate(self._answered(answer, Q, views, kept, listed))

    def above(self, Q: Any, score: float, allowed: Any) -> list[Matches]:
        """Return, for every query, all items that score at least `score`."""
        views = self.segments.views(allowed)

        def answer(ranking: Ranking) -> list[Matches]:
            lists = ranking.search_above(score)
            rounding = 2 * double_rounding(ranking) * np.sqrt(np.maximum(ranking.queries.diag, 0))
            tolerance = rounding + unit(np.float32) * abs(score)
            return [self._listed(ranking, tolerance, i, *one) for i, one in enumerate(lists)]

        return [one for block in self._answered(answer, Q, views, 1, True) for one in block]

    # ---- steps

    def _answered(
        self, answer: Callable[[Ranking], Found], Q: Any, views: list[View], k: int, listed: bool
    ) -> list[Found]:
        """Answer blocks of queries on threads. A block embeds its own queries.

        If all rows may be `listed` as candidates of a query, blocks are small enough for the lists.
        """
        kernel, P = self.recipe.kernel, self._prepared(Q, views)
        n, n_jobs = len(P), kernel.n_jobs
        each = self.recipe.embedding.n_landmarks_ + usual_candidates(k)
        announce(kernel, n * each, f"search, {n:,} queries")
        step = min(QUERIES, KEPT // (k + SPARE), -(-n // self.pace.threads(n, n_jobs)))
        if listed:
            step = min(step, LISTED // max(1, *(view.n_rows for view in views), 1))
        tolerances = self._tolerances(P, views)
        blocks = [P] if n <= step else [P[span] for span in parallel.spans(n, max(1, step))]
        firsts = accumulate((len(block) for block in blocks), initial=0)
        tasks = [
            (Ranking(self.recipe, Queries(block, self.recipe.embedding, first), views, k,
                     tolerances),)
            for block, first in zip(blocks, firsts, strict=False)
        ]  # fmt: skip
        found = parallel.run(self.pace.timed(answer), tasks, "searching", n_jobs=n_jobs)
        self.disproof = next((r.disproof for (r,) in tasks if r.disproof), None)
        return found

    def _prepared(self, Q: Any, views: list[View]) -> Prepared:
        """Return prepared queries; they must have the same form as the items."""
        kernel = self.recipe.kernel
        P = kernel.prepare(Q)
        for view in views[:1]:
            kernel.require_alike(P, view.items, ("the queries", "the items"))
        return P

    def _tolerances(self, P: Prepared, views: list[View]) -> dict[int, float]:
        return {view.first: view.tolerance(P) for view in views}

    def _compared(self, P: Prepared, views: list[View], kept: int, k: int) -> Matches:
        """Return the k best items after comparing all of them."""
        self.embeds = False
        comparison = Comparison(self.recipe, P, kept)
        total = sum(len(view.items) for view in views)
        with progress.bar("comparing all pairs", total) as advance:
            for view in views:
                comparison.compare(view)
                advance(len(view.items))
        return Matches.concatenate([self.settled(one, views, k) for one in comparison.merged()])

    def settled(self, ranking: Ranking, views: list[View], k: int) -> Matches:
        """Return the k best of queries that were compared with all rows of these views."""
        ranking.finish(views, self._tolerances(ranking.queries.items, views))
        found = self._best_of(ranking, k)
        self.disproof = self.disproof or ranking.disproof
        return found

    def _best_of(self, ranking: Ranking, k: int) -> Matches:
        """Return the k best items for every query; -1 or None where there are fewer."""
        if not ranking.views:
            ranking.proven[:] = True
        best = settle(ranking) if ranking.views else _nothing(len(ranking))
        if best.rows.shape[1] < k:
            best = _widened(best, k)
        return self._matches(ranking, slice(None), *best)

    def _listed(
        self, ranking: Ranking, tolerance: Array, query: int, rows: Array, scores: Array
    ) -> Matches:
        """Return a list of items of one query, best first."""
        diag = np.zeros(len(rows))
        for view in ranking.views:
            places = view.find(rows[None])[0]
            diag = np.where(places >= 0, view.diag[places], diag)
        squares = ranking.queries.diag[query] + diag - 2 * scores
        one, distances = slice(query, query + 1), np.sqrt(np.maximum(squares, 0))
        return self._matches(
            ranking, one, rows[None], scores[None], distances[None], tolerance[one]
        )

    def _matches(
        self, ranking: Ranking, queries: slice, rows: Array, scores: Array, distances: Array,
        tolerance: Array,
    ) -> Matches:  # fmt: skip
        proven = ranking.proven[queries]
        landmarks = np.empty(len(rows), np.int64)
        landmarks.fill(self.recipe.embedding.n_landmarks_ if self.embeds else 0)
        return Matches(
            ids=self.segments.names(rows),
            payload=self.segments.records(rows),
            scores=scores.astype(np.float32),
            distances=distances.astype(np.float32),
            exact=proven,
            evaluations=ranking.evaluations[queries],
            landmark_evaluations=landmarks,
            tolerance=tolerance.astype(np.float32),
            probability=proven.astype(np.float32),
            kernel=self.recipe.kernel_name,
            recall=self.recall,
        )


def certified(found: Matches, holds: bool, probability: float = 0.0) -> Matches:
    """Return an answer that is exact, or probable, only if the kernel's claims hold."""
    if holds and not probability:
        return found
    exact = found.exact & holds
    stated = np.maximum(exact, probability * holds).astype(np.float32)
    return replace(found, exact=exact, probability=stated, recall=None)


def _nothing(n_queries: int) -> Settled:
    """Return the answer of a search among no items."""
    none = np.empty((n_queries, 0))
    return Settled(none.astype(np.int64), none, none, np.zeros(n_queries))


def _widened(best: Settled, k: int) -> Settled:
    """Pad an answer to k columns with empty places."""
    missing = ((0, 0), (0, k - best.rows.shape[1]))
    return Settled(
        np.pad(best.rows, missing, constant_values=-1),
        np.pad(best.scores, missing, constant_values=-np.inf),
        np.pad(best.distances, missing, constant_values=np.inf),
        best.tolerance,
    )
