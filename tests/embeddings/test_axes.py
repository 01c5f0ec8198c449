"""Principal axes: as many as have the variance, or as keep the nearest vectors."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.embeddings.axes import principal


def nearest(Z, n=10):
    """Return the n nearest of every vector, itself left out, by plain distances in float64."""
    Z = np.asarray(Z, np.float64)
    D = np.square(Z).sum(axis=1) - 2 * Z @ Z.T
    np.fill_diagonal(D, np.inf)
    return np.argsort(D, axis=1)[:, :n]


def share_kept(Z, axes):
    pairs = zip(nearest(Z), nearest(Z @ axes), strict=True)
    return np.mean([len(set(a) & set(b)) for a, b in pairs]) / 10


def vectors(n, d, decay):
    rng = np.random.default_rng(0)
    return (rng.normal(size=(n, d)) * decay ** np.arange(d) + 3).astype(np.float32)


def test_variance_decides_where_few_axes_have_it():
    Z = vectors(1500, 200, 0.9)
    mean, axes = principal(Z)
    centred = Z - Z.mean(axis=0, dtype=np.float64)
    values = np.linalg.eigvalsh(centred.T @ centred)[::-1]
    enough = np.searchsorted(values.cumsum(), 0.99 * values.sum()) + 1
    assert axes.shape == (200, -(-enough // 8) * 8)
    np.testing.assert_allclose(mean, Z.mean(axis=0, dtype=np.float64), rtol=1e-6)
    np.testing.assert_allclose(axes.T @ axes, np.eye(axes.shape[1]), atol=1e-5)


@pytest.mark.parametrize("decay", [0.9975, 1.0])
def test_neighbours_decide_where_the_spectrum_is_flat(decay):
    """Four fifths of the ten nearest stay, and 64 axes fewer would not do that.

    100 of the 1,200 vectors are asked: 0.02 is four standard errors of their share.
    """
    Z = vectors(1200, 400, decay)
    _, axes = principal(Z)
    assert axes.shape[1] > 128
    assert share_kept(Z, axes) == pytest.approx(0.8, abs=0.03 + 0.02)
    assert share_kept(Z, axes) > 0.78
    assert share_kept(Z, axes[:, :-64]) < 0.8


def test_all_dimensions_stay_where_all_matter():
    assert principal(vectors(1000, 100, 1.0)) is None


def test_a_number_of_axes_is_taken_as_it_is():
    Z = vectors(300, 20, 1.0)
    assert principal(Z, 7)[1].shape == (20, 7)
    assert principal(Z, 20) is None


def test_few_vectors():
    for n in (1, 2, 5):
        found = principal(vectors(n, 300, 1.0))
        assert found is not None
        assert found[1].shape[0] == 300
