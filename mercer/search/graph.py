"""A navigable graph (HNSW) over vectors of one byte a dimension, by faiss."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mercer import parallel
from mercer.arrays import Ids
from mercer.errors import StoreError
from mercer.params import check_count
from mercer.search.base import Candidates, Floats, Mask, Searcher
from mercer.search.decoded import allowed_rows, nearest

__all__ = ["Graph"]

EF = 64  # rows kept in mind by default, and at least as many as are asked for


class Graph(Searcher):
    """Every row linked to near ones; a query walks along the links towards its neighbours.

    Rows are added one by one, so that the same rows always make the same graph.

    Parameters
    ----------
    n_links : int
        Links of a row, on the lowest of the levels twice as many. More find more and take more
        memory.
    ef_build : int
        Rows kept in mind while a row is linked. More make a better graph and take longer.
    ef : int, optional
        Rows kept in mind by a query. More find more and take longer. 64 by default, and at
        least as many as are asked for.

    Attributes
    ----------
    codes_ : ndarray of uint8, shape (n, d)
        The vectors, each dimension rounded to one of 256 values.
    scale_ : ndarray of float32, shape (2, d)
        The smallest value of every dimension, and the width of its range.
    levels_ : ndarray of int32, shape (n,)
        On how many levels each row is linked.
    links_ : ndarray of int32
        The links of row after row, level by level; -1 where there are fewer.
    entry_ : int
        The row that a walk begins at.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.search import Graph
    >>> Z = np.random.default_rng(0).normal(size=(6000, 8)).astype(np.float32)
    >>> graph = Graph().build(Z)
    >>> graph.candidates(Z[:3], n=1).rows.T
    array([[0, 1, 2]])
    """

    knob = "ef"

    def __init__(self, n_links: int = 16, ef_build: int = 60, ef: int | None = None) -> None:
        self.n_links = n_links
        self.ef_build = ef_build
        self.ef = ef
        self._validate()

    def _validate(self) -> None:
        check_count("Graph", "n_links", self.n_links, at_least=2)
        check_count("Graph", "ef_build", self.ef_build)
        if self.ef is not None:
            check_count("Graph", "ef", self.ef)

    def build(self, Z: Floats) -> Self:
        """Round the vectors and link them; return self."""
        with parallel.one_faiss_thread() as faiss:
            index = self._empty(faiss, Z.shape[1])
            index.hnsw.efConstruction = self.ef_build
            index.train(Z)
            index.add(Z)
            self._keep(faiss, index)
        self.__dict__.pop("_index", None)
        return self

    def _empty(self, faiss: Any, d: int) -> Any:
        return faiss.IndexHNSWSQ(d, faiss.ScalarQuantizer.QT_8bit, self.n_links)

    def _keep(self, faiss: Any, index: Any) -> None:
        """Keep what faiss built as plain arrays."""
        storage, hnsw = faiss.downcast_index(index.storage), index.hnsw
        self.codes_ = faiss.vector_to_array(storage.codes).reshape(index.ntotal, index.d)
        self.scale_ = faiss.vector_to_array(storage.sq.trained).reshape(2, index.d)
        self.levels_ = faiss.vector_to_array(hnsw.levels)
        self.links_ = faiss.vector_to_array(hnsw.neighbors)
        self.entry_ = int(hnsw.entry_point)

    def __len__(self) -> int:
        return len(self.codes_)

    # ---- searching

    def candidates(
        self, Zq: Floats, n: int, allowed: Mask | None = None, effort: int | None = None
    ) -> Candidates:
        """Return n rows that a walk along the links meets, the nearest first.

        Values are minus the squared distance to the rounded vectors. `effort` takes the place of
        `ef`.
        """
        Zq = np.ascontiguousarray(Zq)
        rows = allowed_rows(len(self), n, allowed)
        if rows is not None:
            return nearest(Zq, rows, self._decoded, n)
        ef = max(effort or self.ef or EF, n)
        with parallel.one_faiss_thread() as faiss:
            how = faiss.SearchParametersHNSW(efSearch=ef)
            if allowed is not None:
                how.efSearch = math.ceil(ef * len(self) / np.count_nonzero(allowed))
                how.sel = faiss.IDSelectorBitmap(np.packbits(allowed, bitorder="little"))
            distances, found = self._index.search(Zq, n, params=how)
        return Candidates(found, np.where(found >= 0, -distances, -np.inf).astype(np.float32))

    def _decoded(self, rows: Ids) -> Floats:
        """Return rounded vectors: the middle of the step that each value fell into."""
        least, width = self.scale_
        return np.asarray(least + (self.codes_[rows] + np.float32(0.5)) * (width / 255), np.float32)

    # ---- faiss

    @cached_property
    def _index(self) -> Any:
        self._require_sound()
        n, d = self.codes_.shape
        with parallel.one_faiss_thread() as faiss:
            index = self._empty(faiss, d)
            storage, hnsw = faiss.downcast_index(index.storage), index.hnsw
            faiss.copy_array_to_vector(
                np.ascontiguousarray(self.scale_).ravel(), storage.sq.trained
            )
            faiss.copy_array_to_vector(np.ascontiguousarray(self.codes_).ravel(), storage.codes)
            faiss.copy_array_to_vector(np.array(self.levels_), hnsw.levels)
            faiss.copy_array_to_vector(self._offsets(), hnsw.offsets)
            faiss.copy_array_to_vector(np.array(self.links_), hnsw.neighbors)
            hnsw.entry_point, hnsw.max_level = self.entry_, int(self.levels_.max()) - 1
            for part in (storage, index):
                part.ntotal, part.is_trained = n, True
        return index

    def _offsets(self) -> npt.NDArray[np.uint64]:
        """Return where the links of each row begin: twice as many on the lowest level."""
        n_links = self.n_links * (1 + self.levels_.astype(np.int64))
        return np.concatenate([[0], np.cumsum(n_links)]).astype(np.uint64)

    def _require_sound(self) -> None:
        """Refuse a graph from a damaged file, whose links faiss would follow anywhere."""
        n, d = self.codes_.shape
        if not (
            self.scale_.shape == (2, d)
            and self.levels_.shape == (n,)
            and int(self.levels_.min()) >= 1
            and self.links_.shape == (int(self._offsets()[-1]),)
            and int(self.links_.min()) >= -1
            and int(self.links_.max()) < n
            and 0 <= self.entry_ < n
            and self.levels_[self.entry_] == self.levels_.max()
        ):
            raise StoreError(
                "Graph: the links do not fit together: their files are damaged. Run mercer verify "
                "on the index, and restore it from a copy or build it again."
            )
