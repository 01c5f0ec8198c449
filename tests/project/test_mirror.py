"""Tests stand where the modules they test stand, and private names stay at home."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

import mercer

PACKAGE = Path(mercer.__file__).parent
TESTS = Path(__file__).parents[1]
FILES = sorted(path for path in TESTS.rglob("test_*.py") if path.parent.name != "project")
ROOMS = sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file())


def mirrored(path: Path) -> list[str]:
    """Return the modules that a file of tests may be about: its name begins with theirs."""
    room = PACKAGE / path.parent.name
    modules = {one.stem.lstrip("_") for one in room.glob("*.py")} | {
        one.parent.name for one in room.glob("*/__init__.py")
    }
    about = path.stem.removeprefix("test_")
    return [name for name in modules if name and about.startswith(name)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_file_of_tests_is_named_for_a_module(path):
    assert path.parent.parent == TESTS
    assert mirrored(path)


def test_a_file_for_no_module_is_noticed():
    assert not mirrored(TESTS / "search" / "test_elsewhere.py")
    assert not mirrored(TESTS / "nowhere" / "test_scan.py")


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_has_tests(room):
    assert list((TESTS / room).glob("test_*.py"))


# ---- private names


def room_of(path: Path, root: Path) -> str:
    return path.relative_to(root).parts[0].removesuffix(".py")


@cache
def defined(root: Path) -> dict[str, set[str]]:
    """Return in which rooms each private name is made."""
    homes: dict[str, set[str]] = {}
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names = [node.name]
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names = [node.attr]
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names = [node.id]
            for name in filter(is_private, names):
                homes.setdefault(name, set()).add(room_of(path, root))
    return homes


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def is_own(owner: ast.expr) -> bool:
    """Whether an attribute is of the object itself, which may inherit it from another room."""
    if isinstance(owner, ast.Call):
        return isinstance(owner.func, ast.Name) and owner.func.id == "super"
    return isinstance(owner, ast.Name) and owner.id in ("self", "cls")


def strangers(path: Path, root: Path, homes: dict[str, set[str]]) -> list[str]:
    """Return the private names of other rooms that a file uses."""
    room, found = room_of(path, root), []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and not is_own(node.value):
            found += [node.attr] if room not in homes.get(node.attr, {room}) else []
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mercer."):
            parts = node.module.split(".")[1:]
            names = [*parts, *(alias.name for alias in node.names)]
            found += [name for name in names if is_private(name) and parts[0] != room]
    return found


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_private_names_are_used_at_home(path):
    assert not strangers(path, PACKAGE, defined(PACKAGE))


def test_a_planted_stranger_is_found(tmp_path):
    for room, text in {
        "kernels": "class Kernel:\n    def _tile(self): ...\n",
        "index": "from mercer.kernels._loops import tile\ndef f(kernel):\n    kernel._tile()\n",
    }.items():
        (tmp_path / room).mkdir()
        (tmp_path / room / "a.py").write_text(text)
    found = strangers(tmp_path / "index" / "a.py", tmp_path, defined(tmp_path))
    assert sorted(found) == ["_loops", "_tile"]
