"""Call a Python function for many pairs in several processes: the one place that starts them.

Another process imports a module anew and does not see what was changed in it since. So processes
are used only on request, and a few pairs of each batch are compared with what the function returns
here. Processes live no longer than one batch, so none is left running.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import wait
from numbers import Integral
from typing import Any, Protocol

import numpy as np

from mercer.errors import InputError, KernelError
from mercer.kernels.memory import Values
from mercer.runtime import parallel
from mercer.runtime.arrays import Ids
from mercer.runtime.serving import Done, said, serve

WORTH = 1.0  # seconds that a batch takes in one process at least, or it stays here
TRIED = 3  # pairs of each batch whose values are computed here as well
AGREE = 1e-9  # how far these may differ: sets have another order in another process
CHUNKS = 8  # for each process, so that none waits long for the last one
TILE = (16, 4096)  # compared at a time: larger batches start processes less often
PATIENCE = 5.0  # seconds that a process has to end
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
CURE = "or pass n_processes=1."
ADVICE = (
    "Other processes import its module anew, without what was changed in it since. Bind such "
    f"values as arguments (functools.partial), {CURE}"
)


class Called(Protocol):
    """What is needed of a kernel that calls a function."""

    function: Callable[[Any, Any], Any]
    n_processes: int

    @property
    def label(self) -> str:
        """The function's name."""

    def number(self, x: Any, y: Any) -> float:
        """Return what the function returns here, or raise KernelError naming the items."""

    def similarity(self, number: float) -> float:
        """Return the kernel value for what the function returned."""


def check(kernel: Called) -> None:
    """Raise InputError for no number of processes, KernelError for a function that stays here."""
    n: Any = kernel.n_processes
    if isinstance(n, bool) or not isinstance(n, Integral) or (n < 1 and n != -1):
        raise InputError(f"n_processes is {n!r}. Pass a number of processes, or -1 for all cores.")
    if n != 1:
        _packed_function(kernel)


def are_worth(kernel: Called, n_calls: int, seconds: float) -> bool:
    """Whether processes help with calls of so many seconds each; never inside of a process."""
    return (
        kernel.n_processes != 1
        and n_calls * seconds > WORTH
        and n_calls > TRIED * count(kernel) > TRIED
        and multiprocessing.parent_process() is None
    )


def count(kernel: Called) -> int:
    """Return how many processes a kernel uses."""
    return parallel.cores() if kernel.n_processes == -1 else int(kernel.n_processes)


def values(kernel: Called, xs: list[Any], ys: list[Any]) -> Values:
    """Return the kernel values of as many pairs, computed in other processes."""
    with _workers(kernel) as workers:
        batch = _Batch(kernel, xs, ys)
        chunks, done = batch.chunks(), dict[int, Done]()
        busy: dict[Any, int] = {}
        idle, sent, taken = list(workers), 0, 0
        while taken < len(chunks):
            while idle and sent < len(chunks):
                worker = idle.pop()
                worker.send_bytes(batch.packed(chunks[sent]))
                busy[worker], sent = sent, sent + 1
            ready: list[Any] = wait(list(busy))
            for worker in ready:
                done[busy.pop(worker)] = worker.recv()
                idle.append(worker)
            while taken in done:  # in their order: of several errors, that of the first
                batch.take(chunks[taken], done.pop(taken))
                taken += 1
    return batch.values


