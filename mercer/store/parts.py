"""One part of an index as one file, written once: arrays, and the tree that they belong to.

::

    magic, filled up to 64 bytes
    array, filled up to a multiple of 64 bytes; another one; ...
    footer: JSON with the tree, in which every array is described, and the sha256 of all above
    length of the footer as 8 bytes, and 8 bytes of magic

A manifest names a part by its file, its size and the sha256 of its footer, so whoever holds the
manifest knows every byte. One file, and not one for each array, because waiting for the disk is
most of what a small change costs.
"""

import hashlib
import json
import math
import mmap
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mercer.errors import StoreError
from mercer.items.vectors import STORED
from mercer.runtime.arrays import Array
from mercer.store import disk
from mercer.store.values import is_count, parsed

FOLDER, NAME = "parts", re.compile(r"[0-9a-f]{32}\.part")
MAGIC, END = b"mercer part 2\n".ljust(64, b"\0"), b"mercer\0\2"
ALIGNED = 64  # bytes
SMALL = 1 << 16  # bytes: smaller parts are read, not mapped
BLOCK = 1 << 24  # bytes of an array that are written, or hashed, at a time
Entry = dict[str, Any]

# ---- writing


def write_part(folder: Path, tree: dict[str, Any]) -> Entry:
    """Write a new part, which is on disk afterwards, and return how a manifest names it."""
    name = f"{secrets.token_hex(16)}.part"
    with disk.create(folder / FOLDER / name) as file:
        writer = _Writer(file)
        footer = json.dumps(writer.footer(tree), separators=(",", ":")).encode()
        file.write(footer + len(footer).to_bytes(8, "little") + END)
        disk.flush(file)
    return {
        "part": name, "bytes": writer.n_bytes + len(footer) + 16,
        "sha256": hashlib.sha256(footer).hexdigest(),
    }  # fmt: skip


