"""Which method: time to build, speed, recall and bytes, for a few kinds of work.

SIFT descriptors as histograms. Five million are copies of 200,000, with numbers moved by up to two.

scripts/bench which_method --cases small large
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

import mercer
from benchmarks.measure import table
from experiments.real_data import data_folder, sift
from mercer import kernels

K = 10


class Case(NamedTuple):
    """Items, queries, a kernel, and the methods to compare on them by name."""

    X: Any
    Q: Any
    kernel: Any
    methods: dict[str, Callable[[Any], mercer.Index]]
    options: Mapping[str, Any] = MappingProxyType({})


USUAL: dict[str, Callable[[Any], mercer.Index]] = {
    "brute": mercer.brute,
    "exact": mercer.exact,
    "inverted": mercer.inverted,
    "graph": mercer.graph,
    "auto": mercer.auto,
}


def some(*names: str) -> dict[str, Callable[[Any], mercer.Index]]:
    """Return methods by name."""
    return {name: USUAL[name] for name in names}


@mercer.kernel(nonnegative=True)
def flat(x, y):  # type: ignore[no-untyped-def]
    """The overlap of histograms, cut off below: not positive semi-definite."""
    total = 0.0
    for i in range(len(x)):
        total += min(x[i], y[i])
    return max(total, 0.3)


def letters(x: str, y: str) -> float:
    """How many edits turn one text into another, in plain Python."""
    row = list(range(len(y) + 1))
    for i, a in enumerate(x, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(y, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return float(row[-1])


def words(n: int) -> list[str]:
    """Return random words made of few syllables."""
    rng = np.random.default_rng(0)
    parts = ["ba", "ko", "ri", "ten", "lu", "mas", "so", "vel", "in", "gra"]
    return ["".join(rng.choice(parts, rng.integers(3, 7))) for _ in range(n)]


def jittered(n: int) -> np.ndarray[Any, Any]:
    """Return n items as bytes: copies of SIFT descriptors, moved a little."""
    X = np.load(data_folder() / "sift" / "sift_base_0.npz")["X"][:200_000].astype(np.int16)
    rng = np.random.default_rng(0)
    out = np.empty((n, X.shape[1]), np.uint8)
    for first in range(0, n, len(X)):
        moved = X + rng.integers(-2, 3, X.shape, dtype=np.int16)
        out[first : first + len(X)] = np.clip(moved, 0, 255)[: n - first]
    return out


def histograms(rows: int) -> tuple[Any, Any]:
    """Return SIFT descriptors that sum to 1, and 1,000 queries."""
    data = sift(rows, 1000, in_order=True)
    return data.X, data.Q


def huge() -> Case:
    """Five million items, with 200 queries."""
    X = jittered(5_000_200)
    return Case(X[:-200], X[-200:], kernels.Chi2().of("l1"), some("brute", "inverted"))


def tiny() -> Case:
    """Codes without items."""
    methods = {
        "kpca_pq, 8 bytes": lambda kernel: mercer.kpca_pq(kernel, n_bytes=8),
        "kpca_pq, 32 bytes": lambda kernel: mercer.kpca_pq(kernel, n_bytes=32),
        "lsh, 256 bits": lambda kernel: mercer.lsh(kernel, n_bits=256),
    }
    return Case(*histograms(200_000), kernels.Chi2(), methods, {"keep_items": False})


def python() -> Case:
    """Texts under an edit distance in plain Python."""
    texts = words(2050)
    kernel = kernels.from_distance(letters, gamma=0.3)
    return Case(texts[50:], texts[:50], kernel, some("brute", "inverted", "graph", "auto"))


CASES: dict[str, Callable[[], Case]] = {
    "small": lambda: Case(*histograms(5000), kernels.Chi2(), USUAL),
    "large": lambda: Case(*histograms(200_000), kernels.Chi2(), USUAL),
    "huge": huge,
    "not-psd": lambda: Case(*histograms(200_000), flat, some("brute", "inverted", "graph", "auto")),
    "python": python,
    "tiny": tiny,
}


def measure(name: str) -> list[list[Any]]:
    """Return a row for each method of a case."""
    case = CASES[name]()
    truth = mercer.evaluate.ground_truth(case.kernel, case.X, case.Q, K)
    rows = []
    for method, make in case.methods.items():
        started = time.perf_counter()
        index = make(case.kernel).fit(case.X, **case.options).add(case.X)
        built = time.perf_counter() - started
        index.search(case.Q[:5], K)  # whatever is compiled or made once
        started = time.perf_counter()
        found = index.search(case.Q, K)
        speed = len(case.Q) / (time.perf_counter() - started)
        values = float((found.evaluations + found.landmark_evaluations).mean())
        recall = mercer.evaluate.recall(found, truth)
        size = index.info()["bytes per item"]
        row = [name, method, round(built, 1), f"{speed:,.0f}", f"{recall:.3f}"]
        rows.append([*row, f"{found.exact.mean():.0%}", f"{values:,.0f}", f"{size:,.0f}"])
        del index
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables of some cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    head = ["case", "method", "build(s)", "queries/s", "recall", "proven", "values", "bytes"]
    for name in parser.parse_args(arguments).cases:
        table(head, measure(name))
        print(flush=True)


if __name__ == "__main__":
    main()
