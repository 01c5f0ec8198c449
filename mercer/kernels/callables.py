"""What is asked of functions that users pass: two arguments, symmetry, a name to be found by."""

import importlib
import inspect
import sys
from typing import Any

import numpy as np

from mercer.errors import InputError, KernelError
from mercer.kernels.base import Kernel
from mercer.runtime.arrays import Array


def function_state(kernel: Kernel, state: dict[str, Any]) -> dict[str, Any]:
    """Return the state to pickle; raise KernelError if the function cannot be found by name."""
    function = state["function"]
    name = getattr(function, "__qualname__", "")
    if "<lambda>" in name or "<locals>" in name:
        raise KernelError(
            f"cannot send kernel {kernel!r} to another process: its function {name!r} has no name "
            "that it could be found by there. Define it with def at the top of a module."
        )
    return state


def reduced(kernel: Kernel) -> tuple[Any, ...] | None:
    """Return how to find a kernel that has replaced its function, as decorators do, or None."""
    function: Any = vars(kernel)["function"]
    home = sys.modules.get(getattr(function, "__module__", ""))
    found: Any = home
    for step in getattr(function, "__qualname__", "").split("."):
        found = getattr(found, step, None)
    if found is not kernel or home is None:
        return None
    return _imported, (function.__module__, function.__qualname__)


def _imported(module: str, name: str) -> Any:
    found: Any = importlib.import_module(module)
    for step in name.split("."):
        found = getattr(found, step)
    return found


def check_symmetry(label: str, values: Array) -> None:
    """Raise KernelError where a square matrix of kernel values differs from its transpose."""
    scale = float(np.abs(values).max(initial=0.0))
    with np.errstate(invalid="ignore"):  # values that are not finite are reported with their pair
        gap = np.abs(values - values.T)
    if np.nanmax(gap, initial=0.0) > 1e-6 * scale:
        i, j = np.unravel_index(np.nanargmax(gap), gap.shape)
        raise KernelError(
            f"{label}: k(X[{i}], X[{j}]) = {values[i, j]:.6g} but k(X[{j}], X[{i}]) = "
            f"{values[j, i]:.6g}. Kernels are symmetric: use (k(x, y) + k(y, x)) / 2."
        )


def require_two_arguments(function: Any, where: str) -> None:
    """Raise InputError unless `function` can be called with two arguments."""
    if not callable(function):
        raise InputError(f"{where}: got {function!r}. Pass a function of two items.")
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        raise InputError(
            f"{where}: {name_of(function)}{inspect.signature(function)} cannot be called with two "
            "items. Write it as function(x, y)."
        ) from None
    except ValueError:
        return  # some built-in functions have no readable signature


def wide(X: Any) -> Any:
    """Return NumPy's short numbers as int64 or float64, anything else as it is.

    Python code that multiplies bytes would overflow silently, and float32 would round more than
    the kernel's tolerance allows.
    """
    dtype = getattr(X, "dtype", None)
    if not isinstance(X, (np.ndarray, np.generic)) or dtype is None or dtype.kind not in "iuf":
        return X
    return X if dtype.itemsize >= 8 else X.astype(np.float64 if dtype.kind == "f" else np.int64)


def name_of(function: Any) -> str:
    """Return what to call a function in messages."""
    return getattr(function, "__name__", repr(function))
