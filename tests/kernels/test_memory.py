"""Calls of Python functions: no pair twice, the same results, bounded, said beforehand."""

from __future__ import annotations

import pickle
import threading
import warnings

import numpy as np
import pytest
from zoo import WORDS, shared_letters

import mercer
from benchmarks.calls import METHODS, calls, texts
from mercer import kernels
from mercer.errors import KernelError, SlowKernelWarning
from mercer.kernels import announcing, memory
from mercer.kernels.memory import Memory, afresh, clock, remembering


def overlap(x, y):
    return len(x & y) / (len(x) * len(y)) ** 0.5


@pytest.mark.parametrize("n", [500, 2000])
@pytest.mark.parametrize("method", METHODS)
def test_fit_and_add_call_a_function_for_each_pair_once_at_most(method, n):
    found, _ = calls(method, n)
    assert found <= n * (n - 1) // 2 + n


def test_batches_are_compared_with_landmarks_once():
    X, pairs = texts(300), []
    kernel = kernels.from_function(lambda x, y: pairs.append((id(x), id(y))) or overlap(x, y), True)
    index = mercer.exact(kernel, n_landmarks=50).fit(X)
    for first in range(0, 300, 100):
        index.add(X[first : first + 100])
    both = {frozenset(pair) for pair in pairs}
    assert (
        len(pairs) <= len(both) + 50 + 9 + 16
    )  # k(x, x) of landmarks; what shows that it is symmetric


@pytest.mark.parametrize("method", ["exact", "klsh", "inverted"])
def test_answers_are_the_same_as_without_memory(method, monkeypatch):
    X, Q = texts(1200), texts(1230)[1200:]

    def answered():
        kernel = kernels.from_function(overlap, psd=True)
        index = getattr(mercer, method)(kernel).fit(X).add(X)
        return index.search(Q, 5)

    found = answered()
    monkeypatch.setattr(memory, "ITEMS", 0)
    expected = answered()
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.scores, expected.scores)
    np.testing.assert_array_equal(found.evaluations, expected.evaluations)


ROWS = np.random.default_rng(0).random((30, 4))
KINDS = {
    "strings": (WORDS[:30], shared_letters),
    "rows": (ROWS, lambda x, y: float(x @ y)),
    "short numbers": ((99 * ROWS).astype(np.uint8), lambda x, y: float(x @ y)),
    "arrays in a list": (list(ROWS), lambda x, y: float(x @ y)),
    "numbers": (ROWS[:, 0], lambda x, y: float(x * y)),
    "objects": (texts(30), overlap),
}


@pytest.mark.parametrize("kind", KINDS)
def test_items_of_any_kind_are_known_again(kind):
    X, function = KINDS[kind]
    seen = []
    kernel = kernels.from_function(lambda x, y: seen.append(1) or function(x, y))
    expected = kernels.from_function(function)(X, dtype=np.float64)
    P = kernel.prepare(X)
    with remembering(Memory()):
        seen.clear()
        half = kernel(P[:20], P[10:], dtype=np.float64)
        whole = kernel(P, dtype=np.float64)
        np.testing.assert_array_equal(kernel.score(P, P, np.arange(30)[:, None])[:, 0],
                                      kernel.diag(P))  # fmt: skip
    different = len({np.asarray(x).tobytes() if kind != "objects" else id(x) for x in X})
    assert len(seen) <= different * (different + 1) // 2 + len(X)  # k(x, x) once more
    np.testing.assert_array_equal(whole, expected)
    np.testing.assert_array_equal(half, expected[:20, 10:])


def test_parts_of_a_sum_are_remembered_apart():
    both = kernels.from_function(lambda x, y: 1.0) + 3 * kernels.from_function(lambda x, y: 2.0)
    with remembering(Memory()):
        np.testing.assert_array_equal(both(["a", "b"]), np.full((2, 2), 7))
        np.testing.assert_array_equal(both(["b", "a"]), np.full((2, 2), 7))


def test_what_does_not_fit_is_called_for_again(monkeypatch):
    monkeypatch.setattr(memory, "ITEMS", 10)
    seen = []
    kernel = kernels.from_function(lambda x, y: seen.append(1) or shared_letters(x, y))
    X = [f"{i:03}" for i in range(30)]
    expected = kernels.from_function(shared_letters)(X)
    with remembering(Memory()) as kept:
        for _ in range(2):
            np.testing.assert_array_equal(kernel(X, X[:]), expected)
        assert len(kept.table(kernel)._values) <= 2 * 10 * 11
    assert len(seen) >= 2 * (900 - 100)


def test_nothing_is_remembered_outside_of_an_index_or_by_another_thread():
    seen = []
    kernel = kernels.from_function(lambda x, y: seen.append(1) or 1.0)
    P = kernel.prepare(["a", "b"])

    def count():
        seen.clear()
        kernel(P, P[:])
        return len(seen)

    assert [count(), count()] == [4, 4]
    with remembering(Memory()):
        assert [count(), count()] == [3, 0]
        with afresh():
            assert count() == 4
        other = []
        thread = threading.Thread(target=lambda: other.append(count()))
        thread.start()
        thread.join()
        assert other == [4]


