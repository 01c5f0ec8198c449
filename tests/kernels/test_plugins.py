"""Kernels that installed packages declare."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import mercer
from mercer import kernels
from mercer.errors import InputError, KernelError, StoreError
from mercer.kernels import registry

X = np.random.default_rng(0).random((30, 4)).astype(np.float32)
MODULE = """
import mercer
double_dot = 2.0 * mercer.kernels.Linear()
number = 7
"""
DECLARED = {
    "double_dot": "declared_kernels:double_dot",
    "number": "declared_kernels:number",
    "gone": "declared_kernels:gone",
    "chi2": "declared_kernels:double_dot",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package on the path that declares kernels, as an installer leaves it."""
    (tmp_path / "declared_kernels.py").write_text(MODULE)
    info = tmp_path / "declared_kernels-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: declared-kernels\nVersion: 1.0\n")
    lines = "".join(f"{name} = {value}\n" for name, value in DECLARED.items())
    (info / "entry_points.txt").write_text(f"[mercer.kernels]\n{lines}")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_registered", {})
    yield tmp_path
    sys.modules.pop("declared_kernels", None)


@pytest.mark.usefixtures("package")
def test_declared_kernels_are_found_by_name():
    assert "declared_kernels" not in sys.modules
    assert kernels.get("chi2") == kernels.Chi2()  # no package takes a built-in name
    assert "declared_kernels" not in sys.modules
    assert kernels.get("double_dot") == 2.0 * kernels.Linear()
    assert kernels.to_spec(kernels.get("double_dot")) == {"name": "double_dot"}


def test_indexes_find_them_again(package, monkeypatch):
    mercer.brute("double_dot").fit(X).add(X).save(package / "index")
    monkeypatch.setattr(registry, "_registered", {})
    sys.modules.pop("declared_kernels")
    assert mercer.load(package / "index").search(X[:1], 1).ids == np.argmax(X @ X[0])


@pytest.mark.usefixtures("package")
def test_bad_declarations():
    with pytest.raises(KernelError, match=r"'declared_kernels:number'.* is a int"):
        kernels.get("number")
    with pytest.raises(KernelError, match=r"cannot be imported \(AttributeError"):
        kernels.get("gone")
    with pytest.raises(InputError, match="Did you mean 'double_dot'"):
        kernels.get("double_dott")


def test_packages_that_are_gone(package, monkeypatch):
    mercer.brute("double_dot").fit(X).add(X).save(package / "index")
    monkeypatch.setattr(registry, "_registered", {})
    (package / "declared_kernels-1.0.dist-info" / "entry_points.txt").write_text("")
    with pytest.raises(StoreError, match="--import the module"):
        mercer.load(package / "index")
