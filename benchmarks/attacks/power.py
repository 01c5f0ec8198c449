"""Power failures: what may be on disk after any step of a save, with what was not synchronised.

A save is recorded as a list of operations. At each prefix of it the disk is rebuilt: what was
synchronised is there, and of the rest (contents and names) any part.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import mercer
from benchmarks.attacks.base import Outcome, Q, X, trials
from mercer.store import disk


class Step(NamedTuple):
    """One thing that was done to the disk."""

    verb: str  # make, write, sync, rename, remove
    path: Path
    data: bytes = b""
    target: Path | None = None


def attack(seconds: float) -> Outcome:
    """Count states of the disk that hold neither the old index nor the new one."""
    outcome = Outcome("power loss")
    with tempfile.TemporaryDirectory() as place:
        base, first = Path(place) / "base", Path(place) / "first"
        _index(40).save(base / "index")
        overwriting = _recorded(base / "index")
        first.mkdir()
        creating = _recorded(first / "index")
        for rng in trials(seconds):
            again = rng.random() < 0.7
            steps, sizes = (overwriting, {40, 60}) if again else (creating, {60})
            world = Path(place) / "world"
            shutil.rmtree(world, ignore_errors=True)
            start = base.with_suffix(".before") if again else None
            _rebuild(world, start, steps[: rng.integers(len(steps) + 1)], rng)
            _look(world / "index", sizes, again, outcome)
    return outcome


def _index(n: int) -> mercer.Index:
    return mercer.brute("chi2").fit(X[:n]).add(X[:n])


def _look(folder: Path, sizes: set[int], must_open: bool, outcome: Outcome) -> None:
    try:
        found = mercer.load(folder)
        good = len(found) in sizes and _answers_rightly(found)
        mercer.verify(folder)
        outcome.count(1, int(not good), f"{len(found)} items, or other neighbours")
    except mercer.StoreError as error:
        outcome.count(1, int(must_open), str(error))
    _index(60).save(folder)  # whatever is there, the next save succeeds
    if len(mercer.load(folder)) != 60 or len(list(folder.iterdir())) != 2:
        outcome.count(0, 1, "the next save left something behind")


def _answers_rightly(index: mercer.Index) -> bool:
    expected = _index(len(index)).search(Q, 3)
    return bool(np.array_equal(index.search(Q, 3).ids, expected.ids))


# ---- recording


def _recorded(folder: Path) -> list[Step]:
    """Return what saving to a folder does; what was there before is kept as .before."""
    world = folder.parent
    before = world.with_suffix(".before")
    shutil.rmtree(before, ignore_errors=True)
    shutil.copytree(world, before)
    steps: list[Step] = []
    with _watched(steps, world):
        _index(60).save(folder)
    return steps


@contextmanager
def _watched(steps: list[Step], world: Path) -> Any:
    replace, mkdir, unlink, rmtree = os.replace, Path.mkdir, Path.unlink, shutil.rmtree

    def inside(path: Any) -> Path:
        return Path(os.path.realpath(path)).relative_to(os.path.realpath(world))

    def flushed(file: Any) -> None:
        file.flush()
        path = inside(file.name)
        steps.append(Step("write", path, Path(file.name).read_bytes()))
        steps.append(Step("sync", path))

    def synced(folder: Path) -> None:
        real = Path(os.path.realpath(folder))
        if real.is_relative_to(os.path.realpath(world)):
            steps.append(Step("sync", inside(folder)))

    def renamed(source: Any, target: Any) -> None:
        steps.append(Step("rename", inside(source), target=inside(target)))
        replace(source, target)

    def made(self: Path, *args: Any, **kwargs: Any) -> None:
        new = not self.exists()
        mkdir(self, *args, **kwargs)
        if new:
            steps.append(Step("make", inside(self)))

    def removed(self: Path, missing_ok: bool = False) -> None:
        if self.exists():
            steps.append(Step("remove", inside(self)))
        unlink(self, missing_ok=missing_ok)

    def cleared(path: Any, **kwargs: Any) -> None:
        steps.append(Step("remove", inside(path)))
        rmtree(path, **kwargs)

    with (
        mock.patch.object(disk, "flush", flushed), mock.patch.object(disk, "sync", synced),
        mock.patch.object(os, "replace", renamed), mock.patch.object(Path, "mkdir", made),
        mock.patch.object(Path, "unlink", removed), mock.patch.object(shutil, "rmtree", cleared),
    ):  # fmt: skip
        yield


# ---- rebuilding


def _rebuild(world: Path, start: Path | None, steps: list[Step], rng: Any) -> None:
    """Make the disk as it may be after these steps and a power failure."""
    if start is None:
        world.mkdir()
    else:
        shutil.copytree(start, world)
    for number, step in enumerate(steps):
        later = steps[number + 1 :]
        names = {step.path.parent, step.target.parent if step.target else step.path.parent}
        sure = any(one.verb == "sync" and one.path in names for one in later)
        if step.verb == "write":
            sure = any(one == Step("sync", step.path) for one in later)
            _write(world / step.path, step.data, sure, rng)
        elif step.verb != "sync" and (sure or rng.random() < 0.5):
            _apply(world, step)


def _write(path: Path, data: bytes, sure: bool, rng: Any) -> None:
    if not path.parent.is_dir():
        return
    if not sure:
        cut = int(rng.integers(len(data) + 1))
        data = [b"", data[:cut], data[:cut] + bytes(len(data) - cut), data][rng.integers(4)]
        if rng.random() < 0.3:
            return
    path.write_bytes(data)


def _apply(world: Path, step: Step) -> None:
    path = world / step.path
    if step.verb == "make":
        path.mkdir(parents=True, exist_ok=True)
    elif step.verb == "remove":
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    elif step.target is not None and path.exists():
        path.replace(world / step.target)
