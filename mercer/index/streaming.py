"""Items that are added block by block: files, mapped arrays and iterators."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mercer import items
from mercer.errors import InputError
from mercer.index.recipe import Recipe
from mercer.items.files import read_items
from mercer.runtime.arrays import Array
from mercer.runtime.params import check_count

MEMORY = 1 << 30  # bytes that adding takes unless the user says otherwise
COPIES = 4  # of the items and vectors of a block that are in memory together, at most
LEAST = 1000  # rows of a block
Unfinished = tuple[str, int] | None
New = tuple[Any, Any, Any]  # items, their ids and their records


class Source:
    """Items that are too many to be added at once, or that are read while they are added.

    Attributes
    ----------
    large : bool
        Whether blocks are as large as may be, so that segments made of them are not joined.
    """

    def __init__(
        self, X: Any, ids: Array | None, payload: Any, rows: int | None, name: str | None = None
    ) -> None:
        self._X, self._ids, self._payload, self._rows, self._name = X, ids, payload, rows, name
        self.large = rows is not None

    def blocks(self, unfinished: Unfinished) -> Iterator[tuple[New, Unfinished]]:
        """Yield items, and what is to be remembered once they are added.

        If this source is the one that was left `unfinished`, go on after the rows added so far.
        """
        if self._rows is None:
            yield from (((X, None, None), unfinished) for X in self._X)
            return
        name, done = unfinished or (None, 0)
        n, first = items.length(self._X), done if name == self._name else 0
        for start in range(first, n, self._rows):
            end = min(start + self._rows, n)
            rest = (None if one is None else one[start:end] for one in (self._ids, self._payload))
            left = self._name is not None and end < n
            yield (self._X[start:end], *rest), (str(self._name), end) if left else None


def source(
    X: Any, ids: Any, payload: Any, recipe: Recipe | None, memory: int | None, written: bool
) -> Source | None:
    """Return the source of what a user wants to add, or None if it is added at once.

    Parameters
    ----------
    X : items, path or iterator
        What to add.
    ids : array_like, optional
        Their ids.
    payload : list of dict, optional
        Their records.
    recipe : Recipe
        What is made of them.
    memory : int, optional
        The bytes that this may take.
    written : bool
        Whether what was added goes to the disk, and need not stay in memory.
    """
    check_count("memory", memory, optional=True)
    path = Path(X) if isinstance(X, (str, os.PathLike)) else None
    if path is not None:
        read = _read(path)
        X, ids = read.X, read.ids if ids is None else ids
    elif isinstance(X, Iterator):
        if ids is not None or payload is not None:
            raise InputError(
                "an iterator of blocks takes no ids and no payload. Add block after block instead."
            )
        return Source(_checked(X), None, None, None)
    else:
        X = items.rows_of(X) if isinstance(X, np.memmap) else X
        if not isinstance(X, np.memmap) or not written:
            return None
    assert recipe is not None
    rows = _rows(X, recipe, memory or MEMORY) if written else items.length(X)
    named = None if ids is None else np.asarray(ids)
    if named is not None and len(named) != items.length(X):
        raise InputError(f"{len(named)} ids for {items.length(X)} items. Pass one id per item.")
    records = None if payload is None else list(payload)
    if records is not None and len(records) != items.length(X):
        raise InputError(
            f"{len(records)} records for {items.length(X)} items. Pass one record per item."
        )
    return Source(X, named, records, max(1, rows), _name(X, path))


def _read(path: Path) -> items.Items:
    try:
        return read_items(path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}.") from None


def _checked(blocks: Iterator[Any]) -> Iterator[Any]:
    """Yield the blocks that have items; say so if it is the iterator that fails."""
    while True:
        try:
            X = next(blocks)
        except StopIteration:
            return
        except Exception as error:
            raise InputError(
                f"the iterator of blocks failed ({type(error).__name__}: {error}). What it gave "
                "before was added."
            ) from error
        if items.length(X):
            yield X


def _rows(X: Any, recipe: Recipe, memory: int) -> int:
    """Return how many rows to add at a time."""
    P = recipe.kernel.prepare(X[:1], copy=True)
    item = 4 * (P.form[1] if P.form else 1024)  # a guess, where items differ in size
    vector = int(recipe.embedding.transform(P).nbytes)
    return max(LEAST, memory // (COPIES * (item + vector + 64)))


def _name(X: Any, path: Path | None) -> str | None:
    """Return a name for a file as it is now, or None if it is not known."""
    mapped = X.filename if isinstance(X, np.memmap) else None
    file = path if mapped is None else mapped
    if file is None or not Path(file).is_file():
        return None
    told = Path(file).stat()
    return f"{os.path.realpath(file)} {told.st_size} {told.st_mtime_ns} {items.length(X)}"
