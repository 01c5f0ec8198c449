"""Scan all codes, by Hamming distance or with queries that are not rounded."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.codes import Code, Product, Sign
from mercer.errors import InputError
from mercer.runtime import parallel, topk
from mercer.runtime.arrays import Ids
from mercer.runtime.params import stored
from mercer.search._code_loops import asymmetric_scores, lay_out
from mercer.search.base import (
    Allowed,
    Candidates,
    Codes,
    Floats,
    Rows,
    Searcher,
    only_allowed,
)

FEW = 1 / 4  # share of rows allowed up to which their codes are copied out
SPARE = 16  # rows beyond those asked for: fast scan rounds its sums


@dataclass(frozen=True, eq=False)
class CodeRows(Rows):
    """The codes of rows."""

    codes: Codes  # (n, n_bytes)

    def __len__(self) -> int:
        return len(self.codes)


@stored
class Scan(Searcher):
    """Every code, nearest first.

    Parameters
    ----------
    code : Code, optional
        Turns vectors into codes; `fit` fits a copy of it. By default the signs of the vectors.
    asymmetric : bool
        Whether a query keeps its projections y and rows are ranked by Σ ± y over their bits,
        which costs nothing and finds more than the Hamming distance to the query's own bits.
        Product codes are always compared this way, by the distances of the query to their
        centroids.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.codes import Sign
    >>> from mercer.search import Scan
    >>> Z = np.array([[1.0, 2.0], [-1.0, 2.0], [-1.0, -2.0]], np.float32)
    >>> scan = Scan(Sign(None)).fit(Z)
    >>> found = scan.candidates(scan.build(Z), np.array([[-0.1, 5.0]], np.float32), n=2)
    >>> found.rows, found.values.round(1)
    (array([[1, 0]]), array([[5.1, 4.9]], dtype=float32))
    """

    rows = CodeRows
    learned = ("code_",)
    by_blocks = True

    def __init__(self, code: Code | None = None, asymmetric: bool = True) -> None:
        self.code: Code = Sign(None) if code is None else code
        self.asymmetric = asymmetric
        self._validate()

    def _validate(self) -> None:
        if not self.asymmetric and isinstance(self.code, Product):
            raise InputError(
                "product codes are compared with queries that are not rounded. Leave out "
                "asymmetric=False."
            )

    @property
    def in_proportion(self) -> bool:  # type: ignore[override]
        """Whether values are Σ ± y."""
        return self.asymmetric and not isinstance(self.code, Product)

    def fit(self, Z: Floats, n: int | None = None) -> Self:
        """Fit a copy of the code to vectors and return self."""
        self.code_ = self.code.fresh().fit(Z)
        return self

    def build(self, Z: Floats) -> CodeRows:
        """Encode the vectors of all rows."""
        self._require_fitted()
        return CodeRows(self.code_.encode(Z))

    def join(self, several: Sequence[Any], kept: Sequence[Ids]) -> CodeRows:
        """Return the `kept` codes of several as one."""
        parts = [rows.codes[some] for rows, some in zip(several, kept, strict=True)]
        return CodeRows(np.concatenate(parts))

    def is_sound(self, rows: CodeRows, width: int) -> bool:
        """Whether codes have the type and length of those that the code makes."""
        one = self.code_.encode(np.zeros((1, width), np.float32))
        return rows.codes.dtype == np.uint8 and rows.codes.shape[1:] == one.shape[1:]

    def candidates(
        self, rows: CodeRows, Zq: Floats, n: int, allowed: Allowed | None = None,
        effort: int | None = None,
    ) -> Candidates:  # fmt: skip
        """Return the n rows with the nearest codes for each query; see `Searcher`.

        Values are Σ ± y, or minus the Hamming distance, or minus the squared distance.
        """
        if allowed is None:
            return self._nearest(rows, Zq, n)
        if len(allowed) <= FEW * len(rows):
            some = CodeRows(rows.codes[allowed.rows])
            return _renamed(self._nearest(some, Zq, n), allowed.rows)
        return self._allowed(rows, Zq, n, allowed)

    def _nearest(self, rows: CodeRows, Zq: Floats, n: int) -> Candidates:
        n = min(n, len(rows))
        if not n:
            return _none(len(Zq))
        projections = np.ascontiguousarray(self.code_.query(Zq))
        with parallel.one_faiss_thread() as faiss:
            return self._search(faiss, rows, projections, n)

    def _search(self, faiss: Any, rows: CodeRows, projections: Floats, n: int) -> Candidates:
        if isinstance(self.code_, Product):
            return self._by_distance(faiss, rows, projections, n)
        search = self._asymmetric if self.asymmetric else self._hamming
        return search(faiss, rows, projections, n)

    def _fast(self, faiss: Any, rows: CodeRows) -> Any:
        """Return faiss's index over the codes."""

        def make() -> Any:
            if isinstance(self.code_, Product):
                return _products(faiss, rows.codes, self.code_)
            return _fast_scan(faiss, rows.codes)

        return rows.derived("faiss", make)

    def _by_distance(self, faiss: Any, rows: CodeRows, mixed: Floats, n: int) -> Candidates:
        distances, found = self._fast(faiss, rows).search(mixed, n)
        return Candidates(*topk.ordered(found, -distances))

    def _hamming(self, faiss: Any, rows: CodeRows, projections: Floats, n: int) -> Candidates:
        own = np.packbits(projections >= 0, axis=1)
        distances, found = faiss.knn_hamming(own, np.ascontiguousarray(rows.codes), n)
        return Candidates(found, -distances.astype(np.float32))

    def _asymmetric(self, faiss: Any, rows: CodeRows, projections: Floats, n: int) -> Candidates:
        weights = np.empty((len(projections), 8 * rows.codes.shape[1]), np.float32)
        turned = np.empty_like(weights)
        lay_out(projections, weights, turned)
        found = np.empty((len(turned), min(n + SPARE, len(rows))), np.int64)
        values = np.empty(found.shape, np.float32)
        arrays = [faiss.swig_ptr(A) for A in (values, found)]  # the wrapper takes 5 µs more
        self._fast(faiss, rows).search_c(
            len(turned), faiss.swig_ptr(turned), found.shape[1], *arrays
        )
        if found.min() < 0:  # fast scan finds nothing for projections that are all 0
            short = np.flatnonzero((found < 0).any(axis=1))
            found[short] = self._hamming(faiss, rows, projections[short], found.shape[1]).rows
        asymmetric_scores(weights, rows.codes, found, values)
        best = topk.empty(len(found), n)
        topk.insert(*best, found, values, 0, np.zeros(len(found), np.int64))
        return Candidates(*best)

    def _allowed(self, rows: CodeRows, Zq: Floats, n: int, allowed: Allowed) -> Candidates:
        """Return the n nearest codes that are allowed, requesting more until there are n."""
        n = min(n, len(allowed))
        asked = n + int(1.2 * n * (1 - len(allowed) / len(rows))) + SPARE
        while True:
            found = self._nearest(rows, Zq, asked)
            kept = only_allowed(found, allowed, n)
            if asked >= len(rows) or kept.rows[:, -1].min() >= 0:
                return kept
            asked *= 2


def _renamed(found: Candidates, rows: Ids) -> Candidates:
    """Return candidates among some rows, renumbered as among all rows."""
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
