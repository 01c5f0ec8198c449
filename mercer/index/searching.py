"""A search under way: from queries to rankings, and from rankings to `Matches`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from mercer.errors import InputError
from mercer.index.comparison import Comparison
from mercer.index.matches import Matches
from mercer.index.pace import Pace
from mercer.index.parts import Part, Queries
from mercer.index.ranking import SPARE, Ranking
from mercer.index.recipe import Recipe
from mercer.index.segments import Segments
from mercer.index.settling import double_tolerance, settle
from mercer.kernels import Prepared
from mercer.runtime import parallel, progress
from mercer.runtime.arrays import Array
from mercer.runtime.lazy import lazy
from mercer.runtime.params import check_count
from mercer.search import Searcher
from mercer.search.base import LISTED

Found = TypeVar("Found")
QUERIES = 256  # answered together: more would not fit in the cache with their bounds
WIDE = 1000  # empty places in an answer, at most
KEPT = 1 << 22  # items kept for the queries of one task, at most

DISPROVED = (
    "No answer of this index is certified any more: its kernel is not positive semi-definite, "
    "not the same at every call, or less precise than it declares. Check it with "
    "mercer.testing.check_kernel."
)


def check_effort(searcher: Searcher, candidates: int | None, effort: int | None) -> None:
    """Say what is wrong with the numbers that tell how hard a search looks."""
    check_count("candidates", candidates, optional=True)
    if effort is None:
        return
    if not searcher.takes_effort:
        raise InputError(
            f"{searcher!r} has no effort to choose. Leave it out, or change `candidates`."
        )
    check_count("effort", effort)


def places(k: int, n: int) -> int:
    """Return how many places the answer to a search for the k best of n items has."""
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
        What is searched; it stays as it is whatever happens to the index meanwhile.
    pace : Pace
        What queries took lately.
    disproof : str or None
        How the kernel broke its claims, where it did.
    """

    recipe: Recipe
    segments: Segments
    pace: Pace
    disproof: str | None = None

    # ---- questions

    def best(
        self, Q: Any, k: int, allowed: Any, candidates: int | None = None,
        effort: int | None = None, relaxed: float = 1.0,
    ) -> Matches:  # fmt: skip
        """Return the k most similar items of every query."""
        k = places(k, len(self.segments))
        parts = self.segments.parts(allowed)
        kept = max(1, min(k, sum(part.n_allowed for part in parts)))
        if candidates is None and self.recipe.exhaustive:
            return self._compared(self._prepared(Q, parts), parts, kept, k)

        def answer(ranking: Ranking) -> Matches:
            if candidates is None and self.recipe.bounded:
                ranking.search_all(relaxed)
            else:
                ranking.search_some(candidates, effort)
            return self._best_of(ranking, k)

        # nothing is given up where Python runs for every pair: the lists of few queries fit
        listed = self.recipe.kernel.runs_python
        return Matches.concatenate(self._answers(answer, Q, parts, kept, listed))

    def above(self, Q: Any, score: float, allowed: Any) -> list[Matches]:
        """Return, for every query, all items that score at least so much."""
        parts = self.segments.parts(allowed)

        def answer(ranking: Ranking) -> list[Matches]:
            lists = ranking.search_above(score)
            tolerance = double_tolerance(ranking, np.full(len(lists), score))
            return [self._listed(ranking, tolerance, i, *one) for i, one in enumerate(lists)]

        return [one for block in self._answers(answer, Q, parts, 1, True) for one in block]

    # ---- steps

    def _answers(
        self, answer: Callable[[Ranking], Found], Q: Any, parts: list[Part], k: int, listed: bool
    ) -> list[Found]:
        """Answer blocks of queries on threads. A block embeds its own queries.

        Where all rows may be `listed` as candidates of a query, blocks are so small that they fit.
        """
        kernel, P = self.recipe.kernel, self._prepared(Q, parts)
        threads = self.pace.threads(len(P), kernel.n_jobs)
        step = min(QUERIES, KEPT // (k + SPARE), -(-len(P) // threads))
        if listed:
            step = min(step, LISTED // max(1, *(len(part.items) for part in parts), 1))
        tolerances = self._tolerances(P, parts)
        tasks = [
            (Ranking(self.recipe, Queries(P[span], self.recipe.embedding, span.start), parts, k,
                     tolerances),)
            for span in parallel.spans(len(P), max(1, step))
        ]  # fmt: skip

        def timed(ranking: Ranking) -> Found:
            with self.pace.timing(len(ranking.queries)):
                return answer(ranking)

        found = parallel.run(timed, tasks, "searching", n_jobs=kernel.n_jobs)
        self.disproof = next((r.disproof for (r,) in tasks if r.disproof), None)
        return found

    def _prepared(self, Q: Any, parts: list[Part]) -> Prepared:
        """Return prepared queries; they must have the same form as the items."""
        kernel = self.recipe.kernel
        P = kernel.prepare(Q)
        for part in parts[:1]:
            kernel.require_alike(P, part.items, ("the queries", "the items"))
        return P

    def _tolerances(self, P: Prepared, parts: list[Part]) -> dict[int, float]:
        return {part.first: part.tolerance(P) for part in parts}

    def _compared(self, P: Prepared, parts: list[Part], kept: int, k: int) -> Matches:
        """Return the k best after all have been compared."""
        comparison = Comparison(self.recipe, P, kept)
        total = sum(len(part.items) for part in parts)
        with progress.bar("comparing all pairs", total) as advance:
            for part in parts:
                comparison.compare(part)
                advance(len(part.items))
        return Matches.concatenate([self.settled(one, parts, k) for one in comparison.merged()])

    def settled(self, ranking: Ranking, parts: list[Part], k: int) -> Matches:
        """Return the k best of queries that were compared with all rows of these parts."""
        ranking.finish(parts, self._tolerances(ranking.queries.items, parts))
        found = self._best_of(ranking, k)
        self.disproof = self.disproof or ranking.disproof
        return found

    def _best_of(self, ranking: Ranking, k: int) -> Matches:
        """Return the k best items of every query; -1 or None where there are fewer."""
        if ranking.parts:
            rows, scores, distances, tolerance = settle(ranking)
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
        return self._matches(ranking, slice(None), rows, scores, distances, tolerance)

    def _listed(
        self, ranking: Ranking, tolerance: Array, query: int, rows: Array, scores: Array
    ) -> Matches:
        """Return a list of items of one query, best first."""
        own = np.zeros(len(rows))
        for part in ranking.parts:
            places = part.find(rows)
            own = np.where(places >= 0, part.own[places], own)
        squares = ranking.queries.own[query] + own - 2 * scores
        one, distances = slice(query, query + 1), np.sqrt(np.maximum(squares, 0))
        return self._matches(
            ranking, one, rows[None], scores[None], distances[None], tolerance[one]
        )

    @lazy
    def _name(self) -> str:
        return repr(self.recipe.kernel)

    def _matches(
        self, ranking: Ranking, queries: slice, rows: Array, scores: Array, distances: Array,
        tolerance: Array,
    ) -> Matches:  # fmt: skip
        proven = ranking.proven[queries].copy()
        return Matches(
            ids=self.segments.names(rows),
            scores=scores.astype(np.float32),
            distances=distances.astype(np.float32),
            exact=proven,
            evaluations=ranking.evaluations[queries].copy(),
            landmark_evaluations=np.full(len(rows), self.recipe.embedding.n_landmarks_, np.int64),
            tolerance=tolerance.astype(np.float32),
            probability=proven.astype(np.float32),
            kernel=self._name,
        )


def certified(found: Matches, holds: bool, probability: float = 0.0) -> Matches:
    """Return an answer where nothing is exact, nor probable, unless the kernel's claims hold."""
    exact = found.exact & holds
    stated = np.maximum(exact, probability * holds).astype(np.float32)
    return replace(found, exact=exact, probability=stated)


def _widened(values: Array, k: int, nothing: float) -> Array:
    """Return k columns, with `nothing` in those that are missing."""
    if values.shape[1] == k:
        return values
    wide = np.full((len(values), k), nothing, values.dtype)
    wide[:, : values.shape[1]] = values
    return wide
