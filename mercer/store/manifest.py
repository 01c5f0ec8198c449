"""The manifest of a generation: its values and its parts, whatever the number of its rows."""

from __future__ import annotations

import errno
import os
import re
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import mercer
from mercer.errors import StoreError
from mercer.store import disk
from mercer.store.first import MARKER
from mercer.store.parts import Entry
from mercer.store.values import RESTORE, is_count, parsed, seal, sealed

FORMAT = 2  # the format written; all formats up to it can be read (`mercer.index.loading`)
FIRST = "manifest.json"  # of format 1
NAME = re.compile(r"manifest-([1-9][0-9]{0,17})\.json")


def name_of(generation: int) -> str:
    """Return the name of the manifest of a generation."""
    return f"manifest-{generation}.json"


def numbers(folder: Path) -> list[int]:
    """Return the generations that have a manifest, the newest last."""
    found = (NAME.fullmatch(name) for name in disk.names_in(folder))
    return sorted(int(one[1]) for one in found if one)


def newest(folder: Path) -> Path | None:
    """Return the manifest to read, or None if there is none."""
    try:
        found = numbers(folder)
    except OSError as error:
        if error.errno == errno.ENOTDIR:
            return None
        raise
    if found:
        return folder / name_of(found[-1])
    return folder / FIRST if (folder / FIRST).is_file() else None


def read_manifest(path: Path, verb: str) -> dict[str, Any]:
    """Return a manifest, or say why it cannot be read."""
    try:
        found = parsed_file(path)
    except StoreError as error:
        raise StoreError(f"{verb}: {error}") from None
    if not is_count(found.get("format")) or "mercer" not in found:
        raise StoreError(f"{verb}: {path} is not that of an index. {RESTORE}")
    if found["format"] > FORMAT:
        raise StoreError(
            f"{verb}: {path.parent} has format {found['format']}, written by mercer "
            f"{found['mercer']}, but mercer {mercer.__version__} reads formats up to {FORMAT}. Use "
            "a version that knows it."
        )
    if found.get("sha256") != seal(found):
        raise StoreError(f"{verb}: {path} is not as it was saved. {RESTORE}")
    if not is_count(found.get("generation")) or not isinstance(found.get("index"), dict):
        raise StoreError(f"{verb}: {path} lacks what an index needs. {RESTORE}")
    if path.name != (FIRST if found["format"] < FORMAT else name_of(found["generation"])):
        raise StoreError(f"{verb}: {path} has the name of another manifest. {RESTORE}")
    return found


def parsed_file(path: Path) -> dict[str, Any]:
    """Return what a manifest says, without checking it."""
    try:
        return parsed(path.read_bytes(), str(path))
    except (FileNotFoundError, IsADirectoryError):
        raise StoreError(f"{path} is missing. {RESTORE}") from None


def describe_nothing(folder: Path) -> str:
    """Say why there is no manifest."""
    if not folder.exists():
        return f"{folder} does not exist. Pass the folder given to Index.save."
    if disk.was_cut_off(folder) or (folder / MARKER).is_file():
        return f"the first save to {folder} was cut off, so there is no index yet. Save it again."
    return f"{folder} is not an index: it has no manifest. Pass the folder given to Index.save."


def new_manifest(generation: int, values: dict[str, Any]) -> dict[str, Any]:
    """Return the manifest of a generation with these values, sealed."""
    return sealed({
        "format": FORMAT, "generation": generation, "mercer": mercer.__version__, "index": values,
    })  # fmt: skip


def entries(tree: Any, place: str = "") -> Iterator[tuple[str, Entry]]:
    """Yield every part that a manifest names, and what it is there."""
    if isinstance(tree, dict) and "part" in tree:
        yield place.lstrip("/"), tree
    elif isinstance(tree, (dict, list)):
        pairs = tree.items() if isinstance(tree, dict) else enumerate(tree)
        for key, value in pairs:
            yield from entries(value, f"{place}/{key}")


# ---- what an index knows of the folders that it came from


class Part(NamedTuple):
    """A part that is to be in a folder; it is written only if the same one is not there yet."""

    tree: Callable[[], dict[str, Any]]
    source: tuple[object, ...] = ()  # frozen objects that it is made of, if these tell all of it
    key: str = ""  # what else tells it from others


class Origins:
    """Which folders an index was read from or written to, and what they held then."""

    def __init__(self) -> None:
        self.seals: dict[str, set[str]] = {}  # the sha256 of manifests, by resolved path
        self._parts: dict[str, list[tuple[Part, Entry]]] = {}  # with weak references as sources

    def note(self, folder: Path, manifest: dict[str, Any]) -> None:
        """Remember the manifest of a folder."""
        self.seals.setdefault(os.path.realpath(folder), set()).add(manifest["sha256"])

    def note_parts(self, folder: Path, parts: list[tuple[Part, Entry]]) -> None:
        """Remember which parts of a folder were made of which objects."""
        self._parts[os.path.realpath(folder)] = [
            (part._replace(source=tuple(map(weakref.ref, part.source))), entry)
            for part, entry in parts
            if part.source
        ]

    def entry_of(self, folder: Path, part: Part) -> Entry | None:
        """Return how a manifest names a part, if it is known to be in a folder."""
        for known, entry in self._parts.get(os.path.realpath(folder), ()):
            same = zip(known.source, part.source, strict=False)
            alike = (known.key, len(known.source)) == (part.key, len(part.source))
            if part.source and alike and all(ref() is one for ref, one in same):  # type: ignore[operator]
                return entry
        return None

    def require_known(self, folder: Path) -> None:
        """Refuse to overwrite what somebody else saved since this index was loaded or saved."""
        known, path = self.seals.get(os.path.realpath(folder)), newest(folder)
        if not known or path is None:
            return
        now = parsed_file(path)
        if now.get("sha256") not in known:
            raise StoreError(
                f"save: somebody else saved to {folder} since this index was loaded from it or "
                f"saved to it (generation {now.get('generation')} is there now). Nothing was "
                "written. Load it again and repeat your changes, or save to another folder."
            )

    def __getstate__(self) -> dict[str, Any]:
        return {"seals": self.seals, "_parts": {}}
