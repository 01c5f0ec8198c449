"""How often a user's Python function is called by fit and add, against all pairs.

The function is the overlap of two texts: the letters that they share. Of 10,000 items, brute force
and everything else call it for a part of all pairs only.

scripts/bench calls --sizes 500 2000
"""

from __future__ import annotations

import argparse
import string
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import mercer
from benchmarks.measure import table

METHODS = ("brute", "exact", "klsh", "kpca_lsh", "rmmh", "fourier", "kpca_pq", "inverted", "graph",
           "auto")  # fmt: skip


class Counted:
    """A positive semi-definite function of two texts that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: frozenset[str], y: frozenset[str]) -> float:
        """Return how many letters two texts share, per length."""
        self.calls += 1
        return len(x & y) / (len(x) * len(y)) ** 0.5


def texts(n: int) -> list[frozenset[str]]:
    """Return random sets of letters, made of few common ones."""
    rng = np.random.default_rng(0)
    letters = np.array(list(string.ascii_letters))
    common = rng.random((20, len(letters))) ** 2
    return [frozenset(letters[rng.random(len(letters)) < common[i % 20]]) | {"."} for i in range(n)]


def calls(method: str, n: int) -> tuple[int, float]:
    """Return the calls and the seconds of fit and add."""
    function, X = Counted(), texts(n)
    index: Any = getattr(mercer, method)(mercer.kernels.from_function(function, psd=True))
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        index.fit(X).add(X)
    return function.calls, time.perf_counter() - started


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for each method and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 2000, 10_000])
    parser.add_argument("--methods", nargs="+", default=METHODS)
    args = parser.parse_args(arguments)
    rows = []
    for n in args.sizes:
        pairs = n * (n - 1) // 2
        for method in args.methods:
            found, seconds = calls(method, n)
            rows.append([f"{n:,}", method, f"{found:,}", found / pairs, seconds])
    table(["items", "method", "calls", "of all pairs", "seconds"], rows)


if __name__ == "__main__":
    main()
