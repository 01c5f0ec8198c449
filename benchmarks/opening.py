"""How long it takes to open a large index, and to answer the first query, in a fresh process.

scripts/bench opening
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import mercer
from benchmarks.measure import table

FEATURES = COMPONENTS = 128
PROGRAM = """
import sys, time
import numpy, mercer
start = time.perf_counter()
index = mercer.load(sys.argv[1])
opened = time.perf_counter()
index.search(numpy.ones((1, 128), numpy.float32) / 128, k=10)
print(opened - start, time.perf_counter() - opened)
"""


def write(folder: str, n_rows: int) -> float:
    """Save an index of random histograms, and return its size in gigabytes."""
    X = np.random.default_rng(0).random((n_rows, FEATURES), np.float32)
    X /= X.sum(axis=1, keepdims=True)
    index = mercer.exact("chi2", n_landmarks=COMPONENTS, n_components=COMPONENTS)
    index.fit(X[:10_000]).add(X).save(folder)
    return sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()) / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        size = write(folder, options.rows)
        runs = [
            subprocess.run([sys.executable, "-c", PROGRAM, folder], check=True, capture_output=True)
            for _ in range(options.rounds)
        ]
    times = np.median([[float(word) for word in run.stdout.split()] for run in runs], axis=0)
    table(
        ["index of GB", "seconds to open", "first answer"], [[size, *(f"{t:.3f}" for t in times)]]
    )


if __name__ == "__main__":
    main()
