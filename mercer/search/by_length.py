"""Rows in groups of similar length, for kernels that grow with the lengths of items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mercer.errors import InputError
from mercer.runtime import topk
from mercer.runtime.arrays import Array, Ids
from mercer.runtime.params import stored
from mercer.search.base import (
    Allowed,
    BoundedSearcher,
    Candidates,
    Codes,
    Floats,
    Rows,
    Searcher,
)

RATIO = 1.15  # between the longest and the shortest row of a group,
TOGETHER = 64  # unless it has at most this many rows, all of which are candidates
DEEPER = 4  # times as many candidates of a group, where shorter rows may have hidden better ones


@dataclass(frozen=True, eq=False)
class LengthRows(Rows):
    """Rows of another searcher, group by group, the longest first.

    Attributes
    ----------
    numbers : ndarray of int64, shape (n,)
        The row numbers of all groups.
    starts : ndarray of int64, shape (n_groups + 1,)
        Where each group begins.
    lengths : ndarray of float32, shape (n,)
        The length of every row, by its number.
    groups : tuple of Rows
        What the other searcher built over each group.
    """

    numbers: Ids
    starts: Ids
    lengths: Floats
    groups: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.lengths)

    def kept(self) -> dict[str, Any]:
        """Return what is stored: the fields, with those of each group."""
        return super().kept() | {"groups": [group.kept() for group in self.groups]}

    def __getstate__(self) -> dict[str, Any]:
        return super().kept()

    @property
    def codes(self) -> Codes | None:
        """The codes of all rows, where the groups keep codes in the order of their rows."""
        codes = [group.codes for group in self.groups if hasattr(group, "codes")]
        return np.concatenate(codes)[self.places] if codes else None

    @property
    def places(self) -> Ids:
        """The place of every row among `numbers`."""

        def invert() -> Ids:
            places = np.empty(len(self), np.int64)
            places[self.numbers] = np.arange(len(self))
            return places

        found: Ids = self.derived("places", invert)
        return found


@stored
class ByLength(Searcher):
    """Another searcher over groups of rows of similar length, longest first.

    Vectors that stand for a normalised kernel say nothing about lengths, but with q and x the
    items, k(q, x) is √(k(q, q) k(x, x)) times the normalised kernel: short items need a better
    direction than long ones. In a group, all rows are nearly equally long, so that the other
    searcher, which sees directions only, finds the best of them. Its values become estimates of
    the normalised kernel (`link_`), and those times the exact lengths order the rows of all groups.
    Groups too short for the estimates found so far are not searched (theory: lengths).

    An index uses it where k(x, x) varies.

    Parameters
    ----------
    searcher : Searcher
        What finds candidates in a group.

    Attributes
    ----------
    searcher_ : Searcher
        The same, with what it learned.
    link_ : ndarray of float64, shape (3,)
        a, b and c: the normalised kernel of a row with the value v is rarely above a + b v, and
        that is rarely above c.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.search import ByLength, Graph
    >>> Z = np.random.default_rng(0).normal(size=(2000, 8)).astype(np.float32)
    >>> lengths = np.linalg.norm(Z, axis=1)
    >>> U = Z / lengths[:, None]
    >>> by_length = ByLength(Graph()).fit(U)
    >>> rows = by_length.build(U, lengths)
    >>> found = by_length.candidates(rows, U[:5], n=20).rows
    >>> best = (U[:5] @ Z.T).argmax(axis=1)
    >>> bool((found == best[:, None]).any(axis=1).all())
    True
    """

    rows = LengthRows
    learned = ("searcher_", "link_")

    searcher_: Searcher
    link_: npt.NDArray[np.float64]

    def __init__(self, searcher: Searcher) -> None:
        self.searcher = searcher
        self._validate()

    def _validate(self) -> None:
        if isinstance(self.searcher, BoundedSearcher):
            raise InputError(f"{self.searcher!r} has bounds, which take lengths into account.")

    @property
    def takes_effort(self) -> bool:  # type: ignore[override]
        """Whether the other searcher makes use of `effort`."""
        return self.searcher.takes_effort

    @property
    def by_blocks(self) -> bool:  # type: ignore[override]
        """Whether the other searcher's rows may be built over blocks."""
        return self.searcher.by_blocks

    @property
    def grows(self) -> bool:  # type: ignore[override]
        """Whether the other searcher's rows grow cheaply."""
        return self.searcher.grows

    @property
    def effort(self) -> int | None:
        """The effort of the other searcher."""
        return self.searcher.effort

    def efforts(self, rows: LengthRows) -> list[int]:
        """Return the efforts of the other searcher for the largest group."""
        return self.searcher_.efforts(max(rows.groups, key=len))

    def usual_effort(self, rows: LengthRows) -> int | None:
        """Return that of the other searcher for the largest group."""
        return self.searcher_.usual_effort(max(rows.groups, key=len))

    def depth(self, rows: LengthRows, effort: int) -> int:
        """Return what the other searcher finds in the largest group."""
        return self.searcher_.depth(max(rows.groups, key=len), effort)

    @property
    def code_(self) -> Any:
        """The code of the other searcher, or None."""
        return getattr(self.searcher_, "code_", None)

    # ---- learning

    def wanted(self, n: int) -> int:
        """Return how many vectors the other searcher needs."""
        return self.searcher.wanted(n)

    def fit(self, Z: Floats, n: int | None = None) -> Self:
        """Fit a copy of the other searcher."""
        self.searcher_ = self.searcher.fresh().fit(Z, n)
        self.link_ = np.array([1.0, 0.5, 1.0])  # minus squared distances of unit vectors
        return self

    def learn_link(self, Zq: Floats, values: Array, cosines: Array) -> None:
        """Learn how values of candidates are related to the normalised kernel, by least squares.

        Parameters
        ----------
        Zq : ndarray of float32, shape (n_queries, d)
            Query vectors.
        values, cosines : ndarray, shape (n_queries, n)
            The values of candidates of the other searcher, and their normalised kernel; minus
            infinity where there is none.
        """
        there = np.isfinite(values)
        v = (values / self._scales(Zq))[there].astype(np.float64)
        c = cosines[there].astype(np.float64)
        spread = v.var() if len(v) else 0.0
        slope = float(np.mean((v - v.mean()) * (c - c.mean())) / spread) if spread > 0 else 0.0
        if slope > 0:  # otherwise these values tell nothing, and the default is as good
            level = c.mean() - slope * v.mean()
            # one standard deviation more: long items are worth a look even if in doubt
            level += np.std(c - level - slope * v)
            self.link_ = np.array([level, slope, max(1.0, c.max(), (level + slope * v).max())])

    def _scales(self, Zq: Floats) -> Floats:
        """Return what the values of each query are in proportion to."""
        if not self.searcher.in_proportion:
            return np.ones((len(Zq), 1), np.float32)
        lengths: Floats = np.linalg.norm(Zq, axis=1, keepdims=True)
        return np.where(lengths > 0, lengths, 1).astype(np.float32)

    # ---- building

    def build(self, Z: Floats, lengths: npt.ArrayLike | None = None) -> LengthRows:
        """Return rows over vectors of these lengths, by default all of the same length."""
        self._require_fitted()
        known = np.ones(len(Z)) if lengths is None else np.asarray(lengths)
        groups = list(_groups(known))
        built = tuple(self.searcher_.build(np.ascontiguousarray(Z[group])) for group in groups)
        return _rows(groups, known, built)

    def join(self, several: Sequence[Any], kept: Sequence[Ids]) -> LengthRows | None:
        """Return the `kept` rows of several, grouped anew."""
        lengths = np.concatenate([r.lengths[some] for r, some in zip(several, kept, strict=True)])
        sources, places = _sources(several, kept)
        parts = [part for rows in several for part in rows.groups]
        groups, built = list(_groups(lengths)), []
        for i, group in enumerate(groups):
            groups[i] = group = group[np.argsort(sources[group], kind="stable")]
            named, first = np.unique(sources[group], return_index=True)
            some = np.split(places[group], first[1:])
            joined = self.searcher_.join([parts[source] for source in named], some)
            if joined is None:
                return None
            built.append(joined)
        return _rows(groups, lengths, tuple(built))

    def without(self, rows: LengthRows, gone: Ids) -> LengthRows:
        """Return groups without these rows; see `Searcher`."""
        flags = np.zeros(len(rows), bool)
        flags[gone] = True
        groups = tuple(
            self.searcher_.without(group, np.flatnonzero(flags[rows.numbers[start:stop]]))
            for group, (start, stop) in zip(
                rows.groups, pairwise(rows.starts.tolist()), strict=True
            )
        )
        return LengthRows(rows.numbers, rows.starts, rows.lengths, groups)

    def read(self, kept: dict[str, Any]) -> LengthRows:
        """Return rows with these fields, from a file that may be damaged."""
        groups = tuple(self.searcher_.read(one) for one in kept["groups"])
        return LengthRows.read(**kept | {"groups": groups})

    def is_sound(self, rows: LengthRows, width: int) -> bool:
        """Whether every row is in one group, and each group is sound."""
        n = len(rows)
        return (
            rows.numbers.dtype == rows.starts.dtype == np.int64
            and rows.lengths.dtype == np.float32
            and rows.lengths.shape == rows.numbers.shape == (n,)
            and rows.starts.shape == (len(rows.groups) + 1,)
            and bool((np.sort(rows.numbers) == np.arange(n)).all())
            and np.diff(rows.starts).tolist() == [len(group) for group in rows.groups]
            and all(self.searcher_.is_sound(group, width) for group in rows.groups)
        )

    # ---- searching

    def candidates(
        self, rows: LengthRows, Zq: Floats, n: int, allowed: Allowed | None = None,
        effort: int | None = None,
    ) -> Candidates:  # fmt: skip
        """Return the n rows with the largest estimates of length times normalised kernel."""
        n_allowed = len(rows) if allowed is None else len(allowed)
        ids, values = topk.empty(len(Zq), min(n, n_allowed))
        if not ids.size:
            return Candidates(ids, values)
        slopes = (self.link_[1] / self._scales(Zq)).astype(np.float32)
        for group, numbers, some in _allowed(rows, allowed):
            lengths = rows.lengths[numbers]
            longest, m = lengths.max(), max(n, TOGETHER)
            asked = np.flatnonzero(values[:, -1] < self.link_[2] * longest)
            if not len(asked):
                break
            while len(asked):
                found = self.searcher_.candidates(
                    group, np.ascontiguousarray(Zq[asked]), m, some, effort
                )
                cosines = found.values * slopes[asked] + np.float32(self.link_[0])
                best = ids[asked], values[asked]
                named = np.where(found.rows >= 0, numbers[found.rows], -1)
                offered = np.zeros(len(asked), np.int64)
                topk.insert(*best, named, cosines * lengths[found.rows], 0, offered)
                # rows left out of the group may be longer than those found
                left = (offered == m) & (cosines.min(axis=1) * longest > best[1][:, -1])
                ids[asked[~left]], values[asked[~left]] = (one[~left] for one in best)
                asked, m = asked[left], m * DEEPER
        return Candidates(ids, values)


