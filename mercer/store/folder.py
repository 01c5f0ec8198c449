"""An index as a folder: plain trees of values and arrays, written at once or not at all.

::

    folder/
      manifest.json       all values, and what every array file must look like
      generation-3/       the arrays, one .npy file each; never changed once written
      saving              only while a save is under way, or after one that was cut off

A tree is made of dicts with string keys, lists, strings, numbers, booleans, None and arrays. An
array stands in the manifest as its file's name, shape, type, size and sha256. Opening checks the
sizes, `verify` the rest. Nothing in the folder is ever run.
"""

import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import numpy as np

from mercer.errors import StoreError
from mercer.runtime.arrays import Array
from mercer.store.manifest import (
    MANIFEST,
    MARKER,
    RESTORE,
    check_file,
    check_hash,
    entries,
    is_count,
    new_manifest,
    parsed,
    read_manifest,
)

if sys.platform != "win32":
    import fcntl

DRAFT = "manifest.json.tmp"
GENERATION = re.compile(r"generation-([0-9]+)")
SMALL = 1 << 16  # bytes: smaller files are read, not mapped
MAPPED = 256  # files mapped at most, the largest: each takes a file descriptor


# ---- writing


def write(path: str | os.PathLike[str], tree: dict[str, Any]) -> None:
    """Write a tree, in place of the one that is there; whoever reads finds the old or the new.

    Parameters
    ----------
    path : path
        A folder written before, an empty one, or one that is not there yet.
    tree : dict
        Values and arrays; what a tree may hold is said at the top of this module.
    """
    folder = Path(path)
    _require_place(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder) as alone:
            if not alone:
                raise StoreError(
                    f"save: another process is saving to {folder} at the moment. Wait for it to "
                    "end, or choose another folder."
                )
            _write_generation(folder, tree)
    except StoreError:
        raise
    except OSError as error:
        raise StoreError(
            f"save: cannot write {folder}: {error}. What was saved there before is still there. "
            "Make room or choose another folder."
        ) from error


def _write_generation(folder: Path, tree: dict[str, Any]) -> None:
    """Write the arrays, then the manifest, then clear up; each on disk before the next."""
    number = 1 + max(_generations(folder), default=0)
    _write_text(folder / MARKER, "A save is under way, or was cut off. Loading clears this up.\n")
    _sync(folder)
    try:
        values = _Writer(folder, f"generation-{number}").written(tree)
        text = json.dumps(new_manifest(number, values), indent=1)
        _write_text(folder / DRAFT, text + "\n")
        os.replace(folder / DRAFT, folder / MANIFEST)  # noqa: PTH105 - the moment of change
        _sync(folder)
    finally:  # also after an error: what the manifest of now does not name is of no use
        _sweep(folder)


class _Writer:
    """Writes the arrays of a tree into the folder of a generation, each where it stands in it."""

    def __init__(self, folder: Path, generation: str) -> None:
        self.folder, self.generation = folder, generation
        self.seen: dict[int, tuple[Array, dict[str, Any]]] = {}  # an array met twice is one file

    def written(self, tree: dict[str, Any]) -> Any:
        (self.folder / self.generation).mkdir()
        plain = self._plain(tree, PurePosixPath(self.generation))
        for folder, _, _ in os.walk(self.folder / self.generation):
            _sync(Path(folder))
        _sync(self.folder)
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
            _flush(file)
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
    """Refuse to write where something other than an index is."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise StoreError(f"save: {folder} is a file. An index is a folder: choose another name.")
    names = {entry.name for entry in folder.iterdir()}
    own = all(name in (MARKER, DRAFT) or GENERATION.fullmatch(name) for name in names)
    cut_off = own and MARKER in names  # the first save to this folder did not get to its end
    if names and not cut_off and not _is_ours(folder):
        raise StoreError(
            f"save: {folder} is not empty and not an index. Choose another folder, or empty it."
        )


def _is_ours(folder: Path) -> bool:
    try:
        return {"format", "generation", "mercer"} <= set(parsed(folder))
    except StoreError:
        return False


def _sweep(folder: Path) -> None:
    """Remove what saves left behind: all that the manifest does not name."""
    current = parsed(folder).get("generation") if (folder / MANIFEST).exists() else 0
    for number in _generations(folder) if is_count(current) else []:
        if number != current:
            shutil.rmtree(folder / f"generation-{number}", ignore_errors=True)
    (folder / DRAFT).unlink(missing_ok=True)
    (folder / MARKER).unlink(missing_ok=True)
    _sync(folder)


def _generations(folder: Path) -> list[int]:
    found = (GENERATION.fullmatch(entry.name) for entry in folder.iterdir())
    return [int(one[1]) for one in found if one]


def _write_text(path: Path, text: str) -> None:
    with path.open("wb") as file:
        file.write(text.encode())
        _flush(file)


def _flush(file: BinaryIO) -> None:
    """Wait until what was written is on disk."""
    file.flush()
    os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Wait until the names in a folder are on disk."""
    if sys.platform == "win32":  # has no such call for folders
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Hold a folder alone, if nobody else does; the system lets go when a process ends."""
    if sys.platform == "win32":  # where two savers at once are not noticed
        yield True
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        alone = False
        with suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            alone = True
        yield alone
    finally:
        os.close(handle)


# ---- reading


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the manifest with the arrays in their places, the large ones mapped from disk.

    Parameters
    ----------
    path : path
        A folder made by `write`.

    Returns
    -------
    dict
        "index" is the tree; "format", "generation" and "mercer" tell who wrote it.
    """
    folder = Path(path)
    if (folder / MANIFEST).is_file() and (folder / MARKER).exists():
        _recover(folder)
    manifest: dict[str, Any] = _steadily(_opened, folder, "load")
    return manifest


