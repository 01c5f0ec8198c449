"""Report that a loaded index turned out to be damaged."""

import functools
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numpy as np

from mercer import store
from mercer.errors import KernelError, MercerError, StoreError
from mercer.index.description import describe
from mercer.index.pace import Pace
from mercer.index.searching import Search
from mercer.index.state import State
from mercer.runtime import parallel

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

FEW, ALL = 64, sys.maxsize  # items of each segment that an index is tried on
BLOCK = 4096  # of them at a time
REPAIR = "Run mercer verify on it; restore it from a copy, or build it again."


class Source:
    """The folder that an index was loaded from, and how far its contents are known to be sound."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.n_tried = 0  # items of each segment on which nothing failed

    def blame(self, verb: str, state: State, error: Exception) -> None:
        """Raise StoreError if an error is due to the folder and not to what the user passed."""
        if isinstance(error, StoreError):
            if self.folder not in str(error):
                raise StoreError(f"Index.{verb}: {self.folder}: {error}") from error
        elif isinstance(error, MercerError):
            self._try(verb, state, ALL if isinstance(error, KernelError) else FEW)
        elif not isinstance(error, (Warning, MemoryError)):
            raise self._inconsistent(verb, error) from error

    def _try(self, verb: str, state: State, n: int) -> None:
        """Let the index work on items of its own, with which only damage can be at fault."""
        if n <= self.n_tried:
            return
        if n == ALL:
            store.verify(self.folder)  # names the files
        try:
            _work_on_own_items(state, n)
        except Exception as error:
            raise self._inconsistent(verb, error) from error
        self.n_tried = n

    def _inconsistent(self, verb: str, error: Exception) -> StoreError:
        return StoreError(
            f"Index.{verb}: what was loaded from {self.folder} does not fit together "
            f"({type(error).__name__}: {str(error).rstrip('.')}). {REPAIR}"
        )


def _work_on_own_items(state: State, n: int) -> None:
    """Describe an index, and build and find the first n items of each segment."""
    if state.recipe is None:
        return
    recipe, segments = state.recipe, state.segments
    describe(recipe, segments)
    held = [segment.items for segment in segments.members]
    for P in (*held, *filter(None, [recipe.embedding.witnesses])):
        for span in parallel.spans(min(n, len(P)), BLOCK):
            some = P[span].under(recipe.kernel)
            if recipe.kernel.input == "vectors":  # kept as they are: NaN and the like are found
                recipe.kernel.prepare(some.kept)
            recipe.build(some, np.arange(len(some)))
    for P in filter(len, held):
        Search(recipe, segments, Pace()).best(P[:FEW], 1, None)


def tells_damage(verb: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Make a method of an index blame the folder it was loaded from; use it as a decorator.

    Files may hold anything. What compiled code relies on is checked first; any other inconsistency
    ends in an error of this package, of Python, NumPy or numba.
    """

    @functools.wraps(verb)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            return verb(*args, **kwargs)
        except Exception as error:
            known = vars(args[0])
            if known["_source"] is not None:
                known["_source"].blame(verb.__name__, known["_state"], error)
            raise

    return call
