"""Scan upper bounds of the kernel: nothing above a floor is missed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

import numpy as np

from mercer import parallel, topk
from mercer.arrays import Ids
from mercer.params import check_count
from mercer.search import _loops
from mercer.search.base import Candidates, Floats, Mask, Searcher

__all__ = ["BoundScan"]

TILE_ROWS = 512  # bounded at a time: with 512 queries one megabyte
HEAD_SHARE = 1 / 4  # of the dimensions looked at first
LEAST_DIMENSIONS = 64  # below this a second look costs more than it saves
DENSE = 1 / 8  # of a tile that reaches its floors: from here on whole products are cheaper
FEW = 1 / 4  # of the rows allowed: from here down they are copied out
SEED_ROWS = 1 << 14  # at least so many rows are looked at for a first threshold,
SEED_SHARE = 4  # or every fourth tile
SEED_CHOICE = 3  # times the wanted number of them are looked at with all components
SEED_RESIDUAL = 0.5  # z·z + R R/2 ranks better than z·z and than the bound (PROOFS F4)


class BoundScan(Searcher):
    """All rows, by u(q, x) = z_q·z_x + R_q R_x ≥ k(q, x), one inner product (E eq. 24–27).

    Vectors are those of an embedding with `upper_bound`, the residual last. Components come in
    order of energy, so the leading ones with their own residual bound the kernel as well, more
    cheaply: rows whose first bound is below the floor are never looked at again.

    Parameters
    ----------
    n_head : int, optional
        How many leading components the first bound uses; a quarter of them by default, all of them
        where there are fewer than 64.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.search import BoundScan
    >>> Z = np.array([[0.9, 0.2], [0.2, 0.5], [0.6, 0.1]], np.float32)
    >>> found = BoundScan().build(Z).candidates(Z[:1], n=2)
    >>> found.rows, found.values.round(2)
    (array([[0, 2]]), array([[0.85, 0.56]], dtype=float32))
    """

    bounded = True

    def __init__(self, n_head: int | None = None) -> None:
        self.n_head = n_head
        self._validate()

    def _validate(self) -> None:
        if self.n_head is not None:
            check_count("BoundScan", "n_head", self.n_head)

    def build(self, Z: Floats) -> Self:
        """Take the vectors of all rows, the residual in the last column, and return self."""
        n_components = Z.shape[1] - 1
        n_head = self.n_head or n_components
        if self.n_head is None and n_components >= LEAST_DIMENSIONS:
            n_head = round(HEAD_SHARE * n_components / 16) * 16
        n_head = min(n_head, n_components)
        self.head_, tail = _cut(Z, n_head)
        self.tail_ = np.ascontiguousarray(tail)
        return self

    def __len__(self) -> int:
        return len(self.head_)

    @property
    def residuals(self) -> Floats:
        """R of every row."""
        last = self.tail_ if self.tail_.shape[1] else self.head_
        return np.asarray(last[:, -1])

    def candidates(self, Zq: Floats, n: int, allowed: Mask | None = None) -> Candidates:
        """Return the n rows with the largest bounds for each query; see `Searcher`."""
        view = self._view(allowed)
        q = _Queries(Zq, self.head_.shape[1] - 1)
        heap = topk.empty(len(Zq), min(n, len(view)))
        for start, tile in view.tiles(q.head):
            if self.tail_.shape[1]:
                view.complete(tile, q, start)
            view.mask(tile, start)
            topk.update(*heap, tile, start)
        return view.ordered(heap)

    def seeds(self, Zq: Floats, n: int, allowed: Mask | None = None) -> Candidates:
        """Return n rows that are probably good, from a part of the rows, for a first threshold.

        Values are z·z + R R/2, no bounds.
        """
        view = self._view(allowed)
        q = _Queries(Zq, self.head_.shape[1] - 1)
        q.head[:, -1] *= SEED_RESIDUAL
        heap = topk.empty(len(Zq), min(SEED_CHOICE * n, len(view)))
        step = max(1, min(SEED_SHARE, len(view) // SEED_ROWS))
        for start, tile in view.tiles(q.head, step):
            view.mask(tile, start)
            topk.update(*heap, tile, start)
        return view.refined(heap, q, n)

    def reaching(
        self, Zq: Floats, floors: Floats, allowed: Mask | None = None, relaxed: float = 1.0
    ) -> Candidates:
        """Return every row whose bound reaches the floor of the query.

        Parameters
        ----------
        Zq : ndarray of float32, shape (n_queries, d)
            Query vectors.
        floors : ndarray of float32, shape (n_queries,)
            The least bound of interest.
        allowed : ndarray of bool, shape (len(self),), optional
            Which rows may be named.
        relaxed : float
            The share of R_q R_x that is added (E eq. 28); below 1 it is no bound any more.
        """
        view = self._view(allowed)
        q = _Queries(Zq, self.head_.shape[1] - 1, relaxed)
        floors = np.maximum(floors, np.finfo(np.float32).min).astype(np.float32)
        lists = _Lists(len(Zq))
        for start, tile in view.tiles(q.head):
            tail_q, tail, taken = q.tail, view.tail, q.taken
            if tail.shape[1] and _loops.count_reaching(tile, floors) > DENSE * tile.size:
                view.complete(tile, q, start)
                tail_q, tail, taken = tail_q[:, :0], tail[:, :0], np.zeros_like(taken)
            lists.make_room(tile.shape[1])
            _loops.keep_reaching(
                tile, floors, start, taken, view.head[:, -1], tail_q, tail, view.checked,
                lists.rows, lists.bounds, lists.counts,
            )  # fmt: skip
        rows, bounds = lists.ordered()
        return Candidates(view.original(rows), bounds)

    def _view(self, allowed: Mask | None) -> _View:
        if allowed is None:
            return _View(self.head_, self.tail_)
        if np.count_nonzero(allowed) > FEW * len(allowed):
            return _View(self.head_, self.tail_, checked=allowed)
        rows = np.flatnonzero(allowed)
        return _View(self.head_[rows], self.tail_[rows], rows=rows)


def _cut(Z: Floats, n_head: int) -> tuple[Floats, Floats]:
    """Return the leading components with their residual, and the rest; nothing if all lead.

    The residual of the head is that of the stored float32 numbers, rounded up, so its bound is
    never below that of the whole vector.
    """
    if n_head == Z.shape[1] - 1:
        return np.ascontiguousarray(Z), Z[:, :0]
    tail = Z[:, n_head:]
    lost = np.sqrt(np.einsum("ij,ij->i", tail, tail, dtype=np.float64) * (1 + 1e-12))
    up = np.nextafter(lost.astype(np.float32), np.float32(np.inf))
    return np.column_stack([Z[:, :n_head], up]), tail


class _Queries:
    """Query vectors cut as the rows are."""

    def __init__(self, Zq: Floats, n_head: int, relaxed: float = 1.0) -> None:
        head, tail = _cut(Zq, n_head)
        self.head, self.tail = head.copy(), tail.copy()
        self.taken = self.head[:, -1].copy()  # what the tail puts back
        if self.tail.shape[1]:
            self.tail[:, -1] *= np.float32(relaxed)
        else:
            self.taken *= np.float32(1 - relaxed)


class _View:
    """The rows that are looked at: all of them, or a copy of a few."""

    def __init__(
        self, head: Floats, tail: Floats, checked: Mask | None = None, rows: Ids | None = None
    ) -> None:
        self.head, self.tail, self.rows = head, tail, rows
        self.checked = np.empty(0, bool) if checked is None else checked

    def __len__(self) -> int:
        return len(self.head)

    def tiles(self, head_q: Floats, step: int = 1) -> Iterator[tuple[int, Floats]]:
        """Yield the first row and the bounds of tile after tile, or of every few tiles."""
        buffer = np.empty((len(head_q), min(TILE_ROWS, len(self))), np.float32)
        for span in parallel.spans(len(self), TILE_ROWS)[::step]:
            tile = buffer[:, : span.stop - span.start]
            if tile.shape[1] < buffer.shape[1]:
                tile = np.empty(tile.shape, np.float32)
            yield span.start, np.matmul(head_q, self.head[span].T, out=tile)

    def complete(self, tile: Floats, q: _Queries, start: int) -> None:
        """Put the product of the tails in place of the residuals of the heads."""
        span = slice(start, start + tile.shape[1])
        tile -= q.taken[:, None] * self.head[span, -1]
        tile += q.tail @ self.tail[span].T

    def mask(self, tile: Floats, start: int) -> None:
        if len(self.checked):
            tile[:, ~self.checked[start : start + tile.shape[1]]] = -np.inf

    def ordered(self, heap: topk.Best) -> Candidates:
        """Return what the heaps hold, best first, by the row numbers of all rows."""
        rows, values = topk.ordered(*heap)
        rows[np.isneginf(values)] = -1  # rows that are not allowed
        return Candidates(self.original(rows), values)

    def refined(self, heap: topk.Best, q: _Queries, n: int) -> Candidates:
        """Return the n best of what the heaps hold by z·z + R R/2 of all components."""
        rows, values = heap
        rows[np.isneginf(values)] = -1
        if self.tail.shape[1]:
            q.head[:, -1] = 0
            q.tail[:, -1] *= SEED_RESIDUAL
            _loops.products(q.head, self.head, q.tail, self.tail, rows, values)
        rows, values = topk.ordered(rows, values)
        return Candidates(self.original(rows[:, :n]), values[:, :n])

    def original(self, rows: Ids) -> Ids:
        """Return row numbers of all rows for those of the view."""
        if self.rows is None or len(self.rows) == 0:
            return rows
        return np.where(rows >= 0, self.rows[rows], -1)


class _Lists:
    """A growing list of rows and bounds for each query."""

    def __init__(self, n_queries: int) -> None:
        self.counts = np.zeros(n_queries, np.int64)
        self.rows = np.empty((n_queries, 0), np.int64)
        self.bounds = np.empty((n_queries, 0), np.float32)

    def make_room(self, n: int) -> None:
        """Make room for n more rows of every query."""
        needed = int(self.counts.max(initial=0)) + n
        if needed > self.rows.shape[1]:
            missing = ((0, 0), (0, 2 * needed - self.rows.shape[1]))
            self.rows = np.pad(self.rows, missing, constant_values=-1)
            self.bounds = np.pad(self.bounds, missing, constant_values=-np.inf)

    def ordered(self) -> tuple[Ids, Floats]:
        """Return the lists as two matrices, the largest bounds first."""
        shape = len(self.counts), int(self.counts.max(initial=0))
        rows, bounds = np.full(shape, -1), np.full(shape, -np.inf, np.float32)
        _loops.sort_lists(self.rows, self.bounds, self.counts, rows, bounds)
        return rows, bounds
