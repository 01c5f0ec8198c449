"""How many threads some queries are worth, by what the last ones took."""

import time
from collections.abc import Callable, Sized
from typing import TypeVar

from mercer.runtime import parallel

WORTH = 3e-3  # seconds of work for each thread: starting one and waiting for it costs a third


Block = TypeVar("Block", bound=Sized)
Answer = TypeVar("Answer")


class Pace:
    """What a query took lately; nothing is known at first.

    Attributes
    ----------
    seconds : float or None
        Of one query, on one thread.
    """

    def __init__(self) -> None:
        self.seconds: float | None = None

    def threads(self, n_queries: int, n_jobs: int | None = None) -> int:
        """Return on how many threads to search, at most as many as `n_jobs` asks for."""
        most = parallel.count(n_jobs)
        if self.seconds is None:
            return most
        return max(1, min(most, int(n_queries * self.seconds / WORTH)))

    def timed(self, answer: Callable[[Block], Answer]) -> Callable[[Block], Answer]:
        """Return a function that answers blocks of queries and learns what that took.

        It counts the time that its thread was at work.
        """

        def measure(block: Block) -> Answer:
            started = time.thread_time()
            answered = answer(block)
            self.seconds = (time.thread_time() - started) / len(block)
            return answered

        return measure
