"""How many threads some queries are worth, judging by how long the last ones took."""

import time
from collections.abc import Callable, Sized
from typing import TypeVar

from mercer.runtime import parallel

WORTH = 3e-3  # seconds of work that justify a thread: starting it and waiting for it costs a third


Block = TypeVar("Block", bound=Sized)
Answer = TypeVar("Answer")


class Pace:
    """How long a query took lately.

    Attributes
    ----------
    seconds : float or None
        For one query, on one thread; None at first.
    """

    def __init__(self) -> None:
        self.seconds: float | None = None

    def threads(self, n_queries: int, n_jobs: int | None = None) -> int:
        """Return how many threads to search on, at most as many as `n_jobs` stands for."""
        most = parallel.count(n_jobs)
        if self.seconds is None:
            return most
        return max(1, min(most, int(n_queries * self.seconds / WORTH)))

    def timed(self, answer: Callable[[Block], Answer]) -> Callable[[Block], Answer]:
        """Return a function that answers blocks of queries and records how long that took.

        Only the time that its thread was at work is counted. Once something is known, queries that
        are asked alone are not timed: the clock would cost them more than it tells.
        """

        def measure(block: Block) -> Answer:
            if len(block) == 1 and self.seconds is not None:
                return answer(block)
            started = time.thread_time()
            answered = answer(block)
            self.seconds = (time.thread_time() - started) / len(block)
            return answered

        return measure
