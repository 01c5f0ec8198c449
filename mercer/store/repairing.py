"""Keep what is sound of a damaged folder, and tell what a folder holds."""

import os
from pathlib import Path
from typing import Any

from mercer.errors import StoreError
from mercer.store import disk
from mercer.store.manifest import FORMAT, Origins, name_of, numbers, read_manifest
from mercer.store.parts import FOLDER, Entry, Part
from mercer.store.reading import read
from mercer.store.writing import Writer

Tree = dict[str, Any]


def repair(path: str | os.PathLike[str]) -> list[str]:
    """Drop the damaged parts of a saved index, and keep the rest as a new generation.

    Parameters
    ----------
    path : path
        The folder given to `Index.save`.

    Returns
    -------
    list of str
        What was dropped; nothing if all was sound, and then nothing is written.

    Raises
    ------
    StoreError
        If what was learned is damaged, or no manifest can be read: then nothing can be kept.

    Examples
    --------
    >>> import tempfile
    >>> import mercer
    >>> from mercer import store
    >>> X = [[0.5, 0.5], [1.0, 0.0], [0.4, 0.6]]
    >>> folder = tempfile.mkdtemp()
    >>> mercer.exact("chi2").fit(X).add(X).save(folder)
    >>> store.repair(folder)
    []
    """
    folder = Path(path)
    with Writer(folder, "repair", checks=False) as writer:
        there = numbers(folder)
        manifest, told = _readable(folder, there)
        tree = _kept(folder, manifest["index"], told)
        if told:
            writer.commit(tree, Origins())
    return told


def _readable(folder: Path, there: list[int]) -> tuple[Tree, list[str]]:
    """Return the newest manifest that can be read, and which ones cannot."""
    lost: list[str] = []
    for number in reversed(there):
        try:
            return read_manifest(folder / name_of(number), "repair"), lost
        except StoreError as error:
            lost.append(f"generation {number}, whose manifest is damaged: {error}")
    raise StoreError(
        f"repair: {folder} has no manifest of format {FORMAT} that can be read, so nothing says "
        "what belongs to the index. Restore the folder from a copy, or build the index again."
    )


def _kept(folder: Path, tree: Tree, told: list[str]) -> Tree:
    """Return the values of a manifest without what is damaged."""
    damage = _damage(folder, tree["base"])
    if damage:
        raise StoreError(
            f"repair: what {folder} has learned is damaged ({damage}), and without it no item can "
            "be found. Restore the folder from a copy, or build the index again."
        )
    measured = tree["measured"]
    if measured is not None and (damage := _damage(folder, measured)):
        told.append(f"what was measured; it is measured again as items are added ({damage})")
        measured = None
    segments = [_kept_segment(folder, one, told) for one in tree["segments"]]
    return tree | {"measured": measured, "segments": [one for one in segments if one is not None]}


def _kept_segment(folder: Path, segment: Tree, told: list[str]) -> Tree | None:
    damage = _damage(folder, segment["content"])
    if damage:
        told.append(f"{segment['rows']} rows, removed ones among them ({damage})")
        return None
    if segment["removed"] is None or not (damage := _damage(folder, segment["removed"])):
        return segment
    told.append(
        f"which of {segment['rows']} rows were removed: these are in the index again ({damage})"
    )
    return segment | {"removed": None}


def _damage(folder: Path, entry: Entry) -> str:
    """Return what is wrong with a part, or nothing."""
    try:
        Part(folder, entry).check_values()
    except OSError as error:
        return str(error)
    return ""


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a folder holds: its generations, and the number and size of its files."""
    folder = Path(path)
    newest = read(folder, lambda opened: opened.manifest, "info")
    files = [one for one in folder.rglob("*") if one.is_file() and one.name != disk.LOCK]
    return {
        "format": newest["format"],
        "generation": newest["generation"],
        "kept for readers": [one for one in numbers(folder) if one != newest["generation"]],
        "parts": len(list(disk.names_in(folder / FOLDER))),
        "bytes": sum(one.stat().st_size for one in files),
    }
