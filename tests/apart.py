"""Functions that other processes import, without the package or NumPy."""

from __future__ import annotations

import os

factor = 1.0  # what a user may change after the import


def shared(x, y):
    return len(set(x) & set(y)) / 3


def scaled(x, y):
    return factor * shared(x, y)


def scaled_by(factor, x, y):
    return factor * shared(x, y)


def difference(x, y):
    return len(set(x) ^ set(y))


def picky(x, y):
    if {x, y} == {"ab", "abcd"}:
        raise RuntimeError("not these")
    return 1.0


def negative(x, y):
    return -1.0 if {x, y} == {"ab", "abcd"} else 1.0


def fatal(x, y):
    """End any process but the one of the tests."""
    if os.environ.get("MERCER_TESTS") != str(os.getpid()):
        os._exit(3)
    return 1.0
