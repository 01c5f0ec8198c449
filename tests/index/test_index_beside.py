"""Searches beside changes, and interrupted changes: all of a change is seen, or nothing."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import mercer
from mercer import kernels
from mercer.index import recipe as recipes

rng = np.random.default_rng(0)
POOL = rng.dirichlet(np.ones(12), 97).astype(np.float32)
CHI2 = kernels.Chi2()
Q = rng.dirichlet(np.ones(12), 6).astype(np.float32)
VALUES = CHI2(Q, POOL, dtype=np.float64)
METHODS = {
    "exact": lambda: mercer.exact("chi2", n_landmarks=20, n_components=6),
    "brute": lambda: mercer.brute("chi2"),
    "klsh": lambda: mercer.klsh("chi2", n_bits=32, n_landmarks=20, subset=5),
    "inverted": lambda: mercer.inverted("chi2"),
}


def items_of(ids):
    """Return the item that each id stands for."""
    return POOL[np.asarray(ids) % len(POOL)]


def require_own_scores(found):
    """Every id has the score of the item it stands for: rows were named by their own segments."""
    there = found.ids >= 0
    expected = np.take_along_axis(VALUES, found.ids % len(POOL), 1)
    np.testing.assert_allclose(found.scores[there], expected[there], rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_searches_beside_changes_name_what_they_found(method):
    index = METHODS[method]().fit(POOL).add(items_of(range(300)), ids=np.arange(300))
    done, failures = threading.Event(), []

    def search():
        try:
            while not done.is_set():
                require_own_scores(index.search(Q, 5, n_jobs=1))
                require_own_scores(index.search(Q, 3, where=[0, 1, 2], n_jobs=1))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for turn in range(3, 40):  # ids 0, 1 and 2 stay
        index.remove(np.arange(3, 300)[turn % 3 :: 7][:20])
        index.add(items_of(range(300 * turn, 300 * turn + 20)), ids=300 * turn + np.arange(20))
        if turn % 5 == 0:
            index.compact()
        gone = np.setdiff1d(np.arange(3, 300), index.ids)
        index.add(items_of(gone), ids=gone)
    done.set()
    for thread in threads:
        thread.join()
    assert failures == []


def test_changes_of_several_threads_wait_for_each_other():
    index = METHODS["brute"]().fit(POOL)
    blocks = [np.arange(10 * i, 10 * i + 10) for i in range(40)]

    def add(some):
        for ids in some:
            index.add(items_of(ids), ids=ids)

    threads = [threading.Thread(target=add, args=(blocks[i::4],)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(index.ids.tolist()) == list(range(400))


@pytest.mark.parametrize("method", METHODS)
def test_an_interrupted_fit_changes_nothing(method, monkeypatch):
    index = METHODS[method]().fit(POOL[:40]).add(POOL)
    before = index.search(Q, 4)
    steps = ["_spread"] if method in ("klsh", "inverted") else []
    for owner, name in [(type(index.embedding), "fit"), (recipes, "warn_of_rounding"),
                        *((recipes, step) for step in steps)]:  # fmt: skip
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, interrupt)
            with pytest.raises(KeyboardInterrupt):
                index.fit(POOL[50:], forget=True)
        after = index.search(Q, 4)
        np.testing.assert_array_equal(before.ids, after.ids)
        np.testing.assert_array_equal(before.scores, after.scores)


def interrupt(*args, **kwargs):
    raise KeyboardInterrupt


@pytest.mark.parametrize("verb", ["add", "compact"])
def test_an_interrupted_change_changes_nothing(verb, monkeypatch):
    index = METHODS["exact"]().fit(POOL).add(POOL[:50]).remove([3])
    with monkeypatch.context() as patch:
        patch.setattr(recipes.Recipe, "build" if verb == "add" else "join", interrupt)
        with pytest.raises(KeyboardInterrupt):
            index.add(POOL[50:]) if verb == "add" else index.compact()
    assert index.ids.tolist() == [*range(3), *range(4, 50)]


# ---- ids and memory of their own


def test_ids_of_removed_items_are_not_given_out_again(tmp_path):
    index = METHODS["brute"]().fit(POOL).add(POOL[:10]).remove([8, 9]).compact()
    assert index.add(POOL[:2]).ids.tolist() == [*range(8), 10, 11]
    index.remove([10, 11]).compact().save(tmp_path)
    assert mercer.load(tmp_path).add(POOL[:1]).ids.tolist() == [*range(8), 12]
    index.remove(np.arange(8))
    assert index.add(POOL[:1]).ids.tolist() == [12]


@pytest.mark.parametrize("method", METHODS)
def test_a_buffer_that_is_used_again(method):
    index = METHODS[method]().fit(POOL)
    buffer = np.empty((10, 12), np.float32)
    for start in range(0, 90, 10):
        buffer[:] = POOL[start : start + 10]
        index.add(buffer)
    buffer[:] = 0
    found = index.search(POOL[:90:7], 1)
    assert found.ids[:, 0].tolist() == list(range(0, 90, 7))
    np.testing.assert_allclose(found.scores[:, 0], 1, rtol=1e-5)


def test_arrays_that_cannot_change_are_not_copied():
    fixed = POOL.copy()
    fixed.flags.writeable = False
    index = METHODS["brute"]().fit(fixed).add(fixed)
    assert np.shares_memory(index.segments_.members[0].items.kept, fixed)
    copied = METHODS["brute"]().fit(POOL).add(POOL)
    assert not np.shares_memory(copied.segments_.members[0].items.kept, POOL)


def test_sparse_items_and_sets_are_copied_too():
    import scipy.sparse

    sparse = scipy.sparse.csr_array(POOL)
    index = METHODS["brute"]().fit(sparse).add(sparse)
    sparse.data[:] = 0
    assert index.search(scipy.sparse.csr_array(POOL[:3]), 1).ids[:, 0].tolist() == [0, 1, 2]
    sets = mercer.Ragged(POOL[:8].copy(), [0, 2, 4, 6, 8])
    kernel = kernels.SumMatch(kernels.RBF(gamma=2.0))
    held = mercer.brute(kernel).fit(sets).add(sets)
    before = held.search(sets, 1).scores.copy()
    sets.values[:] = 1
    assert (held.search(mercer.Ragged(POOL[:8], [0, 2, 4, 6, 8]), 1).scores == before).all()
