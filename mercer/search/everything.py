"""All rows are candidates: brute force."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.runtime.arrays import Ids
from mercer.runtime.params import stored
from mercer.search.base import Allowed, Candidates, Floats, Rows, Searcher


@dataclass(frozen=True, eq=False)
class AllRows(Rows):
    """How many rows there are."""

    n: int

    def __len__(self) -> int:
        return self.n


@stored
class Everything(Searcher):
    """Every row, in order: an index compares all of them with the kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.search import Everything
    >>> searcher = Everything()
    >>> rows = searcher.build(np.empty((3, 0), np.float32))
    >>> searcher.candidates(rows, np.empty((1, 0), np.float32), n=2).rows
    array([[0, 1]])
    """

    rows = AllRows

    def build(self, Z: Floats) -> AllRows:
        """Count the rows."""
        return AllRows(len(Z))

    def join(self, several: Sequence[Any], kept: Sequence[Ids]) -> AllRows:
        """Count the rows that stay."""
        return AllRows(sum(len(some) for some in kept))

    def candidates(
        self, rows: AllRows, Zq: Floats, n: int, allowed: Allowed | None = None,
        effort: int | None = None,
    ) -> Candidates:  # fmt: skip
        """Return the first n rows, all equally promising."""
        some = (np.arange(len(rows)) if allowed is None else allowed.rows)[:n]
        found = np.tile(some, (len(Zq), 1))
        return Candidates(found, np.zeros(found.shape, np.float32))
