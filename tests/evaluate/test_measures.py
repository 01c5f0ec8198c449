"""Recall by score: what counts as found is relative to the scores, however small they are."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer import evaluate, kernels
from mercer.embeddings import Explicit
from mercer.evaluate.measures import TIE

SHARP = kernels.RBF(gamma=2.0)
X = np.random.default_rng(0).normal(size=(3000, 16)).astype(np.float32)
Q = np.random.default_rng(1).normal(size=(250, 16)).astype(np.float32)


def share_of_ids(found, truth, k):
    """Return recall by ids alone, which is that by scores where nothing ties."""
    hits = [len(set(a) & set(b[:k])) for a, b in zip(found.tolist(), truth.tolist(), strict=True)]
    return np.mean(hits) / k


@pytest.mark.filterwarnings("ignore::mercer.errors.RecallWarning")
def test_scores_of_a_sharp_kernel_are_told_apart():
    """exp(-2 d²) of Gaussian vectors is about 1e-10: below its tolerance, which is that of 1."""
    truth = evaluate.ground_truth(SHARP, X, Q, 5)
    assert np.median(truth.scores[:, 0]) < 1e-6
    index = mercer.Index(SHARP, Explicit(SHARP), mercer.search.Scan()).fit(X).add(X)
    found = index.search(Q, 5, candidates=20)  # 16 bits: few candidates are good
    by_ids = share_of_ids(found.ids, truth.ids, 5)
    assert by_ids < 0.5
    assert evaluate.recall(found, truth) == pytest.approx(by_ids, abs=0.01)
    for count, share in evaluate.recall_at(index, Q, truth, [1, 20]).items():
        nearest = index.search(Q, 1, candidates=count)
        assert share == pytest.approx(share_of_ids(nearest.ids, truth.ids, 1), abs=0.01)
        assert share < 0.9


def test_the_recall_of_items_taken_at_random_is_chance():
    truth = evaluate.ground_truth(SHARP, X, Q, 10)
    some = np.arange(0, 3000, 100)
    drawn = evaluate.ground_truth(SHARP, X[some], Q, 10)
    found = dataclasses.replace(drawn, ids=some[drawn.ids])
    assert evaluate.recall(found, truth) < 0.05


@settings(max_examples=60, deadline=None)
@given(exponent=st.integers(-37, 37), sign=st.sampled_from([1, -1]), seed=st.integers(0, 99))
def test_the_scale_of_scores_does_not_matter(exponent, sign, seed):
    """A score a little nearer than a millionth counts, one a little farther does not."""
    rng = np.random.default_rng(seed)
    truth = evaluate.ground_truth("linear", [[1.0]], [[1.0]], 1)
    best = np.float32(sign * rng.uniform(1, 2) * 10.0**exponent)
    for gap, expected in ((0.0, 1.0), (0.5 * TIE, 1.0), (2 * TIE, 0.0)):
        lower = np.float32(float(best) - gap * abs(float(best)))
        known = dataclasses.replace(truth, scores=np.full((1, 1), best))
        found = dataclasses.replace(truth, scores=np.full((1, 1), lower))
        assert evaluate.recall(found, known) == expected
