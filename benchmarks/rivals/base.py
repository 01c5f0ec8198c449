"""What every rival does: build, search with some effort, count its kernel evaluations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from benchmarks.rivals.task import Task

Effort = dict[str, Any]  # what a search is told beyond k


class Rival(ABC):
    """A system that answers a task.

    Attributes
    ----------
    name : str
        What tables call it.
    own : bool
        Whether it was given the user's function.
    threads : int
        How many its searches use.
    n_queries : int or None
        How many queries it is asked at most, where all of them would take minutes.
    copies : bool
        Whether its memory holds the items a second time.
    """

    name: str
    own = False
    n_queries: int | None = None
    copies = False

    def __init__(self, task: Task, threads: int) -> None:
        self.task, self.threads = task, threads

    @abstractmethod
    def build(self) -> None:
        """Make the items searchable."""

    @abstractmethod
    def efforts(self) -> list[Effort]:
        """Return what searches are told, from the least effort to the most."""

    @abstractmethod
    def search(self, Q: Any, k: int, **effort: Any) -> Any:
        """Return row numbers, shape (len(Q), k), best first; -1 where there are fewer."""

    @abstractmethod
    def evaluations(self, Q: Any, k: int, **effort: Any) -> float:
        """Return how many kernel values a query took, landmarks included."""