class _Batch:
    """Pairs and what is known of their values."""

    def __init__(self, kernel: Called, xs: list[Any], ys: list[Any]) -> None:
        self.kernel, self.xs, self.ys = kernel, xs, ys
        self.values: Values = np.empty(len(xs))
        self.tried = np.unique(np.linspace(0, len(xs) - 1, TRIED).astype(np.int64))
        self.here = [kernel.number(xs[place], ys[place]) for place in self.tried.tolist()]

    def chunks(self) -> list[Ids]:
        """Return which pairs are sent together: those to try, then all others in their order."""
        others = np.delete(np.arange(len(self.xs)), self.tried)
        n_chunks = min(len(others), CHUNKS * count(self.kernel))
        return [self.tried, *(np.array_split(others, n_chunks) if n_chunks else [])]

    def packed(self, places: Ids) -> bytes:
        """Return some pairs to be sent; an item of many pairs is written once."""
        pairs = [[items[place] for place in places.tolist()] for items in (self.xs, self.ys)]
        try:
            return _dumps(pairs)
        except Exception as error:
            raise KernelError(
                f"{self.kernel.label}: items such as {short(pairs[0][0])} cannot be sent to other "
                f"processes: {said(error)}. Pass items that can be pickled, {CURE}"
            ) from error

    def take(self, places: Ids, done: Done) -> None:
        """Note the values of some pairs, or raise KernelError for the first that failed."""
        if done.lost:
            raise KernelError(
                f"{self.kernel.label}: cannot be loaded in another process: {done.lost}. Define "
                f"it, and the classes of its items, in a module that can be imported, {CURE}"
            )
        if places is self.tried:
            self._compare(done.numbers)
        for place, number in zip(places, done.numbers, strict=False):
            self.values[place] = self.kernel.similarity(number)
        if done.failed:
            x, y = (items[places[len(done.numbers)]] for items in (self.xs, self.ys))
            self.kernel.number(x, y)  # fails here too, with the error that users know
            raise KernelError(
                f"{self.kernel.label}: fails on the items {short(x)} and {short(y)} in another "
                f"process, but not here: {done.failed}. {ADVICE}"
            )

    def _compare(self, there: list[float]) -> None:
        """Raise KernelError unless the function returned the same here."""
        here = self.here[: len(there)]
        scale = np.abs(here).max(initial=0.0)
        same = np.isclose(there, here, AGREE, AGREE * scale, equal_nan=True)
        if not same.all():
            worst = int(np.argmin(same))
            x, y = (items[self.tried[worst]] for items in (self.xs, self.ys))
            raise KernelError(
                f"{self.kernel.label}: returns {here[worst]:.6g} for the items {short(x)} and "
                f"{short(y)} here, but {there[worst]:.6g} in another process. {ADVICE}"
            )


@contextmanager
def _workers(kernel: Called) -> Iterator[list[Any]]:
    """Start processes that call the function of a kernel, and end them however the block ends.

    Yields a connection to each.
    """
    packed, started, workers = _packed_function(kernel), list[Any](), list[Any]()
    try:
        for _ in range(count(kernel)):
            _start(packed, started, workers)
        yield workers
    except (EOFError, ConnectionError) as error:
        raise KernelError(
            f"{kernel.label}: a process that called it has ended. If there was too little memory, "
            f"use fewer processes, {CURE}"
        ) from error
    finally:
        try:
            _end(started, workers)
        except BaseException:  # an interruption: try again, to the end
            _end(started, workers)
            raise


def _start(packed: bytes, started: list[Any], workers: list[Any]) -> None:
    # in processes of loky, scripts are not run once more, so they need not guard their main part
    from joblib.externals.loky.backend import get_context

    context = get_context("loky")
    ours, theirs = context.Pipe()
    workers.append(ours)
    process = context.Process(target=serve, args=(theirs, packed), daemon=True, env=ONE_THREAD)
    started.append(process)
    process.start()
    theirs.close()  # so that a process that ends is noticed


def _end(started: list[Any], workers: list[Any]) -> None:
    for worker in workers:
        worker.close()
    running = [process for process in started if process.pid is not None]
    for process in running:
        process.terminate()
    for process in running:
        process.join(PATIENCE)
        if process.is_alive():  # the function handles the signal in a way of its own
            os.kill(process.pid, signal.SIGKILL)
            process.join()


def _packed_function(kernel: Called) -> bytes:
    try:
        return _dumps(kernel.function)
    except Exception as error:
        raise KernelError(
            f"{kernel.label}: cannot be sent to other processes: {said(error)}. Use a function "
            f"that holds no open files, locks or connections, {CURE}"
        ) from error


def _dumps(value: Any) -> bytes:
    import cloudpickle  # also takes lambdas, and what scripts define

    return bytes(cloudpickle.dumps(value))


def short(item: Any) -> str:
    """Return an item as text, cut where it is long."""
    text = repr(item)
    return text if len(text) <= 60 else text[:57] + "..."
