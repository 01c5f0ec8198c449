"""How many threads some queries are worth, by what the last ones took."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from mercer.runtime import parallel

WORTH = 3e-3  # seconds of work for each thread: starting one and waiting for it costs a third


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

    @contextmanager
    def timing(self, n_queries: int) -> Iterator[None]:
        """Learn from so many queries, by the time that the thread was at work."""
        started = time.thread_time()
        yield
        self.seconds = (time.thread_time() - started) / n_queries
