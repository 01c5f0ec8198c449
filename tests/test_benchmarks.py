"""The benchmarks that need no data still run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_gram_prints_a_ratio_for_every_kernel():
    few = ["--rows", "40", "--columns", "50", "--rounds", "1", "--seconds", "0"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.gram", *few],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert len(lines) == 14
    assert all(float(line.split()[-1]) > 0 for line in lines[2:])
