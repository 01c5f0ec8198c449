"""usearch: a graph (HNSW) by a compiled metric of the user's."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import carray, cfunc, types
from usearch.index import CompiledMetric, Index, MetricKind, MetricSignature

from benchmarks.rivals import pairs
from benchmarks.rivals.base import Effort, Rival

ROW = types.CPointer(types.float32)
WIDTHS = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384)


class Usearch(Rival):
    """Its defaults: 16 connections, an expansion of 128 while building."""

    name = "usearch"
    own = True
    copies = True
    counts_inside = False  # whether a second index with a counter in its metric is built

    def build(self) -> None:
        """Add all items on all threads."""
        self.index = self._built(self.task.pair)

    def _built(self, pair: Any) -> Any:
        d = self.task.X.shape[1]
        address = _metric(pair, self.task.top, d).address
        compiled = CompiledMetric(address, MetricKind.IP, MetricSignature.ArrayArray)
        index = Index(ndim=d, metric=compiled, dtype="f32")
        index.add(np.arange(len(self.task.X)), self.task.X, threads=self.threads)
        return index

    def efforts(self) -> list[Effort]:
        """Return widths of the search."""
        return [{"ef": width} for width in WIDTHS]

    def search(self, Q: Any, k: int, ef: int = 64) -> Any:
        """Search all queries on all threads."""
        return self._matches(self.index, Q, k, ef).keys.astype(np.int64)

    def evaluations(self, Q: Any, k: int, ef: int = 64) -> float:
        """Return its own count, or that of a metric with a counter in it.

        Its metric is fixed when it is made and lost when it is saved, so the counter needs a second
        index. Tests show that both counts are one.
        """
        if not self.counts_inside:
            return float(self._matches(self.index, Q, k, ef).computed_distances / len(Q))
        if not hasattr(self, "twin"):
            self.twin = self._built(pairs.counting(self.task.pair))
        return pairs.counted(lambda: self._matches(self.twin, Q, k, ef)) / len(Q)

    def _matches(self, index: Any, Q: Any, k: int, ef: int) -> Any:
        index.expansion_search = ef
        return index.search(Q, k, threads=self.threads)


class CountedUsearch(Usearch):
    """The same, counted by a second index with a counter in its metric."""

    counts_inside = True


@cache
def _metric(pair: Any, top: float, d: int) -> Any:
    inner = pairs.distance(pair, top)

    @cfunc(types.float32(ROW, ROW), fastmath=True, error_model="numpy")
    def metric(x, y):  # type: ignore[no-untyped-def]
        return inner(carray(x, (d,)), carray(y, (d,)))

    return metric
