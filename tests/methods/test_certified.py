"""Brute force as an index: all verbs, every answer exact, any kernel."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import reference
from zoo import ANIMALS

import mercer
from mercer import evaluate, items, kernels
from mercer.errors import InputError
from mercer.index import comparison
from mercer.testing import check_embedding, check_index, check_searcher

rng = np.random.default_rng(0)
X = rng.dirichlet(np.full(16, 0.5), 500).astype(np.float32)
Q = rng.dirichlet(np.full(16, 0.5), 40).astype(np.float32)
TANH = kernels.from_gram(lambda A, B: np.tanh(A @ B.T - 0.5))  # not positive semi-definite


@pytest.mark.parametrize("animal", ANIMALS, ids=lambda animal: animal.name)
def test_every_kernel_and_kind_of_item(animal):
    index = mercer.brute(animal.kernel).fit(animal.X).add(animal.X)
    found = index.search(animal.X, 3)
    truth = evaluate.ground_truth(animal.kernel, animal.X, animal.X, 3)
    np.testing.assert_array_equal(found.ids, truth.ids)
    np.testing.assert_array_equal(found.scores, truth.scores)
    largest = np.abs(animal.kernel.diag(animal.X, dtype=np.float64)).max()
    rounding = np.sqrt(64 * np.finfo(np.float64).eps * largest)  # k(q, q) - k(q, x) near 0
    np.testing.assert_allclose(found.distances, truth.distances, rtol=1e-6, atol=rounding)
    assert found.exact.all()
    assert (found.evaluations == items.length(animal.X)).all()
    assert not found.landmark_evaluations.any()


@pytest.mark.parametrize("kernel", ["chi2", kernels.Tversky(0.2, 0.9), TANH], ids=repr)
def test_contract(kernel):
    some = (X[:80] > 0.05) if isinstance(kernel, kernels.Tversky) else X[:80]
    check_index(mercer.brute(kernel), some)


def test_contracts_of_its_parts():
    check_searcher(mercer.search.Everything(), X)
    check_embedding(mercer.embeddings.NoVectors("chi2"), X)


@pytest.mark.parametrize("kernel", [kernels.Chi2(), TANH], ids=repr)
@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_answers_are_those_of_numpy(kernel, n_jobs):
    K = kernel(Q, X, dtype=np.float64)
    rows, scores = reference.best(K, 7)
    index = mercer.brute(kernel).fit(X).add(X[:123]).add(X[123:124]).add(X[124:])
    for some in (slice(None), slice(0, 1), slice(3, 5)):  # few queries: rows are cut for threads
        found = index.search(Q[some], 7, n_jobs=n_jobs)
        np.testing.assert_array_equal(found.ids, rows[some])
        np.testing.assert_allclose(found.scores, scores[some], rtol=1e-6)


def test_filters_and_removal():
    K = kernels.Chi2()(Q, X, dtype=np.float64)
    index = mercer.brute("chi2").fit(X).add(X).remove(np.arange(0, 500, 7))
    left = np.setdiff1d(np.flatnonzero(rng.random(500) < 0.2), np.arange(0, 500, 7))
    found = index.search(Q, 5, where=left)
    masked = np.full(K.shape, -np.inf)
    masked[:, left] = K[:, left]
    np.testing.assert_array_equal(found.ids, reference.best(masked, 5)[0])
    assert (found.evaluations == len(left)).all()


@pytest.mark.parametrize("kernel", [kernels.Chi2(), TANH], ids=repr)
@pytest.mark.parametrize("score", [-1.0, -0.3, 0.0, 0.4, 0.9, 2.0])
def test_within(kernel, score):
    index = mercer.brute(kernel).fit(X).add(X[:200]).add(X[200:])
    K = kernel(Q, X, dtype=np.float64)
    for row, found in zip(K, index.within(Q, score), strict=True):
        sure, possible = (np.flatnonzero(row >= score + slack) for slack in (1e-12, -1e-12))
        assert set(sure) <= set(found.ids[0]) <= set(possible)
        assert found.exact.all()
        assert (found.evaluations == 500).all()
        assert (np.diff(found.scores[0]) <= 0).all()


def test_saved_and_loaded(tmp_path):
    mercer.brute("chi2").fit(X).add(X).remove([3]).save(tmp_path)
    again = mercer.load(tmp_path)
    np.testing.assert_array_equal(
        again.search(Q, 4).ids, mercer.brute("chi2").fit(X).add(X).remove([3]).search(Q, 4).ids
    )


def test_blocks_of_queries_do_not_change_the_answer(monkeypatch):
    index = mercer.brute("chi2").fit(X).add(X)
    whole = index.search(Q, 4)
    monkeypatch.setattr(comparison, "LEAST_QUERIES", 1)
    monkeypatch.setattr(comparison, "MOST_QUERIES", 3)
    cut = index.search(Q, 4)
    np.testing.assert_array_equal(cut.ids, whole.ids)
    np.testing.assert_array_equal(cut.scores, whole.scores)


def test_no_candidates_beyond_those_allowed():
    found = mercer.brute("chi2").fit(X).add(X).search(Q, 3, candidates=10)
    assert (found.evaluations == 10).all()
    assert not found.exact.any()
    with pytest.raises(InputError, match="has no effort to choose"):
        mercer.brute("chi2").fit(X).add(X).search(Q, 3, effort=10)


def test_it_needs_no_faiss():
    code = """
import sys, numpy as np, mercer
sys.modules["faiss"] = None
X = np.random.default_rng(0).random((99, 5), np.float32)
index = mercer.brute("chi2").fit(X).add(X[:50]).add(X[50:]).remove([3])
assert index.search(X[:4], 3).exact.all()
assert index.within(X[:1], 0.5)[0].exact.all()
assert mercer.evaluate.ground_truth("rbf", X, X, 2).exact.all()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
