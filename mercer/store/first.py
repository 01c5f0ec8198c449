"""Read folders of the first format, which was a generation of .npy files under one manifest.

::

    folder/
      manifest.json       all values, and what every array file must look like
      generation-3/       the arrays, one .npy file each
      saving              only while a save was under way, or after one that was cut off
"""

import hashlib
import math
import tokenize
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from mercer.errors import StoreError
from mercer.items.vectors import STORED
from mercer.runtime.arrays import Array
from mercer.runtime.locks import Lock
from mercer.store import disk
from mercer.store.values import is_count

MARKER = "saving"
HEADERS = Lock()  # NumPy parses headers with `ast`: in Python 3.11 not safe on several threads
SMALL = 1 << 16  # bytes: smaller files are read, not mapped
MAPPED = 256  # the most files to map, largest first: each takes a file descriptor


def filled(folder: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a manifest with the arrays in their places."""
    if (folder / MARKER).exists() and not disk.is_locked(folder):
        for entry in entries(manifest["index"]):  # a save was cut off
            check_file(folder, manifest, entry)
            check_hash(folder, entry)
    files = list(entries(manifest["index"]))
    for entry in files:
        check_file(folder, manifest, entry)
    sizes = {entry["npy"]: entry["bytes"] for entry in files}
    least = max([SMALL, *sorted(sizes.values(), reverse=True)[MAPPED : MAPPED + 1]])
    arrays = {name: _array(folder / name, size > least) for name, size in sizes.items()}
    tree: dict[str, Any] = _filled(manifest["index"], arrays)
    return tree


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


def entries(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield the manifest's entry for each array."""
    if isinstance(tree, dict) and "npy" in tree:
        yield tree
    elif isinstance(tree, (dict, list)):
        for value in tree.values() if isinstance(tree, dict) else tree:
            yield from entries(value)


def _array(path: Path, mapped: bool) -> Array:
    with HEADERS.held():
        found = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    return np.asarray(found)


def _filled(tree: Any, arrays: dict[str, Array]) -> Any:
    """Return the tree with each entry replaced by its array."""
    if isinstance(tree, list):
        return [_filled(value, arrays) for value in tree]
    if not isinstance(tree, dict):
        return tree
    if "npy" in tree:
        return arrays[tree["npy"]]
    return {key: _filled(value, arrays) for key, value in tree.items()}
