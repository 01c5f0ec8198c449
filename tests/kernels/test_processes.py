"""Functions that several processes call: the same values and errors, and nothing left running."""

from __future__ import annotations

import functools
import multiprocessing
import operator
import os
import signal
import subprocess
import sys
import threading
import types
from contextlib import contextmanager

import apart
import numpy as np
import pytest
from zoo import letter_difference, shared_letters

import mercer
from mercer import kernels
from mercer.errors import InputError, KernelError
from mercer.kernels import processes
from mercer.kernels.memory import Memory, remembering

X = ["ab", "b", "abc", "cd", "d", "ad", "bcd", "", "abcd", "c", "a", "bd"]


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def started(monkeypatch):
    """Let processes be used for the shortest calls; lists those of each batch."""
    monkeypatch.setattr(processes, "WORTH", 0.0)
    start, workers, batches = processes._start, processes._workers, []

    def noted(packed, started, connections):
        start(packed, started, connections)
        batches[-1].append(started[-1].pid)

    @contextmanager
    def opened(kernel):
        batches.append([])
        with workers(kernel) as connections:
            yield connections

    monkeypatch.setattr(processes, "_start", noted)
    monkeypatch.setattr(processes, "_workers", opened)
    yield batches
    assert not [pid for batch in batches for pid in batch if is_running(pid)]


def several(function, **params):
    return kernels.from_function(function, n_processes=2, **params)


def test_values_are_those_of_one_process(started):
    found = several(apart.shared)(X, X[:7], dtype=np.float64)
    np.testing.assert_array_equal(
        found, kernels.from_function(apart.shared)(X, X[:7], dtype=np.float64)
    )
    assert [len(pids) for pids in started] == [2]


def test_distances_scores_and_diagonals_too(started):
    one = kernels.from_distance(apart.difference, gamma=0.5)
    two = kernels.from_distance(apart.difference, gamma=0.5, n_processes=2)
    P, ids = two.prepare(X), np.arange(24).reshape(6, 4) % len(X)
    ids[2, 1] = -1
    np.testing.assert_array_equal(two.score(P[:6], P, ids), one.score(X[:6], X, ids))
    np.testing.assert_array_equal(two.diag(P), one.diag(X))
    assert len(started) == 2


@pytest.mark.parametrize("items", [np.arange(40.0), np.arange(10.0).reshape(10, 1), [*range(9)]])
def test_items_of_any_kind_are_sent(started, items):
    times = 2.0
    kernel = several(lambda x, y: times * float(np.sum(x * y)))
    expected = 2 * np.outer(np.ravel(items), np.ravel(items))
    np.testing.assert_array_equal(kernel(items), expected)
    assert started


def test_built_in_functions_are_sent(started):
    np.testing.assert_array_equal(several(operator.mul)([1.0, 2.0, 3.0])[2], [3, 6, 9])
    assert started


def test_classes_of_this_file_are_sent(started):
    class Text:
        def __init__(self, text):
            self.text = text

    def overlap(x, y):
        assert isinstance(x, Text)
        return len(set(x.text) & set(y.text))

    found = several(overlap)([Text(x) for x in X])
    np.testing.assert_array_equal(found, kernels.from_function(shared_letters)(X))
    assert started


def test_known_values_are_not_sent(started, monkeypatch):
    sent, packed = [], processes._Batch.packed
    monkeypatch.setattr(
        processes._Batch, "packed", lambda self, places: sent.extend(places) or packed(self, places)
    )
    kernel = several(apart.shared)
    P = kernel.prepare(X)
    with remembering(Memory()):
        half = kernel(P[:6], P)
        assert len(sent) == 6 * 7 // 2 + 6 * 6
        whole = kernel(P)
    assert len(sent) == 12 * 13 // 2
    np.testing.assert_array_equal(whole[:6], half)
    np.testing.assert_array_equal(whole, kernels.from_function(apart.shared)(X))


def test_an_index_learns_and_answers_the_same(started):
    def answered(n_processes):
        kernel = kernels.from_function(apart.shared, psd=True, n_processes=n_processes)
        return mercer.exact(kernel, n_landmarks=2).fit(X[:6]).add(X[:6]).search(["abd"], 5)

    found, expected = answered(2), answered(1)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.scores, expected.scores)
    assert started


# ---- when


def test_short_batches_stay_here(started, monkeypatch):
    monkeypatch.setattr(processes, "WORTH", 1000.0)
    assert several(apart.shared)(X).shape == (12, 12)
    monkeypatch.setattr(processes, "WORTH", 0.0)
    assert several(apart.shared)(X[:2]).shape == (2, 2)  # fewer pairs than are tried
    assert kernels.from_function(apart.shared, n_processes=1)(X).shape == (12, 12)
    assert not started


def test_minus_one_means_all_cores(monkeypatch):
    kernel = kernels.from_function(apart.shared, n_processes=-1)
    for cores, used in ((5, True), (1, False)):
        monkeypatch.setattr(processes.parallel, "cores", lambda cores=cores: cores)
        assert processes.count(kernel) == cores
        assert processes.are_worth(kernel, 100, 1.0) == used
    assert not processes.are_worth(several(apart.shared), 100, 0.009)


def test_a_process_starts_no_others():
    """Where a pool of processes runs this package, calls stay in each of its processes."""
    kernel = several(apart.shared)
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        assert not pool.apply(processes.are_worth, (kernel, 1000, 1.0))
    assert processes.are_worth(kernel, 1000, 1.0)


