"""Folders that somebody sent: flipped bytes, cut files, manifests that were changed and sealed.

Each is opened and searched in a process of its own, so that a crash is counted and not shared.
"""

from __future__ import annotations

import multiprocessing
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from benchmarks.attacks import rewriting
from benchmarks.attacks.base import CASES, Outcome, filled, trials

TIMEOUT = 60  # seconds for one folder


def damage(seconds: float) -> Outcome:
    """Change bytes of files: a refusal or an answer, and nothing else."""
    return _attack("damage", seconds, _damaged)


def sealed(seconds: float) -> Outcome:
    """Change values of the manifest and of arrays, and seal them again."""
    return _attack("sealed", seconds, _resealed)


def _attack(name: str, seconds: float, change: Callable[[Path, Any], str]) -> Outcome:
    outcome = Outcome(name)
    with tempfile.TemporaryDirectory() as place:
        for case in CASES:
            filled(case).save(Path(place) / case)
        worker = Worker()
        for rng in trials(seconds):
            case = str(rng.choice(list(CASES)))
            folder = Path(place) / "changed"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(Path(place) / case, folder)
            what = change(folder, rng)
            said = worker.open(folder, case)
            if said not in ("answered", "refused"):
                outcome.count(1, 1, f"{case}: {what}: {said}")
                worker = Worker()
            else:
                outcome.count()
        worker.close()
    return outcome


class Worker:
    """A process that opens and searches folders, until one of them ends it."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.here, there = context.Pipe()
        self.process = context.Process(target=_serve, args=(there,), daemon=True)
        self.process.start()
        there.close()

    def open(self, folder: Path, case: str) -> str:
        """Return what came of opening and searching a folder."""
        try:
            self.here.send((str(folder), case))
            if not self.here.poll(TIMEOUT):
                self.process.kill()
                return "did not end"
            return str(self.here.recv())
        except (EOFError, ConnectionError):
            self.process.join()
            return f"the process ended with {self.process.exitcode}"

    def close(self) -> None:
        """End the process."""
        self.here.close()
        self.process.join(TIMEOUT)


def _serve(pipe: Any) -> None:
    warnings.simplefilter("ignore")
    while True:
        try:
            folder, case = pipe.recv()
        except EOFError:
            return
        pipe.send(_opened(folder, CASES[case][1]))


def _opened(folder: str, items: Any) -> str:
    try:
        index = mercer.load(folder)
        index.search(items[:5], 3)
        index.search(items[:5], 3, where=index.ids[:10])
        if index.info()["certified"]:
            index.within(items[:5], 0.5)
        index.add(items[:2], ids=[10**6, 10**6 + 1]).compact()
        index.search(items[:5], 3)
    except mercer.StoreError:
        return "refused"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "answered"


# ---- changes


def _damaged(folder: Path, rng: Any) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    path = files[rng.integers(len(files))]
    data = bytearray(path.read_bytes())
    place = int(rng.integers(len(data)))
    how = int(rng.integers(4))
    if how < 2:
        data[place] ^= 1 << int(rng.integers(8))
    elif how == 2:
        data[place : place + 8] = rng.bytes(8)
    else:
        del data[place:]
    path.write_bytes(bytes(data))
    return f"{path.relative_to(folder)} at {place}, way {how}"


def _resealed(folder: Path, rng: Any) -> str:
    tree = rewriting.opened(folder)
    told = _change_array(tree, rng) if rng.random() < 0.5 else _mutate(tree, rng)
    try:
        rewriting.write(folder, 1, tree)
    except Exception:  # what a manifest cannot hold
        return "nothing"
    return told


def _places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    keys = tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    return [path, *(one for key in keys for one in _places(tree[key], (*path, key)))]


def _mutate(tree: Any, rng: Any) -> str:
    """Change, remove or exchange a value somewhere in the manifest or in a part."""
    places = [place for place in _places(tree) if place]
    place = places[rng.integers(len(places))]
    inside = _at(tree, place[:-1])
    key, old = place[-1], inside[place[-1]]
    strange = [None, -1, 0, 1, 2**40, -(2**63), 1.5, float("nan"), "", "chi2", [], {}, True, old]
    if rng.random() < 0.2:
        del inside[key]
    else:
        inside[key] = strange[rng.integers(len(strange))]
    return f"{'/'.join(map(str, place))}: {old!r:.40}"


def _change_array(tree: Any, rng: Any) -> str:
    """Put an array with other values, of another type or shape, in the place of one."""
    places = [place for place in _places(tree) if isinstance(_at(tree, place), np.ndarray)]
    place = places[rng.integers(len(places))]
    array, told = _changed(_at(tree, place), rng)
    _at(tree, place[:-1])[place[-1]] = array
    return f"{'/'.join(map(str, place))}: {told}"


def _at(tree: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        tree = tree[key]
    return tree


def _changed(array: Any, rng: Any) -> tuple[Any, str]:
    how = int(rng.integers(7))
    if how == 0 and array.size:
        array = array.copy()
        flat = array.reshape(-1).view(np.uint8)
        flat[rng.integers(0, len(flat), 4)] = rng.integers(0, 256, 4)
    elif how == 1:
        array = array[: len(array) // 2] if array.ndim else array
    elif how == 2 and array.ndim == 2:
        array = np.ascontiguousarray(array[:, : array.shape[1] // 2])
    elif how == 3:
        array = array.astype(str(rng.choice(["<f4", "<f8", "<i8", "u1", "<i4", "<u2", ">f4"])))
    elif how == 4:
        array = np.concatenate([array, array]) if array.ndim else array
    elif how == 5 and array.ndim == 2:
        array = np.asfortranarray(array)
    elif array.dtype.kind in "iu" and array.size:
        array = array.copy()
        limits = np.iinfo(array.dtype)
        array.flat[rng.integers(array.size)] = rng.choice([limits.min, limits.max])
    return array, f"way {how}"
