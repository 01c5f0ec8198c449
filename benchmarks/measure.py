"""What all benchmarks share: the real data, timing by medians, and a table."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mercer


def data_folder() -> Path:
    """Return where the real data is: MERCER_DATA, or shared/data beside the checkout."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("MERCER_DATA", beside))
    if not folder.is_dir():
        sys.exit(f"no data in {folder}: set MERCER_DATA to the folder that holds sift/, gist/, ...")
    return folder


def sift(n_rows: int, n_queries: int) -> tuple[Any, Any]:
    """Return SIFT descriptors as histograms that sum to 1: base rows and queries."""
    folder = data_folder() / "sift"
    parts = [np.load(folder / f"sift_base_{i}.npz")["X"] for i in range(3)]
    base = np.concatenate(parts)[:n_rows]
    sets = np.load(folder / "sets_query.npz")
    queries = sets["desc"][sets["sift_query_rows"][:n_queries]]
    return l1_normalised(base), l1_normalised(queries)


def l1_normalised(X: Any) -> Any:
    """Return rows as float32 that sum to 1."""
    floats = np.asarray(X, np.float32)
    return floats / np.maximum(floats.sum(axis=1, keepdims=True), 1e-30)


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
