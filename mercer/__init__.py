"""Nearest-neighbour search under any kernel.

Every method is one pipeline::

    items --prepare--> items the kernel likes --embed--> vectors --search--> candidates
          --re-rank with the kernel--> matches

This release has its ground floor: items (`mercer.items`, `Ragged`), kernels (`mercer.kernels`,
`kernel`), brute force and recall (`mercer.evaluate`), and contract tests (`mercer.testing`).
"""

from mercer import evaluate, items, kernels, parallel, testing
from mercer.errors import CheckError, InputError, KernelError, MercerError
from mercer.kernels import kernel, register
from mercer.matches import Matches
from mercer.ragged import Ragged

__version__ = "0.1.0"

__all__ = [
    "CheckError",
    "InputError",
    "KernelError",
    "Matches",
    "MercerError",
    "Ragged",
    "evaluate",
    "items",
    "kernel",
    "kernels",
    "parallel",
    "register",
    "testing",
]
