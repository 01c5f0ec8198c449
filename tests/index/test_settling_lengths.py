"""Items of very different lengths: no certified answer misses a long one that float32 misjudged."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer import evaluate, kernels

D, N, QUERIES = 16, 400, 40
LONG = np.longdouble
METRIC = np.eye(D) + 0.2


@mercer.kernel(psd=True)
def dot(x, y):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


def products(X, Y):
    return X @ Y.T


# each kernel, and its values in extended precision
KERNELS = {
    "linear": (kernels.Linear(), products),
    "scaled": (0.3 * kernels.Linear(), lambda X, Y: LONG(0.3) * products(X, Y)),
    "sum": (kernels.Linear() + kernels.RBF(gamma=0.1),
            lambda X, Y: products(X, Y) + np.exp(LONG(-0.1) * squares(X, Y))),
    "polynomial": (kernels.Polynomial(degree=2, gamma=0.5),
                   lambda X, Y: (products(X, Y) / 2 + 1) ** 2),
    "own": (dot, products),
    "gram": (kernels.from_gram(products, psd=True), products),
    "function": (kernels.from_function(np.dot, psd=True), products),
}  # fmt: skip


def squares(X, Y):
    return ((X[:, None] - Y[None]) ** 2).sum(axis=2)


def of_lengths(rng, n, orders):
    """Return vectors in all directions, with lengths over so many orders of magnitude."""
    X = rng.normal(size=(n, D))
    X *= (10.0 ** rng.uniform(-orders / 2, orders / 2, n) / np.linalg.norm(X, axis=1))[:, None]
    return X.astype(np.float32)


def beside(rng, Q, n, length):
    """Return long vectors that score about as much as short ones: most of them is across."""
    rows = rng.integers(0, len(Q), n)
    q = Q[rows] / np.linalg.norm(Q[rows], axis=1, keepdims=True)
    across = rng.normal(size=(n, D))
    across -= (across * q).sum(axis=1, keepdims=True) * q
    across *= length / np.linalg.norm(across, axis=1, keepdims=True)
    return (across + rng.uniform(0.5, 1.5, (n, 1)) * q).astype(np.float32)


def lies(found, K, k):
    """Return how many answers say `exact` and leave out something better than they allow."""
    best = -np.sort(-K, axis=1)[:, k - 1]
    last = np.take_along_axis(K, found.ids, 1).min(axis=1)
    return int((found.exact & (last < best - found.tolerance - 1e-33)).sum())


def answers(kernel, X, Q, k):
    """Yield what every exact way to search says."""
    yield evaluate.ground_truth(kernel, X, Q, k)
    yield mercer.brute(kernel).fit(X).add(X[: N // 3]).add(X[N // 3 :]).search(Q, k)
    index = mercer.exact(kernel, n_landmarks=60, n_components=12).fit(X)
    yield index.add(X).search(Q, k)
    yield index.empty().add(X[:30]).add(X[30:]).search(Q, k)
    yield index.search(Q, k, candidates=N // 2)


def data(seed, orders, length):
    rng = np.random.default_rng(seed)
    Q = of_lengths(rng, QUERIES, min(orders, 2.0))
    X = np.concatenate([of_lengths(rng, N - 20, orders), beside(rng, Q, 20, length)])
    return rng.permutation(X), Q


@pytest.mark.parametrize("name", KERNELS)
@settings(deadline=None, max_examples=8)
@given(st.integers(0, 10**6), st.floats(0, 10), st.floats(0, 8), st.sampled_from([1, 5]))
def test_no_certified_answer_is_wrong(name, seed, orders, length, k):
    """A trial has 200 answers, so that all kernels together are put to 11,000 and more."""
    kernel, true = KERNELS[name]
    X, Q = data(seed, orders, 10.0**length)
    K = true(Q.astype(LONG), X.astype(LONG))
    for found in answers(kernel, X, Q, k):
        assert lies(found, K, k) == 0


def test_one_long_row_among_short_ones():
    """The case that was missed: a norm of 1e7 among 3,000 of norm below 1."""
    rng = np.random.default_rng(0)
    X = of_lengths(rng, 3000, 0) * rng.uniform(0.3, 1, (3000, 1)).astype(np.float32)
    Q = of_lengths(rng, 200, 0)
    X[7] = beside(rng, Q[:1], 1, 1e7)
    K = products(Q.astype(LONG), X.astype(LONG))
    for k in (1, 10):
        for found in answers(kernels.Linear(), X, Q, k):
            assert lies(found, K, k) == 0
            useful = 1e-4 + 2.0**-24 * np.abs(found.scores[:, -1])  # not only true
            assert (found.tolerance <= useful).all()
    truth = evaluate.ground_truth("linear", X, Q, 1)
    assert truth.exact.all()
    np.testing.assert_array_equal(truth.ids[:, 0], K.argmax(axis=1))


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.floats(0, 10), st.floats(0, 8))
def test_within_misses_nothing(seed, orders, length):
    X, Q = data(seed, orders, 10.0**length)
    K = products(Q.astype(LONG), X.astype(LONG))
    score = float(np.quantile(K.astype(float), 0.95))
    exact = mercer.exact("linear", n_landmarks=60, n_components=12).fit(X).add(X)
    for index in (exact, mercer.brute("linear").fit(X).add(X)):
        for values, found in zip(K, index.within(Q, score), strict=True):
            assert found.exact.all()
            left = np.setdiff1d(np.arange(len(X)), found.ids[0])
            assert (values[left] <= score + found.tolerance[0]).all()
            assert (values[found.ids[0]] >= score - found.tolerance[0]).all()


def test_ties_of_longer_items_are_stated_not_searched_again(monkeypatch):
    """Many equal scores of items up to eight times as long cost nothing: the tolerance says so."""
    X = np.zeros((500, D), np.float32)
    X[:, 0] = 1
    X[np.arange(500), 1 + np.arange(500) % (D - 1)] = np.arange(500) % 4
    Q = np.eye(D, dtype=np.float32)[:1]
    monkeypatch.setattr("mercer.index.settling._overlooked", None)
    found = evaluate.ground_truth("linear", X, Q, 5)
    assert found.exact.all()
    assert found.scores.tolist() == [[1.0] * 5]
    assert 0 < found.tolerance[0] < 1e-4
