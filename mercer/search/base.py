"""What every searcher does: hold vectors, and name the rows worth comparing."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from mercer.arrays import Ids
from mercer.params import Params

__all__ = ["Candidates", "Codes", "Floats", "Mask", "Searcher"]

Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Candidates:
    """Rows worth comparing with each query, the most promising first.

    Attributes
    ----------
    rows : ndarray of int64, shape (n_queries, n)
        Row numbers; -1 where there are fewer.
    values : ndarray of float32, shape (n_queries, n)
        How promising each is, decreasing, comparable between searchers of one embedding; minus
        infinity beside -1. Where the searcher is `bounded`: values the kernel does not exceed.
    given_up : ndarray of bool, shape (n_queries,), optional
        Queries with so many promising rows that none is named.
    """

    rows: Ids
    values: Floats
    given_up: Mask | None = None


class Searcher(Params):
    """Frozen vectors that can be searched; `build` fills it once.

    Attributes
    ----------
    bounded : bool
        Whether the values of its candidates are upper bounds of the kernel.
    learns : bool
        Whether `fit` learns something that all searchers of an index share.
    knob : str or None
        The parameter that says how hard to look, where there is one. `candidates` then takes
        another value for it as `effort`.
    """

    bounded: bool = False
    learns: bool = False
    knob: str | None = None

    def fit(self, Z: Floats) -> Self:
        """Learn from vectors of a sample, where there is something to learn; return self."""
        return self

    @abstractmethod
    def build(self, Z: Floats) -> Self:
        """Take the vectors of all rows, shape (n, d), and return self."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def candidates(self, Zq: Floats, n: int, allowed: Mask | None = None) -> Candidates:
        """Return at most n promising rows for each query vector.

        Parameters
        ----------
        Zq : ndarray of float32, shape (n_queries, d)
            Query vectors, from the same embedding as the rows.
        n : int
            How many rows at most.
        allowed : ndarray of bool, shape (len(self),), optional
            Which rows may be named; all of them by default.
        """