class _Writer:
    """Writes the arrays of a tree one after the other, each only once."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.sha256, self.n_bytes = file, hashlib.sha256(), 0
        self.seen: dict[int, tuple[Array, Entry]] = {}
        self._write(MAGIC)

    def footer(self, tree: dict[str, Any]) -> dict[str, Any]:
        return {"tree": self._plain(tree, ""), "data": self.sha256.hexdigest()}

    def _write(self, data: Any) -> None:
        self.sha256.update(data)
        self.file.write(data)
        self.n_bytes += len(data)

    def _plain(self, tree: Any, place: str) -> Any:
        if isinstance(tree, dict):
            return {key: self._plain(value, f"{place}/{key}") for key, value in tree.items()}
        if isinstance(tree, (list, tuple)):
            return [self._plain(value, f"{place}/{i}") for i, value in enumerate(tree)]
        if isinstance(tree, np.ndarray):
            if id(tree) not in self.seen:
                self.seen[id(tree)] = tree, self._array(tree)
            return self.seen[id(tree)][1]
        if tree is None or isinstance(tree, (bool, int, float, str)):
            return tree
        raise StoreError(f"save: cannot store {place.lstrip('/')}, a {type(tree).__name__}.")

    def _array(self, array: Array) -> Entry:
        """Write an array, block by block where it is large."""
        by_columns = array.flags.f_contiguous and not array.flags.c_contiguous
        first = self.n_bytes
        for block in _blocks(array.T if by_columns else array) if array.nbytes else ():
            self._write(np.ascontiguousarray(block).reshape(-1).view(np.uint8))
        n_bytes = self.n_bytes - first
        self._write(bytes(-self.n_bytes % ALIGNED))
        return {
            "@array": first, "bytes": n_bytes, "shape": list(array.shape), "dtype": array.dtype.str,
            "order": "F" if by_columns else "C",
        }  # fmt: skip


def _blocks(array: Array) -> Iterator[Array]:
    """Yield the rows of an array, so many at a time that a copy of them takes little memory."""
    if array.nbytes <= BLOCK or array.ndim == 0:
        yield array
        return
    step = max(1, BLOCK * len(array) // array.nbytes)
    for start in range(0, len(array), step):
        yield array[start : start + step]


# ---- reading


class Part:
    """A part that is open: its tree, with the arrays in their places."""

    def __init__(self, folder: Path, entry: Entry) -> None:
        self.entry, self.path = entry, folder / FOLDER / _checked_name(entry)
        told = f"{FOLDER}/{self.path.name}"
        try:
            with self.path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size != entry["bytes"]:
                    raise StoreError(f"{told} has {size} bytes instead of {entry['bytes']}")
                self._buffer = _content(file, size)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            raise StoreError(f"{told} is missing") from None
        self._footer, self._end = _footer(self._buffer, entry, told)
        self._told = told

    @property
    def tree(self) -> dict[str, Any]:
        """The values and arrays; an array that stands in two places is one object."""
        arrays: dict[int, Array] = {}
        found: dict[str, Any] = self._filled(self._footer["tree"], arrays)
        return found

    def check_values(self) -> None:
        """Compare every byte with what was written."""
        sha256 = hashlib.sha256()
        data = memoryview(self._buffer)
        for start in range(0, self._end, BLOCK):
            sha256.update(data[start : min(start + BLOCK, self._end)])
        if sha256.hexdigest() != self._footer["data"]:
            raise StoreError(f"{self._told} is not as it was saved")

    def _filled(self, tree: Any, arrays: dict[int, Array]) -> Any:
        if isinstance(tree, list):
            return [self._filled(value, arrays) for value in tree]
        if not isinstance(tree, dict):
            return tree
        if "@array" not in tree:
            return {key: self._filled(value, arrays) for key, value in tree.items()}
        array = self._array(tree)
        return arrays.setdefault(tree["@array"], array) if array.size else array

    def _array(self, described: Any) -> Array:
        start, n_bytes, shape = (described.get(name) for name in ("@array", "bytes", "shape"))
        dtype, order = _dtype(described.get("dtype")), described.get("order")
        known = dtype is not None and is_count(start) and order in ("C", "F")
        shaped = isinstance(shape, list) and all(map(is_count, shape))
        n_items = math.prod(shape) if shaped else 0
        fits = known and shaped and start % ALIGNED == 0 and start + n_items <= self._end
        if not fits or n_bytes != n_items * dtype.itemsize or start + n_bytes > self._end:
            raise StoreError(f"{self._told} describes an array that it does not hold")
        return np.ndarray(shape, dtype, self._buffer, start, order=order)


def _checked_name(entry: Entry) -> str:
    """Return the name of a part, which has no way out of the folder."""
    name = entry.get("part")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise StoreError(f"{name!r} is not the name of a part")
    if not is_count(entry.get("bytes")) or not isinstance(entry.get("sha256"), str):
        raise StoreError(f"the manifest does not describe {FOLDER}/{name}")
    return name


def _content(file: BinaryIO, size: int) -> Any:
    """Return the bytes of a file; large ones stay on disk and are mapped."""
    if size > SMALL:
        return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
    return np.fromfile(file, np.uint8)


def _footer(buffer: Any, entry: Entry, told: str) -> tuple[dict[str, Any], int]:
    """Return the footer and where it begins."""
    data = memoryview(buffer)
    length = int.from_bytes(data[-16:-8], "little")
    begin = len(data) - 16 - length
    whole = begin >= len(MAGIC) and data[-8:] == END and data[: len(MAGIC)] == MAGIC
    footer = bytes(data[begin:-16]) if whole else b""
    if not whole or hashlib.sha256(footer).hexdigest() != entry["sha256"]:
        raise StoreError(f"{told} is not as it was saved")
    found = parsed(footer, told)
    if not isinstance(found.get("tree"), dict) or not isinstance(found.get("data"), str):
        raise StoreError(f"{told} is no part of an index")
    return found, begin


def _dtype(name: Any) -> Any:
    """Return a type of plain data by its name, or None."""
    try:
        found = np.dtype(name) if isinstance(name, str) else None
    except (TypeError, ValueError, SyntaxError):
        return None
    plain = found is not None and found.kind in STORED and found.str == name
    return found if plain else None
