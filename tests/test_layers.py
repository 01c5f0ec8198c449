"""Imports go downwards only: the layers of docs/architecture.md."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import mercer

ROOT = Path(mercer.__file__).parent
LAYERS = [
    ["errors", "arrays", "machine", "jit"],
    ["params", "items", "values", "ragged", "parallel", "progress", "topk", "matches"],
    ["matching"],
    ["kernels"],
    ["embeddings", "learn"],
    ["codes"],
    ["search"],
    ["segment", "segments", "pace", "answer", "building", "calibration", "description"],
    ["store"],
    ["index"],
    ["methods", "evaluate", "testing", "saved", "relearning"],
    ["files", "pictures", "report", "demo", "cli", "__main__"],
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
OPTIONAL = {"typer", "cv2", "fastapi", "rdkit", "matplotlib"}


def modules() -> dict[str, Path]:
    return {
        ".".join(path.relative_to(ROOT.parent).with_suffix("").parts): path
        for path in ROOT.rglob("*.py")
        if path.name != "__init__.py"
    }


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


def own_imports(path: Path) -> set[str]:
    """Return the names of this package's modules that a file imports."""
    known = modules()
    found = set()
    for name, _ in imports(path):
        while name.startswith("mercer."):
            if name in known or name == "mercer.kernels":
                found.add(name)
                break
            name = name.rpartition(".")[0]
    return found


def level(module: str) -> int:
    return LEVEL[module.split(".")[1]]


@pytest.mark.parametrize("module", sorted(modules()))
def test_imports_go_downwards(module):
    above = [name for name in own_imports(modules()[module]) if level(name) > level(module)]
    assert not above


@pytest.mark.parametrize("module", sorted(modules()))
def test_own_modules_are_imported_at_the_top(module):
    hidden = [n for n, top in imports(modules()[module]) if n.startswith("mercer") and not top]
    assert not hidden


def test_no_import_cycles():
    known = modules()
    edges = {name: own_imports(path) & set(known) for name, path in known.items()}
    while edges:
        leaves = {name for name, targets in edges.items() if not targets & set(edges)}
        assert leaves, f"a cycle among {sorted(edges)}"
        edges = {name: targets for name, targets in edges.items() if name not in leaves}


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
    assert users == ["mercer.parallel"]
