"""The border between users and the package: names in errors, threads and progress bars."""

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from mercer.errors import InputError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class _Asked(threading.local):
    """What the user asked for in the call under way on this thread."""

    n_jobs: int | None = None  # see `mercer.runtime.parallel.count`
    show_progress: bool | None = None  # see `mercer.runtime.progress.bar`
    at_work: bool = False  # inside a task: everything the task calls is serial and silent


asked = _Asked()


def border(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Mark a function as one that users call; use it as a decorator.

    Errors about input begin with its name, however deep inside they are raised. Its arguments
    `n_jobs` and `show_progress`, if it has them, apply to everything it calls, so they need not be
    passed down. When marked functions call each other, the outermost gives the name.

    Examples
    --------
    >>> from mercer.errors import InputError
    >>> from mercer.runtime.border import border
    >>> @border
    ... def look(k):
    ...     raise InputError(f"k is {k}. Pass a number of at least 1.")
    >>> look(0)
    Traceback (most recent call last):
    mercer.errors.InputError: look: k is 0. Pass a number of at least 1.
    """

    @functools.wraps(function)
    def inside(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            if kwargs.get("n_jobs") is None and kwargs.get("show_progress") is None:
                return function(*args, **kwargs)
            return _asking(function, *args, **kwargs)
        except InputError as error:
            error.caller = _name(function, args)
            raise

    return inside


def _asking(
    function: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Result:
    """Call a function with what its arguments ask of all calls that it makes."""
    before = asked.n_jobs, asked.show_progress
    try:  # an interruption at any point leaves what was asked before
        for name in ("n_jobs", "show_progress"):
            if kwargs.get(name) is not None:
                setattr(asked, name, kwargs[name])
        return function(*args, **kwargs)
    finally:
        asked.n_jobs, asked.show_progress = before


@contextmanager
def about(what: str) -> Iterator[None]:
    """Say which input an error is about, in a call that takes several."""
    try:
        yield
    except InputError as error:
        error.args = (f"{what}: {error.args[0]}",)
        error.caller = ""
        raise


def _name(function: Any, args: tuple[Any, ...]) -> str:
    """Return the name users know a function by: ``Index.add``, ``Chi2`` or ``ground_truth``."""
    name: str = function.__name__
    if "." not in function.__qualname__.rpartition("<locals>.")[2]:
        return name
    owner = args[0] if isinstance(args[0], type) else type(args[0])
    if name == "_validate" or owner is args[0]:
        return owner.__name__ if name == "_validate" else f"{owner.__name__}.{name}"
    label: str = getattr(args[0], "label", owner.__name__)
    return label if name.startswith("__") else f"{label}.{name}"
