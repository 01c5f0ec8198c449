"""faiss on explicit maps of histograms, re-ranked by the kernel: the expert's recipes for χ²."""

from __future__ import annotations

import math
from typing import Any

import faiss
import numpy as np
from sklearn.kernel_approximation import AdditiveChi2Sampler
from threadpoolctl import threadpool_limits

from benchmarks.rivals.base import Effort, Rival

CANDIDATES = (20, 30, 40, 60, 80, 100, 150, 200)
STEPS = 2  # of the sampler: three dimensions for each feature


class Mapped(Rival):
    """Vectors whose Euclidean neighbours are candidates for the kernel."""

    factory: str

    def map(self, X: Any) -> Any:
        """Return vectors: the square root by default."""
        return np.sqrt(X)

    def build(self) -> None:
        """Map, train and add all items."""
        # two threads of BLAS below those of faiss, or two for k-means, are ten times slower here
        threadpool_limits(1, user_api="blas")
        faiss.omp_set_num_threads(1)
        self.items = self.task.kernel.prepare(self.task.X)
        Z = self.map(self.task.X)
        n_lists = 2 ** round(math.log2(math.sqrt(len(Z))))
        self.index = faiss.index_factory(
            Z.shape[1], self.factory.format(lists=n_lists, halves=Z.shape[1] // 2)
        )
        self.index.train(Z)
        faiss.omp_set_num_threads(self.threads)
        self.index.add(Z)

    def search(self, Q: Any, k: int, candidates: int = 100, **effort: Any) -> Any:
        """Take the nearest vectors and return the best of them by the kernel."""
        self.set(**effort)
        rows = self.index.search(self.map(Q), candidates)[1]
        return self.best(Q, rows, k)

    def best(self, Q: Any, rows: Any, k: int) -> Any:
        """Return the k rows of each query that score highest, best first."""
        kernel = self.task.kernel
        scores = kernel.score(kernel.prepare(Q), self.items, rows, n_jobs=self.threads)
        few = np.argpartition(-scores, k - 1, axis=1)[:, :k]
        order = np.argsort(-np.take_along_axis(scores, few, 1), axis=1)
        return np.take_along_axis(rows, np.take_along_axis(few, order, 1), 1)

    def evaluations(self, Q: Any, k: int, candidates: int = 100, **effort: Any) -> float:
        """Return how many candidates were scored."""
        self.set(**effort)
        return float((self.index.search(self.map(Q), candidates)[1] >= 0).sum() / len(Q))

    def set(self, **effort: Any) -> None:
        """Tell the index how far to search."""


class _Hnsw(Mapped):
    factory = "HNSW32,Flat"

    def efforts(self) -> list[Effort]:
        """Return widths of the search and numbers of candidates."""
        return [{"ef": max(16, n), "candidates": n} for n in CANDIDATES]

    def set(self, ef: int) -> None:
        """Set the width."""
        self.index.hnsw.efSearch = ef


class _Ivf(Mapped):
    factory = "IVF{lists},PQ{halves}x4fs"

    def efforts(self) -> list[Effort]:
        """Return numbers of lists and of candidates."""
        probes = {20: 12, 30: 16, 40: 16, 60: 24, 80: 32, 100: 32, 150: 48, 200: 64}
        tried = [{"n_probe": probes[n], "candidates": n} for n in CANDIDATES]
        return tried + [{"n_probe": 2 * probes[n], "candidates": n} for n in (60, 100)]

    def set(self, n_probe: int) -> None:
        """Set the number of lists."""
        self.index.nprobe = n_probe


class _Sampled(Mapped):
    def map(self, X: Any) -> Any:
        """Return scikit-learn's map of the χ² kernel."""
        return AdditiveChi2Sampler(sample_steps=STEPS).fit_transform(X).astype(np.float32)


class RootHnsw(_Hnsw):
    """HNSW on square roots."""

    name = "faiss HNSW, square root"


class RootIvf(_Ivf):
    """An inverted file of fast-scan codes on square roots: the expert's recipe."""

    name = "faiss IVF fast-scan, square root"


class SampledHnsw(_Sampled, _Hnsw):
    """HNSW on scikit-learn's map."""

    name = "faiss HNSW, AdditiveChi2Sampler"


class SampledIvf(_Sampled, _Ivf):
    """An inverted file of fast-scan codes on scikit-learn's map."""

    name = "faiss IVF fast-scan, AdditiveChi2Sampler"
