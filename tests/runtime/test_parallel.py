"""Threads: as many as asked, errors as they are, BLAS put back, and safe after fork."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits
from zoo import HISTOGRAMS, VECTORS

import mercer
from mercer import evaluate, kernels
from mercer.embeddings import KernelPCA
from mercer.errors import InputError
from mercer.learn import ITML
from mercer.runtime import parallel


def blas_threads():
    """Return the threads of every BLAS that numpy or scipy use.

    That of faiss follows OpenMP, a setting of each thread, and is held where faiss is called.
    """
    blas = [lib for lib in threadpool_info() if lib["user_api"] == "blas"]
    return [lib["num_threads"] for lib in blas if lib["threading_layer"] != "openmp"]


def test_results_come_in_order():
    assert parallel.run(lambda i: i * i, [(i,) for i in range(50)], n_jobs=4) == [
        i * i for i in range(50)
    ]


def test_threads_are_used_and_gone_afterwards():
    barrier = threading.Barrier(3, timeout=30)
    before = threading.active_count()
    parallel.run(lambda: barrier.wait(), [()] * 3, n_jobs=3)  # passes only if all three meet
    assert threading.active_count() == before


def test_the_first_error_is_raised_and_stops_the_rest(monkeypatch):
    stopped = threading.Event()

    class Pool(parallel.ThreadPoolExecutor):
        def shutdown(self, wait=True, *, cancel_futures=False):
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            stopped.set()
            super().shutdown(wait=wait)

    monkeypatch.setattr(parallel, "ThreadPoolExecutor", Pool)
    done = []

    def work(i):
        if i == 0:
            raise ZeroDivisionError("zero")
        assert stopped.wait(30)
        done.append(i)

    with pytest.raises(ZeroDivisionError, match="zero"):
        parallel.run(work, [(i,) for i in range(100)], n_jobs=2)
    assert len(done) <= 2


def test_of_several_errors_that_of_the_first_task_is_raised():
    second_failed = threading.Event()

    def work(i):
        if i == 0:
            assert second_failed.wait(30)
            raise KeyError("first")
        second_failed.set()
        raise ValueError("second")

    with pytest.raises(KeyError, match="first"):
        parallel.run(work, [(0,), (1,)], n_jobs=2)


def test_blas_has_one_thread_inside_and_its_own_outside():
    before = blas_threads()
    inside = parallel.run(blas_threads, [()] * 2, n_jobs=2)
    assert all(count == 1 for counts in inside for count in counts)
    assert blas_threads() == before


def test_overlapping_calls_do_not_leave_the_limit_behind():
    before = blas_threads()
    first_is_in, second_is_done = threading.Event(), threading.Event()

    def first():
        first_is_in.set()
        assert second_is_done.wait(30)

    outer = threading.Thread(target=parallel.run, args=(first, [()]))
    outer.start()
    assert first_is_in.wait(30)
    parallel.run(int, [()])
    second_is_done.set()
    outer.join(30)
    assert blas_threads() == before


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True])
def test_strange_numbers_of_threads_are_refused(n_jobs):
    with pytest.raises(InputError, match="Pass a number of threads"):
        parallel.count(n_jobs)


def test_numbers_of_threads(monkeypatch):
    cores = len(os.sched_getaffinity(0))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert parallel.count() == cores
    assert parallel.count(-1) == cores
    assert parallel.count(-100) == 1
    assert parallel.count(np.int64(3)) == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert parallel.count() == 7
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert parallel.count() == cores


def test_the_answer_does_not_depend_on_threads():
    for kernel in (kernels.Chi2(), kernels.RBF(gamma=0.5)):
        one = evaluate.ground_truth(kernel, HISTOGRAMS, HISTOGRAMS, 7, n_jobs=1)
        five = evaluate.ground_truth(kernel, HISTOGRAMS, HISTOGRAMS, 7, n_jobs=5)
        np.testing.assert_array_equal(one.ids, five.ids)
        np.testing.assert_array_equal(one.scores, five.scores)


def _in_child(queue, expected):
    found = kernels.Linear()(VECTORS, VECTORS.copy(), n_jobs=2)
    queue.put((np.array_equal(found, expected), blas_threads()))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_safe_in_a_forked_child():
    """The parent has used threads and BLAS before; the child uses them again."""
    expected = kernels.Linear()(VECTORS, VECTORS.copy(), n_jobs=2)
    outside = blas_threads()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(queue, expected))
    child.start()
    same, counts = queue.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0
    assert same
    assert counts == outside


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_forked_in_the_middle_of_work_is_free():
    context = multiprocessing.get_context("fork")
    expected = kernels.Linear()(VECTORS, VECTORS.copy(), n_jobs=1)
    outside = blas_threads()

    def fork_inside():
        queue = context.Queue()
        child = context.Process(target=_in_child, args=(queue, expected))
        child.start()
        answer = queue.get(timeout=60)
        child.join(60)
        return answer

    [(same, counts)] = parallel.run(fork_inside, [()])
    assert same
    assert counts == outside


EVENTS = range(60)  # more than happen in what enters and leaves the limit


@pytest.mark.parametrize("event", EVENTS)
def test_an_interruption_anywhere_leaves_blas_as_it_was(event):
    """Ctrl-C where the interpreter looks for signals in the limit's own code: around calls."""
    before, count = blas_threads(), iter(range(10_000))
    codes = {one.__code__ for one in (parallel._BlasLimit.enter, parallel._BlasLimit.leave)}

    def interrupt(frame, what, _):
        inside = frame.f_code in codes or (what == "return" and frame.f_back.f_code in codes)
        if inside and what != "c_call" and next(count) == event:
            raise KeyboardInterrupt

    kept = None  # with its traceback, as an interactive session keeps it
    sys.setprofile(interrupt)
    try:
        parallel.run(int, [()])
    except KeyboardInterrupt as error:
        kept = error
    finally:
        sys.setprofile(None)
    assert blas_threads() == before
    assert_limit_works(before)
    del kept


