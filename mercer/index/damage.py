"""Report that a loaded index turned out to be damaged."""

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from mercer import store
from mercer.errors import KernelError, MercerError, StoreError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def tells_damage(verb: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Make a method of an index blame the folder it was loaded from; use it as a decorator.

    Files may hold anything. What compiled code relies on is checked first; any other inconsistency
    ends in an error from Python, NumPy or numba.
    """

    @functools.wraps(verb)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            return verb(*args, **kwargs)
        except KernelError as error:
            _blame_files(args[0], error)
            raise
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


def _blame_files(index: Any, error: KernelError) -> None:
    """Raise StoreError if a kernel failed because files are damaged; verify them only once."""
    folder = vars(index)["_loaded_from"]
    if folder is None:
        return
    try:
        store.verify(folder)
    except StoreError as damage:
        raise damage from error
    vars(index)["_loaded_from"] = None
