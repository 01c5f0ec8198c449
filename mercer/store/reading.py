"""Read the newest generation of a folder: pinned, checked, verified."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from mercer.errors import StoreError
from mercer.store import disk, first
from mercer.store.manifest import (
    FIRST,
    FORMAT,
    Origins,
    describe_nothing,
    entries,
    newest,
    read_manifest,
)
from mercer.store.parts import FOLDER, Entry, Part
from mercer.store.values import RESTORE

DAMAGE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EIO)
Result = TypeVar("Result")


class Opened:
    """A generation that is being read, and that no writer removes meanwhile.

    Attributes
    ----------
    folder : Path
        Where it is.
    manifest : dict
        "index" is its tree; "format", "generation" and "mercer" tell who wrote it.
    """

    def __init__(self, folder: Path, path: Path, pin: disk.Pin, verb: str) -> None:
        self.folder, self._path, self._pin, self._verb = folder, path, pin, verb
        self.manifest = read_manifest(path, verb)

    def is_old(self) -> bool:
        """Whether there is a newer generation."""
        return newest(self.folder) != self._path

    def release(self) -> None:
        """Let writers remove what only this generation has."""
        self._pin.release()

    @property
    def index(self) -> dict[str, Any]:
        """The tree of the manifest; in the first format, with all arrays in their places."""
        tree: dict[str, Any] = self.manifest["index"]
        if self.manifest["format"] == FORMAT:
            return tree
        return self._sound(lambda: first.filled(self.folder, self.manifest))

    def part(self, entry: Entry) -> dict[str, Any]:
        """Return the tree of a part, with the arrays in their places; large ones stay on disk."""
        return self._sound(lambda: Part(self.folder, entry).tree)

    def check_last(self) -> None:
        """Compare what the last change wrote with the hashes: the writer died afterwards."""
        self._require([entry for _, entry in entries(self.manifest["index"])
                       if entry.get("since") == self.manifest["generation"]])  # fmt: skip

    def verified(self) -> list[str]:
        """Compare everything with the hashes, and return the names of the files."""
        if self.manifest["format"] < FORMAT:
            return [FIRST, *self._require(list(first.entries(self.manifest["index"])))]
        found = self._require([entry for _, entry in entries(self.manifest["index"])])
        return [f"manifest-{self.manifest['generation']}.json", *found]

    def _require(self, named: list[Entry]) -> list[str]:
        """Return the names of files, or say which of them are damaged."""
        problems, names = [], {}
        for entry in named:
            try:
                names[self._check(entry)] = True
            except StoreError as error:
                problems.append(str(error))
            except OSError as error:
                if error.errno not in DAMAGE:
                    raise
                problems.append(str(error))
        if problems:
            told = "; ".join(problems)
            raise StoreError(f"{self._verb}: {self.folder} is damaged: {told}. {RESTORE}")
        return list(names)

    def _check(self, entry: Entry) -> str:
        if self.manifest["format"] == FORMAT:
            Part(self.folder, entry).check_values()
            return f"{FOLDER}/{entry['part']}"
        first.check_file(self.folder, self.manifest, entry)
        first.check_hash(self.folder, entry)
        return str(entry["npy"])

    def _sound(self, read: Callable[[], Result]) -> Result:
        """Read files, and say so where that fails because they are damaged."""
        told: Exception
        try:
            return read()
        except (StoreError, ValueError) as error:
            told = error
        except OSError as error:
            if error.errno not in DAMAGE:
                raise
            told = error
        raise StoreError(f"{self._verb}: {self.folder} is damaged: {told}. {RESTORE}") from None


def read(
    path: str | os.PathLike[str], use: Callable[[Opened], Result], verb: str = "load",
    origins: Origins | None = None,
) -> Result:  # fmt: skip
    """Return what a function makes of the newest generation of a folder.

    Nothing is written, and no lock is held that a writer would wait for. After a change that was
    cut off, what it wrote is compared with its hashes.

    Parameters
    ----------
    path : path
        The folder.
    use : callable
        Called with an `Opened`, which it may keep.
    verb : str
        What errors begin with.
    origins : Origins, optional
        Where to note what was read.
    """
    folder = Path(path)
    while True:
        there = newest(folder)
        if there is None:
            raise StoreError(f"{verb}: {describe_nothing(folder)}")
        try:
            pin = disk.Pin.of(there)
            if pin is None and newest(folder) != there:  # it was removed for a newer one
                continue
            if pin is None:
                raise StoreError(f"{verb}: {there} leads nowhere, or is being removed. {RESTORE}")
            opened = Opened(folder, there, pin, verb)
            if disk.was_cut_off(folder):
                opened.check_last()
            found = use(opened)
        except OSError as error:
            if newest(folder) != there:  # on a file system without locks
                continue
            if isinstance(error, StoreError):
                raise
            raise StoreError(
                f"{verb}: cannot read {folder}: {error}. That is no damage: try again when the "
                "system lets you read it."
            ) from error
        if origins is not None:
            origins.note(folder, opened.manifest)
        return found


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
    >>> mercer.verify(folder)[0]
    'manifest-1.json'
    """
    return read(path, Opened.verified, "verify")
