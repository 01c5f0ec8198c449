"""pynndescent: a graph by a compiled metric of the user's."""

from __future__ import annotations

import copy
from typing import Any

import pynndescent

from benchmarks.rivals import pairs
from benchmarks.rivals.base import Effort, Rival

EPSILONS = (0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3)


class Pynndescent(Rival):
    """Its defaults; queries on one thread, as those on more do not compile in 0.7."""

    name = "pynndescent"
    own = True
    copies = True

    def __init__(self, task: Any, threads: int) -> None:
        super().__init__(task, 1)
        self.build_threads = threads

    def build(self) -> None:
        """Build the graph on all threads and compile the search."""
        metric = pairs.distance(self.task.pair, self.task.top)
        self.index = pynndescent.NNDescent(
            self.task.X, metric=metric, n_jobs=self.build_threads, random_state=0
        )
        self.index.prepare()

    def efforts(self) -> list[Effort]:
        """Return how much farther than the k-th best the search looks."""
        return [{"epsilon": epsilon} for epsilon in EPSILONS]

    def search(self, Q: Any, k: int, epsilon: float = 0.1) -> Any:
        """Search all queries."""
        return self.index.query(Q, k, epsilon=epsilon)[0]

    def evaluations(self, Q: Any, k: int, epsilon: float = 0.1) -> float:
        """Search the same graph by a metric with a counter in it."""
        if not hasattr(self, "twin"):
            self.twin = copy.copy(self.index)
            self.twin._distance_func = pairs.distance(pairs.counting(self.task.pair), self.task.top)
            self.twin._init_search_function()
        return pairs.counted(lambda: self.twin.query(Q, k, epsilon=epsilon)) / len(Q)
