"""What is searched, and what is looked for: rows and queries that go together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mercer.embeddings import Embedding
from mercer.index.segment import Segment
from mercer.kernels import Prepared
from mercer.search import Allowed, Rows
from mercer.search.base import Floats


class Part:
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
        self.items: Prepared = segment.items
        self.own = segment.own
        self.largest = segment.largest
        self.rows: Rows = segment.rows
        self.first, self.allowed = first, allowed
        self.n_allowed = len(segment.ids) if allowed is None else len(allowed)


@dataclass(frozen=True)
class Queries:
    """Queries that are compared together."""

    items: Prepared
    embedding: Embedding  # turns them into vectors
    first: int = 0  # the number of the first one, among all that are asked

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, rows: slice) -> Queries:
        return Queries(self.items[rows], self.embedding, self.first + rows.start)

    @cached_property
    def own(self) -> npt.NDArray[np.float64]:
        """k(q, q) of each."""
        return np.asarray(self.items.kernel.diag(self.items, dtype=np.float64))

    @cached_property
    def vectors(self) -> Floats:
        """The vector of each, computed by the thread that first asks."""
        return self.embedding.query(self.items)