def verify(path: str | os.PathLike[str]) -> list[str]:
    """Read every file of a saved index and compare its sha256.

    Parameters
    ----------
    path : path
        The folder given to `Index.save`.

    Returns
    -------
    list of str
        The files that were read; all are as they were saved.

    Raises
    ------
    StoreError
        Where some are not; the text names them.

    Examples
    --------
    >>> import tempfile
    >>> import mercer
    >>> X = [[0.5, 0.5], [1.0, 0.0], [0.4, 0.6]]
    >>> folder = tempfile.mkdtemp()
    >>> mercer.exact("chi2").fit(X).add(X).save(folder)
    >>> "generation-1/segments/0/ids.npy" in mercer.verify(folder)
    True
    """
    names: list[str] = _steadily(_verified, Path(path), "verify")
    return names


def _steadily(look: Callable[[Path, dict[str, Any], str], Any], folder: Path, verb: str) -> Any:
    """Look at what the manifest names; once more if another process saved in between."""
    manifest = read_manifest(folder, verb)
    try:
        return look(folder, manifest, verb)
    except StoreError:
        newer = read_manifest(folder, verb)
        if newer["generation"] == manifest["generation"]:
            raise
        return look(folder, newer, verb)


def _verified(folder: Path, manifest: dict[str, Any], verb: str) -> list[str]:
    """Return the names of all files, or say which of them are damaged."""
    problems, names = [], {MANIFEST: True}
    for entry in entries(manifest["index"]):
        try:
            check_file(folder, manifest, entry)
            check_hash(folder, entry)
            names[entry["npy"]] = True
        except StoreError as error:
            problems.append(str(error))
    if problems:
        raise StoreError(f"{verb}: {folder} is damaged: {'; '.join(problems)}. {RESTORE}")
    return list(names)


def _recover(folder: Path) -> None:
    """After a save that was cut off: verify what is there, then clear up what it left."""
    with _locked(folder) as alone:
        if alone:
            _verified(folder, read_manifest(folder, "load"), "load")
            with suppress(OSError):  # who may only read can still load
                _sweep(folder)


def _opened(folder: Path, manifest: dict[str, Any], verb: str) -> dict[str, Any]:
    """Return the manifest with arrays in the place of what it says of them."""
    files = list(entries(manifest["index"]))
    try:
        for entry in files:
            check_file(folder, manifest, entry)
        sizes = {entry["npy"]: entry["bytes"] for entry in files}
        least = max([SMALL, *sorted(sizes.values(), reverse=True)[MAPPED : MAPPED + 1]])
        arrays = {name: _array(folder / name, size > least) for name, size in sizes.items()}
    except (OSError, ValueError) as error:
        raise StoreError(f"{verb}: {folder} is damaged: {error}. {RESTORE}") from None
    return manifest | {"index": _filled(manifest["index"], arrays)}


def _array(path: Path, mapped: bool) -> Array:
    found = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    return np.asarray(found)


def _filled(tree: Any, arrays: dict[str, Array]) -> Any:
    """Return the tree with its arrays."""
    if isinstance(tree, list):
        return [_filled(value, arrays) for value in tree]
    if not isinstance(tree, dict):
        return tree
    if "npy" in tree:
        return arrays[tree["npy"]]
    return {key: _filled(value, arrays) for key, value in tree.items()}
