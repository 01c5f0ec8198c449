"""What a search may take: lists of candidates, places of an answer."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest

import mercer
from mercer import evaluate, kernels
from mercer.index import searching
from mercer.search import bounds

rng = np.random.default_rng(0)
X = rng.dirichlet(np.ones(16), 6000).astype(np.float32)
Q = rng.dirichlet(np.ones(16), 40).astype(np.float32)


@pytest.fixture(scope="module")
def index():
    """Few components: bounds are weak, and most rows are candidates."""
    return mercer.exact("chi2", n_landmarks=4, n_components=2).fit(X).add(X)


def test_lists_of_candidates_are_bounded(index, monkeypatch):
    expected = index.search(Q, 5)
    monkeypatch.setattr(bounds, "LISTED", 40 * 50)  # 50 for each query
    widths = []
    reaching = bounds.BoundScan.reaching

    def watched(*args, **kwargs):
        found = reaching(*args, **kwargs)
        widths.append(found.rows.shape[1])
        return found

    monkeypatch.setattr(bounds.BoundScan, "reaching", watched)
    found = index.search(Q, 5, n_jobs=1)
    assert max(widths) <= 50
    np.testing.assert_array_equal(found.ids, expected.ids)
    assert found.exact.all()


def test_all_candidates_of_few_queries_are_listed(index, monkeypatch):
    """`within`, and kernels in Python, give nothing up: fewer queries are asked at a time."""
    expected = [found.ids for found in index.within(Q, 0.2)]
    monkeypatch.setattr(searching, "LISTED", 6000 * 3)
    asked = []
    reaching = bounds.BoundScan.reaching

    def watched(self, rows, Zq, *args, **kwargs):
        asked.append(len(Zq))
        return reaching(self, rows, Zq, *args, **kwargs)

    monkeypatch.setattr(bounds.BoundScan, "reaching", watched)
    found = index.within(Q, 0.2)
    assert max(asked) <= 3
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.ids, other)
    asked.clear()
    slow = mercer.exact(kernels.from_gram(kernels.Chi2(), psd=True), n_landmarks=4)
    slow.fit(X[:50]).add(X[:50]).search(Q[:8], 2)
    assert asked


@pytest.mark.parametrize("k", [10**4, 10**9, 10**30])
def test_more_places_than_items_are_cut(k):
    few = mercer.brute("chi2").fit(X[:20]).add(X[:20])
    began = time.perf_counter()
    for found in (few.search(Q, k), evaluate.ground_truth("chi2", X[:20], Q, k),
                  mercer.inverted("chi2").fit(X[:20]).add(X[:20]).search(Q, k)):  # fmt: skip
        assert found.ids.shape == (40, 20)
        assert (np.sort(found.ids, axis=1) == np.arange(20)).all()
    assert time.perf_counter() - began < 30
    assert few.search(Q, 30).ids.shape == (40, 30)  # as many places as were asked for


def test_brute_force_takes_little_beside_the_items():
    index = mercer.brute("chi2").fit(X).add(X)
    index.search(Q, 5)
    tracemalloc.start()
    index.search(Q, 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * X.nbytes
