"""Proofs in the fastest manner: the answers are the same in all."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import mercer
from mercer import kernels
from mercer.index import manner, state
from mercer.index.manner import Manner, fastest

RNG = np.random.default_rng(0)
CUBE = RNG.random((4000, 32)).astype(np.float32)  # bounds exclude nothing


def curved(n, width=100):
    """Return histograms on a surface of few dimensions: bounds exclude nearly everything."""
    low = RNG.normal(size=(n, 3)) @ RNG.normal(size=(3, width)) / 2
    X = np.exp(low)
    return (X / X.sum(axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(autouse=True)
def _measured(monkeypatch):
    monkeypatch.setattr(state, "fastest", fastest)


@pytest.fixture
def slow_bounds(monkeypatch):
    """Let the stopwatch find that comparing everything is faster."""

    def times(manners, *args):
        measured(manners, *args)
        return [1.0 if one.everything else 2.0 for one in manners]

    measured = manner._times
    monkeypatch.setattr(manner, "_times", times)


def test_bounds_must_be_faster_by_more_than_chance(monkeypatch):
    for times, expected in (([1.0, 1.1, 2.0], "all items"), ([1.0, 1.3, 2.0], "by bounds")):
        monkeypatch.setattr(manner, "_times", lambda manners, *_, t=times: t[: len(manners)])
        index = mercer.exact(kernels.RBF(gamma=2.0)).fit(CUBE).add(CUBE)
        assert index.info()["manner"].startswith(expected)


def timed(monkeypatch, *seconds):
    """Return what is found if asking takes these seconds each time, and who was asked."""
    clock = iter(np.cumsum([one for pair in seconds for one in (0, pair)]))
    order = []
    monkeypatch.setattr(manner, "clock", lambda: next(clock))
    search = SimpleNamespace(best=lambda *_, everything: order.append(everything))
    monkeypatch.setattr(manner, "Search", lambda *_: search)
    monkeypatch.setattr(manner.Manner, "of", lambda self, recipe: recipe)
    asked = [Manner(1), Manner(1, everything=True)]
    return manner._times(asked, None, None, []), order


def test_manners_take_turns(monkeypatch):
    """The least of several turns is not fooled by those that were disturbed, or came first."""
    monkeypatch.setattr(manner, "LONG", 9)
    least, order = timed(monkeypatch, 7, 5, 1, 2, 9, 2, 3, 8)
    np.testing.assert_allclose(least, [1, 2])
    assert order == [False, True] * 4


def test_one_long_turn_is_enough(monkeypatch):
    monkeypatch.setattr(manner, "LONG", 4)
    least, order = timed(monkeypatch, 7, 5)
    np.testing.assert_allclose(least, [7, 5])
    assert order == [False, True]


def test_a_manner_that_is_far_behind_is_not_asked_again(monkeypatch):
    monkeypatch.setattr(manner, "LONG", 9)
    least, order = timed(monkeypatch, 9, 5, 1, 5, 2, 3)
    np.testing.assert_allclose(least, [1, 5])
    assert order == [False, True, False, True, False, False]


def test_everything_is_compared_where_that_is_faster(slow_bounds):
    index = mercer.exact(kernels.RBF(gamma=2.0)).fit(CUBE).add(CUBE)
    assert index.info()["manner"].startswith("all items are compared")
    found = index.search(CUBE[:50], 5)
    assert found.exact.all()
    assert (found.evaluations == len(CUBE)).all()
    assert (found.landmark_evaluations == 0).all()


def test_filters_candidates_and_calibration_still_use_the_bounds(slow_bounds):
    index = mercer.exact(kernels.RBF(gamma=2.0)).fit(CUBE).add(CUBE)
    assert index.search(CUBE[:5], 5, where=np.arange(100)).evaluations.max() <= 100
    assert index.search(CUBE[:5], 5, candidates=50).evaluations.max() == 50
    index.calibrate(RNG.random((40, 32)).astype(np.float32), 0.9)
    assert not index.search(CUBE[:5], 1, relaxed=True).exact.any()


@pytest.mark.parametrize("n_head", [None, 0])
def test_the_answers_are_the_same_in_every_manner(n_head):
    X = curved(5000)
    made = mercer.exact("chi2")
    made.set_params(searcher__n_head=n_head)
    index = made.fit(X).add(X)
    brute = mercer.brute("chi2").fit(X).add(X).search(X[:100], 10)
    for one in (Manner(5000), Manner(5000, head=False), Manner(5000, everything=True)):
        index._state = replace(index._state, manner=one)
        found = index.search(X[:100], 10)
        np.testing.assert_array_equal(found.scores, brute.scores)
        assert found.exact.all()


def test_little_is_gained_by_comparing_everything_where_bounds_exclude_much():
    """20,000 values a query against a few hundred: no stopwatch is that wrong."""
    X = curved(20_000)
    index = mercer.exact("exp_chi2").fit(X).add(X)
    assert index.search(X[:50], 10).evaluations.mean() < 500
    assert index.info()["manner"].startswith("by bounds")


def test_python_kernels_are_judged_by_their_values():
    calls = []

    def cosine(x, y):
        calls.append(1)
        return float(x @ y)

    X = RNG.normal(size=(1200, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    index = mercer.exact(kernels.from_function(cosine, psd=True), n_landmarks=20).fit(X).add(X)
    assert index.info()["manner"] == "by bounds"  # four dimensions: the bounds are the values


def test_the_manner_is_saved(tmp_path, slow_bounds):
    index = mercer.exact(kernels.RBF(gamma=2.0)).fit(CUBE).add(CUBE)
    index.save(tmp_path / "index")
    assert mercer.load(tmp_path / "index").info()["manner"] == index.info()["manner"]