def test_many_threads_share_a_memory():
    X = [f"{i:03}" for i in range(80)]
    expected = kernels.from_function(shared_letters)(X)
    kernel, kept, found = kernels.from_function(shared_letters), Memory(), []
    P = kernel.prepare(X)

    def work():
        with remembering(kept):
            found.append(kernel(P, P[:]))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert all(np.array_equal(one, expected) for one in found)


def test_a_function_that_is_not_symmetric_is_still_found_out():
    X = texts(200)
    places = {id(x): i for i, x in enumerate(X)}

    def uneven(x, y):
        i, j = places[id(x)], places[id(y)]
        return overlap(x, y) + (0.01 if i > j > 2 else 0)

    with pytest.raises(KernelError, match="is not symmetric"):
        mercer.exact(kernels.from_function(uneven, psd=True)).fit(X)


def test_time_goes_on_as_if_nothing_were_remembered():
    kernel = kernels.from_function(lambda x, y: sum(range(20_000)) * 0.0 + 1)
    P = kernel.prepare(["a", "b", "c", "d"])
    with remembering(Memory()):
        kernel(P)
        started = clock()
        kernel(P)
        assert clock() - started >= 10 * kernel.call_seconds * 0.99
        assert kernel.normalized().call_seconds == kernel.call_seconds
    assert kernels.Chi2().call_seconds == 0


def test_a_memory_is_not_sent_to_other_processes():
    X = texts(50)
    index = mercer.exact(kernels.from_function(overlap, psd=True)).fit(X)
    assert index._state.memory._tables
    copy = pickle.loads(pickle.dumps(index))
    assert not copy._state.memory._tables
    assert not index.add(X)._state.memory._tables
    np.testing.assert_array_equal(copy.add(X).search(X[:9], 3).ids, index.search(X[:9], 3).ids)


def slow(kernel, seconds):
    """Let a kernel believe that its calls take so long."""
    kernel._tried, kernel._seconds = True, seconds
    kernel._called = lambda xs, ys: np.array([overlap(x, y) for x, y in zip(xs, ys, strict=True)])
    return kernel


def test_long_work_is_announced_once_and_takes_fewer_landmarks():
    X = texts(2000)
    kernel = slow(kernels.from_function(overlap, psd=True), 1e-3)
    with pytest.warns(SlowKernelWarning) as caught:
        index = mercer.exact(kernel).fit(X).add(X)
    assert len(caught) == 1
    text = str(caught[0].message)
    assert text.startswith("fit and add, 2,000 items: about 126,000 calls of from_function(overlap")
    assert "1 ms each: about 2.1 minutes" in text
    assert index._known.embedding.n_landmarks_ == 64
    with pytest.warns(
        SlowKernelWarning, match=r"add, 400 items: about 25,600 calls.*about 26 seconds"
    ):
        index.add(X[:400])
    with pytest.warns(SlowKernelWarning, match=r"search, 300 queries: about 49,200 calls"):
        index.search(X[:300])


def test_what_is_asked_for_is_done_and_quick_work_is_not_announced():
    X = texts(300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = kernels.from_function(overlap, psd=True)
        assert mercer.exact(kernel).fit(X)._known.embedding.n_landmarks_ == 150
        assert mercer.exact(kernel, n_landmarks=200).fit(X)._known.embedding.n_landmarks_ == 200


def test_comparisons_that_users_ask_for_are_announced():
    X = texts(200)
    kernel = slow(kernels.from_function(overlap, psd=True), 1e-3)
    with pytest.warns(SlowKernelWarning, match="comparing 200 with 200 items: about 20,000 calls"):
        kernel(X)
    with pytest.warns(SlowKernelWarning, match="comparing 100 queries with 200 items: about 20,0"):
        mercer.evaluate.ground_truth(kernel, X, X[:100], 3)
    brute = mercer.brute(kernel).fit(X).add(X)
    with pytest.warns(SlowKernelWarning, match="search, 100 queries: about 20,000 calls") as said:
        brute.search(X[:100], 3)
    assert [one.filename for one in said] == [__file__]
    embedding = mercer.embeddings.KernelPCA(kernel, n_landmarks=60)
    with pytest.warns(SlowKernelWarning, match="comparing 200 with 60 items"):
        embedding.fit(X)
    with pytest.warns(SlowKernelWarning, match="transform, 200 items: about 12,000 calls"):
        embedding.transform(X)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (3e-6, "3 µs"),
        (0.0123, "12 ms"),
        (4.0, "4 seconds"),
        (120, "2 minutes"),
        (9000, "2.5 hours"),
    ],
)
def test_durations_are_said_in_fitting_units(seconds, said):
    assert announcing._duration(seconds) == said
