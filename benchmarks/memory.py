"""What searches take beside the index: the peak of each, in a process of its own (Linux only).

scripts/bench memory
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

import mercer
from benchmarks.measure import table

rng = np.random.default_rng(0)


def weak_bounds(rows: int) -> Callable[[], Any]:
    """A thousand exact queries whose bounds rule out little: most rows are candidates.

    With 2 components all queries are given up at once; 6 took the most of 2, 4, ..., 12.
    """
    X = rng.dirichlet(np.ones(16), rows).astype(np.float32)
    Q = rng.dirichlet(np.ones(16), 1000).astype(np.float32)
    index = mercer.exact("chi2", n_landmarks=64, n_components=6, seed=0).fit(X[:10_000]).add(X)
    index.search(Q[:8], 10)
    return lambda: index.search(Q, 10)


def all_within(rows: int) -> Callable[[], Any]:
    """Every item above a score, of which there are few, for ten queries with weak bounds."""
    X = rng.dirichlet(np.ones(16), rows).astype(np.float32)
    index = mercer.exact("chi2", n_landmarks=8, n_components=2, seed=0).fit(X[:10_000]).add(X)
    index.within(X[:1], 0.99)
    return lambda: index.within(X[:10], 0.99)


def many_features(rows: int) -> Callable[[], Any]:
    """Hash vectors of 100,000 features."""
    X = scipy.sparse.random_array(
        (min(rows, 2000), 100_000), density=1e-3, format="csr", dtype=np.float32, rng=rng
    )
    return lambda: mercer.lsh("cosine", n_bits=256).fit(X).add(X).search(X[:100], 10)


def many_places(rows: int) -> Callable[[], Any]:
    """Ask for a thousand million of the items, for one query."""
    X = rng.dirichlet(np.ones(16), rows).astype(np.float32)
    index = mercer.brute("chi2").fit(X[:10]).add(X)
    index.search(X[:1], 10)
    return lambda: index.search(X[:1], 10**9)


CASES: dict[str, Callable[[int], Callable[[], Any]]] = {
    "weak bounds, 1,000 queries": weak_bounds,
    "within, 10 queries": all_within,
    "lsh, 100,000 features": many_features,
    "k = 10^9, 1 query": many_places,
}


def _status(name: str) -> float:
    """Return a number of /proc/self/status in MB."""
    [line] = [one for one in Path("/proc/self/status").read_text().splitlines() if name in one]
    return int(line.split()[1]) / 1024


def _measure(name: str, rows: int, pipe: Any) -> None:
    call = CASES[name](rows)
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from what is held now
    before, began = _status("VmRSS"), time.perf_counter()
    kept = call()
    pipe.send((before, _status("VmHWM") - before, time.perf_counter() - began))
    del kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    asked = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    rows: list[list[Any]] = []
    for name in CASES:
        here, there = context.Pipe()
        process = context.Process(target=_measure, args=(name, asked.rows, there))
        process.start()
        rows.append([name, *here.recv()])
        process.join()
    print(f"{asked.rows} rows")
    table(["search", "MB held before", "MB more at the peak", "seconds"], rows)


if __name__ == "__main__":
    main()
