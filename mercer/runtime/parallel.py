"""The one place where threads are started.

One level of threading: blocks of work run on Python threads, compiled loops inside are serial
and release the interpreter lock, and BLAS is held to one thread meanwhile. Threads live only as
long as one call, so none is left to disturb a child forked later.
"""

from __future__ import annotations

import functools
import os
import sys
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import product
from numbers import Integral
from typing import Any, NamedTuple, ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

from mercer.errors import InputError
from mercer.runtime import progress
from mercer.runtime.border import asked
from mercer.runtime.locks import Lock

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def count(n_jobs: int | None = None) -> int:
    """Return how many threads `n_jobs` stands for; inside a task, always one.

    Parameters
    ----------
    n_jobs : int, optional
        A number of threads; -1 for all cores, -2 for all but one, and so on. By default what the
        user passed, else ``OMP_NUM_THREADS`` if it is set, else all cores this process may use.
    """
    if asked.at_work:
        return 1
    n_jobs = asked.n_jobs if n_jobs is None else n_jobs
    if type(n_jobs) is int and n_jobs > 0:  # the usual case, in every search
        return n_jobs
    if n_jobs is None:
        wish = os.environ.get("OMP_NUM_THREADS", "")
        return int(wish) if wish.isdigit() and int(wish) > 0 else cores()
    wanted: Any = n_jobs
    if isinstance(wanted, bool) or not isinstance(wanted, Integral) or wanted == 0:
        raise InputError(
            f"n_jobs is {n_jobs!r}. Pass a number of threads, -1 for all cores, or None."
        )
    return int(n_jobs) if n_jobs > 0 else max(1, cores() + 1 + int(n_jobs))


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def spans(stop: int, step: int, start: int = 0) -> list[slice]:
    """Cut ``range(start, stop)`` into slices of `step`."""
    return [slice(i, min(i + step, stop)) for i in range(start, stop, step)]


def run(
    function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], label: str = "working", *,
    n_jobs: int | None = None,
) -> list[Any]:  # fmt: skip
    """Call ``function(*task)`` for every task, on threads, and return the results in order.

    An error stops the remaining tasks and is raised unchanged; of several, that of the first task.
    Calls of `run` inside a task are serial: there is one level of threads.

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
    if asked.at_work:  # inside a task
        return [function(*task) for task in tasks]
    return holding_blas(_run, function, tasks, label, n_jobs)


def holding_blas(function: Callable[..., Result], *args: Any) -> Result:
    """Call ``function(*args)`` with BLAS and LAPACK held to one thread.

    Their threads wait for each other at full speed: beside other programs, or for small matrices,
    two of them take many times as long as one.
    """
    if asked.at_work:  # held already
        return function(*args)
    call = _Call()
    try:  # no context manager: an interruption at its first line would not be noticed
        _blas.enter(call)
        return function(*args)
    finally:
        try:
            _blas.leave(call)
        except BaseException:  # an interruption: try again, to the end
            _blas.leave(call)
            raise


def without_blas_threads(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Let a function be called by `holding_blas`; use it as a decorator."""

    @functools.wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        return holding_blas(functools.partial(function, *args, **kwargs))

    return call


def over(
    n: int, step: int, function: Callable[[slice], Any], label: str, *, n_jobs: int | None = None
) -> None:
    """Call ``function(span)`` for slices of `step` that make up ``range(n)``, as `run` does."""
    if asked.at_work and 0 < n <= step:  # as in every search for few queries
        function(slice(0, n))
        return
    run(function, [(span,) for span in spans(n, step)], label, n_jobs=n_jobs)


def _run(
    function: Callable[..., Any], tasks: list[tuple[Any, ...]], label: str, n_jobs: int | None
) -> list[Any]:
    if len(tasks) == 1:
        return [_work(function, *tasks[0])]
    with progress.bar(label, len(tasks)) as advance:
        threads = min(count(n_jobs), len(tasks))
        if threads <= 1:
            return [_step(function, task, advance) for task in tasks]
        return _run_threads(function, tasks, threads, advance)


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


class _Library(NamedTuple):
    """How the number of threads of a BLAS is read and set."""

    get: Callable[[], int]
    set: Callable[[int], object]

    @classmethod
    def of(cls, controller: Any) -> _Library:
        """Return the functions of one library.

        OpenBLAS has one number for the whole process. threadpoolctl lets only the first thread
        that asks change it, so one thread could not restore what another has set.
        """
        for before, after in product(("", "scipy_"), ("", "64_", "_64")):
            names = [f"{before}openblas_{verb}_num_threads{after}" for verb in ("get", "set")]
            if all(hasattr(controller.dynlib, name) for name in names):
                return cls(*(getattr(controller.dynlib, name) for name in names))
        return cls(controller.get_num_threads, controller.set_num_threads)


class _BlasLimit:
    """Holds BLAS to one thread while at least one call is inside.

    The limit is global to the process: the first call in sets it and the last one out restores
    it, so that overlapping calls cannot leave it behind. Each call is represented by an object of
    its own, and the numbers to restore are noted first, so an interruption at any point is undone
    by leaving again.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.inside: weakref.WeakSet[_Call] = weakref.WeakSet()
        self.libraries: list[_Library] = []
        self.n_modules = 0
        # the function that sets each library's threads, and how many it had
        self.before: list[tuple[Callable[[int], object], int]] = []

    def enter(self, call: _Call) -> None:
        with self.lock.held():
            self.inside.add(call)
            if not self.before:
                if len(sys.modules) != self.n_modules:
                    self._look()
                self.before = [(library.set, library.get()) for library in self.libraries]
                for set_threads, n_threads in self.before:
                    if n_threads != 1:
                        set_threads(1)

    def _look(self) -> None:
        """Find every BLAS loaded so far."""
        found = ThreadpoolController().lib_controllers
        # OpenMP keeps a number for each thread, which `one_faiss_thread` sets
        self.libraries = [
            _Library.of(one)
            for one in found
            if one.user_api == "blas" and getattr(one, "threading_layer", "") != "openmp"
        ]
        self.n_modules = len(sys.modules)

    def leave(self, call: _Call) -> None:
        with self.lock.held():
            self.inside.discard(call)
            if not self.inside:
                for set_threads, n_threads in self.before:
                    if n_threads != 1:
                        set_threads(n_threads)
                self.before = []

    def reset(self) -> None:
        """Forget, in a forked child, the calls that were under way in its parent."""
        for call in list(self.inside):
            self.leave(call)


class _Call:
    """A call under way, which holds BLAS to one thread; it vanishes with the call."""


_blas = _BlasLimit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_blas.reset)


class one_faiss_thread:  # noqa: N801 - used in with statements
    """Provide the module faiss, held to one thread: blocks of work run on our own threads."""

    def __enter__(self) -> Any:
        import faiss  # takes a second, so only on use

        self.faiss, self.before = faiss, faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)
        return faiss

    def __exit__(self, *_: object) -> None:
        self.faiss.omp_set_num_threads(self.before)
