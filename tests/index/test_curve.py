"""What is known of the recall: by counting, by linear search, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.errors import StoreError
from mercer.index.curve import NEVER, Curve, lower_bound


def drawn(seed, n_efforts=3, n_queries=20, n_true=12, k=8, depth=40):
    """Return a curve of random ranks: more effort finds a true item no later."""
    rng = np.random.default_rng(seed)
    ranks = rng.integers(1, 2 * depth, (n_efforts, n_queries, n_true))
    ranks = np.where(ranks > depth, NEVER, ranks)
    ranks = np.minimum.accumulate(ranks, axis=0).astype(np.uint16)
    counted = np.tile(np.arange(1, k + 1), (n_queries, 1)).astype(np.uint16)
    counted[:, 2] = counted[:, 3]  # the third and the fourth tie
    seconds = np.append(np.arange(1, n_efforts + 1) * 1e-4, [1e-6, 1e-2])
    efforts = 2 ** np.arange(n_efforts)
    return Curve(efforts, np.full(n_efforts, depth), ranks, counted, seconds, 1000, False)


def counted_by_hand(curve, k, candidates, level):
    shares = []
    for query in range(curve.n_queries):
        n_counted = int(curve.counted[query, k - 1])
        hits = sum(int(r) <= candidates for r in curve.ranks[level, query, :n_counted])
        shares.append(min(hits, k) / k)
    return np.mean(shares)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 40), st.integers(0, 2))
def test_recall_is_the_share_of_true_items_within_reach(seed, k, candidates, level):
    curve = drawn(seed)
    expected = counted_by_hand(curve, k, candidates, level)
    assert curve.recall(k, candidates, int(curve.efforts[level])) == pytest.approx(expected)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 8), st.floats(0.05, 0.9), st.booleans())
def test_the_setting_is_the_cheapest_that_reaches_the_recall(seed, k, recall, sure):
    curve = drawn(seed)
    found = curve.setting(k, recall, sure)
    good = []
    for level, effort in enumerate(curve.efforts.tolist()):
        for candidates in range(min(k, 40), 41):
            shares = curve.shares(k, candidates, level)
            if (lower_bound(shares) if sure else shares.mean()) >= recall:
                seconds = curve.seconds[level] + candidates * curve.seconds[-2]
                good.append(seconds if sure else effort * candidates)
                break
    if sure:
        good.append(curve.seconds[-1])  # to compare everything
    cost = found.seconds if sure else (found.effort or 1) * (found.candidates or 1)
    if good:
        assert cost == pytest.approx(min(good))
    else:
        largest = max(curve.recall(k, 40, int(effort)) for effort in curve.efforts)
        assert found.recall == pytest.approx(largest, abs=1e-3)


def test_more_than_was_measured_is_not_known():
    curve = drawn(0)
    assert curve.recall(9, 30, None) is None
    assert curve.largest_k == 8


@pytest.mark.parametrize("p", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("n", [32, 100])
def test_the_lower_bound_is_rarely_too_high(p, n):
    """Shares of ten items each: at most 1 % above the truth, and chance (4 standard errors)."""
    rng = np.random.default_rng(0)
    trials = 4000
    too_high = sum(lower_bound(rng.binomial(10, p, n) / 10) > p for _ in range(trials))
    assert too_high / trials < 0.01 + 4 * np.sqrt(0.01 * 0.99 / trials)


def test_the_frontier_rises_in_recall_and_falls_in_speed():
    line = drawn(3).frontier(5)
    recalls, speeds = zip(*line, strict=True)
    assert list(recalls) == sorted(set(recalls))
    assert list(speeds) == sorted(speeds, reverse=True)


def test_what_was_packed_comes_back():
    curve = drawn(1)
    again = Curve.unpack(curve.pack())
    assert again.recall(4, 17, 2) == curve.recall(4, 17, 2)


@pytest.mark.parametrize("name", ["efforts", "depths", "counted", "seconds"])
def test_arrays_that_do_not_fit_together_are_refused(name):
    tree = drawn(1).pack()
    tree[name] = tree[name][:-1]
    with pytest.raises(StoreError, match="do"):
        Curve.unpack(tree)
