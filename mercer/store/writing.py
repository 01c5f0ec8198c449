"""An index as a folder, changed completely or not at all.

::

    folder/
      manifest-7.json     the newest generation: a few values, and the parts it is made of
      manifest-5.json     an older one, as long as a reader needs it
      parts/              files that are written once and named by manifests (`mercer.store.parts`)
      lock                held by the writer; not empty after one that died at work

A change writes the parts that are new, waits until they are on disk, and then gives a manifest its
name, which must be free: whoever comes second is refused. Nothing in the folder is ever run.
"""

import json
import os
import re
import secrets
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from mercer.errors import StoreError
from mercer.store import disk, parts
from mercer.store.first import MARKER
from mercer.store.manifest import (
    FIRST,
    Origins,
    Part,
    entries,
    name_of,
    new_manifest,
    newest,
    numbers,
    parsed_file,
    read_manifest,
)
from mercer.store.parts import Entry
from mercer.store.reading import Opened, read

DRAFT = re.compile(r"[0-9a-f]{16}\.draft|manifest\.json\.[0-9a-f]{16}\.tmp")
GENERATION = re.compile(r"generation-([0-9]+)")  # folders of the first format


def ready(tree: Any, folder: Path, origins: Origins) -> Any:
    """Return a tree with the parts that must be written made: what fails then touches no folder."""
    if isinstance(tree, dict):
        return {key: ready(value, folder, origins) for key, value in tree.items()}
    if isinstance(tree, list):
        return [ready(value, folder, origins) for value in tree]
    if not isinstance(tree, Part) or origins.entry_of(folder, tree) is not None:
        return tree
    made = tree.tree()
    return tree._replace(tree=lambda: made)


class Writer:
    """The only process that may write to a folder, until it is closed or dies."""

    def __init__(self, path: str | os.PathLike[str], verb: str, checks: bool = True) -> None:
        self.folder = Path(path)
        self._seal: str | None = None  # of the manifest that was written last
        try:
            _require_place(self.folder)
            disk.make_folder(self.folder)
            self._lock = disk.WriterLock(self.folder)
            if self._lock.held:
                disk.make_folder(self.folder / parts.FOLDER)
        except OSError as error:
            raise _told(error, f"{verb}: cannot write {self.folder}") from error
        if not self._lock.held:
            raise StoreError(
                f"{verb}: another process is saving to {self.folder} at the moment, or has it "
                "open. Wait for it to end, or choose another folder."
            )
        if checks and self._lock.unclean and newest(self.folder) is not None:
            try:
                read(self.folder, Opened.check_last, verb)
            except BaseException:
                self._lock.release(clean=False)
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_open(self) -> bool:
        """Whether the folder is still held; a forked child does not hold it."""
        return self._lock.held

    def close(self) -> None:
        """Remove what nobody needs any more, and let go of the folder."""
        if self._lock.held:
            try:
                with suppress(OSError):  # the next writer removes what is left
                    _sweep(self.folder)
            finally:
                self._lock.release()

    @property
    def committed(self) -> bool:
        """Whether the last `commit` made its change, even if an error came afterwards."""
        with suppress(OSError):
            path = newest(self.folder)
            return path is not None and parsed_file(path).get("sha256") == self._seal
        return False

    def commit(self, tree: dict[str, Any], origins: Origins) -> None:
        """Write a generation, which is on disk afterwards.

        Parameters
        ----------
        tree : dict
            Dicts with string keys, lists, strings, numbers, booleans, None and `Part`.
        origins : Origins
            Where the tree came from. If that is this folder and somebody else has written to it
            since, nothing is written. The new manifest is noted there.
        """
        try:
            self._seal = None
            origins.require_known(self.folder)
            change = _Change(self.folder, origins)
            manifest = change.written(tree)
            self._seal = manifest["sha256"]
            change.publish(manifest)
        except OSError as error:
            raise _told(error, f"save: cannot write {self.folder}") from error
        with suppress(OSError):
            _sweep(self.folder)


def _told(error: OSError, what: str) -> OSError:
    if isinstance(error, StoreError):
        return error
    return StoreError(
        f"{what}: {error}. What was saved there before is still there. Make room or choose "
        "another folder."
    )


