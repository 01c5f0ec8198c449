"""Importing the package is quick because it leaves the heavy parts for later."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import pytest

import mercer

HEAVY = ["sklearn", "faiss", "rich", "scipy.sparse", "scipy.optimize", "typer", "pandas"]


def test_heavy_packages_are_not_imported():
    code = f"import sys, mercer; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_parts_are_imported_when_they_are_asked_for():
    code = """
import sys, mercer
assert not {"numpy", "numba", "mercer.index"} & set(sys.modules)
assert "exact" in dir(mercer)
mercer.kernels.Chi2
assert "mercer.index" not in sys.modules
from mercer import exact, Ragged, learn
assert "mercer.index" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="module 'mercer' has no attribute 'brute_force'"):
        mercer.brute_force  # noqa: B018


def test_all_names_exist():
    for module in (mercer, mercer.kernels, mercer.items, mercer.evaluate, mercer.testing):
        for name in module.__all__:
            assert hasattr(module, name)
    assert mercer.__version__


PUBLIC = [
    name
    for name in ("mercer", *(f"mercer.{one.name}" for one in pkgutil.iter_modules(mercer.__path__)))
    if hasattr(importlib.import_module(name), "__all__")
]


@pytest.mark.parametrize("name", [*PUBLIC, "mercer.items.files"])
def test_completion_shows_public_names_only(name):
    module = importlib.import_module(name)
    assert {one for one in dir(module) if not one.startswith("__")} == set(module.__all__)


def test_most_packages_are_public():
    assert len(PUBLIC) > 10
