"""datasketch: a graph (HNSW) in Python, by any distance of any two objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from datasketch.hnsw import HNSW

from benchmarks.rivals.base import Effort, Rival

WIDTHS = (10, 20, 40, 80, 160, 320)


class Datasketch(Rival):
    """16 connections, an expansion of 100 while building; Python on one thread."""

    name = "datasketch HNSW"
    own = True

    def __init__(self, task: Any, threads: int) -> None:
        super().__init__(task, 1)
        self.calls = 0

    def build(self) -> None:
        """Insert one item after the other."""
        self.index = HNSW(distance_func=self._distance, m=16, ef_construction=100, seed=0)
        self.index.update(dict(enumerate(self.task.X)))

    def _distance(self, x: Any, y: Any) -> float:
        self.calls += 1  # costs little beside the call itself
        return self.task.top - self.task.pair(x, y)  # type: ignore[misc]

    def efforts(self) -> list[Effort]:
        """Return widths of the search."""
        return [{"ef": width} for width in WIDTHS]

    def search(self, Q: Any, k: int, ef: int = 64) -> Any:
        """Search one query after the other."""
        found = np.full((len(Q), k), -1, np.int64)
        for i, query in enumerate(Q):
            rows = [row for row, _ in self.index.query(query, k=k, ef=max(ef, k))]
            found[i, : len(rows)] = rows
        return found

    def evaluations(self, Q: Any, k: int, ef: int = 64) -> float:
        """Return how often the distance was called."""
        before = self.calls
        self.search(Q, k, ef)
        return (self.calls - before) / len(Q)
