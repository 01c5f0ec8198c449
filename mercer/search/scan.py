"""Scan all codes, by Hamming distance or by what the query keeps before anything is rounded."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from mercer import parallel, topk
from mercer.arrays import Ids
from mercer.codes import Code, Product
from mercer.errors import InputError
from mercer.search._code_loops import asymmetric_scores
from mercer.search.base import Candidates, Codes, Floats, Mask, Searcher

__all__ = ["Scan"]

FEW = 1 / 4  # of the rows allowed: from here down their codes are copied out
SPARE = 16  # rows beyond those asked for: fast scan rounds its sums


class Scan(Searcher):
    """Every code, nearest first.

    Parameters
    ----------
    code : Code
        Turns vectors into codes.
    asymmetric : bool
        Whether a query keeps its projections y and rows are ranked by Σ ± y over their bits,
        which costs nothing and finds more than the Hamming distance to the query's own bits.
        Product codes are always compared so, by the distances of the query to their centroids.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.codes import Sign
    >>> from mercer.search import Scan
    >>> Z = np.array([[1.0, 2.0], [-1.0, 2.0], [-1.0, -2.0]], np.float32)
    >>> scan = Scan(Sign(None)).fit(Z).build(Z)
    >>> found = scan.candidates(np.array([[-0.1, 5.0]], np.float32), n=2)
    >>> found.rows, found.values.round(1)
    (array([[1, 0]]), array([[5.1, 4.9]], dtype=float32))
    """

    learns = True

    def __init__(self, code: Code, asymmetric: bool = True) -> None:
        self.code = code
        self.asymmetric = asymmetric
        self._validate()

    def _validate(self) -> None:
        if not self.asymmetric and isinstance(self.code, Product):
            raise InputError(
                "Scan: product codes are compared with queries that are not rounded. Leave out "
                "asymmetric=False."
            )

    def fit(self, Z: Floats) -> Self:
        """Let the code learn from vectors; return self."""
        self.code.fit(Z)
        return self

    def build(self, Z: Floats) -> Self:
        """Encode the vectors of all rows, and return self."""
        self.codes_ = self.code.encode(Z)
        self.__dict__.pop("_fast", None)
        return self

    def __len__(self) -> int:
        return len(self.codes_)

    def candidates(self, Zq: Floats, n: int, allowed: Mask | None = None) -> Candidates:
        """Return the n rows with the nearest codes for each query; see `Searcher`.

        Values are Σ ± y, or minus the Hamming distance, or minus the squared distance.
        """
        everything = _Codes(self.codes_, self)
        if allowed is None:
            return everything.nearest(Zq, n)
        if np.count_nonzero(allowed) > FEW * len(self):
            return everything.allowed(Zq, n, allowed)
        rows = np.flatnonzero(allowed)
        return _renamed(_Codes(self.codes_[rows], self), Zq, n, rows)

    @cached_property
    def _fast(self) -> Any:
        with parallel.one_faiss_thread() as faiss:
            return self._scanned(faiss, self.codes_)

    def _scanned(self, faiss: Any, codes: Codes) -> Any:
        """Return faiss's index over some codes."""
        if isinstance(self.code, Product):
            return _products(faiss, codes, self.code)
        return _fast_scan(faiss, codes)


