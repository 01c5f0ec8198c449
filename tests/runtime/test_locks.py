"""Locks and lazy values: nothing is held that a forked child would wait for."""

from __future__ import annotations

import os
import threading

import numba
import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock

import mercer
from mercer.runtime.lazy import lazy
from mercer.runtime.locks import Lock

fork = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def in_child(work, seconds=30):
    """Do something in a forked child; return whether it came to its end in time."""
    child = os.fork()
    if child == 0:
        threading.Timer(seconds, os._exit, [1]).start()
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class Slow:
    """Has a value that takes until it is allowed to end."""

    def __init__(self):
        self.begun, self.go_on = threading.Event(), threading.Event()

    @lazy
    def value(self):
        self.begun.set()
        assert self.go_on.wait(30)
        return 7


@fork
def test_a_child_forked_while_a_value_is_computed():
    slow, other = Slow(), Slow()
    other.go_on.set()
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    assert slow.begun.wait(30)
    assert other.value == 7  # of another object: nobody waits
    third = Slow()
    third.go_on.set()
    assert in_child(lambda: third.value)
    slow.go_on.set()
    thread.join()
    assert slow.value == 7


@fork
def test_a_child_forked_while_a_lock_is_held():
    lock, held, go_on = Lock(), threading.Event(), threading.Event()

    def hold():
        with lock.held():
            held.set()
            assert go_on.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(30)

    def enter():
        with lock.held():
            pass

    assert in_child(enter)
    go_on.set()
    thread.join()


@fork
def test_a_fork_inside_of_a_lock():
    lock = Lock()
    with lock.held():
        child = os.fork()
    if child == 0:
        with lock.held():
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@fork
def test_children_forked_beside_searches_can_search():
    X = np.random.default_rng(0).dirichlet(np.ones(8), 200).astype(np.float32)
    index = mercer.exact("chi2", n_landmarks=20, n_components=4).fit(X).add(X)
    index.search(X[:5], 2, n_jobs=1)  # numba's compiler has a lock of its own
    done = threading.Event()

    def search():
        while not done.is_set():
            index.empty().add(X).search(X[:5], 2, n_jobs=1)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    fine = [in_child(lambda: index.empty().add(X).search(X[:5], 2, n_jobs=1)) for _ in range(12)]
    done.set()
    for thread in threads:
        thread.join()
    assert all(fine)


@fork
def test_a_child_forked_during_a_compilation_can_compile():
    """The fork waits until numba's lock is free."""
    compiling, forking = threading.Event(), threading.Event()
    os.register_at_fork(before=forking.set)  # before what was registered earlier

    def compile_for_a_while():
        with global_compiler_lock:
            compiling.set()
            assert forking.wait(30)
            numba.njit(lambda x: np.sort(x).sum())(np.ones(3))  # takes much longer than a fork

    thread = threading.Thread(target=compile_for_a_while)
    thread.start()
    assert compiling.wait(30)
    assert in_child(lambda: numba.njit(lambda x: x + 1)(1), seconds=15)
    thread.join()


def test_lazy_values_are_computed_once():
    slow = Slow()
    slow.go_on.set()
    assert (slow.value, slow.value) == (7, 7)
    assert isinstance(Slow.value, lazy)
