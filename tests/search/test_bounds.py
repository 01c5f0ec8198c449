"""BoundScan against NumPy: candidates, seeds, and every row that reaches a floor."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from built import Built
from zoo import VECTORS

from mercer.embeddings import KernelPCA
from mercer.errors import InputError
from mercer.search import BoundScan, bounds
from mercer.search._bytes import AVAILABLE, LANES
from mercer.search.bounds import SEED_ROWS, SEED_SHARE
from mercer.testing import check_searcher

rng = np.random.default_rng(0)


def vectors(n, d, seed=0):
    """Return vectors as an embedding gives them: energies fall, the residual is last."""
    Z = np.random.default_rng(seed).normal(size=(n, d)) * np.linspace(2, 0.1, d)
    Z[:, -1] = np.abs(Z[:, -1])
    Z[: n // 10] = Z[n // 2 : n // 2 + n // 10]  # some twice
    return Z.astype(np.float32)


SHAPES = [(5000, 16), (3000, 65), (3000, 129), (700, 100), (50, 8), (40, 2), (30, 1)]


@pytest.mark.parametrize("n, d", SHAPES)
@pytest.mark.parametrize("n_head", [None, 1, 16])
def test_contract(n, d, n_head):
    if n < 30 or (n_head is not None and d > 100):
        n = min(n, 600)
    check_searcher(BoundScan(n_head=n_head), vectors(n, d)[:1200])


def test_contract_of_real_vectors():
    Z = KernelPCA("rbf", 70, n_landmarks=70, residual=True).fit_transform(VECTORS)
    check_searcher(BoundScan(), Z)


@pytest.mark.parametrize("n, d", [(5000, 16), (3000, 100)])
@pytest.mark.parametrize("share", [None, 0.01, 0.24, 0.26, 0.99])
def test_candidates_are_the_sorted_products(n, d, share):
    Z = vectors(n, d)
    Q = vectors(40, d, seed=1)
    allowed = None if share is None else rng.random(n) < share
    found = Built(BoundScan(), Z).candidates(Q, 20, allowed)
    U = Q.astype(np.float64) @ Z.T.astype(np.float64)
    if allowed is not None:
        U[:, ~allowed] = -np.inf
    _, values = reference.best(U, 20)
    np.testing.assert_allclose(found.values, values, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(np.take_along_axis(U, found.rows, 1), values, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("d", [16, 100])
@pytest.mark.parametrize("share", [0.0002, 0.01, 0.5])
@pytest.mark.parametrize("relaxed", [1.0, 0.5, 0.0])
def test_reaching_is_a_comparison(d, share, relaxed):
    """Sparse and dense tiles, whole and relaxed bounds."""
    Z, Q = vectors(3000, d), vectors(50, d, seed=1)
    scaled = Q.astype(np.float64)
    scaled[:, -1] *= relaxed
    U = scaled @ Z.T.astype(np.float64)
    floors = np.quantile(U, 1 - share, axis=1).astype(np.float32)
    found = Built(BoundScan(), Z).reaching(Q, floors, relaxed=relaxed)
    slack = 1e-4
    for query in range(50):
        rows = found.rows[query][found.rows[query] >= 0]
        assert set(np.flatnonzero(U[query] > floors[query] + slack)) <= set(rows)
        assert (U[query, rows] >= floors[query] - slack).all()
        values = found.values[query][: len(rows)]
        np.testing.assert_allclose(values, U[query, rows], rtol=1e-5, atol=slack)
        assert (np.diff(values) <= 0).all()


@pytest.mark.parametrize("d, n_head", [(8, None), (8, 3), (40, 16)])
@pytest.mark.parametrize("n", [40, 64, 200])
def test_a_bound_at_its_floor_reaches_it(d, n_head, n):
    """Small whole numbers, so that products are exact: in strides of a tile and after them."""
    draw = np.random.default_rng(n + d)
    Z, Q = (draw.integers(0, 4, (m, d)).astype(np.float32) for m in (n, 12))
    U = Q @ Z.T
    floors = U[np.arange(12), draw.integers(0, n, 12)]
    found = Built(BoundScan(n_head), Z).reaching(Q, floors)
    for query in range(12):
        rows = found.rows[query][found.rows[query] >= 0]
        assert sorted(rows.tolist()) == np.flatnonzero(U[query] >= floors[query]).tolist()


def test_floors_differ_by_query():
    Z = vectors(1000, 80)
    U = Z[:3] @ Z.T
    floors = np.array([-np.inf, np.inf, np.sort(U[2])[-10]], np.float32)
    found = Built(BoundScan(), Z).reaching(Z[:3], floors)
    counts = (found.rows >= 0).sum(axis=1)
    assert counts[0] == 1000
    assert counts[1] == 0
    assert 9 <= counts[2] <= 11
    assert found.rows.shape == (3, 1000)


@pytest.mark.parametrize("d", [16, 100])
@pytest.mark.parametrize("share", [None, 0.1, 0.9])
def test_seeds_rank_by_half_the_residual(d, share):
    Z, Q = vectors(2000, d), vectors(30, d, seed=1)
    allowed = None if share is None else rng.random(2000) < share
    found = Built(BoundScan(), Z).seeds(Q, 10, allowed)
    halved = Q.copy()
    halved[:, -1] /= 2
    V = halved.astype(np.float64) @ Z.T.astype(np.float64)
    named = np.take_along_axis(V, found.rows, 1)
    np.testing.assert_allclose(found.values, named, rtol=1e-5, atol=1e-4)
    assert allowed is None or allowed[found.rows].all()
    if allowed is not None:
        V[:, ~allowed] = -np.inf
    best = -np.sort(-V, axis=1)[:, :10]
    # a guess: but most of the best by this measure are among them
    assert (named >= best[:, -1:] - 1e-4).mean() > 0.7


@pytest.mark.parametrize("d, together", [(8, 1), (70, LANES if AVAILABLE else 1)])
@pytest.mark.parametrize("n_queries", [1, 4, 300])
def test_seeds_look_at_a_part_of_many_rows(d, together, n_queries):
    """Every fourth row, or every fourth group of rows that are stored together."""
    Z = vectors(SEED_ROWS * SEED_SHARE + 21, d)
    found = Built(BoundScan(), Z).seeds(Z[:n_queries], 5)
    assert found.rows.shape == (n_queries, 5)
    assert (found.rows // together % SEED_SHARE == 0).all()
    looked_at = np.flatnonzero(np.arange(len(Z)) // together % SEED_SHARE == 0)
    V = Z[:n_queries].astype(np.float64) @ Z[looked_at].T
    V -= 0.5 * np.outer(Z[:n_queries, -1], Z[looked_at, -1])
    best = looked_at[V.argmax(axis=1)]
    assert (found.rows == best[:, None]).any(axis=1).mean() > 0.95


@pytest.mark.parametrize("d", [8, 70])
@pytest.mark.parametrize("extra", [0, 5, 16, 37, 64])
def test_seeds_are_rows_that_are_there_and_allowed(d, extra):
    """However the last group of rows is cut off."""
    Z = vectors(SEED_ROWS * 2 + extra, d)
    allowed = rng.random(len(Z)) < 0.5
    found = Built(BoundScan(), Z).seeds(Z[:3], 2000, allowed)
    assert found.rows.min() >= 0
    assert found.rows.max() < len(Z)
    assert allowed[found.rows].all()
    assert all(len(np.unique(row)) == len(row) for row in found.rows)


@pytest.mark.parametrize("n_queries", [1, 3, 40, 256, 300])
def test_tiles_of_any_height_have_the_same_rows(n_queries, monkeypatch):
    """Few queries get high tiles, many get low ones."""
    Z = vectors(9000, 70)
    floors = np.full(n_queries, np.quantile(Z[0] @ Z.T, 0.999), np.float32)
    found = Built(BoundScan(), Z).reaching(Z[:n_queries], floors)
    monkeypatch.setattr(bounds, "TILE_VALUES", 1)
    low = Built(BoundScan(), Z).reaching(Z[:n_queries], floors)
    np.testing.assert_array_equal(found.rows, low.rows)


def test_queries_with_too_many_rows_are_given_up():
    Z = vectors(9000, 70)
    floors = np.array([-np.inf, np.inf, 0, -np.inf], np.float32)
    floors[1] = np.float32(1e30)
    found = Built(BoundScan(), Z).reaching(Z[:4], floors, give_up=0.5)
    assert found.given_up.tolist() == [True, False, found.given_up[2], True]
    assert (found.rows[found.given_up] == -1).all()
    everything = Built(BoundScan(), Z).reaching(Z[:4], floors)
    assert not everything.given_up.any()
    assert (everything.rows[0] >= 0).all()


def test_one_searcher_serves_many_rows():
    Z = vectors(300, 80)
    scan = BoundScan()
    first, second = Built(scan, Z), Built(scan, Z[::-1].copy())
    found, other = (one.candidates(Z[:5], 3) for one in (first, second))
    np.testing.assert_array_equal(found.values, other.values)
    assert len(second) == 300
    np.testing.assert_array_equal(scan.residuals(second.rows), Z[::-1, -1])
    np.testing.assert_array_equal(first.candidates(Z[:5], 3).rows, found.rows)


def test_bad_parameters():
    with pytest.raises(InputError, match="BoundScan: n_head is -1"):
        BoundScan(n_head=-1)
    with pytest.raises(InputError, match="no parameter 'head'"):
        BoundScan().set_params(head=3)
