"""Importing the package is quick because it leaves the heavy parts for later."""

from __future__ import annotations

import subprocess
import sys

import mercer

HEAVY = ["sklearn", "faiss", "rich", "scipy.sparse", "scipy.optimize", "typer", "pandas"]


def test_heavy_packages_are_not_imported():
    code = f"import sys, mercer; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_all_names_exist():
    for module in (mercer, mercer.kernels, mercer.items, mercer.evaluate, mercer.testing):
        for name in module.__all__:
            assert hasattr(module, name)
    assert mercer.__version__
