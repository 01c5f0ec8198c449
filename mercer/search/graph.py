"""A navigable graph (HNSW) over vectors of one byte a dimension, by faiss."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mercer.runtime import parallel
from mercer.runtime.arrays import Ids
from mercer.runtime.params import check_count, stored
from mercer.search._code_loops import negate
from mercer.search.base import Allowed, Candidates, Codes, Floats, Rows, Searcher
from mercer.search.decoded import compared_one_by_one, nearest

EF = 64  # rows that a query keeps track of by default, but at least as many as requested


@dataclass(frozen=True, eq=False)
class GraphRows(Rows):
    """Rounded vectors, and the links between them.

    Attributes
    ----------
    codes : ndarray of uint8, shape (n, d)
        The vectors, each dimension rounded to one of 256 values.
    levels : ndarray of int32, shape (n,)
        On how many levels each row is linked.
    links : ndarray of int32
        The links of row after row, level by level; -1 where there are fewer.
    entry : int
        The row that a walk begins at.
    """

    codes: Codes
    levels: npt.NDArray[np.int32]
    links: npt.NDArray[np.int32]
    entry: int

    def __len__(self) -> int:
        return len(self.codes)


@stored
class Graph(Searcher):
    """Every row linked to near ones; a query walks along the links towards its neighbours.

    Rows are added one by one, so that the same rows, added in the same way, make the same graph.

    Parameters
    ----------
    n_links : int
        Links per row, twice as many on the lowest level. More find more and take more memory.
    ef_build : int
        Nearest rows tracked while a row is linked. More make a better graph and take longer.
    ef : int, optional
        Nearest rows tracked by a query. More find more and take longer. By default 64, and always
        at least as many as are requested.

    Attributes
    ----------
    scale_ : ndarray of float32, shape (2, d)
        The smallest value of every dimension in the sample, and the width of its range. Values
        outside the range are rounded to its ends.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.search import Graph
    >>> Z = np.random.default_rng(0).normal(size=(6000, 8)).astype(np.float32)
    >>> graph = Graph().fit(Z)
    >>> graph.candidates(graph.build(Z), Z[:3], n=1).rows.T
    array([[0, 1, 2]])
    """

    rows = GraphRows
    learned = ("scale_",)
    takes_effort = True
    grows = True

    @property
    def effort(self) -> int | None:
        """The parameter `ef`."""
        return self.ef

    def __init__(self, n_links: int = 16, ef_build: int = 60, ef: int | None = None) -> None:
        self.n_links = n_links
        self.ef_build = ef_build
        self.ef = ef
        self._validate()

    def _validate(self) -> None:
        check_count("n_links", self.n_links, at_least=2)
        check_count("ef_build", self.ef_build)
        check_count("ef", self.ef, optional=True)

    def efforts(self, rows: Any) -> list[int]:
        """Return numbers of rows to keep track of: doubled, up to 2,048."""
        return [32 << i for i in range(7) if i == 0 or 16 << i < len(rows)]

    def usual_effort(self, rows: Any) -> int:
        """Return `ef`, or 64."""
        return self.ef or EF

    def depth(self, rows: Any, effort: int) -> int:
        """Return as many: a walk keeps track of at least as many rows as are wanted."""
        return effort

    # ---- building

    def fit(self, Z: Floats, n: int | None = None) -> Self:
        """Learn the range of every dimension; return self."""
        least, largest = Z.min(axis=0), Z.max(axis=0)
        self.scale_ = np.stack([least, largest - least]).astype(np.float32)
        return self

    def build(self, Z: Floats) -> GraphRows:
        """Round the vectors and link them."""
        self._require_fitted()
        with parallel.one_faiss_thread() as faiss:
            return self._with(faiss, self._empty(faiss), Z)

    def join(self, several: Sequence[Any], kept: Sequence[Ids]) -> GraphRows:
        """Link the `kept` rows of several by their rounded vectors; the first keep their links.

        If not all of the first are kept, all rows are linked anew.
        """
        grows = len(kept[0]) == len(several[0]) > 0
        parts = [self._decoded(rows, some) for rows, some in zip(several, kept, strict=True)]
        if not grows:
            return self.build(np.concatenate(parts))
        with parallel.one_faiss_thread() as faiss:
            return self._with(faiss, self._linked(several[0]), np.concatenate(parts[1:]))

    def without(self, rows: GraphRows, gone: Ids) -> GraphRows:
        """Return the graph without the links that lead to some rows; see `Searcher`."""
        flags = np.zeros(len(rows) + 1, bool)
        flags[gone] = True  # links of -1 read the last flag, which is False
        links = rows.links.copy()
        # on every level, links of -1 end the list, so that none may stand before another link
        lists = links.reshape(-1, self.n_links)
        begins = (self._offsets(rows)[:-1] // self.n_links).astype(np.int64)
        lowest = np.stack([begins, begins + 1], axis=1)
        for places in (lowest, np.delete(np.arange(len(lists)), lowest)[:, None]):
            blocks = lists[places].reshape(len(places), places.shape[1] * self.n_links)
            hit = flags[blocks].any(axis=1)
            left = np.where(flags[blocks[hit]], -1, blocks[hit])
            order = np.argsort(left < 0, axis=1, kind="stable")
            moved = np.take_along_axis(left, order, 1)
            lists[places[hit]] = moved.reshape(-1, places.shape[1], self.n_links)
        return GraphRows(rows.codes, rows.levels, links, rows.entry)

    def _with(self, faiss: Any, index: Any, Z: Floats) -> GraphRows:
        """Link more vectors into faiss's graph, and return what it then holds."""
        hnsw, storage = index.hnsw, faiss.downcast_index(index.storage)
        hnsw.efConstruction = self.ef_build
        index.add(np.ascontiguousarray(Z))
        return GraphRows(
            faiss.vector_to_array(storage.codes).reshape(index.ntotal, index.d),
            faiss.vector_to_array(hnsw.levels),
            faiss.vector_to_array(hnsw.neighbors),
            int(hnsw.entry_point),
        )

    def _empty(self, faiss: Any) -> Any:
        d = self.scale_.shape[1]
        index = faiss.IndexHNSWSQ(d, faiss.ScalarQuantizer.QT_8bit, self.n_links)
        storage = faiss.downcast_index(index.storage)
        faiss.copy_array_to_vector(np.ascontiguousarray(self.scale_).ravel(), storage.sq.trained)
        storage.is_trained = index.is_trained = True
        return index

    # ---- searching

    def is_sound(self, rows: GraphRows, width: int) -> bool:
        """Whether all links lead to rows that are there."""
        n, d = rows.codes.shape
        return (
            d == width
            and rows.codes.dtype == np.uint8
            and self.scale_.shape == (2, d)
            and self.scale_.dtype == np.float32
            and rows.levels.shape == (n,)
            and rows.levels.dtype == rows.links.dtype == np.int32
            and int(rows.levels.min()) >= 1
            and rows.links.shape == (int(self._offsets(rows)[-1]),)
            and int(rows.links.min()) >= -1
            and int(rows.links.max()) < n
            and 0 <= rows.entry < n
            and bool(rows.levels[rows.entry] == rows.levels.max())
        )

    def candidates(
        self, rows: GraphRows, Zq: Floats, n: int, allowed: Allowed | None = None,
        effort: int | None = None,
    ) -> Candidates:  # fmt: skip
        """Return n rows that a walk along the links meets, the nearest first.

        Values are minus the squared distance to the rounded vectors. `effort` replaces `ef`.
        """
        Zq = np.ascontiguousarray(Zq)
        few = compared_one_by_one(len(rows), len(Zq), n, allowed)
        if few is not None:
            return nearest(Zq, few, lambda some: self._decoded(rows, some), n)
        ef = max(effort or self.usual_effort(rows), n)
        linked = rows.derived("faiss", lambda: self._linked(rows))
        with parallel.one_faiss_thread() as faiss:
            if allowed is None:  # making it takes as long as embedding a query
                how = rows.derived(f"ef {ef}", lambda: faiss.SearchParametersHNSW(efSearch=ef))
            else:
                how = faiss.SearchParametersHNSW(efSearch=math.ceil(ef * len(rows) / len(allowed)))
                how.sel = faiss.IDSelectorBitmap(np.packbits(allowed.mask, bitorder="little"))
            distances, found = np.empty((len(Zq), n), np.float32), np.empty((len(Zq), n), np.int64)
            arrays = [faiss.swig_ptr(A) for A in (distances, found)]  # the wrapper takes 5 µs more
            linked.search_c(len(Zq), faiss.swig_ptr(Zq), n, *arrays, how)
        negate(distances, found)
        return Candidates(found, distances)

    def _decoded(self, rows: GraphRows, some: Ids) -> Floats:
        """Return rounded vectors: the middle of the step that each value fell into."""
        least, width = self.scale_
        return np.asarray(least + (rows.codes[some] + np.float32(0.5)) * (width / 255), np.float32)

    # ---- faiss

    def _linked(self, rows: GraphRows) -> Any:
        """Return faiss's own graph over the rows."""
        with parallel.one_faiss_thread() as faiss:
            index = self._empty(faiss)
            storage, hnsw = faiss.downcast_index(index.storage), index.hnsw
            faiss.copy_array_to_vector(np.ascontiguousarray(rows.codes).ravel(), storage.codes)
            faiss.copy_array_to_vector(np.array(rows.levels), hnsw.levels)
            faiss.copy_array_to_vector(self._offsets(rows), hnsw.offsets)
            faiss.copy_array_to_vector(np.array(rows.links), hnsw.neighbors)
            hnsw.entry_point, hnsw.max_level = rows.entry, int(rows.levels.max()) - 1
            storage.ntotal = index.ntotal = len(rows)
        return index

    def _offsets(self, rows: GraphRows) -> npt.NDArray[np.uint64]:
        """Return where the links of each row begin; the lowest level has twice as many."""
        n_links = self.n_links * (1 + rows.levels.astype(np.int64))
        return np.concatenate([[0], np.cumsum(n_links)]).astype(np.uint64)
