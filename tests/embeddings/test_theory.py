"""Theorem 2 of R, as corrected, on spectra where it can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.embeddings.theory import (
    LowRankBound,
    low_rank_bound,
    sampled_floors,
    similarity_floor,
)
from mercer.errors import InputError


def test_quantities_by_hand():
    m = 10_000
    spectrum = np.zeros(m)
    spectrum[:3] = [0.9 * m, 0.04 * m, 0.01 * m]
    found = low_rank_bound(spectrum, rank=1, xi=2.0)
    assert found.eigenvalue == pytest.approx(0.9)
    assert found.gap == pytest.approx(0.43)
    assert found.eta == pytest.approx(2 / (0.43 * 100) * 2)
    assert found.tau == pytest.approx(np.sqrt(0.9) + found.eta)
    assert found.vacuous
    second = low_rank_bound(spectrum, rank=2, xi=2.0)
    assert second.gap == pytest.approx(0.015)
    assert second.vacuous  # eta alone is above 1


def test_enough_landmarks_promise_something():
    m = 10**8
    spectrum = np.array([0.5, 0.04, 0.0] + [0.0] * 7) * m
    found = low_rank_bound(np.concatenate([spectrum, np.zeros(m // 1000)]), rank=2)
    assert found.eigenvalue == pytest.approx(0.04 * m / (m // 1000 + 10))
    assert low_rank_bound([1.0], rank=1).vacuous
    with pytest.raises(InputError, match="rank"):
        low_rank_bound([1.0], rank=0)


def test_no_gap_promises_nothing():
    found = low_rank_bound(np.ones(50), rank=10)
    assert found.eta == np.inf
    assert found.vacuous


def test_floor_holds_for_projections():
    """k = N N' cos + (what is lost) ≥ N N' cos - R R', with the best cosine among all items."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(300, 20)) * np.linspace(2, 0.2, 20)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    head = vectors[:, :6]
    norms = np.linalg.norm(head, axis=1)
    cosines = (head / norms[:, None]) @ (head / norms[:, None]).T
    np.fill_diagonal(cosines, -1)
    found = cosines.argmax(axis=1)
    floor = similarity_floor(norms, norms[found], cosines.max(axis=1), epsilon=0.0)
    true = np.einsum("ij,ij->i", vectors, vectors[found])
    assert (true >= floor - 1e-12).all()
    # a worse item, by (1 + ε), is bounded by the same formula
    epsilon = 0.5
    worse = np.array(
        [np.flatnonzero(1 - row <= (1 + epsilon) * (1 - row.max()))[0] for row in cosines]
    )
    floor = similarity_floor(norms, norms[worse], cosines.max(axis=1), epsilon)
    true = np.einsum("ij,ij->i", vectors, vectors[worse])
    assert (true >= floor - 1e-12).all()


# ---- Theorem 2 itself (theory: low-rank)


def bound(tau):
    least_norm = float(np.sqrt(max(0, 1 - tau**2)))
    return LowRankBound(tau**2, 1.0, 0.0, tau, least_norm, vacuous=tau >= 1)


def projected(seed, rank=8):
    """Return unit vectors with nonnegative inner products, and their leading components."""
    rng = np.random.default_rng(seed)
    vectors = np.abs(rng.normal(size=(250, 20)) * np.geomspace(1, 0.01, 20))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors, vectors[:, :rank]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("tau", [0.1, 0.3, 0.6, 0.9])
def test_what_a_search_finds_is_above_the_floor(seed, epsilon, tau):
    """R eq. 3, for every item that a (1 + ε)-approximate search may return."""
    known, (vectors, Z) = bound(tau), projected(seed)
    kept = known.keeps(np.linalg.norm(Z, axis=1))
    vectors, Z = vectors[kept], Z[kept]
    assert len(Z) > 5
    K, units = vectors @ vectors.T, Z / np.linalg.norm(Z, axis=1, keepdims=True)
    cosines = units @ units.T
    for q in range(0, len(Z), 3):
        others = np.arange(len(Z)) != q
        best = cosines[q][others].max()
        returned = others & (cosines[q] >= min((1 + epsilon) * best - epsilon, best))
        least = K[q][returned].min()
        assert least >= known.floor(K[q][others].max(), epsilon) - 1e-12


