"""Each rival in a process of its own: no one's threads or memory disturb another's."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.rivals.base import Effort, Rival
from benchmarks.rivals.task import Task

Maker = Callable[[Task, int], Rival]
FEW_ROWS, FEW_QUERIES = 2000, 20  # of the first use, which compiles


@dataclass(frozen=True)
class Built:
    """What a rival says of itself once it is built.

    Attributes
    ----------
    name, own, threads, efforts
        As in `Rival`.
    first_use : float
        Seconds of compiling, and of building and searching a few rows.
    seconds : float
        Of building.
    bytes_per_item : float
        By which its memory has grown, without a second copy of the items.
    peak : float
        Megabytes by which its memory had grown at most meanwhile.
    """

    name: str
    own: bool
    threads: int
    efforts: list[Effort]
    first_use: float
    seconds: float
    bytes_per_item: float
    peak: float


class Worker:
    """A rival in another process, built when this returns."""

    def __init__(self, maker: Maker, task: Task, threads: int, k: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.here, there = context.Pipe()
        self.process = context.Process(target=_serve, args=(there, maker, task, threads, k))
        self.process.start()
        there.close()
        self.built: Built = self._receive()

    def search(self, effort: Effort, at_least: float) -> tuple[list[float], Any]:
        """Search for at least so many seconds; return all times, for one query, and the rows."""
        return self._ask("search", effort, at_least)  # type: ignore[no-any-return]

    def evaluations(self, effort: Effort) -> float:
        """Return how many kernel values a query takes."""
        return self._ask("evaluations", effort)  # type: ignore[no-any-return]

    def close(self) -> None:
        """End the process."""
        self.here.send(None)
        self.process.join()

    def _ask(self, *question: Any) -> Any:
        self.here.send(question)
        return self._receive()

    def _receive(self) -> Any:
        said, value = self.here.recv()
        if said == "failed":
            self.process.join()
            raise RuntimeError(value)
        return value


def _serve(pipe: Connection, maker: Maker, task: Task, threads: int, k: int) -> None:
    """Build a rival and answer until there is no question."""
    try:
        rival, built = _build(maker, task, threads, k)
        pipe.send(("done", built))
        while question := pipe.recv():
            pipe.send(("done", _answer(rival, k, *question)))
    except Exception:
        pipe.send(("failed", traceback.format_exc()))


def _build(maker: Maker, task: Task, threads: int, k: int) -> tuple[Rival, Built]:
    started = time.perf_counter()
    small = maker(task.first(FEW_ROWS), threads)
    small.build()
    small.search(task.Q[:FEW_QUERIES], k, **small.efforts()[-1])
    first_use = time.perf_counter() - started
    rival = maker(task, threads)
    before = _memory("VmRSS")
    _forget_peak()
    started = time.perf_counter()
    rival.build()
    seconds = time.perf_counter() - started
    peak = _memory("VmHWM") - before
    grown = _memory("VmRSS") - before - (getattr(task.X, "nbytes", 0) if rival.copies else 0)
    return rival, Built(
        rival.name, rival.own, rival.threads, rival.efforts(), first_use, seconds,
        grown / len(task.X), peak / 1e6,
    )  # fmt: skip


def _answer(rival: Rival, k: int, verb: str, effort: Effort, *rest: Any) -> Any:
    Q = rival.task.Q[: rival.n_queries]
    if verb == "evaluations":
        return rival.evaluations(Q, k, **effort)
    return _search(rival, Q, k, effort, *rest)


def _search(rival: Rival, Q: Any, k: int, effort: Effort, at_least: float) -> Any:
    rows = rival.search(Q, k, **effort)  # does not count: the caches are another rival's
    times: list[float] = []
    while sum(times) < at_least:
        started = time.perf_counter()
        rival.search(Q, k, **effort)
        times.append(time.perf_counter() - started)
    return [seconds / len(Q) for seconds in times], rows


def _memory(name: str) -> float:
    """Return bytes of this process, "VmRSS" now or "VmHWM" at most; freed memory is given back."""
    if name == "VmRSS":
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
    status = Path("/proc/self/status").read_text()
    return 1024.0 * next(int(line.split()[1]) for line in status.splitlines() if name in line)


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")