class _Codes:
    """Some codes that are scanned together."""

    def __init__(self, codes: Codes, scan: Scan) -> None:
        self.codes, self.scan = codes, scan

    def nearest(self, Zq: Floats, n: int) -> Candidates:
        """Return the n nearest codes of each query."""
        n = min(n, len(self.codes))
        if not n:
            return _none(len(Zq))
        projections = np.ascontiguousarray(self.scan.code.query(Zq))
        with parallel.one_faiss_thread() as faiss:
            if isinstance(self.scan.code, Product):
                return self._by_distance(faiss, projections, n)
            search = self._asymmetric if self.scan.asymmetric else self._hamming
            return search(faiss, projections, n)

    def _index(self, faiss: Any) -> Any:
        whole = self.codes is self.scan.codes_
        return self.scan._fast if whole else self.scan._scanned(faiss, self.codes)

    def _by_distance(self, faiss: Any, mixed: Floats, n: int) -> Candidates:
        distances, rows = self._index(faiss).search(mixed, n)
        return Candidates(*topk.ordered(rows, -distances))

    def _hamming(self, faiss: Any, projections: Floats, n: int) -> Candidates:
        own = np.packbits(projections >= 0, axis=1)
        distances, rows = faiss.knn_hamming(own, np.ascontiguousarray(self.codes), n)
        return Candidates(rows, -distances.astype(np.float32))

    def _asymmetric(self, faiss: Any, projections: Floats, n: int) -> Candidates:
        weights = _padded(projections, self.codes.shape[1])
        rows = self._index(faiss).search(_swapped(weights), min(n + SPARE, len(self.codes)))[1]
        short = np.flatnonzero((rows < 0).any(axis=1))
        if len(short):  # fast scan finds nothing for projections that are all 0
            rows[short] = self._hamming(faiss, projections[short], rows.shape[1]).rows
        values = np.full(rows.shape, -np.inf, np.float32)
        asymmetric_scores(weights, self.codes, rows, values)
        order = np.lexsort((rows, -values), axis=-1)[:, :n]
        return Candidates(np.take_along_axis(rows, order, 1), np.take_along_axis(values, order, 1))

    def allowed(self, Zq: Floats, n: int, allowed: Mask) -> Candidates:
        """Return the n nearest codes that are allowed: more are looked at until there are n."""
        n = min(n, int(np.count_nonzero(allowed)))
        asked = n + int(1.2 * n * (1 - allowed.mean())) + SPARE
        while True:
            found = self.nearest(Zq, asked)
            good = (found.rows >= 0) & allowed[found.rows]
            if asked >= len(self.codes) or (good.sum(axis=1) >= n).all():
                break
            asked *= 2
        order = np.argsort(~good, axis=1, kind="stable")[:, :n]
        rows = np.where(good, found.rows, -1)
        values = np.where(good, found.values, -np.inf).astype(np.float32)
        return Candidates(np.take_along_axis(rows, order, 1), np.take_along_axis(values, order, 1))


def _renamed(codes: _Codes, Zq: Floats, n: int, rows: Ids) -> Candidates:
    """Return candidates among a copy of some rows by their own numbers."""
    found = codes.nearest(Zq, n)
    return Candidates(rows[found.rows] if found.rows.size else found.rows, found.values)


def _none(n_queries: int) -> Candidates:
    return Candidates(np.empty((n_queries, 0), np.int64), np.empty((n_queries, 0), np.float32))


def _fast_scan(faiss: Any, codes: Codes) -> Any:
    """Return faiss's fast scan over bits: product codes whose centroids are corners of a cube.

    Each half of a byte is a quantiser of four dimensions with the 16 corners (±1, ±1, ±1, ±1), so
    the packed bytes are its codes and inner products are Σ ± y.
    """
    n_halves = 2 * codes.shape[1]
    index = faiss.IndexPQ(4 * n_halves, n_halves, 4, faiss.METRIC_INNER_PRODUCT)
    corners = 2.0 * np.unpackbits(np.arange(16, dtype=np.uint8)[:, None], axis=1)[:, 4:] - 1
    centroids = np.tile(corners.astype(np.float32), (n_halves, 1))
    faiss.copy_array_to_vector(centroids.ravel(), index.pq.centroids)
    faiss.copy_array_to_vector(np.ascontiguousarray(codes).ravel(), index.codes)
    index.is_trained, index.ntotal = True, len(codes)
    return faiss.IndexPQFastScan(index)


def _products(faiss: Any, codes: Codes, code: Product) -> Any:
    """Return faiss's scan of product codes, by the squared distances from queries to centroids."""
    n_groups, _, size = code.centroids_.shape
    index = faiss.IndexPQ(n_groups * size, n_groups, code.bits)
    index.pq = code.quantiser(faiss)
    faiss.copy_array_to_vector(np.ascontiguousarray(codes).ravel(), index.codes)
    index.is_trained, index.ntotal = True, len(codes)
    return index


def _padded(projections: Floats, n_bytes: int) -> Floats:
    """Return projections with zeros up to the last bit of the last byte."""
    padded = np.zeros((len(projections), 8 * n_bytes), np.float32)
    padded[:, : projections.shape[1]] = projections
    return padded


def _swapped(weights: Floats) -> Floats:
    """Return weights with the halves of each byte swapped.

    faiss puts the first quantiser into the low half of a byte, numpy the first bits into the high.
    """
    halves = weights.reshape(len(weights), -1, 2, 4)[:, :, ::-1]
    return np.ascontiguousarray(halves).reshape(weights.shape)
