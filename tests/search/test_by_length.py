"""Groups of similar length: what is found where k(x, x) varies, by every approximate method."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer import kernels
from mercer.codes import Product, Sign
from mercer.errors import InputError
from mercer.evaluate import ground_truth, recall
from mercer.search import Allowed, BoundScan, ByLength, Graph, Inverted, Scan
from mercer.search.by_length import RATIO, TOGETHER
from mercer.testing import check_searcher

RNG = np.random.default_rng(0)
METHODS = ["inverted", "graph", "klsh", "kpca_lsh", "rmmh", "fourier", "kpca_pq"]


def directions(n, d=8, seed=0):
    Z = np.random.default_rng(seed).normal(size=(n, d))
    return (Z / np.linalg.norm(Z, axis=1, keepdims=True)).astype(np.float32)


def groups(rows):
    return [rows.numbers[a:b] for a, b in zip(rows.starts[:-1], rows.starts[1:], strict=True)]


@pytest.mark.parametrize(
    "searcher", [Scan(Sign(None)), Inverted(Product(None, "deal", bits=4)), Graph()], ids=repr
)
def test_contract(searcher):
    check_searcher(ByLength(searcher), directions(900))


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.floats(0, 1e10), min_size=1, max_size=300),
    st.integers(0, 2**32 - 1),
)
def test_every_row_is_in_one_group_of_similar_length(lengths, seed):
    lengths = np.array(lengths, np.float32)
    rows = ByLength(Scan(Sign(None))).fit(directions(4)).build(directions(len(lengths)), lengths)
    found = groups(rows)
    assert sorted(np.concatenate(found).tolist()) == list(range(len(lengths)))
    for group in found:
        some = lengths[group]
        alike = some.max() <= RATIO * some.min() * (1 + 1e-6)
        assert alike or len(group) <= TOGETHER
    tops = [lengths[group].max() for group in found]
    assert tops == sorted(tops, reverse=True)


def test_short_groups_are_left_out():
    """No cosine is above 1: rows shorter than the estimates found so far cannot come first."""
    Z = directions(600)
    lengths = np.repeat([100.0, 1.0], 300)
    asked = []

    class Watched(Graph):
        def candidates(self, rows, Zq, n, allowed=None, effort=None):
            asked.append(len(rows))
            return super().candidates(rows, Zq, n, allowed, effort)

    by_length = ByLength(Watched()).fit(Z)
    by_length.candidates(by_length.build(Z, lengths), Z[:5], n=3)
    assert asked == [300]


def test_fewer_candidates_are_the_first_of_many():
    """Recall is measured by rank among many. Here lengths matter more than directions."""
    Z = directions(3000, 4)
    by_length = ByLength(Scan(Sign("orthogonal", 64))).fit(Z)
    by_length.link_ = np.array([1.0, 0.001, 1.0])
    rows = by_length.build(Z, 1 + 0.5 * RNG.random(3000))
    many = by_length.candidates(rows, Z[:20], 2000)
    for n in 10, 100, 500:
        few = by_length.candidates(rows, Z[:20], n)
        np.testing.assert_array_equal(few.rows, many.rows[:, :n])
        np.testing.assert_array_equal(few.values, many.values[:, :n])


def test_kernels_may_exceed_their_angles():
    """Where k is not positive semi-definite, k(x, y)² > k(x, x) k(y, y): no group is left out."""
    Z = directions(600)
    by_length = ByLength(Graph()).fit(Z)
    by_length.learn_link(Z[:5], np.float32([[0.0, -1.0]] * 5), np.array([[1.5, 0.0]] * 5))
    rows = by_length.build(Z, np.repeat([1.2, 1.0], 300))
    found = by_length.candidates(rows, Z[300:305], n=1).rows
    assert found.tolist() == [[row] for row in range(300, 305)]


def test_joined_rows_are_those_of_all():
    Z = directions(700)
    lengths = RNG.lognormal(0, 1, 700).astype(np.float32)
    by_length = ByLength(Scan(Sign("orthogonal", 32))).fit(Z)
    parts = [by_length.build(Z[:300], lengths[:300]), by_length.build(Z[300:], lengths[300:])]
    kept = [np.arange(0, 300, 2), np.arange(1, 400)]
    joined = by_length.join(parts, kept)
    rows = np.concatenate([kept[0], 300 + kept[1]])
    expected = by_length.candidates(by_length.build(Z[rows], lengths[rows]), Z[:9], n=40)
    found = by_length.candidates(joined, Z[:9], n=40)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-6)
    np.testing.assert_array_equal(joined.lengths, lengths[rows])


def test_filters_are_those_of_rows():
    Z = directions(700)
    by_length = ByLength(Graph()).fit(Z)
    rows = by_length.build(Z, RNG.lognormal(0, 1, 700))
    allowed = Allowed.where(RNG.random(700) < 0.1)
    found = by_length.candidates(rows, Z[:9], 700, allowed).rows
    assert {int(row) for row in found[0] if row >= 0} == set(allowed.rows.tolist())


def test_bounds_know_lengths():
    with pytest.raises(InputError, match="has bounds, which take lengths into account"):
        ByLength(BoundScan())


def test_links_are_lines():
    by_length = ByLength(Graph()).fit(directions(9))
    values = RNG.normal(size=(5, 20)).astype(np.float32)
    values[0, 3] = -np.inf
    by_length.learn_link(directions(5), values, 0.3 + 0.7 * values)
    np.testing.assert_allclose(by_length.link_[:2], [0.3, 0.7], rtol=1e-5)  # no residuals
    learned = by_length.link_.copy()
    by_length.learn_link(directions(5), values, -values)  # such values tell nothing
    np.testing.assert_array_equal(by_length.link_, learned)


def lengths_over_ten_orders(n, d):
    X = RNG.normal(size=(n, d)) * 10.0 ** RNG.uniform(-5, 5, size=(n, 1))
    return X.astype(np.float32)


DATA = {
    "log-normal lengths": RNG.normal(size=(4000, 16)) * RNG.lognormal(0, 0.5, size=(4000, 1)),
    "heavy tails": RNG.standard_t(1.5, size=(4000, 16)),
    "ten orders": lengths_over_ten_orders(4000, 16),
}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("method", METHODS)
def test_all_methods_find_products(method, name):
    """Before lengths were kept apart, these found .07 to .15 of the true items."""
    X = DATA[name].astype(np.float32)
    Q = RNG.normal(size=(50, 16)).astype(np.float32)
    index = getattr(mercer, method)("linear").fit(X[:2000]).add(X)
    truth = ground_truth("linear", X, Q, 10)
    assert recall(index.search(Q, 10, candidates=150).ids, truth) > 0.85


@pytest.mark.parametrize("method, least", [("inverted", 0.8), ("graph", 0.95), ("klsh", 0.95)])
def test_items_longer_than_any_of_fit_are_found(method, least):
    """Codes leave the cosine of a very long item in doubt, so that inverted lists lose some."""
    X = RNG.normal(size=(3000, 12)) * RNG.lognormal(0, 0.3, size=(3000, 1))
    X[2500:2510] *= 1e4
    X = X.astype(np.float32)
    index = getattr(mercer, method)("linear").fit(X[:2000], measure=False).add(X)
    Q = RNG.normal(size=(40, 12)).astype(np.float32)
    truth = ground_truth("linear", X, Q, 5)
    assert recall(index.search(Q, 5).ids, truth) > least


@pytest.mark.parametrize("method", ["klsh", "kpca_lsh", "inverted", "graph"])
def test_similarities_without_angles_are_ranked(method):
    """Minus a distance: k(x, x) = 0 for all."""
    kernel = kernels.from_gram(lambda X, Y: -np.abs(X[:, None] - Y[None]).sum(axis=2))
    X = RNG.normal(size=(1500, 6)).astype(np.float32)
    Q = RNG.normal(size=(30, 6)).astype(np.float32)
    index = getattr(mercer, method)(kernel).fit(X).add(X)
    assert recall(index.search(Q, 10).ids, ground_truth(kernel, X, Q, 10)) > 0.9


def test_shifted_kernels_rank_alike():
    X = RNG.normal(size=(40, 3)).astype(np.float32)
    shifted = kernels.Shifted(kernels.Linear(), 5.0)
    np.testing.assert_allclose(shifted(X), kernels.Linear()(X) + 5, rtol=1e-5)
    assert shifted.psd
    assert kernels.from_spec(kernels.to_spec(shifted)) == shifted
    mercer.testing.check_kernel(shifted, X)
