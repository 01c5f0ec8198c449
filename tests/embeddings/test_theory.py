"""Theorem 2 of R, as corrected, on spectra where it can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.embeddings.theory import low_rank_bound, sampled_floors, similarity_floor
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


def test_sampled_floors_are_medians_of_the_formula():
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(60, 12)) * np.linspace(2, 0.2, 12)
    Z, own = vectors[:, :5], np.einsum("ij,ij->i", vectors, vectors)
    floors = []
    for q in range(60):
        cosines = Z @ Z[q] / np.linalg.norm(Z, axis=1) / np.linalg.norm(Z[q])
        cosines[q] = -2
        y = int(cosines.argmax())
        N = np.linalg.norm(Z[[q, y]], axis=1) / np.sqrt(own[[q, y]])
        lost = np.sqrt((1 - N**2).prod())
        true = vectors[q] @ vectors[y] / np.sqrt(own[q] * own[y])
        floors.append([N.prod() * ((1 + e) * cosines[y] - e) - lost for e in (0, 0.5, 1)])
        assert true >= floors[-1][0] - 1e-12
    np.testing.assert_allclose(sampled_floors(Z, own), np.median(floors, axis=0))


def test_nothing_is_promised_without_neighbours():
    assert (sampled_floors(np.zeros((3, 2)), np.ones(3)) == -1).all()
    assert (sampled_floors(np.ones((3, 2)), np.array([2.0, 0, 0])) == -1).all()
