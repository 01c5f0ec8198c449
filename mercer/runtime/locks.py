"""Locks that are free in a forked child."""

import os
import threading
import weakref
from contextlib import AbstractContextManager
from typing import Any


class Lock:
    """A lock that one thread holds at a time, and may take more than once.

    A child forked while another thread holds the lock would wait for it forever, because that
    thread does not exist in the child. So children begin with new locks.
    """

    def __init__(self) -> None:
        self._inner = threading.RLock()
        _all.add(self)

    def held(self) -> AbstractContextManager[Any]:
        """Return a context manager that waits for the lock and holds it.

        The lock released is the one that was taken, even if a child replaced it meanwhile. The
        context manager is not written in Python, so no signal can interrupt it halfway.
        """
        return self._inner

    def renew(self) -> None:
        """Replace the lock with one that nobody holds."""
        self._inner = threading.RLock()


_all: "weakref.WeakSet[Lock]" = weakref.WeakSet()


def _renew_all() -> None:
    for lock in _all:
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
