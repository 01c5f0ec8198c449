"""Exact search with a proof against fused brute force, on SIFT, in one run.

scripts/bench exact
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import mercer
from benchmarks.measure import compare, table
from experiments.real_data import sift
from mercer import evaluate


def seconds(call: Any) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def megabytes(index: mercer.Index) -> float:
    """Return what the index holds beyond the items: vectors, ids, masks, landmarks, weights."""
    held = [index.embedding_.weights_, index.embedding_.landmarks_.kept]
    for segment in index.segments_.members:
        head = index.searcher_._view(segment.rows, None).head
        held += [array for array in vars(head).values() if isinstance(array, np.ndarray)]
        held += [segment.rows.vectors, segment.diag, segment.ids, segment.removed]
    return sum(array.nbytes for array in held) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--landmarks", type=int, default=1024)
    parser.add_argument("--components", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5, help="turns each contender gets")
    options = parser.parse_args()
    data = sift(options.rows, options.queries, in_order=True)
    X, Q = data.X, data.Q
    k, threads = options.k, options.threads
    index = mercer.exact(
        "chi2", n_landmarks=options.landmarks, n_components=options.components, seed=0
    )
    fit = seconds(lambda: index.fit(X))
    add = seconds(lambda: index.add(X, n_jobs=threads))
    found = index.search(Q, k, n_jobs=threads)
    truth = evaluate.ground_truth("chi2", X, Q, k, n_jobs=threads)

    brute, exact, some, brute_one, one = compare(
        lambda: evaluate.ground_truth("chi2", X, Q, k, n_jobs=threads),
        lambda: index.search(Q, k, n_jobs=threads),
        lambda: index.search(Q, k, candidates=2 * k, n_jobs=threads),
        lambda: evaluate.ground_truth("chi2", X, Q[:1], k, n_jobs=threads),
        lambda: index.search(Q[:1], k, n_jobs=threads),
        rounds=options.rounds,
    )
    some_found = index.search(Q, k, candidates=2 * k)
    print(f"{len(X)} SIFT rows, chi2, {len(Q)} queries, k={k}, {threads} threads")
    print(f"{options.landmarks} landmarks, {options.components} components")
    table(
        ["method", "seconds", "queries/s", "times brute force", "recall"],
        [
            ["brute force, fused", brute, len(Q) / brute, 1.0, 1.0],
            ["exact", exact, len(Q) / exact, brute / exact, evaluate.recall(found, truth)],
            [f"candidates={2 * k}", some, len(Q) / some, brute / some,
             evaluate.recall(some_found, truth)],
            ["brute force, one query", brute_one, 1 / brute_one, 1.0, 1.0],
            ["exact, one query", one, 1 / one, brute_one / one, 1.0],
        ],
    )  # fmt: skip
    counts = found.evaluations
    print(f"ids equal: {np.mean(found.ids == truth.ids):.4f}; exact: {found.exact.mean():.4f}")
    print(
        f"evaluations beyond the landmarks: mean {counts.mean():.0f} "
        f"({100 * counts.mean() / len(X):.3f} % of the rows), median {np.median(counts):.0f}, "
        f"largest {counts.max()}"
    )
    print(f"fit {fit:.1f} s, add {add:.1f} s")
    print(f"memory beyond the items: {megabytes(index):.0f} MB; items: {X.nbytes / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
