"""Items as bits of Kernelized LSH, and what their candidates are worth under the true kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.codes import Sign
from mercer.embeddings import Embedding
from mercer.search import Scan, Searcher, SortedLists

# how items are centred, and whether queries keep their projections
PAPER, ASYMMETRIC, OURS = "paper", "paper, asymmetric", "mercer's default"
VARIANTS = (PAPER, ASYMMETRIC, OURS)
CENTER = {PAPER: "landmarks", ASYMMETRIC: "landmarks", OURS: "both"}
TIE = 1e-6  # relative: scores that are closer are equal


def n_candidates(n_rows: int, epsilon: float) -> int:
    """Return how many rows are looked at: 2M of M = ⌈n^(1/(1+ε))⌉ lists, as K's numbers have it."""
    return min(n_rows, 2 * math.ceil(n_rows ** (1 / (1 + epsilon))))


@dataclass(frozen=True)
class Hashed:
    """Projections whose signs are the bits, one item a row.

    Attributes
    ----------
    X, Q : ndarray of float32, shape (n, n_bits)
        Of base rows and queries.
    variant : str
        One of `VARIANTS`: how the bits of queries are compared.
    """

    X: Any
    Q: Any
    variant: str

    @classmethod
    def by(cls, directions: Embedding, X: Any, Q: Any, variant: str) -> Hashed:
        """Fit directions to base rows and project all items on them."""
        directions.fit(X)
        return cls(directions.transform(X), directions.transform(Q), variant)

    def first_bits(self, n_bits: int) -> Hashed:
        """Return the same with fewer bits: directions are drawn one after the other."""
        return Hashed(
            np.ascontiguousarray(self.X[:, :n_bits]), np.ascontiguousarray(self.Q[:, :n_bits]),
            self.variant,
        )  # fmt: skip

    def scan(self, n: int) -> Any:
        """Return the n rows with the nearest codes, nearest first, one query a row."""
        return self._candidates(Scan(Sign(None), self.variant != PAPER), n)

    def lists(self, epsilon: float, seed: int = 0) -> Any:
        """Return the rows that Charikar's sorted lists find for this ε, nearest code first."""
        lists = SortedLists(
            Sign(None), epsilon=epsilon, asymmetric=self.variant != PAPER, seed=seed
        )
        return self._candidates(lists, n_candidates(len(self.X), epsilon))

    def _candidates(self, searcher: Searcher, n: int) -> Any:
        built = searcher.fit(self.X).build(self.X)
        return searcher.candidates(built, self.Q, n).rows


def nearest(rows: Any, scores: Any, k: int) -> Any:
    """Return the k candidates that score highest, best first, one query a row.

    Parameters
    ----------
    rows : ndarray of int64, shape (n_queries, n)
        The candidates; -1 where there are fewer.
    scores : ndarray, shape (n_queries, n_rows)
        True kernel values of all rows.
    k : int
        How many to return.
    """
    values = np.where(rows < 0, -np.inf, np.take_along_axis(scores, rows, 1))
    order = np.argsort(-values, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(rows, order, 1)


def recall(rows: Any, scores: Any, at: int | None = None) -> float:
    """Return the share of queries whose true nearest row is among the first candidates."""
    rows = rows[:, :at]
    values = np.where(rows < 0, -np.inf, np.take_along_axis(scores, rows, 1))
    best = scores.max(axis=1)
    return float((values.max(axis=1) >= best - TIE * np.abs(best)).mean())
