"""Scoring random rows (re-ranking) against the Gram, and what helps at the memory wall.

scripts/bench score
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.measure import compare, my_chi2, table
from experiments.real_data import sift
from mercer import kernels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--ids", type=int, default=1000, help="random rows a query")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    data = sift(options.rows, options.queries, in_order=True)
    X, Q = data.X, data.Q
    rng = np.random.default_rng(0)
    ids = rng.integers(0, len(X), (len(Q), options.ids))
    near = np.sort(ids, axis=1)
    chi2, hellinger = kernels.Chi2(), kernels.Hellinger()
    bytes_ = [np.round(A / X.max() * 255).astype(np.uint8) for A in (Q, X)]
    scored = {
        "chi2, random rows, float32": (chi2, Q, X, ids),
        "chi2, the same rows sorted": (chi2, Q, X, near),
        "chi2, random rows, items as uint8": (chi2, *bytes_, ids),
        "chi2, sorted rows, items as uint8": (chi2, *bytes_, near),
        "chi2, rows in the cache": (chi2, Q, X, ids % 1000),
        "my_chi2 (@mercer.kernel), random rows": (my_chi2, Q, X, ids),
        "hellinger, random rows": (hellinger, Q, X, ids),
    }

    def scoring(kernel, queries, items, chosen):  # type: ignore[no-untyped-def]
        P, R = kernel.prepare(queries), kernel.prepare(items)
        return lambda: kernel.score(P, R, chosen, n_jobs=options.threads)

    P, R = chi2.prepare(Q), chi2.prepare(X[: options.ids])
    gram, *times = compare(
        lambda: chi2(P, R, n_jobs=options.threads), *(scoring(*one) for one in scored.values())
    )
    millions = ids.size / 1e6
    rows: list[list[object]] = [["Gram of as many pairs, chi2", millions / gram, 1.0]]
    for name, time in zip(scored, times, strict=True):
        rows.append([name, millions / time, gram / time])
    print(f"{len(X)} SIFT rows, {len(Q)} queries x {options.ids} ids, {options.threads} threads")
    table(["scores", "M pairs/s", "share of the Gram"], rows)


if __name__ == "__main__":
    main()
