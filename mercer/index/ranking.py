"""Rank candidates by the true kernel, and know when the ranking is proven."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple, cast

import numpy as np

from mercer.index._settling import bound_errors, drop_known, keep_most_promising, outside_bounds
from mercer.index.recipe import Recipe
from mercer.index.views import DOUBLE, SINGLE, Queries, View
from mercer.kernels import Kernel, Prepared
from mercer.kernels.similarity import TINY, unit
from mercer.runtime import parallel, topk
from mercer.runtime.arrays import Array, DType, Ids
from mercer.runtime.lazy import lazy
from mercer.search.base import BoundedSearcher, Candidates, Floats, Mask

SPARE = 16  # items kept beyond k, so that double precision can settle what float32 left close
LEAST = 100  # candidates scored where no bound tells when to stop
ROUND = 32  # candidates of each query scored before the threshold is read again
CEILING_PAYS = 96  # dimensions: with more, the bounds are mostly tighter than a ceiling
MOST = 1 / 2  # share of rows as candidates above which all rows are compared, tile by tile
TILE_ROWS = 1024
WIDER_TILE = 4  # times as many rows for one query, which reads them once: each tile has an overhead

Look = Callable[[int, Prepared], None]


def usual_candidates(k: int) -> int:
    """Return how many candidates are scored where no bound tells when to stop."""
    return max(LEAST, 10 * k)


class Errors(NamedTuple):
    """Bounds of the rounding of one float32 score, for each query."""

    root: Array  # √k(q, q), to which the errors are proportional
    worst: Array  # of any item
    usual: Array  # of an item of usual length


class Ranking:
    """The k best items of some queries so far, over all views.

    `tolerances` says how far rounding may move kernel values (`Kernel.tolerance`), for each view
    by its first row.
    """

    def __init__(
        self, recipe: Recipe, queries: Queries, views: list[View], k: int,
        tolerances: dict[int, float],
    ) -> None:  # fmt: skip
        self.kernel, self.searcher, self.bounded = recipe.kernel, recipe.searcher, recipe.bounded
        self.queries, self.views, self.k = queries, views, k
        self.tolerances = tolerances
        n = len(queries)
        self.ids, self.scores = topk.empty(n, k + SPARE)
        self.evaluations = np.zeros(n, np.int64)
        self.proven = np.zeros(n, bool)
        self.disproof: str | None = None

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.evaluations)

    # ---- ways to search

    def search_all(self, relaxed: float = 1.0) -> None:
        """Evaluate in the order of the bounds until none can change the answer (theory: order).

        A first threshold, from rows that are probably good, rules out most bounds early.
        """
        if not self.views:
            return
        bounds = cast(BoundedSearcher, self.searcher)
        Zq = self._vectors
        found = [bounds.seeds(view.rows, Zq, self.k, view.allowed) for view in self.views]
        seeds = _best_of(found, self.k)[0]
        for view, some in zip(self.views, seeds, strict=True):
            scores = self._score(view, some.rows, some.values, bounds.seed_share)
            self._offer(view, some.rows, scores)
        for view, known in zip(self.views, seeds, strict=True):
            floors = self._threshold() - self.errors.worst
            some = bounds.reaching(view.rows, Zq, floors, view.allowed, relaxed, self._give_up)
            self._compare_all(view, some.given_up, known)
            self._descend(view, some, relaxed, np.sort(known.rows, axis=1))
        self.proven[:] = relaxed == 1.0

    def search_some(self, n: int, effort: int | None = None) -> None:
        """Evaluate at most n candidates of each query, the most promising first.

        `effort` is for searchers that take it.
        """
        if not self.views:
            return
        # where values are bounds, one more candidate bounds all the others
        find, Zq = self.searcher.candidates, self._vectors
        found = [find(p.rows, Zq, n + self.bounded, p.allowed, effort) for p in self.views]
        kept, following = _best_of(found, n)
        for view, some in zip(self.views, kept, strict=True):
            self._descend(view, some)
        everything = sum([view.n_allowed for view in self.views])
        self.proven = (self.evaluations == everything) | self._nothing_better(following)

    def _nothing_better(self, following: Floats) -> Mask:
        """Whether no item that was left out can score above the k-th best by more than rounding.

        Where values are bounds, `following` bounds those items. Otherwise, under a positive
        semi-definite kernel, no item exceeds √(k(q, q) k(x, x)).
        """
        threshold = self._threshold()
        if self.bounded:
            return np.asarray(following < threshold - self.errors.worst)
        if not self.kernel.psd:
            return np.zeros(len(self), bool)
        largest = max([view.largest for view in self.views])
        return np.asarray(self.errors.root * largest <= threshold + self.errors.worst)

    def search_above(self, score: float) -> list[tuple[Ids, Array]]:
        """Return, for each query, every row that scores at least `score`, best first."""
        kept: list[list[tuple[Ids, Array]]] = [[] for _ in range(len(self.queries))]
        find = self._above_by_bounds if self.bounded else self._above_by_comparing
        for view in self.views:
            # an error that is a share of the value only matters near the score, where it is that
            # share of the score
            worst = self._errors([view]).worst
            error = np.maximum(worst, self.tolerances[view.first] * abs(score))
            rows, bounds = find(view, np.float32(score) - error)
            scores = self._score(view, rows, bounds, dtype=DOUBLE)
            for query, (named, values) in enumerate(zip(rows, scores, strict=True)):
                good = values >= score
                kept[query].append((view.first + named[good], values[good]))
        self.proven[:] = True
        return [_joined(lists) for lists in kept]

    def _above_by_bounds(self, view: View, floors: Array) -> tuple[Ids, Array | None]:
        """Return the rows whose bounds reach the floors, and the bounds."""
        bounds = cast(BoundedSearcher, self.searcher)
        some = bounds.reaching(view.rows, self._vectors, floors, view.allowed)
        some.rows[:] = self._below_ceiling(view, some.rows, floors)
        self.evaluations += (some.rows >= 0).sum(axis=1)
        return some.rows, some.values

    def _above_by_comparing(self, view: View, floors: Array) -> tuple[Ids, Array | None]:
        """Return the rows whose float32 scores reach the floors."""
        hits = [
            np.argwhere(tile >= floors[:, None]) + np.array([0, start])
            for start, tile in self._tiles(view, slice(0, len(view.items)))
        ]
        self.evaluations += view.n_allowed
        queries, rows = np.concatenate(hits).T
        order = np.lexsort((rows, queries))
        counts = np.bincount(queries, minlength=len(self.queries))
        found = np.full((len(counts), int(counts.max(initial=0))), -1)
        found[np.arange(found.shape[1]) < counts[:, None]] = rows[order]
        return found, None

    # ---- brute force

    def compare(self, view: View, cut: slice, look: Look | None = None) -> None:
        """Compare all queries with some rows of a view; `finish` must be called at the end.

        `look` is called with the number and the items of the rows of each tile, while they are in
        the processor's cache.
        """
        n_allowed = cut.stop - cut.start
        if view.allowed is not None:
            n_allowed = int(np.count_nonzero(view.allowed.mask[cut]))
        if n_allowed:
            for start, tile in self._tiles(view, cut):
                topk.update(self.ids, self.scores, tile, view.first + start)
                if look is not None:
                    look(view.first + start, view.items[start : start + tile.shape[1]])
        self.evaluations += n_allowed

    def absorb(self, other: Ranking) -> None:
        """Add what another ranking of the same queries found among other rows."""
        topk.offer(self.ids, self.scores, other.ids, other.scores)
        self.evaluations += other.evaluations

    def finish(self, views: list[View], tolerances: dict[int, float]) -> None:
        """Sort what was found, after all rows of these views were compared."""
        self.ids, self.scores = topk.ordered(self.ids, self.scores)
        self.views, self.tolerances = views, tolerances
        self.proven[:] = True

    # ---- steps

    @lazy
    def _vectors(self) -> Floats:
        """The vectors of the queries; rows read from files are checked before they are used."""
        Zq = self.queries.vectors
        for view in self.views:
            self.searcher.require_sound(view.rows, Zq.shape[1])
        return Zq

    @lazy
    def ceiling(self) -> Kernel | None:
        """A kernel that is never below this one; items where it is too low need no evaluation."""
        narrow = self.queries.vectors.shape[1] <= CEILING_PAYS
        return self.kernel.ceiling if narrow else None

    def _descend(
        self, view: View, found: Candidates, relaxed: float = 1.0, known: Ids | None = None
    ) -> None:
        """Score candidates, the largest bounds first, while they can still matter.

        Rows that are `known`, increasing for each query, were scored before.
        """
        bounded = self.bounded
        step = ROUND if bounded else max(1, found.rows.shape[1])
        for start in range(0, found.rows.shape[1], step):
            rows = found.rows[:, start : start + step]
            values = found.values[:, start : start + step]
            if bounded:
                floors = self._threshold() - self.errors.worst
                rows = np.where(values >= floors[:, None], rows, -1)
                if (rows < 0).all():
                    return
                rows = self._below_ceiling(view, rows, floors)
            if known is not None:
                drop_known(rows, known)
            scores = self._score(view, rows, values if bounded else None, relaxed)
            self._offer(view, rows, scores)

    @property
    def _give_up(self) -> float:
        """The share of rows as candidates above which comparing all rows is faster."""
        return 1.0 if self.kernel.runs_python else MOST

    def _compare_all(self, view: View, given_up: Mask | None, known: Candidates) -> None:
        """Compare the queries that were given up with every row, in whole tiles."""
        if given_up is None or not given_up.any():
            return
        queries = np.flatnonzero(given_up)
        ids, scores = self._heaps_without(view, queries)
        for start, tile in self._tiles(view, slice(0, len(view.items)), queries):
            topk.update(ids, scores, tile, view.first + start)
        self.ids[queries], self.scores[queries] = topk.ordered(ids, scores)
        counted = (known.rows[queries] >= 0).sum(axis=1)
        self.evaluations[queries] += view.n_allowed - counted

    def _tiles(
        self, view: View, cut: slice, queries: Ids | None = None
    ) -> Iterator[tuple[int, Floats]]:
        """Yield the first row of each tile, and its scores for all, or some, queries.

        Scores of rows that are not allowed are minus infinity.
        """
        P, first = self.queries.items, self.queries.first
        P, numbers = (P, first) if queries is None else (P.take(queries), first + queries)
        width = min(_tile_width(self.kernel, len(P)), cut.stop - cut.start)
        buffer = np.empty((len(P), width), np.float32)
        for span in parallel.spans(cut.stop, width, cut.start):
            tile = buffer[:, : span.stop - span.start]
            self.kernel.tile(P, view.items[span], tile, (numbers, view.first + span.start))
            if view.allowed is not None:
                tile[:, ~view.allowed.mask[span]] = -np.inf
            yield span.start, tile

    def _heaps_without(self, view: View, queries: Ids) -> topk.Best:
        """Return the heaps of some queries without the rows of a view."""
        ids, scores = self.ids[queries], self.scores[queries]
        inside = (ids >= view.first) & (ids < view.first + len(view.items))
        ids[inside], scores[inside] = -1, -np.inf
        order = np.lexsort((-ids, scores), axis=-1)  # the worst first is a heap, as `update` needs
        return np.take_along_axis(ids, order, 1), np.take_along_axis(scores, order, 1)

    def _below_ceiling(self, view: View, rows: Ids, floors: Array) -> Ids:
        """Return the rows whose ceiling reaches the floor too, else -1 (theory: ceilings)."""
        ceiling = self.ceiling
        if ceiling is None:
            return rows
        rows = np.ascontiguousarray(rows)
        Q, (X, longest) = self.queries.items.under(ceiling), view.under(ceiling)
        tops = ceiling.gather(Q, X, rows, SINGLE)
        scale = longest * np.sqrt(ceiling.diag(Q, dtype=DOUBLE))
        slack = ceiling.tolerance(Q, X) * scale + TINY
        return np.where(tops >= (floors - slack)[:, None], rows, -1)

    def _score(
        self, view: View, rows: Ids, bounds: Array | None = None, relaxed: float = 1.0,
        dtype: DType = SINGLE,
    ) -> Array:  # fmt: skip
        rows = np.ascontiguousarray(rows)
        first = self.queries.first, view.first
        scores = self.kernel.gather(self.queries.items, view.items, rows, dtype, first)
        if bounds is not None:
            self._falsify(view, rows, bounds, scores, relaxed)
        return scores

    def _offer(self, view: View, rows: Ids, scores: Array) -> None:
        topk.insert(self.ids, self.scores, rows, scores, view.first, self.evaluations)

    def _threshold(self) -> Array:
        """Return the k-th best score of each query so far."""
        return self.scores[:, self.k - 1]

    @lazy
    def errors(self) -> Errors:
        """How far rounding may move the float32 scores of each query."""
        return self._errors(self.views)

    def _errors(self, views: list[View]) -> Errors:
        n, tolerances = len(self), self.tolerances
        found = Errors(np.empty(n), np.empty(n, np.float32), np.empty(n))
        worst = max([tolerances[view.first] * view.largest for view in views])
        usual = max([tolerances[view.first] * view.usual for view in views])
        bound_errors(self.queries.diag, worst, usual, TINY, *found)
        return found

    def _falsify(self, view: View, rows: Ids, bounds: Array, scores: Array, relaxed: float) -> None:
        """Test |k - z·z| ≤ R R' on evaluated pairs: PSD kernels cannot break it (theory: pairs)."""
        bounded = cast(BoundedSearcher, self.searcher)
        # copies, which are contiguous: the loop is compiled once for all kinds of rows
        residuals = bounded.residuals(view.rows)[rows]
        of_queries, bounds = map(np.ascontiguousarray, (self.queries.vectors[:, -1], bounds))
        tolerance = self.tolerances[view.first] + 4 * unit(np.float32)
        wrong = outside_bounds(
            rows, scores, bounds, residuals, of_queries, view.diag[rows], self.errors.root,
            tolerance, self.queries.embedding.rounding_, relaxed, TINY,
        )  # fmt: skip
        if wrong >= 0 and self.disproof is None:
            i, j = divmod(wrong, rows.shape[1])
            residual = residuals[i, j] * of_queries[i]
            top = bounds[i, j] + (1 - relaxed) * residual
            self.disproof = (
                f"{self.kernel!r} gave {scores[i, j]:.6g} for query {self.queries.first + i} and "
                f"row {view.first + rows[i, j]}, outside of what a positive semi-definite kernel "
                f"can give there ({top - 2 * residual:.6g} to {top:.6g})"
            )


