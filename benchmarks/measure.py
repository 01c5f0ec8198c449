"""What all benchmarks share: timing by medians, a table, and a user's kernel."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import mercer


def compare(*calls: Callable[[], Any], rounds: int = 5, at_least: float = 0.3) -> list[float]:
    """Return the median time of each call, measured in turns so that slow drifts hit all alike.

    Each turn begins with calls that do not count, for the threads of the last one to calm down.
    """
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, kept in zip(calls, times, strict=True):
            _repeat(call, at_least / 3)
            kept += _repeat(call, at_least)
    return [float(np.median(kept)) for kept in times]


def _repeat(call: Callable[[], Any], at_least: float) -> list[float]:
    times: list[float] = []
    while not times or sum(times) < at_least:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times


def table(head: list[str], rows: list[list[Any]]) -> None:
    """Print rows in aligned columns."""
    text = [head] + [[f"{v:.2f}" if isinstance(v, float) else str(v) for v in r] for r in rows]
    widths = [max(len(row[i]) for row in text) for i in range(len(head))]
    for row in text:
        print("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip())


@mercer.kernel(psd=True, nonnegative=True)
def my_chi2(x, y):  # type: ignore[no-untyped-def]
    """The χ² kernel as a user would write it."""
    total = 0.0
    for i in range(len(x)):
        below = x[i] + y[i]
        if below > 0:
            total += 2 * x[i] * y[i] / below
    return total
