"""Recall is measured on items that are left out of their own answers, and on fresh queries."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer import evaluate, kernels
from mercer.index.measuring import LEAST, QUERIES, measured, n_queries, sample

RNG = np.random.default_rng(0)
X = RNG.dirichlet(np.full(24, 0.5), size=3000).astype(np.float32)


def filled(*parts):
    index = mercer.klsh("chi2", n_bits=64).fit(X, measure=False)
    for part in parts:
        index.add(part)
    return index


def test_the_sample_is_spread_over_all_segments_and_has_no_removed_item():
    index = filled(X[:2000], X[2000:2300], X[2300:])
    index.remove(np.arange(0, 3000, 2))
    drawn = sample(index.segments_, 60)
    kept = {row.tobytes() for row in X[1::2]}
    assert len(drawn) == 60
    assert {row.tobytes() for row in drawn.kept} <= kept
    everything = sample(index.segments_, 10**6)
    assert {row.tobytes() for row in everything.kept} == kept


def test_the_curve_agrees_with_searches_for_the_same_items():
    """Candidates of the sample, without the sample itself, hold what the curve says."""
    index = filled(X)
    curve = measured(index._state.recipe, index.segments_)
    drawn = sample(index.segments_, curve.n_queries)
    truth = evaluate.ground_truth("chi2", X, drawn, 6).ids[:, 1:]  # the first is the item itself
    for candidates in (10, 60, 300):
        # of one candidate more than allowed, one is the item itself
        found = index.search(drawn, 6, candidates=candidates + 1).ids
        share = np.mean([np.isin(t, f).mean() for t, f in zip(truth, found, strict=True)])
        assert curve.recall(5, candidates, None) == pytest.approx(share, abs=1e-9)


def test_the_curve_is_nearly_the_same_in_one_segment_and_in_several():
    """The scan finds a few more than it must, as many in each segment."""
    indexes = filled(X), filled(X[:2500], X[2500:])
    one, several = (measured(index._state.recipe, index.segments_) for index in indexes)
    np.testing.assert_array_equal(one.counted, several.counted)
    for candidates in (20, 100, 400):
        alike = pytest.approx(several.recall(10, candidates, None), abs=0.01)
        assert one.recall(10, candidates, None) == alike


def test_how_many_queries_are_asked():
    index = filled(X)
    assert n_queries(index._state.recipe, 10_000) == QUERIES
    assert n_queries(index._state.recipe, 10**9) == LEAST
    slow = kernels.from_gram(lambda A, B: A @ B.T, psd=True)
    objects = mercer.klsh(slow, n_landmarks=300, subset=30).fit(X[:500], measure=False)
    assert n_queries(objects._state.recipe, 10_000) == (30 if slow.runs_python else QUERIES)


def test_ties_with_the_last_true_item_count():
    """Items in ten copies: any of those that tie with the k-th is as good."""
    copies = np.repeat(X[:300], 10, axis=0)
    index = mercer.klsh("chi2", n_bits=128).fit(copies, measure=False).add(copies)
    curve = measured(index._state.recipe, index.segments_)
    assert (curve.counted[:, 2] >= 10).all()
    assert curve.recall(3, 600, None) > 0.95
