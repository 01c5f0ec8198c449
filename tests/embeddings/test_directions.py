"""Directions that are computed and not stored: their numbers, their law, and what they take."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from set_reference import normals, scattered

from mercer.embeddings.directions import WIDE, are_wide, drawn, projected

SPREAD = 0x9E3779B97F4A7C15


def rows(n, width, nnz, seed=0):
    """Return sparse rows of normal numbers at random features."""
    rng = np.random.default_rng(seed)
    features = np.stack([np.sort(rng.choice(width, nnz, replace=False)) for _ in range(n)])
    values = rng.normal(size=(n, nnz)).astype(np.float32)
    offsets = np.arange(0, n * nnz + 1, nnz)
    return scipy.sparse.csr_array((values.ravel(), features.ravel(), offsets), shape=(n, width))


def directions(features, n, seed):
    """Return the entries of n directions at these features, by the formula."""
    start = scattered((seed + SPREAD) % 2**64)
    return np.array([normals(scattered(int(f) ^ start), n) for f in features])


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**64 - 1), n=st.integers(1, 70), width=st.sampled_from([50, 10**6, 2**40]),
    wide_indices=st.booleans(),
)  # fmt: skip
def test_projections_are_those_of_the_formula(seed, n, width, wide_indices):
    """Against a twin of the generator in double precision; duplicates and empty rows included."""
    rng = np.random.default_rng(seed)
    features = np.unique(rng.integers(0, width, 12))
    kind = np.int64 if wide_indices or width > 2**31 else np.int32
    values = rng.normal(size=len(features)).astype(np.float32)
    offsets = np.array([0, 5, 5, len(features)], kind)
    X = scipy.sparse.csr_array((values, features.astype(kind), offsets), shape=(3, width))
    R, dense = directions(features, n, seed), np.zeros((3, len(features)))
    for i, (start, stop) in enumerate(pairwise(offsets)):
        dense[i, start:stop] = values[start:stop]
    np.testing.assert_allclose(projected(X, n, seed), dense @ R, atol=2e-5)


def test_the_first_directions_are_those_of_fewer():
    X = rows(9, 10**5, 20)
    many = projected(X, 101, 5)
    np.testing.assert_allclose(many[:, :30], projected(X, 30, 5), atol=1e-5)
    wider = scipy.sparse.csr_array((X.data, X.indices, X.indptr), shape=(9, 10**7))
    np.testing.assert_array_equal(many, projected(wider, 101, 5))
    assert not np.array_equal(many, projected(X, 101, 6))


def test_entries_are_normal_and_independent():
    """Consecutive features, and features that differ in one high bit."""
    for features in (np.arange(400), np.sort(np.arange(400) % 20 + (np.arange(400) // 20 << 20))):
        one_each = scipy.sparse.csr_array(
            (np.ones(400, np.float32), features, np.arange(401)), shape=(400, 2**26)
        )
        Z = projected(one_each, 200, 1).astype(np.float64)
        assert stats.kstest(Z.ravel(), "norm").pvalue > 1e-4
        across = (Z.T @ Z / 400)[np.triu_indices(200, 1)]
        between = (Z @ Z.T / 200)[np.triu_indices(400, 1)]
        assert np.abs(across).max() < 5.5 / np.sqrt(400)
        assert np.abs(between).max() < 6 / np.sqrt(200)
        assert across.std() == pytest.approx(1 / np.sqrt(400), rel=0.05)
        assert between.std() == pytest.approx(1 / np.sqrt(200), rel=0.05)


def test_signs_differ_as_often_as_the_angle_says():
    n_bits, X = 20_000, rows(12, 60, 30).toarray()
    wide = np.zeros((12, WIDE + 60), np.float32)
    wide[:, np.random.default_rng(1).choice(WIDE + 60, 60, replace=False)] = X
    signs = projected(scipy.sparse.csr_array(wide), n_bits, 3) >= 0
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    i, j = np.triu_indices(12, 1)
    expected = np.arccos(np.einsum("ij,ij->i", unit[i], unit[j], dtype=np.float64)) / np.pi
    found = (signs[i] != signs[j]).mean(axis=1)
    assert (np.abs(found - expected) <= 4.5 * np.sqrt(expected * (1 - expected) / n_bits)).all()


def test_a_million_features_take_no_memory():
    """512 stored directions would take 2 GB."""
    X = rows(200, 10**6, 50)
    projected(X[:1], 512, 0)  # compiles
    tracemalloc.start()
    Z = projected(X, 512, 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < Z.nbytes + 100_000


def test_only_sparse_vectors_of_many_features_are_wide():
    assert are_wide(scipy.sparse.csr_array((3, WIDE + 1)))
    assert not are_wide(scipy.sparse.csr_array((3, WIDE)))
    assert not are_wide(np.zeros((1, WIDE + 1)))


@pytest.mark.parametrize("how", ["orthogonal", "gaussian"])
def test_drawn_directions_have_one_column_each(how):
    R = drawn(how, 5, 12, 0)
    assert (R.shape, R.dtype) == ((5, 12), np.float32)
    block = R[:, :5].astype(np.float64)
    orthonormal = np.allclose(block.T @ block, np.eye(5), atol=1e-5)
    assert orthonormal == (how == "orthogonal")
