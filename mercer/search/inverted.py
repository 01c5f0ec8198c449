"""Inverted lists: rows by their nearest centroid, kept as product codes that faiss scans fast."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt

from mercer.codes import Code, Product
from mercer.errors import InputError
from mercer.runtime import parallel
from mercer.runtime.arrays import Ids
from mercer.runtime.lazy import forget, lazy
from mercer.runtime.params import check_count, stored
from mercer.search._code_loops import choose_lists, negate
from mercer.search.base import (
    Allowed,
    Candidates,
    Codes,
    Floats,
    Rows,
    Searcher,
    only_allowed,
)
from mercer.search.decoded import compared_one_by_one, nearest
from mercer.search.packed import packed_lists

ROUNDS, POINTS = 8, 64  # of k-means, and the most vectors that it learns a centroid from
BLOCK = 16_384  # rows assigned and encoded in one task
SAMPLE = 1000  # vectors from which `reach_` is learned
CODE_SAMPLE = 10_000  # vectors that the code learns from
ENOUGH = 2  # times as many rows in the lists that are scanned as are wanted
SURE = 16  # and as many as nearly all queries need, who do not scan equally many lists
SPARE = 4  # times √n more rows are requested where some are not allowed


@dataclass(frozen=True, eq=False)
class ListRows(Rows):
    """Codes in lists.

    Attributes
    ----------
    codes : ndarray of uint8, shape (n, n_bytes)
        The codes of all rows, list by list.
    numbers : ndarray of uint32, shape (n,)
        Their row numbers, increasing in each list.
    offsets : ndarray of int64, shape (n_lists + 1,)
        Where each list begins.
    """

    codes: Codes
    numbers: npt.NDArray[np.uint32]
    offsets: Ids

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def sorted(cls, codes: Codes, lists: Ids, n_lists: int) -> ListRows:
        """Return rows grouped by the list that each is in."""
        order = np.argsort(lists, kind="stable")
        sizes = np.bincount(lists, minlength=n_lists)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        return cls(codes[order], order.astype(np.uint32), offsets)

    def unsorted(self, some: Ids) -> tuple[Codes, Ids]:
        """Return the codes of some rows, and their lists."""
        places = self.places[some]
        return self.codes[places], np.searchsorted(self.offsets, places, "right") - 1

    @property
    def places(self) -> Ids:
        """The place of every row among the codes."""

        def invert() -> Ids:
            places = np.empty(len(self), np.int64)
            places[self.numbers] = np.arange(len(self))
            return places

        found: Ids = self.derived("places", invert)
        return found


@stored
class Inverted(Searcher):
    """Rows in lists, one for each of many centroids; a query scans the nearest lists.

    The number of lists differs from query to query: a query scans all lists whose centroid is, in
    squared distance, at most a given amount farther than the nearest. The amount is chosen to give
    `n_probe` lists on average; this finds more than the same number of lists for every query.

    Parameters
    ----------
    code : Product
        Turns vectors into codes of 4 bits per group; `fit` fits a copy of it.
    n_lists : int, optional
        How many lists; by default the power of two nearest √n for the n items given to `fit`, but
        one list for up to 5,000 items.
    n_probe : int, optional
        How many lists a query scans, on average. More find more and take longer. By default about
        n_lists^(2/3) / 2.
    seed : int
        Chooses the first centroids.

    Attributes
    ----------
    code_ : Product
        The code, with what it learned.
    centroids_ : ndarray of float32, shape (n_lists, D)
        The centroids, in the space of the vectors that `code_.query` returns.
    reach_ : ndarray of float32, shape (n_lists,)
        How much farther than the nearest centroid, in squared distance, the others may be for
        1, 2, ... lists on average.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.codes import Product
    >>> from mercer.search import Inverted
    >>> Z = np.random.default_rng(0).normal(size=(6000, 8)).astype(np.float32)
    >>> lists = Inverted(Product(None, "deal", bits=4)).fit(Z)
    >>> rows = lists.build(Z)
    >>> len(lists.centroids_), rows.codes.shape
    (64, (6000, 2))
    >>> found = lists.candidates(rows, Z[:9], n=60).rows
    >>> bool((found == np.arange(9)[:, None]).any(axis=1).all())
    True
    """

    rows = ListRows
    learned = ("code_", "centroids_", "reach_")
    takes_effort = True

    @property
    def effort(self) -> int | None:
        """The parameter `n_probe`."""
        return self.n_probe

    def __init__(
        self, code: Code, n_lists: int | None = None, n_probe: int | None = None, seed: int = 0
    ) -> None:
        self.code = code
        self.n_lists = n_lists
        self.n_probe = n_probe
        self.seed = seed
        self._validate()

    def _validate(self) -> None:
        if not isinstance(self.code, Product) or self.code.bits != 4:
            raise InputError(
                f"code is {self.code!r}. Pass a product code of 4 bits a group, such as "
                "Product(None, 'deal', bits=4)."
            )
        for name in ("n_lists", "n_probe"):
            check_count(name, getattr(self, name), optional=True)
        check_count("seed", self.seed, at_least=0)

    def efforts(self, rows: Any) -> list[int]:
        """Return numbers of lists: doubled, up to all."""
        n_lists = len(self.centroids_)
        return [*(1 << i for i in range(1, (n_lists - 1).bit_length())), n_lists]

    def usual_effort(self, rows: Any) -> int:
        """Return `n_probe`, or what stands for it."""
        return self.n_probe or _usual_probes(len(self.centroids_))

    def depth(self, rows: Any, effort: int) -> int:
        """Return how many candidates so many lists nearly always have.

        Queries that find fewer scan more lists, which says nothing of searches for fewer.
        """
        n_lists = len(self.centroids_)
        return len(rows) if effort >= n_lists else effort * len(rows) // (SURE * n_lists)

    # ---- learning

    def wanted(self, n: int) -> int:
        """Return how many vectors the centroids are learned from."""
        return min(n, max(super().wanted(n), POINTS * (self.n_lists or _usual_lists(n))))

    def fit(self, Z: Floats, n: int | None = None) -> Self:
        """Fit a copy of the code, find the centroids, and return self."""
        self.code_ = cast(Product, self.code).fresh().fit(Z[:: max(1, len(Z) // CODE_SAMPLE)])
        V = np.ascontiguousarray(self.code_.query(Z))
        n_lists = min(self.n_lists or _usual_lists(n or len(Z)), max(1, len(Z)))
        self.centroids_ = self._means(V, n_lists)
        forget(self)
        self.reach_ = self._reaches(V[:: max(1, len(V) // SAMPLE)])
        return self

    def _means(self, V: Floats, n_lists: int) -> Floats:
        if n_lists == 1:
            return np.asarray(V.mean(axis=0, keepdims=True))
        rng = np.random.default_rng(self.seed)
        some = rng.choice(len(V), min(len(V), POINTS * n_lists), replace=False)
        with parallel.one_faiss_thread() as faiss:
            means = faiss.Kmeans(
                V.shape[1], n_lists, niter=ROUNDS, seed=self.seed, min_points_per_centroid=1,
                max_points_per_centroid=POINTS,
            )  # fmt: skip
            means.train(np.ascontiguousarray(V[np.sort(some)]))
            found: Floats = means.centroids
        return found

    def _reaches(self, V: Floats) -> Floats:
        """Return how much farther centroids may be for 1, 2, ... lists on average."""
        squares = self._squares(V)
        squares -= squares.min(axis=1, keepdims=True)
        return np.ascontiguousarray(np.sort(squares, axis=None)[len(V) - 1 :: len(V)])

    def _squares(self, V: Floats) -> Floats:
        """Return squared distances to all centroids, less the squared length of the query."""
        factors, lengths = self._expanded
        squares = V @ factors
        squares += lengths
        return np.asarray(squares)

    @lazy
    def _expanded(self) -> tuple[Floats, Floats]:
        """The terms of |v - c|² = |v|² - 2 v·c + |c|² that depend on the centroids."""
        C = self.centroids_
        return np.ascontiguousarray(-2 * C.T), np.asarray(np.einsum("ij,ij->i", C, C))

    # ---- building

    def build(self, Z: Floats) -> ListRows:
        """Divide the rows into lists and encode them."""
        self._require_fitted()
        codes = np.empty((len(Z), len(self.code_.centroids_) // 2), np.uint8)
        lists = np.empty(len(Z), np.int64)

        def fill(span: slice) -> None:
            V = np.ascontiguousarray(self.code_.query(Z[span]))
            codes[span] = self.code_.encode_mixed(V)
            with parallel.one_faiss_thread() as faiss:
                lists[span] = faiss.knn(V, self.centroids_, 1)[1][:, 0]

        parallel.over(len(Z), BLOCK, fill, "building lists")
        return ListRows.sorted(codes, lists, len(self.centroids_))

    def join(self, several: Sequence[Any], kept: Sequence[Ids]) -> ListRows:
        """Return the lists of the `kept` rows of several."""
        parts = [rows.unsorted(some) for rows, some in zip(several, kept, strict=True)]
        codes, lists = (np.concatenate(column) for column in zip(*parts, strict=True))
        return ListRows.sorted(codes, lists, len(self.centroids_))

    # ---- searching

    def is_sound(self, rows: ListRows, width: int) -> bool:
        """Whether every row is in one list, and codes and centroids go together."""
        n, n_lists = len(rows), len(self.centroids_)
        n_groups, _, size = self.code_.centroids_.shape
        return (
            rows.codes.dtype == np.uint8
            and rows.codes.shape == (n, n_groups // 2)
            and self.centroids_.dtype == self.reach_.dtype == np.float32
            and self.centroids_.shape == (n_lists, n_groups * size)
            and self.reach_.shape == (n_lists,)
            and rows.numbers.shape == (n,)
            and rows.offsets.shape == (n_lists + 1,)
            and rows.offsets[0] == 0
            and rows.offsets[-1] == n
            and bool((np.diff(rows.offsets) >= 0).all())
            and bool((np.sort(rows.numbers) == np.arange(n)).all())
        )

    def candidates(
        self, rows: ListRows, Zq: Floats, n: int, allowed: Allowed | None = None,
        effort: int | None = None,
    ) -> Candidates:  # fmt: skip
        """Return n rows with the nearest codes, among the lists that a query scans.

        Values are minus the squared distance to the vector that a code stands for. `effort`
        replaces `n_probe`.
        """
        V = np.ascontiguousarray(self.code_.query(Zq))
        few = compared_one_by_one(len(rows), len(V), n, allowed)
        if few is not None:
            return nearest(V, few, lambda some: self._decoded(rows, some), n)
        n_probe = effort or self.usual_effort(rows)
        if allowed is None:
            return self._nearest(rows, V, n, n_probe)
        return self._allowed(rows, V, n, allowed, n_probe, len(rows) / len(allowed))

    def _allowed(
        self, rows: ListRows, V: Floats, n: int, allowed: Allowed, n_probe: int, times: float
    ) -> Candidates:
        """Scan `times` as many rows and lists, and more again where too few rows are allowed."""
        asked = min(len(rows), math.ceil(times * (n + SPARE * math.sqrt(n))))
        looked_into = math.ceil(times * n_probe)
        found = only_allowed(self._nearest(rows, V, asked, looked_into), allowed, n)
        short = np.flatnonzero(found.rows[:, -1] < 0)
        if len(short) and asked < len(rows):
            more = self._allowed(rows, V[short], n, allowed, n_probe, 4 * times)
            found.rows[short], found.values[short] = more.rows, more.values
        return found

    def _nearest(self, rows: ListRows, V: Floats, n: int, n_probe: int) -> Candidates:
        """Return the n nearest codes; queries that find fewer scan more lists."""
        n, n_probe = min(n, len(rows)), self._enough(rows, n, n_probe)
        found = self._scanned(rows, V, n, n_probe)
        last = found.rows[:, -1]
        if n_probe < len(self.centroids_) and np.minimum.reduce(last) < 0:
            short = np.flatnonzero(last < 0)
            more = self._nearest(rows, V[short], n, 4 * n_probe)
            found.rows[short], found.values[short] = more.rows, more.values
        return found

    def _scanned(self, rows: ListRows, V: Floats, n: int, n_probe: int) -> Candidates:
        lists = self._probed(V, n_probe)
        packed = rows.derived("faiss", lambda: packed_lists(self.code_, rows))
        far = np.zeros(lists.shape, np.float32)  # distances to centroids, which codes do not need
        distances, found = np.empty((len(V), n), np.float32), np.empty((len(V), n), np.int64)
        with parallel.one_faiss_thread() as faiss:
            arrays = [faiss.swig_ptr(A) for A in (lists, far, distances, found)]
            packed.index.search_preassigned_c(len(V), faiss.swig_ptr(V), n, *arrays, False)
        negate(distances, found)
        return Candidates(found, distances)

    def _enough(self, rows: ListRows, n: int, n_probe: int) -> int:
        """Return n_probe, or more where that few lists would rarely have n rows."""
        n_lists = len(self.centroids_)
        return min(n_lists, max(n_probe, math.ceil(ENOUGH * n * n_lists / len(rows))))

    def _probed(self, V: Floats, n_probe: int) -> Ids:
        """Return the lists that each query scans, padded with -1."""
        lists = np.empty((len(V), len(self.centroids_)), np.int64)
        everything = n_probe >= len(self.centroids_)
        reach = np.float32(np.inf) if everything else self.reach_[n_probe - 1]
        choose_lists(self._squares(V), reach, lists)
        return lists

    def _decoded(self, rows: ListRows, some: Ids) -> Floats:
        return self.code_.decode_mixed(rows.codes[rows.places[some]])


def _usual_lists(n: int) -> int:
    return 1 if n <= 5000 else int(2 ** round(math.log2(n) / 2))


def _usual_probes(n_lists: int) -> int:
    return max(1, round(math.pow(n_lists, 2 / 3) / 2))