def assert_limit_works(before):
    """No lock is held, and the next call finds the limit as it should be."""
    inside = []
    thread = threading.Thread(target=lambda: inside.append(parallel.run(blas_threads, [()])))
    thread.start()
    thread.join(30)
    assert inside == [[[1] * len(before)]]
    assert blas_threads() == before


def test_signals_leave_blas_as_it_was():
    """Real ones, at many moments of many calls."""
    before, interrupted = blas_threads(), 0
    parallel.run(int, [()])  # looks for libraries, once
    old = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for i in range(300):
            try:
                signal.setitimer(signal.ITIMER_REAL, (i % 30 + 1) * 1e-5)
                for _ in range(100_000):  # until the signal comes, on a busy machine too
                    parallel.run(int, [()])
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupted += 1
                assert blas_threads() == before
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert interrupted > 290  # Python drops one that falls into a finaliser
    assert_limit_works(before)


LEARNERS = {
    "exact": lambda: mercer.exact("chi2", n_landmarks=60).fit(HISTOGRAMS),
    "klsh": lambda: mercer.klsh("chi2", n_bits=32, n_landmarks=60, subset=10).fit(HISTOGRAMS),
    "kpca_lsh": lambda: mercer.kpca_lsh("chi2", n_bits=32, n_landmarks=60).fit(HISTOGRAMS),
    "embedding": lambda: KernelPCA("chi2", n_landmarks=60).fit(HISTOGRAMS),
    "itml": lambda: ITML(kernel="chi2").fit(HISTOGRAMS, np.arange(len(HISTOGRAMS)) % 3),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_linear_algebra_of_fit_runs_on_one_thread(name, monkeypatch):
    """Threads of LAPACK wait at full speed: they cost others their cores and gain nothing here."""
    seen = []

    def watched(function):
        def call(*args, **kwargs):
            seen.append(blas_threads())
            return function(*args, **kwargs)

        return call

    for name_of in ("eigh", "qr", "svd", "eigvalsh"):
        monkeypatch.setattr(np.linalg, name_of, watched(getattr(np.linalg, name_of)))
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        LEARNERS[name]()
        assert blas_threads() == before
    assert seen
    assert all(set(threads) == {1} for threads in seen)
