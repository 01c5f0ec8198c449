"""Pair functions as a user writes them for everyone, and a counter inside them.

They are written as the peers run them fastest: no branch, and float32 literals, without which
numba would compute in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, overload

Pair = Callable[[Any, Any], float]
FASTEST: dict[str, Any] = {"fastmath": True, "error_model": "numpy", "nogil": True}
ZERO, HALF, ONE, TWO, TINY = map(np.float32, (0, 0.5, 1, 2, 1e-30))
counts = np.zeros(1, np.int64)
ADDRESS = counts.ctypes.data


def chi2(x, y):  # type: ignore[no-untyped-def]
    """Σ 2xy/(x + y)."""
    total = ZERO
    for i in range(len(x)):
        total += x[i] * y[i] / (x[i] + y[i] + TINY)
    return TWO * total


def jensen_shannon(x, y):  # type: ignore[no-untyped-def]
    """Σ x/2 log2((x + y)/x) + y/2 log2((x + y)/y)."""
    total = ZERO
    for i in range(len(x)):
        both = x[i] + y[i] + TINY
        total += x[i] * math.log2(both / (x[i] + TINY)) + y[i] * math.log2(both / (y[i] + TINY))
    return HALF * total


def exp_chi2(x, y):  # type: ignore[no-untyped-def]
    """exp(-Σ (x - y)²/(x + y))."""
    total = ZERO
    for i in range(len(x)):
        gap = x[i] - y[i]
        total += gap * gap / (x[i] + y[i] + TINY)
    return math.exp(-total)


def two_kernels(x, y):  # type: ignore[no-untyped-def]
    """The sum of Jensen-Shannon and intersection."""
    total = ZERO
    for i in range(len(x)):
        both = x[i] + y[i] + TINY
        logs = x[i] * math.log2(both / (x[i] + TINY)) + y[i] * math.log2(both / (y[i] + TINY))
        total += HALF * logs + min(x[i], y[i])
    return total


def tick() -> None:
    """Count one evaluation; compiled, on any thread."""
    counts[0] += 1


@overload(tick)
def _tick() -> Any:
    return lambda: _add_one(ADDRESS)


@intrinsic
def _add_one(typingctx, address):  # type: ignore[no-untyped-def]
    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        place = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        builder.atomic_rmw("add", place, ir.IntType(64)(1), "monotonic")
        return context.get_dummy_value()

    return types.void(types.intp), codegen


@cache
def counting(pair: Pair) -> Pair:
    """Return the same function with the counter in it, safe on many threads."""
    inner = njit(**FASTEST)(pair)

    def counted(x, y):  # type: ignore[no-untyped-def]
        tick()
        return inner(x, y)

    return counted


def counted(call: Callable[[], Any]) -> int:
    """Return how many evaluations `counting` functions made during a call."""
    counts[:] = 0
    call()
    return int(counts[0])


@cache
def distance(pair: Pair, top: float) -> Any:
    """Return top - k(x, y), compiled once: peers want the nearest to be the smallest."""
    most, inner = np.float32(top), njit(**FASTEST)(pair)
    return njit(**FASTEST)(lambda x, y: most - inner(x, y))
