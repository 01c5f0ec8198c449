"""Kernels that installed packages declare, as entry points of the group ``mercer.kernels``.

A package says so in its ``pyproject.toml``::

    [project.entry-points."mercer.kernels"]
    soft_cosine = "my_package.kernels:soft_cosine"

It is imported only when a kernel of that name is asked for and no other has the name.
"""

from importlib import metadata
from typing import Any

from mercer.errors import KernelError
from mercer.kernels.base import Kernel

GROUP = "mercer.kernels"


def names() -> list[str]:
    """Return the names that installed packages declare."""
    return sorted({one.name for one in metadata.entry_points(group=GROUP)})


def find(name: str) -> Kernel | None:
    """Return the kernel that a package declares under a name, or None."""
    declared = next(iter(metadata.entry_points(group=GROUP, name=name)), None)
    if declared is None:
        return None
    kernel = _loaded(declared)
    if not isinstance(kernel, Kernel):
        raise KernelError(
            f"{declared.value!r}, which a package declares as the kernel {name!r}, is a "
            f"{type(kernel).__name__}. It must be a kernel, such as one made by @mercer.kernel."
        )
    return kernel


def _loaded(declared: metadata.EntryPoint) -> Any:
    try:
        return declared.load()
    except Exception as error:
        raise KernelError(
            f"the kernel {declared.name!r} is declared as {declared.value!r}, which cannot be "
            f"imported ({type(error).__name__}: {error}). Install that package again."
        ) from error
