"""How long a user waits: import, first value cold (nothing compiled yet) and warm.

scripts/bench startup
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from benchmarks.measure import table

MINE = """
import mercer
@mercer.kernel
def dot(x, y):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total
dot([[0.5, 0.5]])
"""
PROGRAMS = {
    "an empty program": "",
    "import numpy, numba": "import numpy, numba",
    "import mercer": "import mercer",
    "first kernel value": "import mercer; mercer.kernels.Chi2()([[0.5, 0.5]])",
    "first search": "import mercer; mercer.evaluate.ground_truth('chi2', [[0.5]], [[0.5]], 1)",
    "first value of a user's kernel": MINE,
}


def run(code: str, cache: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {
        "NUMBA_CACHE_DIR": cache})  # fmt: skip
    return time.perf_counter() - start


def main() -> None:
    rows = []
    for name, code in PROGRAMS.items():
        with tempfile.TemporaryDirectory() as cache:
            cold = run(code, cache)
            warm = sorted(run(code, cache) for _ in range(5))[2]
        rows.append([name, cold, warm])
    table(["seconds, whole process", "cold", "warm"], rows)


if __name__ == "__main__":
    main()
