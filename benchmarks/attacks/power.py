"""Power failures: what may be on disk after any step of the life of a store.

Everything that a store does to the disk is recorded while it is made, changed, compacted and opened
again. At each prefix of that the disk is rebuilt: what was synchronised is there, and of the rest
(the contents of files, and names) any part. Then the store is opened again.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import mercer
from benchmarks.attacks.base import Outcome, Q, X, trials
from mercer import kernels
from mercer.store import disk

VALUES = kernels.Chi2()(Q, X, dtype=np.float64)
ROWS = {row.tobytes(): number for number, row in enumerate(X)}
K = 4
Items = dict[int, int]  # the row of X that every id stands for


class Step(NamedTuple):
    """One thing that was done to the disk, or said by the store."""

    verb: str  # make, create, write, flush, sync, link, remove; began, done
    path: Path = Path()
    data: bytes = b""
    file: int = -1  # which file, whatever its names
    items: Items | None = None  # what is in the store once this change is made


def attack(seconds: float) -> Outcome:
    """Count states of the disk that hold less than was acknowledged, or half of a change."""
    outcome = Outcome("power loss")
    with tempfile.TemporaryDirectory() as place:
        lives = [recorded(Path(place) / method, method) for method in ("exact", "brute")]
        for rng in trials(seconds):
            steps = lives[rng.integers(len(lives))]
            end = int(rng.integers(len(steps) + 1))
            look(Path(place) / "world", steps[:end], rng, outcome)
    return outcome


# ---- a life


def recorded(world: Path, method: str) -> list[Step]:
    """Return what was done to the disk, and said, in the life of a store."""
    world.mkdir()
    steps: list[Step] = []
    with _watched(steps, world):
        _Life(world / "index", method, steps).lead()
    return steps


class _Life:
    """Changes of a store, and what is in it after each of them."""

    def __init__(self, folder: Path, method: str, steps: list[Step]) -> None:
        self.folder, self.method, self.steps = folder, method, steps
        self.items: Items = {}

    def lead(self) -> None:
        index = _made(self.method).fit(X)
        self._do(dict(zip(range(30), range(30), strict=True)),
                 lambda: index.add(X[:30]).save(self.folder))  # fmt: skip
        with mercer.open(self.folder) as store:
            self._add(store, [40])
            self._add(store, [41, 42, 43])
            self._remove(store, [3, 30])
            self._add(store, [30, 30])  # duplicates, and ids that were not used before
            self._update(store, {5: 50, 31: 51})
            self._do(self.items, store.compact)
            self._remove(store, [0])
        reader = mercer.load(self.folder)
        with mercer.open(self.folder) as store:
            for row in range(60, 66):
                self._add(store, [row])
            self._remove(store, [self._newest()])
            self._remove(store, [one for one in self.items if one < 20])
            self._update(store, {self._newest(): 3})
            self._do(self.items, store.compact)
            self._add(store, [70, 71])
        reader.close()
        index = mercer.load(self.folder)
        self._do(_without(self.items, [25]), lambda: index.remove([25]).save(self.folder))

    def _newest(self) -> int:
        return max(self.items)

    def _do(self, items: Items, change: Any) -> None:
        self.steps.append(Step("began", items=items))
        change()
        self.items = items
        self.steps.append(Step("done", items=items))

    def _add(self, store: mercer.Index, rows: list[int]) -> None:
        first = store.segments_.next_id
        new = {first + i: row for i, row in enumerate(rows)}
        self._do(self.items | new, lambda: store.add(X[rows]))

    def _remove(self, store: mercer.Index, ids: list[int]) -> None:
        self._do(_without(self.items, ids), lambda: store.remove(ids))

    def _update(self, store: mercer.Index, rows: Items) -> None:
        change = [*rows], X[[*rows.values()]]
        self._do(self.items | rows, lambda: store.update(change[1], change[0]))


def _made(method: str) -> mercer.Index:
    if method == "brute":
        return mercer.brute("chi2")
    return mercer.exact("chi2", n_landmarks=20, n_components=8)


def _without(items: Items, ids: list[int]) -> Items:
    return {name: row for name, row in items.items() if name not in ids}


# ---- recording


@contextmanager
def _watched(steps: list[Step], world: Path) -> Iterator[None]:
    root, files = world.resolve(), {}
    create, flush, sync, make = disk.create, disk.flush, disk.sync, disk._make
    publish, remove = disk.publish, disk.remove

    def inside(path: Path) -> Path:
        return path.resolve().relative_to(root)

    def note(verb: str, path: Path, **rest: Any) -> None:
        steps.append(Step(verb, inside(path.parent) / path.name, **rest))

    def created(path: Path) -> Any:
        file = create(path)
        files[path.name] = len(files)
        note("create", path, file=files[path.name])
        return file

    def flushed(file: Any) -> None:
        flush(file)
        path = Path(file.name)
        note("write", path, data=path.read_bytes(), file=files[path.name])
        note("flush", path, file=files[path.name])

    def synced(folder: Path) -> None:
        sync(folder)
        if folder.resolve().is_relative_to(root):
            steps.append(Step("sync", inside(folder)))

    def made(folder: Path) -> None:
        make(folder)
        note("make", folder)

    def linked(draft: Path, name: Path) -> None:
        publish(draft, name)
        note("link", name, file=files[draft.name])

    def removed(path: Path) -> None:
        if path.exists():
            note("remove", path)
        remove(path)

    with ExitStack() as stack:
        for name, watched in {
            "create": created, "flush": flushed, "sync": synced, "_make": made,
            "publish": linked, "remove": removed,
        }.items():  # fmt: skip
            stack.enter_context(mock.patch.object(disk, name, watched))
        yield


# ---- rebuilding


def rebuild(world: Path, steps: list[Step], rng: Any) -> None:
    """Make the disk as it may be after these steps and a power failure."""
    shutil.rmtree(world, ignore_errors=True)
    world.mkdir()
    names, contents = _left(steps, rng)
    for path in sorted(names):
        if names[path] is None and (world / path.parent).is_dir():
            (world / path).mkdir(exist_ok=True)
    for path, file in names.items():
        if file is not None and (world / path.parent).is_dir():
            (world / path).write_bytes(contents.get(file, b""))
    if (world / "index").is_dir():  # the lock tells of a writer, or does not
        (world / "index" / disk.LOCK).write_bytes([b"", b"A writer is at work"][rng.integers(2)])


def _left(steps: list[Step], rng: Any) -> tuple[dict[Path, int | None], dict[int, bytes]]:
    """Return the files that names stand for, None for folders, and the contents of files."""
    synced: dict[Path, int] = {}
    flushed: dict[int, int] = {}
    for number, step in enumerate(steps):
        if step.verb == "sync":
            synced[step.path] = number
        elif step.verb == "flush":
            flushed[step.file] = number
    names: dict[Path, int | None] = {}
    contents: dict[int, bytes] = {}
    for number, step in enumerate(steps):
        if step.verb == "write":
            sure = flushed.get(step.file, -1) > number
            contents[step.file] = step.data if sure else _torn(step.data, rng)
        elif step.verb in ("make", "create", "link", "remove"):
            sure = synced.get(step.path.parent, -1) > number
            if not (sure or rng.random() < 0.5):
                continue
            if step.verb == "remove":
                names.pop(step.path, None)
            else:
                names[step.path] = None if step.verb == "make" else step.file
    return names, contents


def _torn(data: bytes, rng: Any) -> bytes:
    """Return what may be there of data that was not synchronised."""
    cut = int(rng.integers(len(data) + 1))
    return [b"", data[:cut], data[:cut] + bytes(len(data) - cut), data][rng.integers(4)]


# ---- looking


def look(world: Path, steps: list[Step], rng: Any, outcome: Outcome) -> None:
    """Rebuild the disk as it may be after these steps, open it, and count what is wrong with it."""
    rebuild(world, steps, rng)
    done = [step.items for step in steps if step.verb == "done"]
    began = [step.items for step in steps if step.verb == "began"]
    again = rng.random() < 0.2
    with mock.patch.object(os, "fsync", return_value=None):  # there is no second failure
        try:
            told = require_right(world / "index", done, began, again)
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
    outcome.count(1, int(bool(told)), f"after {len(steps)} steps: {told}")


def require_right(folder: Path, done: list[Any], began: list[Any], again: bool) -> str:
    """Return what is wrong with a folder after a power failure, or nothing.

    What was acknowledged must be there, and of the change that was under way all or nothing;
    neighbours must be those of brute force over the same items. If `again`, the store goes on.
    """
    try:
        index = mercer.load(folder)
    except mercer.StoreError as error:
        return str(error) if done else ""
    mercer.verify(folder)
    told = compared(index, done[-1:] + began[len(done) : len(done) + 1])
    if told or not again:
        return told
    items = items_of(index)
    index.close()
    with mercer.open(folder) as store:
        store.add(X[80:82], ids=[1000, 1001]).remove([1000])
        if store.segments_.next_id <= max(items):
            return "ids would be given twice"
    with mercer.load(folder) as index:
        told = compared(index, [items | {1001: 81}])
    left = {path.name for path in (folder / "parts").iterdir()}
    named = {Path(name).name for name in mercer.verify(folder)[1:]}
    return told or ("" if left == named else "something was left behind")


def items_of(index: mercer.Index) -> Items:
    """Return the row of X that each id of an index stands for."""
    rows = [row for one in index.segments_.members for row in one.live_items().kept]
    return {name: ROWS[row.tobytes()] for name, row in zip(index, rows, strict=True)}


def compared(index: mercer.Index, allowed: list[Items]) -> str:
    """Return what is wrong with an index that should hold one of these, or nothing."""
    items = items_of(index)
    if items not in allowed:
        return f"{len(items)} items, not those of {[len(one) for one in allowed]}"
    if not items:
        return ""
    scores = VALUES[:, [*items.values()]]
    found = index.search(Q, K, n_jobs=1)
    expected = -np.sort(-scores, axis=1)[:, :K]
    own = np.array([[items[name] for name in names] for names in found.ids.tolist()])
    true = np.take_along_axis(VALUES, own, 1)
    wrong = (np.abs(found.scores - expected) > 1e-5) | (np.abs(true - expected) > 1e-5)
    return "other neighbours than brute force" if wrong.any() else ""