def _groups(lengths: Array) -> Iterator[Ids]:
    """Yield the rows of each group, increasing; the longest group first."""
    with np.errstate(divide="ignore"):
        bands = np.floor(np.log(lengths) / np.log(RATIO))
    order = np.argsort(-bands, kind="stable")
    sorted_ = bands[order]
    ends = [*(np.flatnonzero(sorted_[1:] != sorted_[:-1]) + 1).tolist(), len(order)]
    start = stop = 0
    for end in ends:
        if stop > start and end - start > TOGETHER:
            yield np.sort(order[start:stop])
            start = stop
        stop = end
    yield np.sort(order[start:stop])


def _rows(groups: Sequence[Ids], lengths: Array, built: tuple[Rows, ...]) -> LengthRows:
    starts = np.cumsum([0, *(len(group) for group in groups)])
    return LengthRows(
        np.concatenate(groups), starts.astype(np.int64), lengths.astype(np.float32), built
    )


def _sources(several: Sequence[LengthRows], kept: Sequence[Ids]) -> tuple[Ids, Ids]:
    """Return the group of each kept row, counted over all rows given, and its place there."""
    sources, places, first = [], [], 0
    for rows, some in zip(several, kept, strict=True):
        at = rows.places[some]
        group = np.searchsorted(rows.starts, at, "right") - 1
        sources.append(first + group)
        places.append(at - rows.starts[group])
        first += len(rows.groups)
    return np.concatenate(sources), np.concatenate(places)


def _allowed(
    rows: LengthRows, allowed: Allowed | None
) -> Iterator[tuple[Any, Ids, Allowed | None]]:
    """Yield each group that may be searched, its row numbers, and which of its rows may be named.

    Lengths of rows that may not be named count, too: they only put off the end.
    """
    spans = list(pairwise(rows.starts.tolist()))
    if allowed is None:
        for group, (start, stop) in zip(rows.groups, spans, strict=True):
            yield group, rows.numbers[start:stop], None
        return
    places = np.sort(rows.places[allowed.rows])
    cuts = np.searchsorted(places, rows.starts).tolist()
    for group, (start, stop), (first, last) in zip(rows.groups, spans, pairwise(cuts), strict=True):
        if last > first:
            some = Allowed(places[first:last] - start, stop - start)
            yield group, rows.numbers[start:stop], some
