"""Scan upper bounds of the kernel: nothing above a floor is missed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.runtime import parallel, topk
from mercer.runtime.arrays import Ids
from mercer.runtime.params import check_count, stored
from mercer.search import _loops
from mercer.search.base import (
    LISTED,
    Allowed,
    BoundedSearcher,
    Candidates,
    Floats,
    Mask,
    Rows,
)
from mercer.search.heads import Head, choose

EPSILON = np.finfo(np.float32).eps
TILE_ROWS = 1024  # of a tile, at least;
TILE_VALUES = 1 << 18  # with few queries, more rows, up to a megabyte of bounds,
MOST_TILE_ROWS = 1 << 16  # but few enough for several tiles
DENSE = 1 / 8  # share of a tile reaching its floors above which the next is multiplied as a whole
FEW = 1 / 4  # share of rows allowed up to which they are copied out
LEAST_SEEN = 4096  # rows seen before a query is given up for having too many candidates
SEED_SHARE, SEED_ROWS = 4, 1 << 14  # a fourth of the rows is searched for a first threshold,
# and about so many at least
SEED_CHOICE = 3  # times as many rows as wanted are compared by all components


@dataclass(frozen=True, eq=False)
class VectorRows(Rows):
    """Vectors as they are, the residual in the last column."""

    vectors: Floats  # (n, d)

    def __len__(self) -> int:
        return len(self.vectors)


@stored
class BoundScan(BoundedSearcher):
    """All rows, by u(q, x) = z_q·z_x + R_q R_x ≥ k(q, x), one inner product.

    See Bourrier et al. (2015), eq. 24–27. Vectors are those of an embedding with `upper_bound`, the
    residual last. A cheaper bound from the leading components comes first (`mercer.search.heads`):
    rows that it puts below the floor are never looked at again.

    Parameters
    ----------
    n_head : int, optional
        How many leading components the first bound uses, 0 for no first bound; by default what
        pays on this machine. With fewer than 64 components there is by default no first bound.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.search import BoundScan
    >>> Z = np.array([[0.9, 0.2], [0.2, 0.5], [0.6, 0.1]], np.float32)
    >>> scan = BoundScan()
    >>> found = scan.candidates(scan.build(Z), Z[:1], n=2)
    >>> found.rows, found.values.round(2)
    (array([[0, 2]]), array([[0.85, 0.56]], dtype=float32))
    """

    rows = VectorRows
    seed_share = 0.5  # z·z + R R/2 ranks better than z·z and than the bound (theory: seeds)

    def __init__(self, n_head: int | None = None) -> None:
        self.n_head = n_head
        self._validate()

    def _validate(self) -> None:
        check_count("n_head", self.n_head, at_least=0, optional=True)

    def build(self, Z: Floats) -> VectorRows:
        """Return rows over vectors with the residual in the last column."""
        return VectorRows(np.ascontiguousarray(Z))

    def join(self, several: Sequence[Any], kept: Sequence[Ids]) -> VectorRows:
        """Return rows over the `kept` vectors of several."""
        parts = [rows.vectors[some] for rows, some in zip(several, kept, strict=True)]
        return VectorRows(np.concatenate(parts))

    def residuals(self, rows: VectorRows) -> Floats:
        """Return R of every row."""
        return np.asarray(rows.vectors[:, -1])

    def is_sound(self, rows: VectorRows, width: int) -> bool:
        """Whether vectors are as wide as those of queries."""
        Z = rows.vectors
        return Z.dtype == np.float32 and Z.shape[1:] == (width,) and Z.flags.c_contiguous

    def candidates(
        self, rows: VectorRows, Zq: Floats, n: int, allowed: Allowed | None = None,
        effort: int | None = None,
    ) -> Candidates:  # fmt: skip
        """Return the n rows with the largest bounds for each query; see `Searcher`."""
        view = self._view(rows, allowed)
        n = min(n, len(view))
        some = view.sampled(Zq, n, 1.0).values
        # the n-th largest of some bounds is not above the n-th largest of all, up to rounding:
        # both are sums of the same products, but in another order
        floors = some[:, n - 1] if some.shape[1] >= n > 0 else np.full(len(Zq), -np.inf)
        floors = floors - 2 * Zq.shape[1] * EPSILON * np.linalg.norm(Zq, axis=1) * _longest(rows)
        found = view.reaching(Zq, floors)
        return Candidates(found.rows[:, :n], found.values[:, :n])

    def seeds(
        self, rows: VectorRows, Zq: Floats, n: int, allowed: Allowed | None = None
    ) -> Candidates:
        """Return n rows that are probably good, from a part of the rows, for a first threshold.

        Values are z·z + R R/2, which are not bounds.
        """
        return self._view(rows, allowed).sampled(Zq, n, self.seed_share)

    def reaching(
        self, rows: VectorRows, Zq: Floats, floors: Floats, allowed: Allowed | None = None,
        relaxed: float = 1.0, give_up: float = 1.0,
    ) -> Candidates:  # fmt: skip
        """Return every row whose bound reaches the floor of the query; see `BoundedSearcher`."""
        return self._view(rows, allowed).reaching(Zq, floors, relaxed, give_up)

    def _view(self, rows: VectorRows, allowed: Allowed | None) -> _View:
        if allowed is not None and len(allowed) <= FEW * len(rows):
            return _View(rows.vectors[allowed.rows], rows=allowed.rows)
        # the first bound depends on the machine, so it is not stored
        head = rows.derived(f"head {self.n_head}", lambda: choose(rows.vectors, self.n_head))
        return _View(rows.vectors, head, checked=None if allowed is None else allowed.mask)


def _longest(rows: VectorRows) -> float:
    """Return the norm of the longest vector."""

    def measure() -> float:
        return float(np.sqrt(np.einsum("ij,ij->i", rows.vectors, rows.vectors).max(initial=0)))

    return float(rows.derived("longest", measure))


class _View:
    """The rows that are looked at: all of them, all but a few, or a copy of a few."""

    def __init__(
        self, Z: Floats, head: Head | None = None, checked: Mask | None = None,
        rows: Ids | None = None,
    ) -> None:  # fmt: skip
        self.Z, self.head, self.rows = Z, head, rows
        self.checked = np.empty(0, bool) if checked is None else checked

    def __len__(self) -> int:
        return len(self.Z)

    def sampled(self, Zq: Floats, n: int, residual: float) -> Candidates:
        """Return n rows with large z·z + residual · R R from a part of all, the largest first."""
        scaled = _scaled(Zq, residual)
        heap = topk.empty(len(Zq), min(SEED_CHOICE * n, len(self)))
        step = max(1, min(SEED_SHARE, len(self) // SEED_ROWS))
        for start, tile in self._tiles(Zq, residual, step):
            if len(self.checked):
                columns = np.arange(start, start + tile.shape[1])
                tile[:, ~self.checked[self._skipping(columns, step)]] = -np.inf
            topk.update(*heap, tile, start)
        columns, values = heap
        rows = np.where(np.isneginf(values), -1, self._skipping(columns, step))
        _loops.products(scaled, self.Z, rows, values)
        rows, values = topk.ordered(rows, values)
        return Candidates(self._original(rows[:, :n]), values[:, :n])

    def reaching(
        self, Zq: Floats, floors: Floats, relaxed: float = 1.0, give_up: float = 1.0
    ) -> Candidates:
        """Return every row whose relaxed bound reaches the floor, the largest first."""
        floors = np.maximum(floors, np.finfo(np.float32).min).astype(np.float32)
        scaled = _scaled(Zq, relaxed)
        lists, longest = _Lists(len(Zq)), LISTED // len(Zq) if give_up < 1 else len(self)
        dense = False
        # a relaxed first bound may be below the relaxed bound, so the first is never relaxed
        for start, tile in self._tiles(Zq, relaxed if self.head is None else 1.0):
            if dense:
                np.matmul(scaled, self.Z[start : start + tile.shape[1]].T, out=tile)
            lists.make_room(tile.shape[1])
            n_hits = _loops.keep_reaching(
                tile, floors, start, scaled, self.Z, self.head is not None and not dense,
                self.checked, lists.rows, lists.bounds, lists.counts,
            )  # fmt: skip
            dense = self.head is not None and n_hits > DENSE * tile.size
            most = min(give_up * max(start + tile.shape[1], LEAST_SEEN), longest)
            hopeless = lists.counts > most
            floors[hopeless], lists.counts[hopeless] = np.inf, 0
        rows, bounds = lists.ordered()
        return Candidates(self._original(rows), bounds, np.isposinf(floors))

    def _tiles(self, Zq: Floats, residual: float, step: int = 1) -> Iterator[tuple[int, Floats]]:
        """Yield the first column and the first bounds of every tile.

        Columns are rows or, with a step, every `step`-th of them; see `_skipping`.
        """
        q = _scaled(Zq, residual) if self.head is None else self.head.queries(Zq, residual)
        height = max(TILE_VALUES // len(Zq) // TILE_ROWS, 1) * TILE_ROWS
        n_columns = self._n_columns(step)
        buffer = np.empty((len(Zq), min(height, MOST_TILE_ROWS, n_columns)), np.float32)
        for span in parallel.spans(n_columns, min(height, MOST_TILE_ROWS)):
            tile = buffer
            if span.stop - span.start < buffer.shape[1]:
                tile = np.empty((len(Zq), span.stop - span.start), np.float32)
            rows = slice(span.start * step, min(span.stop * step, len(self)), step)
            if self.head is None:
                np.matmul(q, self.Z[rows].T, out=tile)  # type: ignore[call-overload]
            else:
                self.head.fill(q, rows, tile)
            yield span.start, tile

    def _n_columns(self, step: int) -> int:
        """Return how many rows remain if only every `step`-th group of adjacent rows is taken."""
        before, last = divmod(len(self), self._together * step)
        return before * self._together + min(last, self._together)

    def _skipping(self, columns: Ids, step: int) -> Ids:
        """Return the row that each column of a tile stands for."""
        groups, inside = np.divmod(columns, self._together)
        return np.asarray(groups * (self._together * step) + inside)

    @property
    def _together(self) -> int:
        return 1 if self.head is None else self.head.together

    def _original(self, rows: Ids) -> Ids:
        """Turn row numbers of the view into numbers among all rows."""
        if self.rows is None or len(self.rows) == 0:
            return rows
        return np.where(rows >= 0, self.rows[rows], -1)


def _scaled(Zq: Floats, residual: float) -> Floats:
    """Return query vectors with this share of their residuals."""
    if residual == 1.0:
        return np.ascontiguousarray(Zq)
    scaled = Zq.copy()
    scaled[:, -1] *= np.float32(residual)
    return scaled


def _widened(lists: Any, width: int) -> Any:
    """Return lists with `width` places; the new ones are not initialised."""
    wide = np.empty((len(lists), width), lists.dtype)
    wide[:, : lists.shape[1]] = lists
    return wide


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
            self.rows, self.bounds = (_widened(one, 2 * needed) for one in (self.rows, self.bounds))

    def ordered(self) -> tuple[Ids, Floats]:
        """Return the lists as two matrices, the largest bounds first."""
        shape = len(self.counts), int(self.counts.max(initial=0))
        rows, bounds = np.full(shape, -1), np.full(shape, -np.inf, np.float32)
        _loops.sort_lists(self.rows, self.bounds, self.counts, rows, bounds)
        return rows, bounds
