"""The choice of landmarks: against brute force, and by how often far items are chosen."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from zoo import HISTOGRAMS, VECTORS

from mercer import kernels
from mercer.embeddings import KernelPCA, landmarks
from mercer.errors import InputError

linear = kernels.Linear()


def choose(kernel, X, n, how, seed=0):
    return landmarks.choose(kernel, kernel.prepare(X), n, how, np.random.default_rng(seed))


@pytest.mark.parametrize("kernel, X", [("rbf", VECTORS), ("chi2", HISTOGRAMS)])
@pytest.mark.parametrize("seed", [0, 1])
def test_farthest_is_brute_force(kernel, X, seed):
    kernel = kernels.get(kernel)
    K = kernel(X, dtype=np.float64)
    squares = np.diag(K)[:, None] + np.diag(K) - 2 * K
    first = int(np.random.default_rng(seed).integers(len(X)))
    expected = reference.farthest(squares, 12, first)
    assert choose(kernel, X, 12, "farthest", seed).tolist() == expected


@pytest.mark.parametrize("how", landmarks.WAYS)
def test_rows_increase_and_differ(how):
    rows = choose(kernels.RBF(), VECTORS, 30, how)
    assert len(rows) == 30
    assert (np.diff(rows) > 0).all()
    assert rows.min() >= 0
    assert rows.max() < len(VECTORS)
    np.testing.assert_array_equal(rows, choose(kernels.RBF(), VECTORS, 30, how))


@pytest.mark.parametrize("how", landmarks.WAYS)
def test_no_more_than_there_are(how):
    assert len(choose(kernels.RBF(), VECTORS[:5], 50, how)) == 5


@pytest.mark.parametrize("how", ["kmeans++", "farthest"])
def test_duplicates_are_not_chosen_twice(how):
    X = np.tile(VECTORS[:4], (10, 1))
    rows = choose(kernels.RBF(), X, 20, how)
    assert len(rows) == 4
    assert len({row % 4 for row in rows.tolist()}) == 4


def test_far_items_are_likelier_in_proportion_to_their_squared_distance():
    """From 0, the items at 1 and 3 are chosen second 1 : 9; 2,000 draws give 0.9 ± 0.03."""
    X = np.array([[0.0], [1.0], [3.0]])
    drawn = [choose(linear, X, 2, "kmeans++", seed).tolist() for seed in range(2000)]
    from_zero = [rows for rows in drawn if rows[0] == 0]  # {0, 1}, {0, 2}
    # first 0: 1 or 3 with 1 : 9; first 1: 0 or 3 with 1 : 4; first 3: 0 or 1 with 9 : 4
    expected = (0.9 + 9 / 13) / (0.1 + 0.2 + 0.9 + 9 / 13)
    share = np.mean([rows == [0, 2] for rows in from_zero])
    assert abs(share - expected) < 0.03


def test_far_clusters_are_found_by_kmeans_and_missed_by_chance():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(500, 2)), rng.normal(size=(3, 2)) + 100])
    hits = {
        how: sum(choose(linear, X, 5, how, seed).max() >= 500 for seed in range(50))
        for how in landmarks.WAYS
    }
    assert hits["kmeans++"] == hits["farthest"] == 50
    assert hits["random"] < 10


@pytest.mark.parametrize("how", landmarks.WAYS)
def test_kernel_pca_uses_the_choice(how):
    pca = KernelPCA("rbf", 8, n_landmarks=12, landmarks=how, seed=3).fit(VECTORS)
    rows = {row.tobytes() for row in pca.landmarks_.kept}
    assert len(rows) == 12
    assert rows <= {row.tobytes() for row in VECTORS}


def test_unknown_ways_are_refused():
    with pytest.raises(InputError, match=r"Ways are: random, kmeans\+\+, farthest"):
        KernelPCA("rbf", landmarks="best")
    with pytest.raises(InputError, match="Ways to choose them are: random"):
        choose(linear, VECTORS, 3, "best")
