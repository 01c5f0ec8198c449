"""How much the codes find: recall@R on SIFT under χ², every binary code of the papers.

scripts/bench codes
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import mercer
from benchmarks.measure import table
from experiments.real_data import sift
from mercer import evaluate

LOOKED_AT = (1, 10, 100, 1000)


def contenders(seed: int) -> dict[str, mercer.Index]:
    """Return an index for each line of the table."""
    made: dict[str, mercer.Index] = {}
    for asymmetric in (False, True):
        told = "asymmetric" if asymmetric else "Hamming"
        settings: dict[str, Any] = {"asymmetric": asymmetric, "seed": seed}
        paper = {"n_bits": 256, "n_landmarks": 1000, "subset": 30, **settings}
        made[f"klsh as the paper, 256 bits, {told}"] = mercer.klsh(
            "chi2", center="landmarks", **paper
        )
        made[f"klsh, centred, 256 bits, {told}"] = mercer.klsh("chi2", **paper)
        made[f"klsh, centred, rank 64, 256 bits, {told}"] = mercer.klsh("chi2", rank=64, **paper)
        for n_bits in (64, 128, 256):
            made[f"kpca_lsh, {n_bits} bits, {told}"] = mercer.kpca_lsh(
                "chi2", n_bits=n_bits, n_components=64, **settings
            )
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    data = sift(options.rows, options.queries, in_order=True)
    truth = evaluate.ground_truth("chi2", data.X, data.Q, 1)
    found: dict[str, list[list[float]]] = {}
    for seed in range(options.seeds):
        for name, index in contenders(seed).items():
            recalls = evaluate.recall_at(index.fit(data.X).add(data.X), data.Q, truth, LOOKED_AT)
            found.setdefault(name, []).append(list(recalls.values()))
    print(f"{len(data.X)} SIFT rows, chi2, {len(data.Q)} queries, mean of {options.seeds} seeds")
    head = ["code", *(f"recall@{looked_at}" for looked_at in LOOKED_AT)]
    table(head, [[name, *np.mean(runs, axis=0).round(4)] for name, runs in found.items()])


if __name__ == "__main__":
    main()