def test_the_printed_condition_is_not_enough():
    """N(x) > 1 - τ keeps an item that the floor does not hold for; N(x) ≥ √(1 - τ²) does not."""
    tau, turn = 0.1, 0.01
    N, R = 1 - tau + 1e-6, np.sqrt(1 - (1 - tau + 1e-6) ** 2)
    query = np.array([N, 0, R])
    nearest = np.array([N * np.cos(turn), N * np.sin(turn), R])
    found = np.array([N, 0, -R])  # the same projection as the query, so the search returns it
    assert query @ found < bound(tau).floor(query @ nearest) - 0.2
    assert query @ found > 0
    assert not bound(tau).keeps([N]).any()


def test_a_floor_that_says_nothing_is_minus_one():
    assert bound(1.5).floor(1.0) == -1
    assert bound(0.9).floor(0.1, epsilon=1.0) == -1
    assert bound(0.1).floor(0.9, epsilon=0.5) == pytest.approx(1.5 * 0.9 * 0.9 - 0.5 - 2.5 * 0.01)


# ---- on a sample


def least_floors(Z, own):
    """Return, for every query and ε, the least floor of the items that may be returned."""
    floors = []
    for q in range(len(Z)):
        cosines = Z @ Z[q] / np.linalg.norm(Z, axis=1) / np.linalg.norm(Z[q])
        cosines[q] = -2
        N = np.linalg.norm(Z, axis=1) / np.sqrt(own)
        row = []
        for e in (0, 0.5, 1):
            reached = (1 + e) * cosines.max() - e
            row.append(min(
                N[q] * N[y] * reached - np.sqrt((1 - N[q] ** 2) * (1 - N[y] ** 2))
                for y in range(len(Z)) if cosines[y] >= reached
            ))  # fmt: skip
        floors.append(row)
    return np.array(floors)


def test_sampled_floors_are_medians_of_the_least():
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(60, 12)) * np.linspace(2, 0.2, 12)
    Z, own = vectors[:, :5], np.einsum("ij,ij->i", vectors, vectors)
    floors = least_floors(Z, own)
    np.testing.assert_allclose(sampled_floors(Z, own), np.median(floors, axis=0))
    K = vectors @ vectors.T / np.sqrt(np.outer(own, own))
    for q, e in np.ndindex(60, 3):
        cosines = Z @ Z[q] / np.linalg.norm(Z, axis=1) / np.linalg.norm(Z[q])
        cosines[q] = -2
        returned = cosines >= (1 + (0, 0.5, 1)[e]) * cosines.max() - (0, 0.5, 1)[e]
        assert K[q][returned].min() >= floors[q, e] - 1e-12  # whichever is returned


def test_an_item_with_a_short_projection_lowers_the_floor():
    """Two neighbours at nearly the same angle: a search may return the one that lost most."""
    unit = np.array([[1, 0, 0], [np.cos(0.1), np.sin(0.1), 0], [np.cos(0.12), -np.sin(0.12), 0]])
    Z = unit[:, :2] * np.array([[1.0], [0.99], [0.3]])
    floors = sampled_floors(Z, np.ones(3))
    assert floors[1] == pytest.approx(np.median(least_floors(Z, np.ones(3))[:, 1]))
    reached = 1.5 * np.cos(0.1) - 0.5
    assert reached < np.cos(0.12)
    assert least_floors(Z, np.ones(3))[0, 1] == pytest.approx(0.3 * reached)


def test_equal_items_have_a_floor():
    Z = np.random.default_rng(3).normal(size=(9, 4))[[0] * 5 + [1] * 4]
    floors = sampled_floors(Z, 1.5 * np.einsum("ij,ij->i", Z, Z))
    np.testing.assert_allclose(floors, 1 / 1.5 - (1 - 1 / 1.5))


def test_nothing_is_promised_without_neighbours():
    assert (sampled_floors(np.zeros((3, 2)), np.ones(3)) == -1).all()
    assert (sampled_floors(np.ones((3, 2)), np.array([2.0, 0, 0])) == -1).all()
