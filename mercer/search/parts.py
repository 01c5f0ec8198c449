"""What is searched, and what is looked for: rows and queries that go together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mercer.embeddings import Embedding
from mercer.kernels import Prepared
from mercer.search.base import Floats, Mask, Searcher

__all__ = ["Part", "Queries"]


@dataclass(frozen=True)
class Part:
    """Rows that are searched together.

    Attributes
    ----------
    items : Prepared
        The items of the rows.
    own : ndarray of float64, shape (len(items),)
        k(x, x) of each.
    largest : float
        The largest √k(x, x).
    searcher : Searcher
        Their vectors.
    first : int
        The number of the first row among the rows of all parts.
    allowed : ndarray of bool, optional
        Which rows may be found; all of them by default.
    """

    items: Prepared
    own: npt.NDArray[np.float64]
    largest: float
    searcher: Searcher
    first: int = 0
    allowed: Mask | None = None

    @property
    def n_allowed(self) -> int:
        """How many rows may be found."""
        return len(self.items) if self.allowed is None else int(np.count_nonzero(self.allowed))


@dataclass(frozen=True)
class Queries:
    """Queries that are compared together.

    Attributes
    ----------
    items : Prepared
        The queries.
    embedding : Embedding
        Turns them into vectors.
    first : int
        The number of the first one, among all that are asked.
    """

    items: Prepared
    embedding: Embedding
    first: int = 0

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
        return self.embedding.query(self.items, n_jobs=1)
