"""Say how long Python functions will take, before they do."""

import sys
import warnings
from typing import Any

from mercer.errors import SlowKernelWarning
from mercer.kernels.memory import in_use

LONG = 10.0  # seconds that pass without a word
UNITS = ((3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"), (1e-3, "ms"))


def announce(kernel: Any, n_calls: int, doing: str, inside: bool = False) -> None:
    """Warn if calls of a kernel's Python functions will take more than ten seconds.

    Parameters
    ----------
    kernel : Kernel
        The kernel; nothing is said of compiled ones.
    n_calls : int
        For how many pairs it will be called.
    doing : str
        What they are needed for.
    inside : bool
        Whether to say it within the work of an index, which announces all its calls at once.
    """
    seconds, memory = n_calls * kernel.call_seconds, in_use()
    if seconds <= LONG or (memory is not None and (memory.announced or not inside)):
        return
    if memory is not None:
        memory.announced = True
    warnings.warn(
        f"{doing}: about {_number(n_calls)} calls of {kernel!r}, {_duration(kernel.call_seconds)} "
        f"each: about {_duration(seconds)}. Fewer landmarks take less (n_landmarks), and "
        "mercer.kernel compiles functions of two vectors.",
        SlowKernelWarning,
        stacklevel=_levels_to_user(),
    )


def _levels_to_user() -> int:
    """Return how many calls of this package lie between the warning and the user's line."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("mercer."):
        level, frame = level + 1, frame.f_back
    return level


def _duration(seconds: float) -> str:
    for size, name in UNITS:
        if seconds >= size:
            return f"{seconds / size:.2g} {name}"
    return f"{seconds * 1e6:.2g} µs"


def _number(n: int) -> str:
    return f"{n / 1e6:.2g} million" if n >= 1_000_000 else f"{float(f'{n:.3g}'):,.0f}"
