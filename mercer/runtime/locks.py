"""Locks that a forked child finds free."""

import os
import threading
import weakref
from contextlib import AbstractContextManager
from typing import Any


class Lock:
    """A lock that one thread holds at a time, as often as it likes.

    A child that is forked while another thread holds it would wait for ever, because that thread
    does not exist there. So children begin with new ones.
    """

    def __init__(self) -> None:
        self._inner = threading.RLock()
        _all.add(self)

    def held(self) -> AbstractContextManager[Any]:
        """Return what holds it in a with statement, after whoever else does.

        The same one is let go of that was taken, even if a child replaced it meanwhile. It is
        not written in Python, so that no signal arrives between taking and holding it.
        """
        return self._inner

    def renew(self) -> None:
        """Take a lock that nobody holds."""
        self._inner = threading.RLock()


_all: "weakref.WeakSet[Lock]" = weakref.WeakSet()


def _renew_all() -> None:
    for lock in _all:
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
