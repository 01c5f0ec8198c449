"""The rows that a search looks at, and the queries that are compared together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mercer.embeddings import Embedding
from mercer.index._settling import find_rows
from mercer.index.segment import Segment
from mercer.kernels import Kernel, Prepared
from mercer.runtime import parallel
from mercer.runtime.arrays import DType, Ids
from mercer.runtime.lazy import lazy
from mercer.search import Allowed, Rows
from mercer.search.base import Floats

Doubles = npt.NDArray[np.float64]
DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)


class View:
    """The rows of a segment that a search looks at.

    Parameters
    ----------
    segment : Segment
        Items, k(x, x) and what the searcher built.
    first : int
        The number of the first row among the rows of all segments.
    allowed : Allowed, optional
        Which rows may be found; all of them by default.
    """

    def __init__(self, segment: Segment, first: int = 0, allowed: Allowed | None = None) -> None:
        self.segment = segment
        self.items: Prepared = segment.items
        self.diag = segment.diag
        self.rows: Rows = segment.rows
        self.first, self.allowed = first, allowed
        self.n_rows = len(segment.ids)
        self.n_allowed = self.n_rows if allowed is None else len(allowed)

    @lazy
    def largest(self) -> float:
        """The largest √|k(x, x)| of its rows."""
        return self.segment.largest

    @lazy
    def usual(self) -> float:
        """The usual √|k(x, x)|."""
        return self.segment.usual

    def tolerance(self, P: Prepared, dtype: DType = SINGLE) -> float:
        """Return how far rounding may move the values of queries and rows; see `Kernel`."""
        return float(P.kernel.tolerance(P, self.items, dtype=dtype))

    def under(self, kernel: Kernel) -> tuple[Prepared, float]:
        """Return the items prepared for another kernel, and its largest √k(x, x)."""
        return self.segment.under(kernel)

    def find(self, ids: Ids) -> Ids:
        """Turn rows of all segments into rows of this view, with -1 for rows outside."""
        rows = np.empty(ids.shape, np.int64)
        find_rows(ids, self.first, self.n_rows, rows)
        return rows

    def longer_than(self, length: float, step: int) -> Iterator[tuple[Ids, Prepared, Doubles]]:
        """Yield the allowed rows with √k(x, x) above `length`, as `find` takes them, with items."""
        rows = np.flatnonzero(np.abs(self.diag) > length**2)
        if self.allowed is not None:
            rows = rows[self.allowed.mask[rows]]
        for span in parallel.spans(len(rows), step):
            some = rows[span]
            yield some + self.first, self.items.take(some), self.diag[some]


@dataclass(frozen=True)
class Queries:
    """Queries that are compared together."""

    items: Prepared
    embedding: Embedding  # turns them into vectors
    first: int = 0  # the number of the first one among all queries

    def __len__(self) -> int:
        return len(self.items)

    @lazy
    def diag(self) -> Doubles:
        """k(q, q) of each."""
        return np.asarray(self.items.kernel.diagonal(self.items, DOUBLE))

    @lazy
    def vectors(self) -> Floats:
        """The vector of each, computed by the thread that first needs it."""
        return self.embedding.query(self.items)
