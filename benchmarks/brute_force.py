"""Fused brute force on SIFT against the Gram matrix followed by argpartition, in one run.

scripts/bench brute_force
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.measure import compare, my_chi2, table
from experiments.real_data import sift
from mercer import evaluate, kernels


def gram_and_select(kernel, P, R, k, threads):  # type: ignore[no-untyped-def]
    """Return the k best ids as people do without a fused loop."""
    K = kernel(P, R, n_jobs=threads)
    return np.argpartition(K, -k, axis=1)[:, -k:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="turns each contender gets")
    options = parser.parse_args()
    data = sift(options.rows, options.queries, in_order=True)
    X, Q = data.X, data.Q
    k, threads = options.k, options.threads
    chi2 = kernels.Chi2()
    P, R = chi2.prepare(Q), chi2.prepare(X)

    compared = [chi2, my_chi2, kernels.Intersection(), kernels.JensenShannon(),
                kernels.RBF(gamma=10.0), kernels.Linear()]  # fmt: skip
    gram, *times = compare(
        lambda: gram_and_select(chi2, P, R, k, threads),
        *(lambda kernel=kernel: evaluate.ground_truth(kernel, X, Q, k, n_jobs=threads)
          for kernel in compared),
        rounds=options.rounds,
    )  # fmt: skip
    rows: list[list[object]] = [["Gram + argpartition", gram, len(Q) / gram, 1.0]]
    for kernel, time in zip(compared, times, strict=True):
        rows.append([f"fused, {kernel!r}", time, len(Q) / time, gram / time])
    print(f"{len(X)} SIFT rows, {len(Q)} queries, k={k}, {threads} threads; the Gram is of chi2")
    table(["method", "seconds", "queries/s", "times the first"], rows)
    found = evaluate.ground_truth(chi2, X, Q[:50], k)
    selected = gram_and_select(chi2, P[:50], R, k, threads)
    print(f"recall of the Gram's ids against ours: {evaluate.recall(selected, found):.4f}")


if __name__ == "__main__":
    main()