def test_threads_may_ask(started):
    kernel, found = several(apart.shared), []
    P = kernel.prepare(X)
    threads = [threading.Thread(target=lambda: found.append(kernel(P))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = kernels.from_function(apart.shared)(X)
    assert [np.array_equal(one, expected) for one in found] == [True, True]
    assert len(started) == 2


def test_scripts_need_no_guard(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from mercer import kernels\n"
        "from mercer.kernels import processes\n"
        "processes.WORTH = 0.0\n"
        "times = 1\n"
        "def product(x, y):\n    return times * x * y\n"
        "times = 2\n"
        "print(kernels.from_function(product, n_processes=2)([1, 2, 3]).tolist())\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == "[[2.0, 4.0, 6.0], [4.0, 8.0, 12.0], [6.0, 12.0, 18.0]]\n"
    assert done.stderr == ""


# ---- what is refused


def test_a_changed_module_is_noticed(started, monkeypatch):
    kernel = several(apart.scaled)
    assert kernel(X).shape == (12, 12)
    monkeypatch.setattr(apart, "factor", 2.0)
    with pytest.raises(KernelError, match=r"scaled: returns .* here, but .* another process\. "
                       r"Other processes import its module.*partial.*n_processes=1"):  # fmt: skip
        kernel(X)
    bound = several(functools.partial(apart.scaled_by, 2.0))
    np.testing.assert_array_equal(bound(X), kernels.from_function(apart.scaled)(X))


def test_values_of_one_process_only_are_noticed(started):
    with pytest.raises(KernelError, match=r"<lambda>: returns .* but .* in another process"):
        several(lambda x, y: float(os.getpid()))(X)


@pytest.mark.parametrize("make, function, text", [
    (kernels.from_function, apart.picky, r"picky: fails on the items 'ab(cd)?' and 'ab(cd)?': "
     r"RuntimeError: not these\. It must return a number for any two items\."),
    (kernels.from_distance, apart.negative, "negative: the distance of two items is -1"),
    (kernels.from_function, lambda x, y: "c" if x == y == "c" else 1, "fails on the items 'c' and"),
    (kernels.from_function, lambda x, y: np.nan if x == y == "c" else 1, r"X\[9\], Y\[9\].* nan"),
])  # fmt: skip
def test_errors_are_those_of_one_process(started, make, function, text):
    for n_processes in (1, 2):
        kernel = make(function, n_processes=n_processes)
        P = kernel.prepare(X)
        with pytest.raises(KernelError, match=text):
            kernel(P)
    assert len(started) == 1


def test_a_failure_in_other_processes_only_is_told(started):
    home = os.getpid()

    def homely(x, y):
        if os.getpid() != home and x == y == "c":
            raise OSError("no file")
        return 1.0

    with pytest.raises(KernelError, match="fails on the items 'c' and 'c' in another process, but "
                       "not here: OSError: no file"):  # fmt: skip
        several(homely)(X)


def test_a_process_that_ends_is_told(started, monkeypatch):
    monkeypatch.setenv("MERCER_TESTS", str(os.getpid()))
    with pytest.raises(KernelError, match="fatal: a process that called it has ended"):
        several(apart.fatal)(X)


def test_what_cannot_be_sent_is_refused_at_once():
    lock = threading.Lock()

    def locked(x, y):
        with lock:
            return 1.0

    with pytest.raises(KernelError, match=r"locked: cannot be sent to other processes: TypeError: "
                       r"cannot pickle.*holds no open files, locks.*n_processes=1"):  # fmt: skip
        several(locked)
    assert kernels.from_function(locked)(X).shape == (12, 12)


def test_items_that_cannot_be_sent_are_refused(started):
    with pytest.raises(KernelError, match=r"items such as <unlocked.* cannot be sent to other"):
        several(lambda x, y: 1.0)([threading.Lock() for _ in X])


def test_a_module_that_is_nowhere_else_is_told(started, monkeypatch):
    home = types.ModuleType("nowhere_else")
    exec("def alike(x, y):\n    return 1.0", vars(home))
    monkeypatch.setitem(sys.modules, "nowhere_else", home)
    with pytest.raises(KernelError, match=r"alike: cannot be loaded in another process: "
                       r"ModuleNotFoundError: .*'nowhere_else'\. Define it"):  # fmt: skip
        several(home.alike)(X)


@pytest.mark.parametrize("wrong", [0, -2, 1.5, True, None, "2"])
def test_numbers_of_processes_are_checked(wrong):
    with pytest.raises(InputError, match=r"FunctionKernel: n_processes is .*-1 for all cores"):
        kernels.from_function(apart.shared, n_processes=wrong)


def test_an_interruption_leaves_nothing_running(started, monkeypatch):
    def interrupted(self, places, done):
        raise KeyboardInterrupt

    monkeypatch.setattr(processes._Batch, "take", interrupted)
    with pytest.raises(KeyboardInterrupt):
        several(apart.shared)(X)
    assert len(started) == 1


def test_a_function_that_handles_signals_is_ended(started, monkeypatch):
    home = os.getpid()

    def deaf(x, y):
        if os.getpid() != home:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        return 1.0

    monkeypatch.setattr(processes, "PATIENCE", 0.01)
    assert several(deaf)(X).all()
    assert started


# ---- a parameter as others


def test_it_is_a_parameter_as_others():
    kernel = kernels.from_distance(letter_difference, gamma=2.0, n_processes=3)
    assert repr(kernel) == "from_distance(letter_difference, gamma=2.0, n_processes=3)"
    assert eval(repr(kernel), vars(kernels) | {"letter_difference": letter_difference}) == kernel
    assert kernel.get_params()["n_processes"] == 3
    assert kernel != kernels.from_distance(letter_difference, gamma=2.0)
    assert repr(kernel.set_params(n_processes=1)) == "from_distance(letter_difference, gamma=2.0)"
    assert kernel == kernels.from_distance(letter_difference, gamma=2.0)
    assert kernel.tile_shape == kernels.from_function(shared_letters).tile_shape
