"""Read a folder that `mercer.store.writing` wrote: files are mapped, checked and verified."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mercer.errors import StoreError
from mercer.runtime.arrays import Array
from mercer.store import disk
from mercer.store.manifest import (
    HEADERS,
    MANIFEST,
    MARKER,
    RESTORE,
    Origins,
    check_file,
    check_hash,
    entries,
    read_manifest,
)

SMALL = 1 << 16  # bytes: smaller files are read, not mapped
MAPPED = 256  # the most files to map, largest first: each takes a file descriptor
DAMAGE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EIO)


def read(path: str | os.PathLike[str], origins: Origins | None = None) -> dict[str, Any]:
    """Return the manifest with the arrays in their places, the large ones mapped from disk.

    Nothing is written, and no lock is held that a writer would wait for. After a save that was
    cut off, the files are verified.

    Parameters
    ----------
    path : path
        A folder made by `write`.
    origins : Origins, optional
        Where to note what was read.

    Returns
    -------
    dict
        "index" is the tree; "format", "generation" and "mercer" tell who wrote it.
    """
    opened: dict[str, Any] = _steadily(_opened, Path(path), "load")
    if origins is not None:
        origins.note(Path(path), opened)
    return opened


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
        If some are not; the message names them.

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
    """Call `look` with the manifest, and again if another process saved in between."""
    manifest = read_manifest(folder, verb)
    while True:
        try:
            return look(folder, manifest, verb)
        except OSError as error:
            newer = read_manifest(folder, verb)
            if newer["sha256"] != manifest["sha256"]:
                manifest = newer
            elif isinstance(error, StoreError):
                raise
            else:
                raise StoreError(
                    f"{verb}: cannot read {folder}: {error}. That is no damage: try again when the "
                    "system lets you read it."
                ) from error


def _verified(folder: Path, manifest: dict[str, Any], verb: str) -> list[str]:
    """Return the names of all files, or say which of them are damaged."""
    problems, names = [], {MANIFEST: True}
    for entry in entries(manifest["index"]):
        try:
            check_file(folder, manifest, entry)
            check_hash(folder, entry)
            names[entry["npy"]] = True
        except OSError as error:
            problems.append(_damage(error))
    if problems:
        raise StoreError(f"{verb}: {folder} is damaged: {'; '.join(problems)}. {RESTORE}")
    return list(names)


def _opened(folder: Path, manifest: dict[str, Any], verb: str) -> dict[str, Any]:
    """Return the manifest with its entries replaced by the arrays."""
    if (folder / MARKER).exists() and not disk.is_locked(folder):
        _verified(folder, manifest, verb)  # a save was cut off, perhaps by a power failure
    files = list(entries(manifest["index"]))
    try:
        for entry in files:
            check_file(folder, manifest, entry)
        sizes = {entry["npy"]: entry["bytes"] for entry in files}
        least = max([SMALL, *sorted(sizes.values(), reverse=True)[MAPPED : MAPPED + 1]])
        arrays = {name: _array(folder / name, size > least) for name, size in sizes.items()}
    except (OSError, ValueError) as error:
        raise StoreError(f"{verb}: {folder} is damaged: {_damage(error)}. {RESTORE}") from None
    return manifest | {"index": _filled(manifest["index"], arrays)}


def _damage(error: OSError | ValueError) -> str:
    """Return what is wrong with a file; raise errors that do not come from the file."""
    if isinstance(error, (StoreError, ValueError)) or error.errno in DAMAGE:
        return str(error)
    raise error


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
