"""How many bytes each part of an index takes, in memory and in files that are mapped."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mercer import items
from mercer.index.recipe import Recipe
from mercer.index.segments import Segments
from mercer.kernels import Prepared
from mercer.runtime.arrays import Array
from mercer.runtime.params import Params
from mercer.search import Rows


def describe_bytes(recipe: Recipe, segments: Segments) -> dict[str, Any]:
    """Return the bytes of every part, by its name, and of an item.

    Parts of what the searcher built bear the names of its fields: codes, vectors, links. What
    faiss copied of them at the first search is counted as large as they are.
    """
    sizes: dict[str, _Size] = {}
    for segment in segments.members:
        sizes.setdefault("items", _Size()).add(segment.items)
        for name, value in _fields(segment.rows):
            sizes.setdefault(name, _Size()).add(value)
        sizes.setdefault("made for searches", _Size()).add_made(segment.rows)
        for name, array in (
            ("self-similarities", segment.diag), ("ids", segment.ids), ("removed", segment.removed),
        ):  # fmt: skip
            sizes.setdefault(name, _Size()).add(array)
    sizes["learned"] = _Size().add([recipe.embedding, recipe.searcher])
    total = sum(size.memory + size.disk for name, size in sizes.items() if name != "learned")
    n = sum(len(segment.ids) for segment in segments.members)
    return {
        "bytes": {name: size.to_dict() for name, size in sizes.items()},
        "bytes per item": round(total / n, 1) if n else 0.0,
    }


def held(segments: Segments) -> int:
    """Return how many bytes segments take, with their items."""
    size = _Size()
    for segment in segments.members:
        size.add([segment.items, segment.rows.kept(), segment.diag, segment.ids])
    return size.memory + size.disk


class _Size:
    """The bytes of one part; arrays that share their memory count once."""

    def __init__(self) -> None:
        self.memory, self.disk = 0, 0
        self._seen: set[int] = set()

    def add(self, value: Any) -> _Size:
        """Add all arrays in a value, and Python objects, without what these refer to."""
        for one in _contents(value):
            if not isinstance(one, np.ndarray):
                self.memory += sys.getsizeof(one)
                continue
            start = int(one.__array_interface__["data"][0])
            if start not in self._seen:
                self._seen.add(start)
                self.disk += one.nbytes if _is_mapped(one) else 0
                self.memory += 0 if _is_mapped(one) else one.nbytes
        return self

    def add_made(self, rows: Rows) -> None:
        """Add what searches made of rows and keep."""
        for name, made in rows.made().items():
            if name == "faiss":
                copied = _Size().add(rows.kept())
                self.memory += copied.memory + copied.disk
            else:
                self.add(made)
        for group in getattr(rows, "groups", ()):
            self.add_made(group)

    def to_dict(self) -> dict[str, int]:
        return {"memory": self.memory, "disk": self.disk}


def _fields(rows: Rows) -> Iterator[tuple[str, Any]]:
    """Yield the arrays of rows by name, also those of rows inside."""
    for name in rows.kept():
        value = getattr(rows, name)
        if isinstance(value, np.ndarray):
            yield name, value
    for group in getattr(rows, "groups", ()):
        yield from _fields(group)


def _contents(value: Any) -> Iterator[Any]:
    """Yield all arrays in a value, and the objects in a list of items."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, Prepared):
        for part in value.parts.values():
            yield from _contents(part)
    elif isinstance(value, items.Ragged):
        yield from _contents([value.values, value.offsets, value.positions])
    elif items.is_sparse(value):
        yield from (value.data, value.indices, value.indptr)
    elif isinstance(value, Mapping):
        yield from _contents(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _contents(one)
    elif isinstance(value, Params):
        yield from _contents([getattr(value, name, None) for name in value.learned])
    elif hasattr(value, "__dict__"):
        yield from _contents(list(vars(value).values()))
    elif value is not None and not isinstance(value, (bool, int, float)):
        yield value


def _is_mapped(array: Array) -> bool:
    """Whether an array is a part of a file."""
    base: Any = array
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap):
            return True
        base = base.base
    return isinstance(base, mmap.mmap)
