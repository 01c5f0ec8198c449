"""Learning in the span of some items: the same as with all features, and what lies outside."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from zoo import two_classes

import mercer
from mercer import kernels, learn
from mercer.learn.projections import Problem

NOTHING = np.empty(0)

# ---- explicit and implicit


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10_000), d=st.integers(2, 6), n_basis=st.integers(8, 30),
    slack=st.sampled_from([0.1, 1.0, 10.0]), triples=st.booleans(),
)  # fmt: skip
def test_implicit_is_explicit_for_the_linear_kernel(seed, d, n_basis, slack, triples):
    """The basis spans all dimensions, and constraints name items inside of it and outside."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, d)).astype(np.float32)
    asked = learn.from_labels(rng.integers(0, 3, 30), 40, seed)
    if triples:
        asked = asked + learn.from_triples([rng.choice(30, 3, replace=False) for _ in range(5)])
    settings_ = {"slack": slack, "seed": seed, "max_iter": 5, "tol": 0.0}
    explicit, implicit = learn.ITML(**settings_), learn.ITML("linear", n_basis=n_basis, **settings_)
    for metric in (explicit, implicit):
        with pytest.warns(mercer.LearningWarning):  # five sweeps are not enough
            metric.fit(X, asked)
    assert implicit.gap_ == pytest.approx(explicit.gap_, rel=1e-6, abs=1e-9)
    Phi = implicit.basis_.astype(np.float64).T
    G = np.eye(d) + Phi @ implicit.coefficients_ @ Phi.T
    scale = np.abs(explicit.factor_).max()
    np.testing.assert_allclose(G, explicit.factor_, atol=1e-8 * scale)
    X64 = X.astype(np.float64)
    K = X64 @ explicit.metric_ @ X64.T
    np.testing.assert_allclose(implicit.kernel_(X, dtype="float64"), K, atol=1e-8 * np.abs(K).max())


def test_coefficients_are_those_of_lemma_2():
    """A basis of independent items: S is unique, and it is not symmetric."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6, 9)).astype(np.float32)
    i, j = np.triu_indices(6, 1)
    asked = learn.from_pairs(np.column_stack([i, j])[::2], np.column_stack([i, j])[1::2])
    metric = learn.ITML("linear", 1.0, upper=4.0, lower=30.0, max_iter=4, tol=0.0)
    with pytest.warns(mercer.LearningWarning):
        metric.fit(X, asked)
    order = np.random.default_rng([0, 3])
    orders = []
    for _ in range(4):
        orders.append(order.permutation(15))
        order.permutation(0)
    signs, bounds = np.where(asked.similar, 1, -1), np.where(asked.similar, 4.0, 30.0)
    K0 = X.astype(float) @ X.T.astype(float)
    S = reference.itml_coefficients(K0, asked.pairs, signs, bounds, 1.0, orders)
    np.testing.assert_allclose(metric.coefficients_, S, atol=1e-10)
    assert np.abs(S - S.T).max() > 0.01 * np.abs(S).max()


def test_learned_kernel_is_the_printed_one():
    """k(x, y) + k(x, Φ) M k(Φ, y) with M = S + Sᵀ + Sᵀ K₀ S (theory: span), for any kernel."""
    X = two_classes()[0]
    rbf = kernels.RBF(gamma=0.05)
    metric = learn.ITML(rbf, n_basis=10, upper=0.9, lower=1.8)
    metric.fit(X, learn.from_pairs([(0, 2), (1, 3)], [(0, 1), (2, 3)]))
    S, crossed = metric.coefficients_, rbf(X, metric.basis_, dtype="float64")
    K0 = rbf(metric.basis_, dtype="float64")
    expected = rbf(X, dtype="float64") + crossed @ (S + S.T + S.T @ K0 @ S) @ crossed.T
    np.testing.assert_allclose(metric.kernel_(X, dtype="float64"), expected, atol=1e-9)
    assert np.linalg.eigvalsh(expected).min() > -1e-9


# ---- pairs outside of the basis (theory: outside)


def test_pairs_outside_of_the_basis_reach_their_bound():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 12)).astype(np.float32)
    metric = learn.ITML("linear", n_basis=8, slack=1e9, upper=1e-3, lower=90.0, tol=1e-9)
    metric.fit(X, learn.from_pairs(dissimilar=[(30, 31)]))
    assert metric.satisfied_ == 1
    K = metric.kernel_(X[[30, 31]], dtype="float64")
    assert K[0, 0] + K[1, 1] - 2 * K[0, 1] == pytest.approx(90.0, rel=1e-7)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), slack=st.sampled_from([0.1, 1.0, 30.0]), similar=st.booleans())
def test_what_is_not_learned_stays(seed, slack, similar):
    """One pair, part of whose distance is outside: distance and moved bound meet, p + r = ξ."""
    rng = np.random.default_rng(seed)
    Z, rest = rng.normal(size=(2, 3)), 10 ** rng.uniform(-3, 2)
    p = ((Z[0] - Z[1]) ** 2).sum()
    bound = (p + rest) * (rng.uniform(0.01, 0.99) if similar else rng.uniform(1.01, 9))
    asked = learn.from_pairs([(0, 1)]) if similar else learn.from_pairs(dissimilar=[(0, 1)])
    G = np.eye(3)
    one = Problem(Z, asked, np.array([bound]), np.array([rest]), NOTHING, slack)
    outcome = one.solve(G, 1, 0.0, np.random.default_rng(0))
    after = ((G @ (Z[0] - Z[1])) ** 2).sum()
    # by the conditions of optimality: 1/p' = 1/p + δλ and 1/ξ = 1/bound - δλ/slack
    dual = 1 / after - 1 / p
    assert after + rest == pytest.approx(1 / (1 / bound - dual / slack), rel=1e-7)
    assert (dual > 0) == similar
    assert outcome.gap < 1e-7
    assert outcome.infeasible.tolist() == ([0] if similar and rest >= bound else [])


def test_pairs_out_of_reach_are_listed():
    X = np.eye(12, dtype=np.float32)
    metric = learn.ITML("linear", n_basis=6, upper=0.5, lower=9.0)
    asked = learn.from_pairs([(i, i + 1) for i in range(0, 12, 2)], [(0, 2), (4, 6), (8, 10)])
    with pytest.warns(mercer.LearningWarning, match=r"of 9 constraints cannot be met.*n_basis"):
        metric.fit(X, asked)
    inside = {int(row.argmax()) for row in metric.basis_}
    # two unit vectors have distance 2, of which one half for each that the basis lacks
    n_outside = np.array([2 - len({int(i), int(j)} & inside) for i, j in asked.pairs])
    hopeless = np.where(asked.similar, n_outside >= 1, n_outside == 2)
    assert metric.infeasible_.tolist() == np.flatnonzero(hopeless).tolist()
    assert hopeless[:6].any()
    assert not hopeless.all()


def test_indefinite_kernels_lose_their_negative_part():
    X, y = two_classes(60)
    sigmoid = kernels.from_gram(lambda A, B: np.tanh(A @ B.T - 1))
    K = sigmoid(X, dtype="float64")
    assert np.linalg.eigvalsh(K).min() < -1
    metric = learn.ITML(sigmoid, n_basis=60, upper=0.1, lower=4.0).fit(X, y)
    assert metric.weights_.shape[1] == (np.linalg.eigvalsh(K) > 1e-10 * 60).sum()
    assert not metric.kernel_.psd
