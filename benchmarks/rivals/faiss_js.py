"""faiss by its own Jensen-Shannon distance: all rows, and a graph."""

from __future__ import annotations

from typing import Any

import faiss
import numpy as np

from benchmarks.rivals.base import Effort, Rival

TINY = 1e-12  # in place of 0, of which faiss makes 0 log 0: not a number
WIDTHS = (16, 32, 64, 96, 128, 192, 256, 384)


class FlatJs(Rival):
    """Every row compared."""

    name = "faiss flat, its own JS"
    copies = True
    n_queries = 50

    def build(self) -> None:
        """Copy the items."""
        faiss.omp_set_num_threads(self.threads)
        self.index = self.make(self.task.X.shape[1])
        self.index.add(np.maximum(self.task.X, TINY))

    def make(self, d: int) -> Any:
        """Return an empty index."""
        return faiss.IndexFlat(d, faiss.METRIC_JensenShannon)

    def efforts(self) -> list[Effort]:
        """Return the only one."""
        return [{}]

    def search(self, Q: Any, k: int, **effort: Any) -> Any:
        """Search all queries."""
        return self.index.search(np.maximum(Q, TINY), k)[1]

    def evaluations(self, Q: Any, k: int, **effort: Any) -> float:
        """Return the number of rows."""
        return float(len(self.task.X))


class GraphJs(FlatJs):
    """HNSW by the same distance."""

    name = "faiss HNSW, its own JS"
    n_queries = None

    def make(self, d: int) -> Any:
        """Return an empty graph."""
        return faiss.IndexHNSWFlat(d, 16, faiss.METRIC_JensenShannon)

    def efforts(self) -> list[Effort]:
        """Return widths of the search."""
        return [{"ef": width} for width in WIDTHS]

    def search(self, Q: Any, k: int, ef: int = 64) -> Any:
        """Search all queries."""
        self.index.hnsw.efSearch = ef
        return super().search(Q, k)

    def evaluations(self, Q: Any, k: int, ef: int = 64) -> float:
        """Return faiss's own count: its metric is inside."""
        faiss.cvar.hnsw_stats.reset()
        self.search(Q, k, ef)
        return float(faiss.cvar.hnsw_stats.ndis / len(Q))
