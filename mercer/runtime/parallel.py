"""The one place where threads are started.

One level of threading: blocks of work run on Python threads, compiled loops inside are serial
and release the interpreter lock, and BLAS is held to one thread meanwhile. Threads live only as
long as one call, so nothing is left behind that a forked child could stumble over.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from numbers import Integral
from typing import Any

from threadpoolctl import ThreadpoolController

from mercer.errors import InputError
from mercer.runtime import progress
from mercer.runtime.border import asked
from mercer.runtime.locks import Lock


def count(n_jobs: int | None = None) -> int:
    """Return how many threads `n_jobs` asks for; inside of a task there is always one.

    Parameters
    ----------
    n_jobs : int, optional
        A number of threads; -1 for all cores, -2 for all but one, and so on. By default what the
        user asked for, then ``OMP_NUM_THREADS`` where it is set, then all cores this process may
        use.
    """
    if asked.at_work:
        return 1
    n_jobs = asked.n_jobs if n_jobs is None else n_jobs
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    cores = cores or 1
    if n_jobs is None:
        wish = os.environ.get("OMP_NUM_THREADS", "")
        return int(wish) if wish.isdigit() and int(wish) > 0 else cores
    wanted: Any = n_jobs
    if isinstance(wanted, bool) or not isinstance(wanted, Integral) or wanted == 0:
        raise InputError(
            f"n_jobs is {n_jobs!r}. Pass a number of threads, -1 for all cores, or None."
        )
    return int(n_jobs) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))


def spans(stop: int, step: int, start: int = 0) -> list[slice]:
    """Cut ``range(start, stop)`` into slices of `step`."""
    return [slice(i, min(i + step, stop)) for i in range(start, stop, step)]


def run(
    function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], label: str = "working", *,
    n_jobs: int | None = None,
) -> list[Any]:  # fmt: skip
    """Call ``function(*task)`` for every task, on threads, and return the results in order.

    An error stops the rest and is raised as it is; of several, that of the first task. What a task
    runs in its turn is serial: there is one level of threads.

    Parameters
    ----------
    function : callable
        Does one task; it must release the interpreter lock for threads to help.
    tasks : iterable of tuple
        The arguments of each call.
    label : str
        What the progress bar says.
    n_jobs : int, optional
        How many threads, see `count`.
    """
    tasks = list(tasks)
    threads = min(count(n_jobs), len(tasks))
    with _one_blas_thread(), progress.bar(label, len(tasks)) as advance:
        if threads <= 1:
            return [_step(function, task, advance) for task in tasks]
        return _run_threads(function, tasks, threads, advance)


def over(
    n: int, step: int, function: Callable[[slice], Any], label: str, *, n_jobs: int | None = None
) -> None:
    """Call ``function(span)`` for slices of `step` that make up ``range(n)``, as `run` does."""
    run(function, [(span,) for span in spans(n, step)], label, n_jobs=n_jobs)


def _step(
    function: Callable[..., Any], task: tuple[Any, ...], advance: Callable[[int], None]
) -> Any:
    result = _work(function, *task)
    advance(1)
    return result


def _work(function: Callable[..., Any], *task: Any) -> Any:
    """Do one task, with no further threads and no bars."""
    before, asked.at_work = asked.at_work, True
    try:
        return function(*task)
    finally:
        asked.at_work = before


def _run_threads(
    function: Callable[..., Any], tasks: list[tuple[Any, ...]], threads: int,
    advance: Callable[[int], None],
) -> list[Any]:  # fmt: skip
    with ThreadPoolExecutor(threads, thread_name_prefix="mercer") as pool:
        futures = [pool.submit(_work, function, *task) for task in tasks]
        waiting = set(futures)
        try:
            failed = False
            while waiting and not failed:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                failed = any(future.exception() is not None for future in done)
                advance(len(done))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    # tasks start in order, so the first one that fails is always among those that ended
    return [future.result() for future in futures if not future.cancelled()]


class _Call:
    """A call under way; where it was cut off, it is forgotten."""


class _BlasLimit:
    """Holds BLAS to one thread while at least one call is inside.

    The limit is global to the process: the first call in sets it and the last one out restores
    it, so that overlapping calls cannot leave it behind. Each call is known by an object of its
    own, and what was before is noted first, so that an interruption anywhere is taken back.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.inside: weakref.WeakSet[_Call] = weakref.WeakSet()
        self.controller: ThreadpoolController | None = None
        self.n_modules = 0
        self.before: list[tuple[Any, int]] = []  # libraries, and how many threads each had

    def enter(self, call: _Call) -> None:
        with self.lock.held():
            self.inside.add(call)
            if not self.before:
                found = self._current().lib_controllers
                self.before = [(one, one.num_threads) for one in found if one.user_api == "blas"]
                for library, _ in self.before:
                    library.set_num_threads(1)

    def _current(self) -> ThreadpoolController:
        """Return a controller that knows every library loaded by now."""
        if self.controller is None or len(sys.modules) != self.n_modules:
            self.controller, self.n_modules = ThreadpoolController(), len(sys.modules)
        return self.controller

    def leave(self, call: _Call) -> None:
        try:
            self._let_go(call)
        except BaseException:  # an interruption: once more, to the end
            self._let_go(call)
            raise

    def _let_go(self, call: _Call) -> None:
        with self.lock.held():
            self.inside.discard(call)
            if not self.inside:
                for library, n_threads in self.before:
                    library.set_num_threads(n_threads)
                self.before = []

    def reset(self) -> None:
        """Forget, in a forked child, the calls that were under way in its parent."""
        for call in list(self.inside):
            self.leave(call)


_blas = _BlasLimit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_blas.reset)


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    call = _Call()
    try:
        _blas.enter(call)
        yield
    finally:
        _blas.leave(call)


@contextmanager
def one_faiss_thread() -> Iterator[Any]:
    """Give the module faiss, held to one thread: blocks of work run on threads of ours."""
    import faiss  # a second of import, for those who use it

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield faiss
    finally:
        faiss.omp_set_num_threads(before)