class _Change:
    """One generation that is being written."""

    def __init__(self, folder: Path, origins: Origins) -> None:
        self.folder, self.origins = folder, origins
        before, self.there = _before(folder)
        self.number = before + 1
        self.draft = folder / f"{secrets.token_hex(8)}.draft"
        self.new: list[str] = []
        self.noted: list[tuple[Part, Entry]] = []

    def written(self, tree: dict[str, Any]) -> dict[str, Any]:
        """Write the parts, which are on disk afterwards, and return the manifest."""
        try:
            manifest = new_manifest(self.number, self._written(tree))
            if self.new:
                disk.sync(self.folder / parts.FOLDER)
        except BaseException:
            self._give_up()
            raise
        return manifest

    def publish(self, manifest: dict[str, Any]) -> None:
        """Write the manifest, and give it its name once it is on disk."""
        name = self.folder / name_of(self.number)
        try:
            with disk.create(self.draft) as file:
                file.write((json.dumps(manifest, indent=1) + "\n").encode())
                disk.flush(file)
            self.origins.note(self.folder, manifest)  # first, in case of an interruption
            self._link(name)
        except BaseException:
            if not name.exists():
                self._give_up()
            raise
        self.origins.note_parts(self.folder, self.noted)
        self._finish()

    def _written(self, tree: Any) -> Any:
        """Return the tree with every part written, or found, and named."""
        if isinstance(tree, dict):
            return {key: self._written(value) for key, value in tree.items()}
        if isinstance(tree, list):
            return [self._written(value) for value in tree]
        return self._entry(tree) if isinstance(tree, Part) else tree

    def _entry(self, part: Part) -> Entry:
        entry = self.origins.entry_of(self.folder, part)
        if entry is None or self.there.get(entry["part"]) != entry:
            entry = parts.write_part(self.folder, part.tree()) | {"since": self.number}
            self.new.append(entry["part"])
        self.noted.append((part, entry))
        return entry

    def _link(self, name: Path) -> None:
        try:
            disk.publish(self.draft, name)
        except (FileExistsError, FileNotFoundError):  # or the other one removed our draft
            raise self._refused() from None
        if numbers(self.folder)[-1] != self.number:  # on a file system without locks
            disk.remove(name)
            raise self._refused()

    def _refused(self) -> StoreError:
        return StoreError(
            f"save: somebody else saved to {self.folder} at the same time. Nothing was written. "
            "Load it again and repeat your changes, or save to another folder."
        )

    def _give_up(self) -> None:
        """Remove what was written for nothing."""
        with suppress(OSError):
            disk.remove(self.draft)
            for name in self.new:
                disk.remove(self.folder / parts.FOLDER / name)

    def _finish(self) -> None:
        """Make sure that the name of the manifest is on disk."""
        try:
            disk.sync(self.folder)
        except OSError as error:
            raise StoreError(
                f"save: {self.folder} holds the new index, but the disk did not confirm it: "
                f"{error}. Save it once more before you rely on it."
            ) from error
        with suppress(OSError):
            disk.remove(self.draft)


def _before(folder: Path) -> tuple[int, dict[str, Entry]]:
    """Return the number of the newest generation, and the parts it names."""
    there = numbers(folder)
    path = newest(folder)
    if path is None:
        return 0, {}
    try:
        found = read_manifest(path, "save")
    except StoreError:  # damaged, and about to be replaced
        return (there[-1] if there else 0), {}
    named = entries(found["index"]) if path.name != FIRST else ()
    return found["generation"], {str(entry["part"]): entry for _, entry in named}


# ---- places


def _require_place(folder: Path) -> None:
    """Refuse to write over anything that is not an index."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise StoreError(f"save: {folder} is a file. An index is a folder: choose another name.")
    if (folder / parts.FOLDER).is_symlink():
        raise StoreError(f"save: {folder / parts.FOLDER} is a link. Put the folder itself there.")
    names = set(disk.names_in(folder))
    mine = {disk.LOCK, parts.FOLDER, MARKER}
    own = all(name in mine or DRAFT.fullmatch(name) or GENERATION.fullmatch(name)
              for name in names)  # fmt: skip
    cut_off = own and names & {disk.LOCK, MARKER}  # the first save did not finish
    if names and not cut_off and not holds_index(folder):
        raise StoreError(
            f"save: {folder} is not empty and not an index. Choose another folder, or empty it."
        )


def holds_index(folder: Path) -> bool:
    """Whether a folder has a manifest of ours; an unreadable one may be that of anybody."""
    paths = [folder / name_of(number) for number in numbers(folder)]
    for path in filter(Path.is_file, [*paths, folder / FIRST]):
        with suppress(StoreError):
            if {"format", "generation", "mercer"} <= set(parsed_file(path)):
                return True
    return False


# ---- clearing up


def _sweep(folder: Path) -> None:
    """Remove everything that the newest manifest does not name and no reader needs."""
    there = numbers(folder)
    if not there:  # nothing was published
        return
    *older, last = there
    named = _named(folder / name_of(last))
    for number in older:
        path = folder / name_of(number)
        needed = set()
        with suppress(OSError):  # it may be damaged
            needed = _named(path)
        if not disk.remove_unpinned(path):
            named |= needed
    for name in list(disk.names_in(folder / parts.FOLDER)):
        if parts.NAME.fullmatch(name) and name not in named:
            with suppress(OSError):
                disk.remove(folder / parts.FOLDER / name)
    for name in list(disk.names_in(folder)):
        if DRAFT.fullmatch(name):
            disk.remove(folder / name)
    _sweep_first(folder)


def _named(path: Path) -> set[str]:
    """Return the parts that a manifest names."""
    return {str(entry["part"]) for _, entry in entries(parsed_file(path).get("index"))}


def _sweep_first(folder: Path) -> None:
    """Remove an index of the first format that was replaced, unless a reader needs it."""
    path = folder / FIRST
    if os.path.lexists(path) and not disk.remove_unpinned(path):
        return
    disk.remove(folder / MARKER)
    for name in list(disk.names_in(folder)):
        if GENERATION.fullmatch(name):
            shutil.rmtree(folder / name, ignore_errors=True)
