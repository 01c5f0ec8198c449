"""mercer's own methods, with the built-in kernel or with the user's function."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

import mercer
from benchmarks.rivals import pairs
from benchmarks.rivals.base import Effort, Rival
from mercer import evaluate
from mercer.kernels import Kernel

FEW = (20, 30, 40, 60, 80, 100, 150, 200)


class Mercer(Rival):
    """An index of one method.

    `own` says whether the method gets the user's function instead of the built-in kernel; other
    settings are the method's.
    """

    method: str
    defaults: ClassVar[Effort] = {}

    def __init__(self, task: Any, threads: int, own: bool, **settings: Any) -> None:
        super().__init__(task, threads)
        self.own, self.settings = own, self.defaults | settings
        self.name = f"mercer.{self.method}" + (", own kernel" if own else "")

    def build(self) -> None:
        """Fit and add all items."""
        self.index = self._built(self._kernel(self.task.pair))

    def _kernel(self, pair: Any) -> Kernel:
        return _own(pair) if self.own else self.task.kernel

    def _built(self, kernel: Kernel) -> Any:
        index = getattr(mercer, self.method)(kernel, **self.settings)
        return index.fit(self.task.X).add(self.task.X, n_jobs=self.threads, show_progress=False)

    def efforts(self) -> list[Effort]:
        """Return numbers of candidates."""
        return [{"candidates": n} for n in FEW]

    def search(self, Q: Any, k: int, **effort: Any) -> Any:
        """Search all queries on all threads."""
        return self._matches(self.index, Q, k, effort).ids

    def _matches(self, index: Any, Q: Any, k: int, effort: Effort) -> Any:
        return index.search(Q, k, n_jobs=self.threads, show_progress=False, **effort)

    def evaluations(self, Q: Any, k: int, **effort: Any) -> float:
        """Return the index's own count, or that of a user's function with a counter in it."""
        if not self.own:
            found = self._matches(self.index, Q, k, effort)
            return float((found.evaluations + found.landmark_evaluations).mean())
        if not hasattr(self, "twin"):
            self.twin = self._built(self._kernel(pairs.counting(self.task.pair)))
        return pairs.counted(lambda: self._matches(self.twin, Q, k, effort)) / len(Q)


@cache
def _own(pair: Any) -> Kernel:
    """Return the user's function as a kernel, compiled once."""
    return mercer.kernel(psd=True, nonnegative=True)(pair)


class Exact(Mercer):
    """Every answer proven; or with fewer candidates."""

    method = "exact"

    def efforts(self) -> list[Effort]:
        """Return numbers of candidates, and as many as a proof takes."""
        return [{"candidates": 10}, {"candidates": 20}, {}]


class Klsh(Mercer):
    """Bits of kernelized LSH."""

    method = "klsh"

    def efforts(self) -> list[Effort]:
        """Return numbers of candidates."""
        return [{"candidates": n} for n in (100, 200, 400, 800)]


class KpcaLsh(Mercer):
    """Bits of kernel PCA."""

    method = "kpca_lsh"
    defaults: ClassVar[Effort] = {"n_bits": 256, "n_components": 64}

    def efforts(self) -> list[Effort]:
        """Return numbers of candidates."""
        return [{"candidates": n} for n in (100, 200, 400, 800)]


class Inverted(Mercer):
    """Inverted lists with fast scan: lists looked into, and candidates scored."""

    method = "inverted"

    def efforts(self) -> list[Effort]:
        """Return numbers of lists and of candidates, and what is taken by default."""
        tried = [(8, 40), (12, 40), (12, 60), (16, 60), (24, 60), (16, 80), (24, 80), (32, 80),
                 (24, 100), (32, 100), (48, 100), (32, 150), (48, 150), (64, 150), (32, 200),
                 (48, 200), (64, 200), (64, 400), (128, 400)]  # fmt: skip
        return [{"effort": lists, "candidates": n} for lists, n in tried] + [{}]


class Graph(Mercer):
    """A graph over vectors: its width, and candidates scored."""

    method = "graph"

    def efforts(self) -> list[Effort]:
        """Return widths of the search and numbers of candidates, and what is taken by default."""
        tried = [(20, 20), (30, 30), (40, 40), (60, 40), (60, 60), (80, 60), (100, 60), (100, 100),
                 (150, 100), (200, 200)]  # fmt: skip
        return [{"effort": width, "candidates": n} for width, n in tried] + [{}]


class KpcaPq(Mercer):
    """Product codes of kernel PCA, all of them scanned."""

    method = "kpca_pq"
    defaults: ClassVar[Effort] = {"n_bytes": 16}

    def efforts(self) -> list[Effort]:
        """Return numbers of candidates."""
        return [{"candidates": n} for n in (40, 100, 200, 400)]


class BruteForce(Mercer):
    """Every row compared, fused with keeping the best."""

    method = "evaluate.ground_truth"

    def build(self) -> None:
        """Prepare the items."""
        self.kernel = self._kernel(self.task.pair)
        self.items = self.kernel.prepare(self.task.X)

    def efforts(self) -> list[Effort]:
        """Return the only one."""
        return [{}]

    def search(self, Q: Any, k: int, **effort: Any) -> Any:
        """Compare all pairs."""
        return evaluate.ground_truth(
            self.kernel, self.items, Q, k, n_jobs=self.threads, show_progress=False
        ).ids

    def evaluations(self, Q: Any, k: int, **effort: Any) -> float:
        """Return the number of rows."""
        return float(len(self.items))
