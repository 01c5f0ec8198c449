"""Say so where a loaded index turns out to be damaged."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from mercer.errors import MercerError, StoreError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def tells_damage(verb: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Let a verb of an index say what it was loaded from; use it as a decorator.

    Files may hold anything. What compiled code follows is checked before; whatever else does not
    fit together ends in an error of Python's, NumPy's or numba's.
    """

    @functools.wraps(verb)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            return verb(*args, **kwargs)
        except (MercerError, Warning, MemoryError):
            raise
        except Exception as error:
            folder = vars(args[0])["_loaded_from"]
            if folder is None:
                raise
            raise StoreError(
                f"Index.{verb.__name__}: what was loaded from {folder} does not fit together "
                f"({type(error).__name__}: {error}). Run mercer verify on it; restore it from a "
                "copy, or build it again."
            ) from error

    return call