def _tile_width(kernel: Kernel, n_queries: int) -> int:
    """Return how many rows are compared at a time."""
    width = min(TILE_ROWS, kernel.tile_shape[1])
    return WIDER_TILE * width if n_queries == 1 and width == TILE_ROWS else width


def _joined(lists: list[tuple[Ids, Array]]) -> tuple[Ids, Array]:
    rows = np.concatenate([rows for rows, _ in lists] or [np.empty(0, np.int64)])
    scores = np.concatenate([scores for _, scores in lists] or [np.empty(0)])
    order = np.lexsort((rows, -scores))
    return rows[order], scores[order]


def _best_of(found: list[Candidates], n: int) -> tuple[list[Candidates], Floats]:
    """Keep the n most promising over all views; also return the next value of each query."""
    following = np.empty(len(found[0].values), np.float32)
    following.fill(-np.inf)
    ends = list(accumulate([one.rows.shape[1] for one in found]))
    if ends[-1] <= n:
        return found, following
    rows, values = (
        np.concatenate(column, axis=1)
        for column in zip(*((one.rows, one.values) for one in found), strict=True)
    )
    keep_most_promising(rows, values, np.array(ends), n, following)
    spans = [slice(*pair) for pair in pairwise([0, *ends])]
    return [Candidates(rows[:, span], values[:, span]) for span in spans], following
