"""An index as a folder: plain trees of values and arrays, written completely or not at all.

::

    folder/
      manifest.json       all values, and what every array file must look like
      generation-3/       the arrays, one .npy file each; never changed once written
      saving              only while a save is under way, or after one that was cut off

A tree is made of dicts with string keys, lists, strings, numbers, booleans, None and arrays. The
manifest lists each array by its file's name, shape, type, size and sha256. Opening checks the
sizes, `verify` the rest. Nothing in the folder is ever run.
"""

import hashlib
import json
import os
import re
import secrets
import shutil
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import numpy as np

from mercer.errors import StoreError
from mercer.runtime.arrays import Array
from mercer.store import disk
from mercer.store.manifest import (
    MANIFEST,
    MARKER,
    Origins,
    is_count,
    new_manifest,
    parsed,
    values_in,
)

DRAFT = re.compile(r"manifest\.json\.[0-9a-f]{16}\.tmp")
GENERATION = re.compile(r"generation-([0-9]+)")


def write(
    path: str | os.PathLike[str], tree: dict[str, Any], origins: Origins | None = None
) -> None:
    """Write a tree, replacing the one in the folder; readers find either the old or the new.

    Parameters
    ----------
    path : path
        A folder written before, an empty one, or one that does not exist yet.
    tree : dict
        Values and arrays, as described at the top of this module.
    origins : Origins, optional
        Where the tree came from. If that is this folder and somebody else has written to it since,
        nothing is written. The new manifest is noted there.
    """
    folder = Path(path)
    try:
        _require_place(folder)
        disk.make_folder(folder)
        with disk.locked(folder) as alone:
            if not alone:
                raise StoreError(
                    f"save: another process is saving to {folder} at the moment. Wait for it to "
                    "end, or choose another folder."
                )
            origins = origins or Origins()
            origins.require_known(folder)
            _write_generation(folder, tree, origins)
    except StoreError:
        raise
    except OSError as error:
        raise StoreError(
            f"save: cannot write {folder}: {error}. What was saved there before is still there. "
            "Make room or choose another folder."
        ) from error


def _write_generation(folder: Path, tree: dict[str, Any], origins: Origins) -> None:
    """Write the arrays, then the manifest, then clean up; each step is on disk before the next."""
    number = 1 + max(_generations(folder), default=0)
    (folder / MARKER).unlink(missing_ok=True)
    disk.write_new(folder / MARKER, "A save is under way, or was cut off.\n")
    disk.sync(folder)
    draft = folder / f"{MANIFEST}.{secrets.token_hex(8)}.tmp"
    try:
        values = _Writer(folder, f"generation-{number}").written(tree)
        manifest = new_manifest(number, values)
        disk.write_new(draft, json.dumps(manifest, indent=1) + "\n")
        origins.note(folder, manifest)  # first, in case of an interruption in between
        os.replace(draft, folder / MANIFEST)  # noqa: PTH105 - the moment of change
    except BaseException:
        with suppress(OSError):  # leftovers do no harm
            _sweep(folder)
        raise
    _finish(folder)


def _finish(folder: Path) -> None:
    """Make sure that a manifest in its place is on disk, and clean up."""
    try:
        disk.sync(folder)
    except OSError as error:
        raise StoreError(
            f"save: {folder} holds the new index, but the disk did not confirm it: {error}. Save "
            "it once more before you rely on it."
        ) from error
    with suppress(OSError):  # the next save removes what is left
        _sweep(folder)


class _Writer:
    """Writes the arrays of a tree into a generation's folder, at paths that mirror the tree."""

    def __init__(self, folder: Path, generation: str) -> None:
        self.folder, self.generation = folder, generation
        self.seen: dict[int, tuple[Array, dict[str, Any]]] = {}  # an array is written only once

    def written(self, tree: dict[str, Any]) -> Any:
        (self.folder / self.generation).mkdir()
        plain = self._plain(tree, PurePosixPath(self.generation))
        for folder, _, _ in os.walk(self.folder / self.generation):
            disk.sync(Path(folder))
        disk.sync(self.folder)
        return plain

    def _plain(self, tree: Any, place: PurePosixPath) -> Any:
        if isinstance(tree, dict):
            return {key: self._plain(value, place / key) for key, value in tree.items()}
        if isinstance(tree, (list, tuple)):
            return [self._plain(value, place / str(i)) for i, value in enumerate(tree)]
        if isinstance(tree, np.ndarray):
            return self._file(tree, place)
        if tree is None or isinstance(tree, (bool, int, float, str)):
            return tree
        raise StoreError(f"save: cannot store {place}, a {type(tree).__name__}.")

    def _file(self, array: Array, place: PurePosixPath) -> dict[str, Any]:
        if id(array) not in self.seen:
            self.seen[id(array)] = array, self._write_array(array, f"{place}.npy")
        return self.seen[id(array)][1]

    def _write_array(self, array: Array, name: str) -> dict[str, Any]:
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            hashed = _Hashed(file)
            np.lib.format.write_array(hashed, np.asarray(array), allow_pickle=False)
            disk.flush(file)
        return {
            "npy": name, "shape": list(array.shape), "dtype": array.dtype.str,
            "bytes": hashed.n_bytes, "sha256": hashed.sha256.hexdigest(),
        }  # fmt: skip


class _Hashed:
    """A file that hashes what is written to it."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.sha256, self.n_bytes = file, hashlib.sha256(), 0

    def write(self, data: bytes) -> None:
        self.sha256.update(data)
        self.n_bytes += len(data)
        self.file.write(data)


def _require_place(folder: Path) -> None:
    """Refuse to write over anything that is not an index."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise StoreError(f"save: {folder} is a file. An index is a folder: choose another name.")
    names = {entry.name for entry in folder.iterdir()}
    own = all(name == MARKER or DRAFT.fullmatch(name) or GENERATION.fullmatch(name)
              for name in names)  # fmt: skip
    cut_off = own and MARKER in names  # the first save to this folder did not finish
    if names and not cut_off and not _is_ours(folder):
        raise StoreError(
            f"save: {folder} is not empty and not an index. Choose another folder, or empty it."
        )


def _is_ours(folder: Path) -> bool:
    if not (folder / MANIFEST).is_file():
        return False
    content = (folder / MANIFEST).read_bytes()  # an unreadable manifest may well be an index's
    try:
        return {"format", "generation", "mercer"} <= set(values_in(content, folder))
    except StoreError:
        return False


def _sweep(folder: Path) -> None:
    """Remove what saves left behind: everything that the manifest does not name."""
    current = parsed(folder).get("generation") if (folder / MANIFEST).exists() else 0
    for number in _generations(folder) if is_count(current) else []:
        if number != current:
            shutil.rmtree(folder / f"generation-{number}", ignore_errors=True)
    for entry in folder.iterdir():
        if DRAFT.fullmatch(entry.name):
            entry.unlink(missing_ok=True)
    (folder / MARKER).unlink(missing_ok=True)
    disk.sync(folder)


def _generations(folder: Path) -> list[int]:
    found = (GENERATION.fullmatch(entry.name) for entry in folder.iterdir())
    return [int(one[1]) for one in found if one]
