"""Rank candidates by the true kernel, and know when the ranking is proven."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import cast

import numpy as np

from mercer.index._settling import drop_known, keep_most_promising
from mercer.index.parts import DOUBLE, SINGLE, Part, Queries
from mercer.index.recipe import Recipe
from mercer.kernels import Kernel
from mercer.kernels.similarity import TINY, unit
from mercer.runtime import parallel, topk
from mercer.runtime.arrays import Array, Ids
from mercer.runtime.lazy import lazy
from mercer.search.base import BoundedSearcher, Candidates, Floats, Mask

SPARE = 16  # items kept beyond k, so that double precision can settle what float32 left close
LEAST = 100  # candidates scored where nothing tells when to stop
ROUND = 32  # candidates of each query scored before the threshold is looked at again
CEILING_PAYS = 96  # dimensions: with more, the bounds are mostly tighter than a ceiling
MOST = 1 / 2  # of the rows as candidates: from here on all of them are compared, tile by tile
TILE_ROWS = 1024


class Ranking:
    """The k best items of some queries so far, over all parts.

    `tolerances` tells what rounding may move kernel values by, as `Kernel.tolerance`, for each
    part by its first row.
    """

    def __init__(
        self, recipe: Recipe, queries: Queries, parts: list[Part], k: int,
        tolerances: dict[int, float],
    ) -> None:  # fmt: skip
        self.kernel, self.searcher, self.bounded = recipe.kernel, recipe.searcher, recipe.bounded
        self.queries, self.parts, self.k = queries, parts, k
        self.tolerances = tolerances
        n = len(queries)
        self.ids, self.scores = topk.empty(n, k + SPARE)
        self.evaluations = np.zeros(n, np.int64)
        self.proven = np.zeros(n, bool)
        self.disproof: str | None = None
        self.slacks: dict[int, float] = {}
        self.errors: dict[int, Array] = {}

    # ---- ways to search

    def search_all(self, relaxed: float = 1.0) -> None:
        """Evaluate in the order of the bounds until none can change the answer (theory: order).

        A first threshold comes from rows that look good; it saves looking at most bounds.
        """
        if not self.parts:
            return
        bounds = cast(BoundedSearcher, self.searcher)
        Zq = self._vectors
        found = [bounds.seeds(part.rows, Zq, self.k, part.allowed) for part in self.parts]
        seeds = _best_of(found, self.k)[0]
        for part, some in zip(self.parts, seeds, strict=True):
            scores = self._score(part, some.rows, some.values, bounds.seed_share)
            self._offer(part, some.rows, scores)
        for part, known in zip(self.parts, seeds, strict=True):
            floors = self._threshold() - self.worst_error
            some = bounds.reaching(part.rows, Zq, floors, part.allowed, relaxed, self._give_up)
            self._compare_all(part, some.given_up, known)
            self._descend(part, some, relaxed, np.sort(known.rows, axis=1))
        self.proven[:] = relaxed == 1.0

    def search_some(self, n: int | None = None, effort: int | None = None) -> None:
        """Evaluate at most n candidates of each query, the most promising first.

        Ten times as many as are wanted by default, and at least 100. `effort` is for searchers
        that take it.
        """
        n = max(LEAST, 10 * self.k) if n is None else n
        if not self.parts:
            return
        # where values are bounds, one more tells what the others cannot exceed
        find, Zq = self.searcher.candidates, self._vectors
        found = [find(p.rows, Zq, n + self.bounded, p.allowed, effort) for p in self.parts]
        kept, following = _best_of(found, n)
        for part, some in zip(self.parts, kept, strict=True):
            self._descend(part, some)
        everything = self.evaluations == sum(part.n_allowed for part in self.parts)
        self.proven[:] = everything | self._nothing_better(following)

    def _nothing_better(self, following: Floats) -> Mask:
        """Whether no item that was left out can score above the k-th best by more than rounding.

        `following` bounds them, where values are bounds. Without, no item of a positive
        semi-definite kernel exceeds √(k(q, q) k(x, x)).
        """
        threshold = self._threshold()
        if self.bounded:
            return np.asarray(following < threshold - self.worst_error)
        largest = max(part.largest for part in self.parts)
        return np.asarray(self.kernel.psd & (self.root * largest <= threshold + self.worst_error))

    def search_above(self, score: float) -> list[tuple[Ids, Array]]:
        """Return, for each query, every row that scores at least so much, best first."""
        kept: list[list[tuple[Ids, Array]]] = [[] for _ in range(len(self.queries))]
        find = self._above_by_bounds if self.bounded else self._above_by_comparing
        for part in self.parts:
            # a value off by a share of itself is off by no more than that of the score, where
            # it matters
            error = np.maximum(self.error(part), self.tolerances[part.first] * abs(score))
            rows, bounds = find(part, np.float32(score) - error)
            scores = self._score(part, rows, bounds, dtype=DOUBLE)
            for query, (named, values) in enumerate(zip(rows, scores, strict=True)):
                good = values >= score
                kept[query].append((part.first + named[good], values[good]))
        self.proven[:] = True
        return [_joined(lists) for lists in kept]

    def _above_by_bounds(self, part: Part, floors: Array) -> tuple[Ids, Array | None]:
        """Return the rows whose bounds reach the floors, and the bounds."""
        bounds = cast(BoundedSearcher, self.searcher)
        some = bounds.reaching(part.rows, self._vectors, floors, part.allowed)
        some.rows[:] = self._below_ceiling(part, some.rows, floors)
        self.evaluations += (some.rows >= 0).sum(axis=1)
        return some.rows, some.values

    def _above_by_comparing(self, part: Part, floors: Array) -> tuple[Ids, Array | None]:
        """Return the rows whose float32 scores reach the floors."""
        hits = [
            np.argwhere(tile >= floors[:, None]) + np.array([0, start])
            for start, tile in self._tiles(part, slice(0, len(part.items)))
        ]
        self.evaluations += part.n_allowed
        queries, rows = np.concatenate(hits).T
        order = np.lexsort((rows, queries))
        counts = np.bincount(queries, minlength=len(self.queries))
        found = np.full((len(counts), int(counts.max(initial=0))), -1)
        found[np.arange(found.shape[1]) < counts[:, None]] = rows[order]
        return found, None

    # ---- brute force

    def compare(self, part: Part, cut: slice) -> None:
        """Compare all queries with some rows of a part; `finish` ends what this begins."""
        n_allowed = cut.stop - cut.start
        if part.allowed is not None:
            n_allowed = int(np.count_nonzero(part.allowed.mask[cut]))
        if n_allowed:
            for start, tile in self._tiles(part, cut):
                topk.update(self.ids, self.scores, tile, part.first + start)
        self.evaluations += n_allowed

    def absorb(self, other: Ranking) -> None:
        """Take what another ranking of the same queries found among other rows."""
        topk.offer(self.ids, self.scores, other.ids, other.scores)
        self.evaluations += other.evaluations

    def finish(self, parts: list[Part], tolerances: dict[int, float]) -> None:
        """Order what was found; all rows of these parts were compared."""
        self.ids, self.scores = topk.ordered(self.ids, self.scores)
        self.parts, self.tolerances = parts, tolerances
        self.proven[:] = True

    # ---- steps

    @lazy
    def _vectors(self) -> Floats:
        """The vectors of the queries; rows from a file are looked at before they are met."""
        Zq = self.queries.vectors
        for part in self.parts:
            self.searcher.require_sound(part.rows, Zq.shape[1])
        return Zq

    @lazy
    def root(self) -> Array:
        """√k(q, q) of each query."""
        return np.asarray(np.sqrt(np.maximum(self.queries.own, 0)))

    @lazy
    def ceiling(self) -> Kernel | None:
        """A kernel that is never below; where it is too low, an item needs no evaluation."""
        narrow = self.queries.vectors.shape[1] <= CEILING_PAYS
        return self.kernel.ceiling if narrow else None

    def _descend(
        self, part: Part, found: Candidates, relaxed: float = 1.0, known: Ids | None = None
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
                floors = self._threshold() - self.worst_error
                rows = np.where(values >= floors[:, None], rows, -1)
                if (rows < 0).all():
                    return
                rows = self._below_ceiling(part, rows, floors)
            if known is not None:
                drop_known(rows, known)
            scores = self._score(part, rows, values if bounded else None, relaxed)
            self._offer(part, rows, scores)

    @property
    def _give_up(self) -> float:
        """The share of rows as candidates from which on comparing all is faster."""
        return 1.0 if self.kernel.runs_python else MOST

    def _compare_all(self, part: Part, given_up: Mask | None, known: Candidates) -> None:
        """Compare the queries that were given up with every row, in whole tiles."""
        if given_up is None or not given_up.any():
            return
        queries = np.flatnonzero(given_up)
        ids, scores = self._heaps_without(part, queries)
        for start, tile in self._tiles(part, slice(0, len(part.items)), queries):
            topk.update(ids, scores, tile, part.first + start)
        self.ids[queries], self.scores[queries] = topk.ordered(ids, scores)
        counted = (known.rows[queries] >= 0).sum(axis=1)
        self.evaluations[queries] += part.n_allowed - counted

    def _tiles(
        self, part: Part, cut: slice, queries: Ids | None = None
    ) -> Iterator[tuple[int, Floats]]:
        """Yield the first row and the scores of all, or some, queries, tile after tile.

        Those of rows that are not allowed are minus infinity.
        """
        P, first = self.queries.items, self.queries.first
        P, numbers = (P, first) if queries is None else (P.take(queries), first + queries)
        width = min(TILE_ROWS, self.kernel.tile_shape[1], cut.stop - cut.start)
        buffer = np.empty((len(P), width), np.float32)
        for span in parallel.spans(cut.stop, width, cut.start):
            tile = buffer[:, : span.stop - span.start]
            self.kernel.tile(P, part.items[span], tile, (numbers, part.first + span.start))
            if part.allowed is not None:
                tile[:, ~part.allowed.mask[span]] = -np.inf
            yield span.start, tile

    def _heaps_without(self, part: Part, queries: Ids) -> topk.Best:
        """Return the heaps of some queries without the rows of a part."""
        ids, scores = self.ids[queries], self.scores[queries]
        inside = (ids >= part.first) & (ids < part.first + len(part.items))
        ids[inside], scores[inside] = -1, -np.inf
        order = np.lexsort((-ids, scores), axis=-1)  # the worst first is a heap, as `update` needs
        return np.take_along_axis(ids, order, 1), np.take_along_axis(scores, order, 1)

    def _below_ceiling(self, part: Part, rows: Ids, floors: Array) -> Ids:
        """Return the rows whose ceiling reaches the floor too, else -1 (theory: ceilings)."""
        if self.ceiling is None:
            return rows
        rows = np.ascontiguousarray(rows)
        Q, X = (P.under(self.ceiling) for P in (self.queries.items, part.items))
        tops = self.ceiling.gather(Q, X, rows, SINGLE)
        slack = self._ceiling_slack(part, self.ceiling)
        return np.where(tops >= floors[:, None] - slack, rows, -1)

    def _ceiling_slack(self, part: Part, ceiling: Kernel) -> float:
        """Bound the rounding of the ceiling's float32 values."""
        if part.first not in self.slacks:
            both = [P.under(ceiling) for P in (self.queries.items, part.items)]
            scale = np.sqrt(np.prod([ceiling.diag(P, dtype=DOUBLE).max() for P in both]))
            self.slacks[part.first] = float(ceiling.tolerance(*both) * scale + TINY)
        return self.slacks[part.first]

    def _score(
        self, part: Part, rows: Ids, bounds: Array | None = None, relaxed: float = 1.0,
        dtype: np.dtype[np.floating] = SINGLE,
    ) -> Array:  # fmt: skip
        rows = np.ascontiguousarray(rows)
        first = self.queries.first, part.first
        scores = self.kernel.gather(self.queries.items, part.items, rows, dtype, first)
        if bounds is not None:
            self._falsify(part, rows, bounds, scores, relaxed)
        return scores

    def _offer(self, part: Part, rows: Ids, scores: Array) -> None:
        self.evaluations += topk.insert(self.ids, self.scores, rows, scores, part.first)

    def _threshold(self) -> Array:
        """Return the k-th best score of each query so far."""
        return self.scores[:, self.k - 1]

    def error(self, part: Part) -> Array:
        """Bound the rounding of one float32 score, for each query."""
        if part.first not in self.errors:
            scale = self.tolerances[part.first] * part.largest
            self.errors[part.first] = np.asarray(scale * self.root + TINY, np.float32)
        return self.errors[part.first]

    @lazy
    def usual_error(self) -> Array:
        """The rounding of one float32 score of an item of usual length, for each query."""
        scale = max(self.tolerances[part.first] * part.usual for part in self.parts)
        return np.asarray(scale * self.root)

    @lazy
    def worst_error(self) -> Array:
        """The rounding of one float32 score of any part, for each query."""
        return np.asarray(np.max([self.error(part) for part in self.parts], axis=0))

    def _falsify(self, part: Part, rows: Ids, bounds: Array, scores: Array, relaxed: float) -> None:
        """Test |k - z·z| ≤ R R' on evaluated pairs: PSD kernels cannot break it (theory: pairs)."""
        bounded = cast(BoundedSearcher, self.searcher)
        residuals = bounded.residuals(part.rows)[rows] * self.queries.vectors[:, -1:]
        scale = self.root[:, None] * np.sqrt(np.maximum(part.own[rows], 0))
        slack = (self.tolerances[part.first] + 4 * unit(np.float32)) * scale + TINY
        tops = bounds + (1 - relaxed) * residuals  # z·z + R R', with its rounding inside
        above = np.subtract(scores, tops, where=rows >= 0, out=np.zeros_like(scores))
        wrong = (above > slack) | (
            above < -(2 * residuals + self.queries.embedding.rounding_ * scale + slack)
        )
        if wrong.any() and self.disproof is None:
            i, j = np.argwhere(wrong)[0]
            self.disproof = (
                f"{self.kernel!r} gave {scores[i, j]:.6g} for query {self.queries.first + i} and "
                f"row {part.first + rows[i, j]}, outside of what a positive semi-definite kernel "
                f"can give there ({tops[i, j] - 2 * residuals[i, j]:.6g} to {tops[i, j]:.6g})"
            )


def _joined(lists: list[tuple[Ids, Array]]) -> tuple[Ids, Array]:
    rows = np.concatenate([rows for rows, _ in lists] or [np.empty(0, np.int64)])
    scores = np.concatenate([scores for _, scores in lists] or [np.empty(0)])
    order = np.lexsort((rows, -scores))
    return rows[order], scores[order]


def _best_of(found: list[Candidates], n: int) -> tuple[list[Candidates], Floats]:
    """Keep the n most promising over all parts; also return the next value of each query."""
    following = np.full(len(found[0].values), -np.inf, np.float32)
    ends = np.cumsum([one.rows.shape[1] for one in found])
    if ends[-1] <= n:
        return found, following
    rows, values = (
        np.concatenate(column, axis=1)
        for column in zip(*((one.rows, one.values) for one in found), strict=True)
    )
    keep_most_promising(rows, values, ends, n, following)
    spans = [slice(*pair) for pair in pairwise([0, *ends])]
    return [Candidates(rows[:, span], values[:, span]) for span in spans], following
