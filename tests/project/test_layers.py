"""Imports go downwards only: the layers of docs/architecture.md."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import mercer

ROOT = Path(mercer.__file__).parent
LAYERS = [
    ["errors"],
    ["runtime"],
    ["items"],
    ["kernels"],
    ["embeddings", "learn"],
    ["codes"],
    ["search"],
    ["store"],
    ["index"],
    ["methods", "neighbors", "evaluate", "testing"],
    ["cli", "__main__"],
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
OPTIONAL = {"typer", "cv2", "fastapi", "rdkit", "matplotlib", "pandas", "pyarrow"}
MOST_ENTRIES = 20


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Return every module and package by its name, but for the one at the top."""
    found = {}
    for path in root.rglob("*.py"):
        parts = path.relative_to(root.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    found.pop(root.name)
    return found


def imports(path: Path) -> list[tuple[str, bool]]:
    """Return the modules a file imports, and whether at the top of the file."""
    tree = ast.parse(path.read_text())
    found = []
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found += [(name, node in tree.body) for name in names]
    return found


def own_imports(path: Path, known: dict[str, Path]) -> set[str]:
    """Return the modules and packages of this project that a file imports."""
    found = set()
    for name, _ in imports(path):
        while "." in name:
            if name in known:
                found.add(name)
                break
            name = name.rpartition(".")[0]
    return found


def level(module: str) -> int:
    return LEVEL[module.split(".")[1]]


def above(module: str, path: Path) -> list[str]:
    """Return what a module imports from a layer above its own."""
    return sorted(name for name in own_imports(path, modules()) if level(name) > level(module))


@pytest.mark.parametrize("module", sorted(modules()))
def test_imports_go_downwards(module):
    assert not above(module, modules()[module])


@pytest.mark.parametrize(
    "text, found",
    [
        ("from mercer import search", ["mercer.search"]),
        ("import mercer.cli", ["mercer.cli"]),
        ("from mercer.search import Scan", ["mercer.search"]),
        ("from mercer.cli.commands import call", ["mercer.cli.commands"]),
        ("def later():\n    from mercer.index import Index", ["mercer.index"]),
        ("from mercer import kernels, items\nfrom mercer.errors import InputError", []),
    ],
)
def test_a_planted_violation_is_found(text, found, tmp_path):
    planted = tmp_path / "planted.py"
    planted.write_text(text)
    assert above("mercer.kernels.planted", planted) == found


@pytest.mark.parametrize("module", sorted(modules()))
def test_own_modules_are_imported_at_the_top(module):
    hidden = [n for n, top in imports(modules()[module]) if n.startswith("mercer") and not top]
    assert not hidden


def test_no_import_cycles():
    known = modules()
    edges = {
        name: {target for target in own_imports(path, known) if not is_inside(name, target)}
        for name, path in known.items()
    }
    while edges:
        leaves = {name for name, targets in edges.items() if not targets & set(edges)}
        assert leaves, f"a cycle among {sorted(edges)}"
        edges = {name: targets for name, targets in edges.items() if name not in leaves}


def is_inside(module: str, package: str) -> bool:
    """Whether a module imports from the package it stands in, such as a neighbour of its own."""
    return module.startswith(f"{package}.")


def test_few_entries_at_the_top():
    beside = {"__init__.py", "__init__.pyi", "__main__.py", "py.typed", "__pycache__"}
    entries = {path.name for path in ROOT.iterdir()} - beside
    assert len(entries) <= MOST_ENTRIES
    assert {name.removesuffix(".py") for name in entries} == set(LEVEL) - {"__main__"}


@pytest.mark.parametrize("package", sorted({name.rpartition(".")[0] for name in modules()}))
def test_no_module_bears_the_name_of_a_public_function(package):
    """With lazy imports the module would take the function's place."""
    home = importlib.import_module(package)
    public = {n for n in getattr(home, "__all__", ()) if not inspect.ismodule(getattr(home, n))}
    beside = {name.rpartition(".")[2] for name in modules() if name.rpartition(".")[0] == package}
    assert not public & beside


@pytest.mark.parametrize("package", sorted(OPTIONAL))
def test_each_optional_package_is_imported_in_one_file(package):
    users = [
        module
        for module, path in modules().items()
        if any(name.split(".")[0] == package for name, _ in imports(path))
    ]
    assert len(users) <= 1


def test_threads_start_in_one_file():
    users = [m for m, path in modules().items() if "ThreadPoolExecutor" in path.read_text()]
    assert users == ["mercer.runtime.parallel"]


def test_estimators_of_scikit_learn_stand_in_one_room():
    """Its BaseEstimator takes most of a second to import."""
    users = [
        module
        for module, path in modules().items()
        if any(name.startswith(("sklearn.base", "sklearn.utils.validation"))
               for name, _ in imports(path))
    ]  # fmt: skip
    assert users
    assert {module.split(".")[1] for module in users} == {"neighbors"}
