"""The manifest of a saved index: its contents, and whether the files agree with it."""

from __future__ import annotations

import hashlib
import json
import math
import os
import tokenize
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

import mercer
from mercer.errors import StoreError
from mercer.items.vectors import STORED
from mercer.runtime.locks import Lock

FORMAT = 1  # the format written; all formats up to it can be read (`mercer.index.loading`)
MANIFEST, MARKER = "manifest.json", "saving"
DEEPEST = 100  # levels of nesting: a kernel inside a kernel takes a few
HEADERS = Lock()  # NumPy parses headers with `ast`: in Python 3.11 not safe on several threads
RESTORE = "Restore the folder from a copy, or build and save the index again."


class Origins:
    """Which folders an index was read from or written to, and what they held then."""

    def __init__(self) -> None:
        self.seals: dict[str, set[str]] = {}  # the sha256 of manifests, by resolved path

    def note(self, folder: Path, manifest: dict[str, Any]) -> None:
        """Remember the manifest of a folder."""
        self.seals.setdefault(os.path.realpath(folder), set()).add(manifest["sha256"])

    def require_known(self, folder: Path) -> None:
        """Refuse to overwrite what somebody else saved since this index was loaded or saved."""
        known = self.seals.get(os.path.realpath(folder))
        if not known or not (folder / MANIFEST).exists():
            return
        now = parsed(folder)
        if now.get("sha256") not in known:
            raise StoreError(
                f"save: somebody else saved to {folder} since this index was loaded from it or "
                f"saved to it (generation {now.get('generation')} is there now). Nothing was "
                "written. Load it again and repeat your changes, or save to another folder."
            )


def parsed(folder: Path) -> dict[str, Any]:
    """Return the manifest of a folder without checking its sha256."""
    try:
        content = (folder / MANIFEST).read_bytes()
    except OSError as error:
        raise StoreError(f"cannot read {folder / MANIFEST}: {error.strerror}.") from None
    return values_in(content, folder)


def values_in(content: bytes, folder: Path) -> dict[str, Any]:
    """Parse the bytes of a manifest."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{folder / MANIFEST} is damaged: {error}. {RESTORE}") from None
    if not isinstance(found, dict) or _depth(found) > DEEPEST:
        raise StoreError(f"{folder / MANIFEST} is not that of an index. {RESTORE}")
    return found


def _depth(tree: Any) -> int:
    """Return how deeply dicts and lists are nested, up to one more than is allowed."""
    level, depth = [tree], 0
    while level and depth <= DEEPEST:
        depth += 1
        inside = [one.values() if isinstance(one, dict) else one for one in level]
        level = [one for group in inside for one in group if isinstance(one, (dict, list))]
    return depth


def read_manifest(folder: Path, verb: str) -> dict[str, Any]:
    """Return the manifest, or say why it cannot be read."""
    if not (folder / MANIFEST).is_file():
        raise StoreError(f"{verb}: {_describe_nothing(folder)}")
    try:
        found = parsed(folder)
    except StoreError as error:
        raise StoreError(f"{verb}: {error}") from None
    if not is_count(found.get("format")) or "mercer" not in found:
        raise StoreError(f"{verb}: {folder / MANIFEST} is not that of an index. {RESTORE}")
    if found["format"] > FORMAT:
        raise StoreError(
            f"{verb}: {folder} has format {found['format']}, written by mercer {found['mercer']}, "
            f"but mercer {mercer.__version__} reads formats up to {FORMAT}. Use a version that "
            "knows it."
        )
    if found.get("sha256") != _seal(found):
        raise StoreError(f"{verb}: {folder / MANIFEST} is not as it was saved. {RESTORE}")
    if not is_count(found.get("generation")) or not isinstance(found.get("index"), dict):
        raise StoreError(f"{verb}: {folder / MANIFEST} lacks what an index needs. {RESTORE}")
    return found


def _describe_nothing(folder: Path) -> str:
    if not folder.exists():
        return f"{folder} does not exist. Pass the folder given to Index.save."
    if (folder / MARKER).is_file():
        return f"the first save to {folder} was cut off, so there is no index yet. Save it again."
    return f"{folder} is not an index: it has no {MANIFEST}. Pass the folder given to Index.save."


def new_manifest(generation: int, values: dict[str, Any]) -> dict[str, Any]:
    """Return the manifest of a generation with these values and their sha256."""
    manifest = {
        "format": FORMAT, "generation": generation, "mercer": mercer.__version__, "index": values,
    }  # fmt: skip
    return manifest | {"sha256": _seal(manifest)}


def _seal(manifest: dict[str, Any]) -> str:
    """Return the sha256 of the values of a manifest, whatever its layout."""
    values = {name: value for name, value in manifest.items() if name != "sha256"}
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def check_file(folder: Path, manifest: dict[str, Any], entry: dict[str, Any]) -> None:
    """Compare a file's size and header with the manifest; its values are not read."""
    name = _checked_name(entry, f"generation-{manifest['generation']}")
    path = folder / name
    if not path.is_file():
        raise StoreError(f"{name} is missing")
    size = path.stat().st_size
    if size != entry["bytes"]:
        raise StoreError(f"{name} has {size} bytes instead of {entry['bytes']}")
    shape, dtype, n_bytes = _header(path, name)
    if dtype.kind not in STORED:
        raise StoreError(f"{name} holds {dtype}, which is not plain data")
    if list(shape) != entry["shape"] or dtype.str != entry["dtype"] or n_bytes != size:
        raise StoreError(
            f"{name} says it holds {dtype.str} of shape {list(shape)}, the manifest says "
            f"{entry['dtype']} of shape {entry['shape']}"
        )


def _header(path: Path, name: str) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Return the shape, type and total size that the header of an .npy file states."""
    try:
        with path.open("rb") as file, HEADERS.held():
            version = np.lib.format.read_magic(file)
            if version == (1, 0):
                shape, _, dtype = np.lib.format.read_array_header_1_0(file)
            else:
                shape, _, dtype = np.lib.format.read_array_header_2_0(file)
            n_items = math.prod(shape)
            return shape, dtype, file.tell() + n_items * dtype.itemsize
    except (ValueError, TypeError, SyntaxError, tokenize.TokenError) as error:
        raise StoreError(f"{name} has no readable header ({error})") from None


def _checked_name(entry: dict[str, Any], generation: str) -> str:
    """Return the name of a file; it must lie in the folder of its generation."""
    name = entry["npy"]
    parts = PurePosixPath(name).parts if isinstance(name, str) else ()
    inside = parts[:1] == (generation,) and ".." not in parts and name.endswith(".npy")
    if not inside or "\\" in name or ":" in name or "\0" in name:
        raise StoreError(f"{name!r} is not the name of an array file of {generation}")
    if not is_count(entry.get("bytes")) or not {"shape", "dtype", "sha256"} <= set(entry):
        raise StoreError(f"the manifest does not describe {name}")
    return str(name)


def check_hash(folder: Path, entry: dict[str, Any]) -> None:
    """Read a whole file and compare its sha256 with the manifest."""
    with (folder / entry["npy"]).open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != entry["sha256"]:
        raise StoreError(f"{entry['npy']} is not as it was saved")


def is_count(value: Any) -> bool:
    """Whether a value of the manifest is a non-negative integer."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def entries(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield the manifest's entry for each array."""
    if isinstance(tree, dict) and "npy" in tree:
        yield tree
    elif isinstance(tree, (dict, list)):
        for value in tree.values() if isinstance(tree, dict) else tree:
            yield from entries(value)
