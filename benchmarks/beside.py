"""How long learning takes beside other programs: wall and processor seconds of `fit`.

First alone, then while as many processes compute as there are cores. Twice the time is then what to
expect, and hardly more processor time.

scripts/bench beside
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import mercer
from benchmarks.measure import my_chi2, table

TURNS = 3
BUSY = "while True: sum(i * i for i in range(10_000))"
METHODS: dict[str, Callable[[], Any]] = {
    "exact": lambda: mercer.exact(my_chi2),
    "klsh": lambda: mercer.klsh(my_chi2),
    "kpca_pq": lambda: mercer.kpca_pq(my_chi2),
    "rmmh": lambda: mercer.rmmh(my_chi2),
}


@contextmanager
def busy() -> Iterator[None]:
    """Keep all cores busy meanwhile."""
    others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for one in others:
            one.kill()
            one.wait()


def fitted(make: Callable[[], Any], X: Any) -> tuple[float, float]:
    """Return the least wall and processor seconds of some fits."""
    times = []
    for _ in range(TURNS):
        wall, processor = time.perf_counter(), time.process_time()
        make().fit(X)
        times.append((time.perf_counter() - wall, time.process_time() - processor))
    return min(wall for wall, _ in times), min(processor for _, processor in times)


def main() -> None:
    """Print a row for each method."""
    X = np.random.default_rng(0).dirichlet(np.ones(64), size=5000).astype(np.float32)
    for make in METHODS.values():
        make().fit(X)  # whatever is compiled
    alone = {name: fitted(make, X) for name, make in METHODS.items()}
    with busy():
        beside = {name: fitted(make, X) for name, make in METHODS.items()}
    head = ["method", "alone: wall", "processor", "busy: wall", "processor"]
    table(head, [[name, *alone[name], *beside[name]] for name in METHODS])


if __name__ == "__main__":
    main()
