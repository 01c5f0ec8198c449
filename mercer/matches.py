"""What a search returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mercer.arrays import Ids

__all__ = ["Matches"]


@dataclass(frozen=True)
class Matches:
    """The most similar items of each query, best first.

    Attributes
    ----------
    ids : ndarray of int64, shape (n_queries, k)
        The items found; -1 where there are fewer than k.
    scores : ndarray of float32, shape (n_queries, k)
        Their true kernel values, decreasing; minus infinity where there is no item.
    distances : ndarray of float32, shape (n_queries, k)
        ``sqrt(k(q, q) + k(x, x) - 2 k(q, x))``, the distance in the kernel's own space.
    exact : ndarray of bool, shape (n_queries,)
        Proven: no other item scores above the last one by more than `tolerance`.
    evaluations : ndarray of int64, shape (n_queries,)
        How often the kernel was evaluated for a query.
    tolerance : ndarray of float32, shape (n_queries,)
        How far rounding can move the difference of two scores of this query.
    kernel : str
        The kernel whose values the scores are, as it prints itself.

    Examples
    --------
    >>> import mercer
    >>> found = mercer.evaluate.ground_truth("linear", [[1.0], [3.0], [2.0]], [[1.0]], k=2)
    >>> found.ids, found.scores
    (array([[1, 2]]), array([[3., 2.]], dtype=float32))
    >>> found.to_list()
    [[(1, 3.0), (2, 2.0)]]
    """

    ids: Ids
    scores: npt.NDArray[np.float32]
    distances: npt.NDArray[np.float32]
    exact: npt.NDArray[np.bool_]
    evaluations: Ids
    tolerance: npt.NDArray[np.float32]
    kernel: str

    def __len__(self) -> int:
        return len(self.ids)

    def to_list(self) -> list[list[tuple[Any, float]]]:
        """Return ``(id, score)`` pairs, query by query, without the empty places."""
        return [
            [(i, s) for i, s in zip(ids, scores, strict=True) if i != -1]
            for ids, scores in zip(self.ids.tolist(), self.scores.tolist(), strict=True)
        ]

    def __repr__(self) -> str:
        queries, k = self.ids.shape
        share = f"{int(self.exact.sum())} exact, " if queries else ""
        work = f"{self.evaluations.mean():.0f} evaluations each" if queries else "no queries"
        return f"Matches({queries} queries, k={k}, {share}{work})"
