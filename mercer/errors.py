"""Every error this package raises on purpose.

::

    MercerError
    ├── InputError (ValueError)           items, parameters or ids that cannot be used
    ├── KernelError (ValueError)          a kernel that does not compile, lies or fails
    └── CheckError (AssertionError)       a `mercer.testing` check that does not hold

Each message says where it happened and what was found, what is required, and what to do.
"""

from __future__ import annotations

__all__ = ["CheckError", "InputError", "KernelError", "MercerError"]


class MercerError(Exception):
    """The root of all errors of this package."""


class InputError(MercerError, ValueError):
    """Items, parameters or ids that cannot be used."""


class KernelError(MercerError, ValueError):
    """A kernel that does not compile, is not symmetric, or returns what is not a number."""


class CheckError(MercerError, AssertionError):
    """A public contract test (``mercer.testing``) that does not hold."""
