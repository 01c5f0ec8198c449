"""scikit-learn: every row compared, by its Gram matrix of χ² or by a user's function."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics.pairwise import additive_chi2_kernel
from sklearn.neighbors import NearestNeighbors

from benchmarks.rivals import pairs
from benchmarks.rivals.base import Effort, Rival


class SklearnGram(Rival):
    """Its own χ² Gram matrix, and the best of each line."""

    name = "scikit-learn, χ² Gram matrix"
    n_queries = 10

    def __init__(self, task: Any, threads: int) -> None:
        super().__init__(task, 1)

    def build(self) -> None:
        """Do nothing."""

    def efforts(self) -> list[Effort]:
        """Return the only one."""
        return [{}]

    def search(self, Q: Any, k: int, **effort: Any) -> Any:
        """Compare all pairs."""
        K = additive_chi2_kernel(Q, self.task.X)  # -Σ (x - y)²/(x + y): ranks as χ²
        few = np.argpartition(-K, k - 1, axis=1)[:, :k]
        order = np.argsort(-np.take_along_axis(K, few, 1), axis=1)
        return np.take_along_axis(few, order, 1)

    def evaluations(self, Q: Any, k: int, **effort: Any) -> float:
        """Return the number of rows."""
        return float(len(self.task.X))


class SklearnNeighbors(SklearnGram):
    """NearestNeighbors with the user's compiled function."""

    name = "scikit-learn NearestNeighbors"
    own = True

    def build(self) -> None:
        """Keep the items."""
        metric = pairs.distance(self.task.pair, self.task.top)
        self.model = NearestNeighbors(algorithm="brute", metric=metric).fit(self.task.X)

    def search(self, Q: Any, k: int, **effort: Any) -> Any:
        """Compare all pairs, one call of the function each."""
        return self.model.kneighbors(Q, k, return_distance=False)
