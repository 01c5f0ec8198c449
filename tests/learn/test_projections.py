"""Projections at the edges: items in one line, bounds that do not move, bounds that contradict."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from zoo import two_classes

import mercer
from mercer import kernels, learn
from mercer.learn.projections import Problem

NOTHING = np.empty(0)


def solved(Z, asked, slack, *, bounds=NOTHING, rests=None, start=None, max_iter=5000):
    """Return the metric and the outcome of learning in these coordinates."""
    G = np.eye(Z.shape[1]) if start is None else start.copy()
    rests = np.zeros(len(bounds)) if rests is None else rests
    one = Problem(Z, asked, bounds, rests, asked.margins, slack)
    outcome = one.solve(G, max_iter, 1e-9, np.random.default_rng(0))
    return G.T @ G, outcome


# ---- items in one line (theory: triples)


def in_line(rng, share, d=4):
    """Return three items with x_i - x_k = share (x_i - x_j)."""
    x, v = rng.normal(size=d), rng.normal(size=d)
    return np.stack([x, x - v, x - share * v])


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000), share=st.sampled_from([-4.0, -1.5, 1.01, 1.5, 3.0]),
    margin=st.sampled_from([0.5, 4.0, 100.0]),
)  # fmt: skip
def test_a_triple_in_one_line_is_a_pair(seed, share, margin):
    """d(i, k) = c² d(i, j) for every metric, so d(i, j) ≥ m / (c² - 1), which can be met."""
    rng = np.random.default_rng(seed)
    Z = in_line(rng, share)
    start = rng.normal(size=(4, 4)) + 3 * np.eye(4)
    bound = margin / (share**2 - 1)
    expected, _ = solved(
        Z, learn.from_pairs([], [(0, 1)]), math.inf, bounds=np.array([bound]), start=start
    )
    found, outcome = solved(Z, learn.from_triples([(0, 1, 2)], margin), math.inf, start=start)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())
    v = Z[0] - Z[1]
    assert v @ found @ v >= bound * (1 - 1e-9)
    assert outcome.satisfied == 1
    assert not len(outcome.infeasible)
    assert outcome.gap <= 1e-9


@pytest.mark.parametrize("slack", [0.3, 5.0])
def test_lines_are_the_limit_of_what_is_nearly_one(slack):
    rng = np.random.default_rng(4)
    line = in_line(rng, 2.0)
    bent = line + np.array([[0.0], [0.0], [1e-4]]) * rng.normal(size=4)
    asked = learn.from_triples([(0, 1, 2)], margin=60.0)
    (found, outcome), (near, _) = (solved(Z, asked, slack) for Z in (line, bent))
    np.testing.assert_allclose(found, near, atol=2e-3 * np.abs(near).max())
    u, v = line[0] - line[1], line[0] - line[2]
    assert u @ found @ u + 60 > v @ found @ v  # slack keeps a part of it
    assert np.abs(found - np.eye(4)).max() > 0.01
    assert outcome.gap <= 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_lines_are_released_again(seed):
    """Of two margins on one line the larger does the work, whichever is projected on first."""
    Z = in_line(np.random.default_rng(5), 2.0, d=3)
    both = learn.from_triples([(0, 1, 2)], 30.0) + learn.from_triples([(0, 1, 2)], 270.0)
    G = np.eye(3)
    one = Problem(Z, both, NOTHING, NOTHING, both.margins, math.inf)
    outcome = one.solve(G, 100, 1e-9, np.random.default_rng(seed))
    expected, _ = solved(Z, learn.from_pairs([], [(0, 1)]), math.inf, bounds=np.array([90.0]))
    np.testing.assert_allclose(G.T @ G, expected, rtol=1e-6, atol=1e-9)
    assert outcome.gap <= 1e-9


@pytest.mark.parametrize("share, margin", [(0.5, 0), (0.5, 2), (1.0, 1), (-1.0, 1), (0.0, 1)])
def test_what_no_metric_can_turn_around_is_reported(share, margin):
    Z = in_line(np.random.default_rng(6), share)
    for slack in (1.0, math.inf):
        found, outcome = solved(Z, learn.from_triples([(0, 1, 2)], float(margin)), slack)
        np.testing.assert_array_equal(found, np.eye(4))
        assert outcome.infeasible.tolist() == [0]
        assert outcome.satisfied == 0


def test_what_holds_on_a_line_under_every_metric_changes_nothing():
    Z = in_line(np.random.default_rng(7), 3.0)
    found, outcome = solved(Z, learn.from_triples([(0, 1, 2)]), 1.0)
    np.testing.assert_array_equal(found, np.eye(4))
    assert (outcome.satisfied, len(outcome.infeasible)) == (1, 0)


def test_one_feature_is_one_line():
    """Triples of items with a single feature: none of them is out of reach by itself."""
    X = np.array([[0.0], [1.0], [3.0]])
    metric = learn.ITML(slack=math.inf, upper=0.1, lower=1.0, tol=1e-9)
    metric.fit(X, learn.from_triples([(0, 1, 2)], margin=16.0))
    assert not len(metric.infeasible_)
    assert metric.metric_[0, 0] == pytest.approx(16 / 8)


# ---- bounds that do not move (M eq. 3 and 4)


def feasible(seed, n=8, d=3, m=4):
    """Return pairs whose bounds some metric meets, and a metric to start from.

    Few enough for projections one at a time to come to their end soon: metrics have six numbers.
    """
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d))
    i = rng.integers(0, n, m)
    pairs = np.column_stack([i, (i + rng.integers(1, n, m)) % n])
    similar = rng.random(m) < 0.5
    asked = learn.from_pairs(pairs[similar], pairs[~similar])
    V = Z[asked.pairs[:, 0]] - Z[asked.pairs[:, 1]]
    witness, start = (rng.normal(size=(d, d)) + 2 * np.eye(d) for _ in range(2))
    truth = np.square(V @ witness.T).sum(axis=1)
    bounds = truth * np.where(asked.similar, 1.1, 0.9)
    return Z, asked, V, bounds, start


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_hard_bounds_are_met_by_the_nearest_metric(seed):
    """The conditions of optimality of eq. 3, which is convex; from any metric, not the identity.

    A⁻¹ - A₀⁻¹ is a sum over constraints that hold with equality, of the sign that moves there.
    """
    Z, asked, V, bounds, start = feasible(seed)
    found, outcome = solved(Z, asked, math.inf, bounds=bounds, start=start, max_iter=20_000)
    signs = np.where(asked.similar, 1.0, -1.0)
    excess = signs * (np.einsum("ij,jk,ik->i", V, found, V) - bounds) / bounds
    assert outcome.gap <= 1e-6
    assert outcome.satisfied == 1
    assert (excess <= 2e-6).all()
    moved = np.linalg.inv(found) - np.linalg.inv(start.T @ start)
    active = np.abs(excess) <= 1e-5
    terms = [
        (sign * np.outer(v, v)).ravel() for sign, v in zip(signs[active], V[active], strict=True)
    ]
    if terms:
        rest = scipy.optimize.nnls(np.stack(terms, 1), moved.ravel())[1]
    else:
        rest = np.linalg.norm(moved)
    assert rest < 1e-4 * np.linalg.norm(np.linalg.inv(found))


def test_hard_projections_are_the_printed_ones():
    """Eq. 4 with its sign corrected, one pair at a time."""
    Z, asked, V, bounds, _ = feasible(3)
    order = np.random.default_rng(9)
    A, duals = np.eye(3), np.zeros(len(bounds))
    orders = []
    for _ in range(4):
        orders.append(order.permutation(len(bounds)))
        order.permutation(0)  # of the triples
    for c in np.concatenate(orders):
        sign, p = (1 if asked.similar[c] else -1), V[c] @ A @ V[c]
        step = min(duals[c], sign * (1 / p - 1 / bounds[c]))
        duals[c] -= step
        A = A + sign * step / (1 - sign * step * p) * np.outer(A @ V[c], A @ V[c])
    G = np.eye(3)
    one = Problem(Z, asked, bounds, np.zeros(len(bounds)), NOTHING, math.inf)
    one.solve(G, 4, 0.0, np.random.default_rng(9))
    np.testing.assert_allclose(G.T @ G, A, rtol=1e-9, atol=1e-10 * np.abs(A).max())


def test_hard_triples_hold():
    rng = np.random.default_rng(8)
    Z = rng.normal(size=(12, 3))
    weights = np.array([4.0, 1.0, 0.2])
    rows = np.array([rng.choice(12, 3, replace=False) for _ in range(15)])
    short, long = (
        (np.square(Z[rows[:, 0]] - Z[rows[:, end]]) * weights).sum(axis=1) for end in (1, 2)
    )
    rows[short > long] = rows[short > long][:, [0, 2, 1]]
    _, outcome = solved(Z, learn.from_triples(rows), math.inf, max_iter=20_000)
    assert outcome.gap <= 1e-6
    assert outcome.satisfied == 1


def test_what_lies_outside_the_basis_counts_in_hard_bounds():
    """d_A = r + p with r fixed: p becomes ξ - r; where r alone is too long, nothing can be done."""
    Z = np.random.default_rng(2).normal(size=(4, 3))
    asked = learn.from_pairs([(0, 1), (2, 3)], [(0, 2), (1, 3)])
    rests, bounds = np.array([0.3, 2.0, 0.5, 50.0]), np.array([0.5, 1.0, 30.0, 40.0])
    found, outcome = solved(Z, asked, math.inf, bounds=bounds, rests=rests)
    V = Z[asked.pairs[:, 0]] - Z[asked.pairs[:, 1]]
    near = np.einsum("ij,jk,ik->i", V, found, V) + rests
    np.testing.assert_allclose(near[[0, 2]], bounds[[0, 2]], rtol=1e-6)
    assert outcome.infeasible.tolist() == [1]
    assert outcome.satisfied == 0.75  # the last is met without any metric


# ---- bounds that contradict each other


CONTRADICTIONS = {
    "a pair": learn.from_pairs([(0, 1)], [(0, 1)]),
    "a chain": learn.from_pairs([(0, 1), (1, 2)], [(0, 2)]),
    "triples": learn.from_triples([(0, 1, 2), (0, 2, 1)], margin=1.0),
    "a circle": learn.from_triples([(0, 1, 2), (1, 2, 0), (2, 0, 1)], margin=1.0),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
@pytest.mark.parametrize("max_iter", [50, 20_000])
def test_hard_contradictions_are_reported(name, max_iter):
    X, asked = np.random.default_rng(0).normal(size=(3, 3)), CONTRADICTIONS[name]
    metric = learn.ITML(slack=math.inf, upper=0.1, lower=9.0, max_iter=max_iter)
    told = r"of its bound away.*of \d do not hold \(first: .*contradict each other"
    with pytest.warns(mercer.LearningWarning, match=told):
        metric.fit(X, asked)
    assert np.isfinite(metric.factor_).all()
    assert np.isfinite(metric.gap_)
    assert metric.gap_ > metric.tol
    assert metric.satisfied_ < 1
    assert metric.n_iter_ <= max_iter
    soft = learn.ITML(upper=0.1, lower=9.0, max_iter=5000).fit(X, asked)  # at a price
    assert soft.gap_ <= soft.tol


def test_hard_bounds_that_one_pair_cannot_meet_are_listed():
    X = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 0.0]])
    metric = learn.ITML(slack=math.inf, upper=0.1, lower=5.0, tol=1e-6)
    with pytest.warns(mercer.LearningWarning, match="1 of 2 .*items 0 and 1 far"):
        metric.fit(X, learn.from_pairs([(0, 2)], [(0, 1)]))
    assert metric.infeasible_.tolist() == [1]
    assert metric.satisfied_ == 0.5


def test_hard_bounds_hold_for_kernels_too():
    X, _ = two_classes()
    rbf = kernels.RBF(gamma=0.02)
    asked = learn.from_pairs([(0, 1), (4, 9)], [(2, 7), (3, 8)])
    metric = learn.ITML(rbf, math.inf, n_basis=len(X), upper=0.2, lower=1.5, tol=1e-7)
    kernel = metric.fit(X, asked).kernel_
    K = kernel(X, dtype="float64")
    D = np.diag(K)[:, None] + np.diag(K) - 2 * K
    assert (D[[0, 4], [1, 9]] <= 0.2 + 1e-6).all()
    assert (D[[2, 3], [7, 8]] >= 1.5 - 1e-6).all()
