"""How dimensions are best mixed before product codes: recall@R on SIFT under χ² (E Table 2).

scripts/bench product
"""

from __future__ import annotations

import argparse

import numpy as np

import mercer
from benchmarks.measure import table
from experiments.real_data import sift
from mercer import evaluate

BALANCES = ("none", "rotate", "permute", "opq", "deal")
DEPTHS = (1, 10, 100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--bytes", type=int, default=8)
    parser.add_argument("--components", type=int, default=64)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    data = sift(options.rows, options.queries)
    truth = evaluate.ground_truth("chi2", data.X, data.Q, 1)
    rows = []
    for balance in BALANCES:
        runs = []
        for seed in range(options.seeds):
            index = mercer.kpca_pq(
                "chi2", n_bytes=options.bytes, n_components=options.components, balance=balance,
                seed=seed,
            )  # fmt: skip
            index.fit(data.X).add(data.X)
            runs.append(list(evaluate.recall_at(index, data.Q, truth, DEPTHS).values()))
        rows.append([balance, *(f"{recall:.3f}" for recall in np.mean(runs, axis=0))])
    print(f"{len(data.X)} SIFT rows, chi2, {len(data.Q)} queries, {options.bytes} bytes, "
          f"{options.components} components, mean of {options.seeds} seeds")  # fmt: skip
    table(["balance", *(f"recall@{depth}" for depth in DEPTHS)], rows)


if __name__ == "__main__":
    main()
