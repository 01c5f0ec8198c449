"""Change what is in the folder of an index, and make all its checksums right again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mercer.store.manifest import new_manifest, newest
from mercer.store.parts import Part, write_part
from mercer.store.values import sealed


class Inside(dict):  # type: ignore[type-arg]
    """The tree of a part, in its place in the manifest."""


def manifest_of(folder: Path) -> dict[str, Any]:
    """Return the newest manifest."""
    path = newest(folder)
    assert path is not None
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def opened(folder: Path) -> Any:
    """Return the tree of a folder with the trees of all parts in it, and arrays to be changed."""
    return _filled(folder, manifest_of(folder)["index"])


def _filled(folder: Path, tree: Any) -> Any:
    if isinstance(tree, list):
        return [_filled(folder, value) for value in tree]
    if isinstance(tree, np.ndarray):
        return np.array(tree, order="K")
    if not isinstance(tree, dict):
        return tree
    if "part" in tree and "sha256" in tree:
        inside = _filled(folder, Part(folder, tree).tree)
        return Inside(inside)
    return {key: _filled(folder, value) for key, value in tree.items()}


def rewrite(folder: Path, change: Callable[[Any], Any]) -> None:
    """Let a function change the tree of a folder; then write and seal it as a save would."""
    number, tree = manifest_of(folder)["generation"], opened(folder)
    change(tree)
    write(folder, number, tree)


def write(folder: Path, number: int, tree: Any) -> None:
    """Write a tree as a generation."""
    replace_manifest(folder, new_manifest(number, _written(folder, tree, number)))


def replace_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Put a manifest in the place of the newest one."""
    path = newest(folder)
    assert path is not None
    path.write_text(json.dumps(manifest))


def change_manifest(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the manifest itself, as somebody would who knows how it vouches for itself."""
    manifest = manifest_of(folder)
    del manifest["sha256"]
    change(manifest)
    replace_manifest(folder, sealed(manifest))


def _written(folder: Path, tree: Any, number: int) -> Any:
    if isinstance(tree, list):
        return [_written(folder, value, number) for value in tree]
    if isinstance(tree, Inside):
        return write_part(folder, dict(tree)) | {"since": number}
    if isinstance(tree, dict):
        return {key: _written(folder, value, number) for key, value in tree.items()}
    return tree
