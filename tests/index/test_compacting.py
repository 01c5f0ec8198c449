"""While segments are joined, others search, add, remove and update; nothing of that is undone."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import mercer
from mercer import kernels
from mercer.index import recipe

X = np.random.default_rng(0).dirichlet(np.full(8, 0.5), 300).astype(np.float32)
Q = X[::30]
VALUES = kernels.Chi2()(Q, X, dtype=np.float64)


@pytest.fixture(params=["in memory", "open"])
def index(request, tmp_path):
    made = mercer.exact("chi2", n_landmarks=30, n_components=8).fit(X).add(X[:100]).add(X[100:110])
    made.remove([3, 4])
    if request.param == "in memory":
        yield made
        return
    made.save(tmp_path)
    with mercer.open(tmp_path) as store:
        yield store
    assert mercer.load(tmp_path).ids.tolist() == store.ids.tolist()


def meanwhile(monkeypatch, change):
    """Let another thread do something while segments are joined, and wait for it."""
    join = recipe.Recipe.join

    def joined(self, segments):
        monkeypatch.setattr(recipe.Recipe, "join", join)
        found = join(self, segments)
        thread = threading.Thread(target=change)
        thread.start()
        thread.join()
        return found

    monkeypatch.setattr(recipe.Recipe, "join", joined)


def require_right(index, rows):
    assert sorted(index.ids.tolist()) == sorted(rows)
    found = index.search(Q, 4)
    expected = -np.sort(-VALUES[:, list(rows.values())], axis=1)[:, :4]
    np.testing.assert_allclose(found.scores, expected, rtol=2e-6)
    own = [[rows[name] for name in names] for names in found.ids.tolist()]
    true = np.take_along_axis(VALUES, np.array(own), 1)
    np.testing.assert_allclose(found.scores, true, rtol=2e-6)


BEFORE = {row: row for row in range(110) if row not in (3, 4)}


def without(rows, gone):
    return {name: row for name, row in rows.items() if name not in gone}


@pytest.mark.parametrize(
    "change, rows",
    [
        (lambda index: None, BEFORE),
        (lambda index: index.remove([0, 99, 105]), without(BEFORE, [0, 99, 105])),
        (lambda index: index.remove(range(100, 110)), without(BEFORE, range(100, 110))),
        (lambda index: index.add(X[110:150]), BEFORE | {row: row for row in range(110, 150)}),
        (lambda index: index.add(X[110:150]).remove([5, 111]),
         without(BEFORE | {row: row for row in range(110, 150)}, [5, 111])),
        (lambda index: index.update(X[200:202], [7, 101]), BEFORE | {7: 200, 101: 201}),
        (lambda index: index.remove([*BEFORE]).add(X[:20], range(20)), {i: i for i in range(20)}),
    ],
    ids=["nothing", "remove", "remove a segment", "add", "add and remove", "update", "all anew"],
)  # fmt: skip
def test_what_is_done_meanwhile_is_not_undone(index, monkeypatch, change, rows):
    searched = []
    meanwhile(monkeypatch, lambda: (change(index), searched.append(index.search(Q, 2))))
    index.compact()
    assert len(searched) == 1
    require_right(index, rows)
    first = index.segments_.members[0]
    assert len(index.segments_.members) <= 2
    assert len(first.ids) in (108, len(rows))
    require_right(index.compact(), rows)
    assert len(index.segments_.members) == 1
    assert not index.segments_.members[0].removed.any()


def test_an_index_that_learns_anew_meanwhile_is_joined_as_it_is_then(index, monkeypatch):
    meanwhile(monkeypatch, lambda: index.fit(X[:150], forget=True).add(X[:60]).add(X[60:70]))
    index.compact()
    require_right(index, {i: i for i in range(70)})
    assert len(index.segments_.members) == 1


def test_an_error_while_joining_leaves_the_index_as_it_was(index, monkeypatch):
    def fail(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(recipe.Recipe, "join", fail)
        with pytest.raises(KeyboardInterrupt):
            index.compact()
    require_right(index, BEFORE)
    index.add(X[110:300])
    assert len(index.segments_.members) == 1  # segments are joined again as they grow


def test_two_compactions_at_once(index, monkeypatch):
    second = threading.Thread(target=index.compact)
    meanwhile(monkeypatch, second.start)
    index.compact()
    second.join()
    require_right(index, BEFORE)


def test_threads_that_search_and_change_at_once(index):
    failures, stop = [], threading.Event()

    def search():
        try:
            while not stop.is_set():
                found = index.search(Q, 3, n_jobs=1)
                expected = np.take_along_axis(VALUES, found.ids % 300, 1)
                np.testing.assert_allclose(found.scores, expected, rtol=1e-5)
        except BaseException as error:
            failures.append(error)

    def compact():
        try:
            while not stop.is_set():
                index.compact()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=target) for target in (search, search, compact)]
    for thread in threads:
        thread.start()
    rng, expected = np.random.default_rng(0), dict(BEFORE)
    for turn in range(1, 40):
        rows = rng.integers(0, 300, 6)
        names = rows + 300 * turn
        names, places = np.unique(names, return_index=True)
        index.add(X[rows[places]], ids=names)
        expected |= dict(zip(names.tolist(), rows[places].tolist(), strict=True))
        gone = rng.choice([*expected], 5, replace=False).tolist()
        index.remove(gone)
        expected = without(expected, gone)
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []
    require_right(index, expected)
