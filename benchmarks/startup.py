"""How long a user waits: import, first value cold (no machine code kept yet) and warm.

Modules are bytecode, as pip leaves an installation, also where PYTHONDONTWRITEBYTECODE keeps Python
from writing it and every run of an editable checkout would parse all sources again.

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


def run(code: str, bytecode: str, machine_code: str) -> float:
    """Return the seconds of a new process that finds and keeps both kinds of code there."""
    kept = {"PYTHONPYCACHEPREFIX": bytecode, "NUMBA_CACHE_DIR": machine_code}
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", code], check=True,
        env=os.environ | kept | {"PYTHONDONTWRITEBYTECODE": ""},
    )  # fmt: skip
    return time.perf_counter() - start


def main() -> None:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        bytecode = f"{folder}/bytecode"
        for number, (name, code) in enumerate(PROGRAMS.items()):
            run(code, bytecode, f"{folder}/thrown away {number}")
            cold = run(code, bytecode, f"{folder}/{number}")
            warm = sorted(run(code, bytecode, f"{folder}/{number}") for _ in range(5))[2]
            rows.append([name, cold, warm])
    table(["seconds, whole process", "cold", "warm"], rows)


if __name__ == "__main__":
    main()
