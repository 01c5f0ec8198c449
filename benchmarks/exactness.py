"""Exact search under many kernels on real data: always the truth, and how much work it is.

scripts/bench exactness
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import mercer
from benchmarks.measure import my_chi2, table
from experiments.real_data import bag_of_words, gist, molecules, sift
from mercer import evaluate, kernels


def cases(n_rows: int, n_queries: int) -> list[tuple[str, kernels.Kernel, Any, Any]]:
    """Return name, kernel, items and queries."""
    images, words = gist(n_rows, n_queries), bag_of_words(n_rows, n_queries)
    drugs, patches = molecules(n_rows, n_queries), sift(n_rows, n_queries)
    both = kernels.Chi2() + 0.5 * kernels.RBF.for_data(patches.X)
    return [
        ("RBF on GIST", images.kernel, images.X, images.Q),
        ("intersection on bag of words", words.kernel, words.X, words.Q),
        ("Tanimoto on Morgan fingerprints", drugs.kernel, drugs.X, drugs.Q),
        ("a user's chi2 on SIFT", my_chi2, patches.X, patches.Q),
        ("chi2 + RBF on SIFT", both, patches.X, patches.Q),
    ]


def measure(name: str, kernel: kernels.Kernel, X: Any, Q: Any, components: int) -> list[Any]:
    """Return one line of the table."""
    index = mercer.exact(kernel, n_components=components).fit(X).add(X)
    k = 10
    times = []
    for call in (lambda: evaluate.ground_truth(kernel, X, Q, k), lambda: index.search(Q, k)):
        call()
        start = time.perf_counter()
        answer = call()
        times.append((time.perf_counter() - start, answer))
    (brute, truth), (exact, found) = times
    share = 100 * found.evaluations / len(index)
    return [
        name, len(index), len(Q), evaluate.recall(found, truth), float(found.exact.mean()),
        float(np.median(share)), float(share.mean()), float(share.max()), brute / exact,
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--components", type=int, default=128)
    options = parser.parse_args()
    rows = [measure(*case, options.components) for case in cases(options.rows, options.queries)]
    print(f"k=10, 1024 landmarks, {options.components} components; evaluated: % of the rows")
    table(
        ["kernel and data", "rows", "queries", "recall", "exact",
         "median %", "mean %", "largest %", "times brute force"],
        rows,
    )  # fmt: skip


if __name__ == "__main__":
    main()
