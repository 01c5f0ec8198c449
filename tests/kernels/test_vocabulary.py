"""The vocabulary-guided pyramid against a plain walk down the tree, and how trees are grown."""

from __future__ import annotations

import numpy as np
import pytest
from set_reference import intersection, tree_histograms, unary_codes

import mercer
from mercer.errors import InputError, StoreError
from mercer.kernels import Prepared, ProximityDistribution, SpatialPyramid, VocabularyPyramid
from mercer.kernels.clusters import grow

rng = np.random.default_rng(4)
PLACES = rng.normal(size=(30, 12)) * 4


def some_sets(n=20, seed=0):
    draw = np.random.default_rng(seed)
    sizes = draw.integers(1, 25, n)
    owners = draw.choice(30, sizes.sum())
    points = PLACES[owners] + draw.normal(size=(sizes.sum(), 12))
    return mercer.Ragged(points.astype(np.float32), np.append(0, sizes.cumsum()))


SETS = some_sets(80)
KERNEL = VocabularyPyramid.for_data(SETS, branching=4, n_levels=4)


def test_equals_the_inner_product_of_unary_codes():
    weights = KERNEL.weights + rng.random() * KERNEL.levels  # any that do not fall downwards
    kernel = VocabularyPyramid(KERNEL.centers, KERNEL.parents, weights)
    sets = SETS[:8]
    histograms = [tree_histograms(one, kernel.centers, kernel.parents) for one in sets]
    coefficient = dict(enumerate(kernel.coefficients)).get
    codes = unary_codes(histograms, coefficient)
    K = kernel(sets, dtype=np.float64)
    np.testing.assert_allclose(K, codes @ codes.T, rtol=1e-12)
    assert K[0, 1] == pytest.approx(intersection(histograms[0], histograms[1], coefficient))


def test_a_pair_of_points_counts_with_the_smallest_cluster_they_share():
    kernel = VocabularyPyramid(
        centers=[[0.0], [100.0], [0.0], [10.0], [90.0], [110.0], [9.0], [12.0]],
        parents=[-1, -1, 0, 0, 1, 1, 3, 3],
        weights=[1, 1.5, 2, 3, 3, 3, 7, 8],
    )
    pairs = {(0.0, 1.0): 2, (0.0, 10.0): 1, (9.0, 12.0): 3, (12.0, 13.0): 8, (90.0, 110.0): 1.5}
    for (a, b), weight in pairs.items():
        assert kernel([[[a]]], [[[b]]]) == weight
    assert kernel([[[0.0]]], [[[100.0]]]) == 0
    np.testing.assert_array_equal(kernel.diag([[[0.0], [9.0]]]), [2 + 7])


def test_grown_trees_are_nested_and_hold_everything():
    tree = grow(SETS.values, 4, 3, seed=0)
    assert (np.diff(tree.parents) >= 0).all()
    first = tree.parents < 0
    assert first.sum() == 4
    assert tree.sizes[first].sum() == len(SETS.values)
    for node in np.unique(tree.parents[~first]):
        inside = tree.parents == node
        assert tree.sizes[inside].sum() == tree.sizes[node]
        assert inside.sum() == 4
    children = tree.spreads[~first] / tree.spreads[tree.parents[~first]]
    assert np.median(children) < 1


def test_clusters_of_equal_size_weigh_twice_as_much_on_each_level():
    corners = np.array([[x, y] for x in range(8) for y in range(8)], np.float32)
    sets = mercer.Ragged(np.tile(corners, (8, 1)), np.arange(0, 513, 64))
    kernel = VocabularyPyramid.for_data(sets, branching=2, n_levels=3)
    expected = 2.0 ** (kernel.levels + 1)
    np.testing.assert_allclose(np.median(kernel.weights / expected), 1, rtol=0.1)


@pytest.mark.parametrize("rule", ["mass", "diameter"])
def test_weights_never_fall_downwards(rule):
    kernel = VocabularyPyramid.for_data(SETS, branching=3, n_levels=6, weights=rule)
    assert (kernel.coefficients >= 0).all()
    assert np.isfinite(kernel.weights).all()
    assert kernel.psd
    K = kernel.normalized()(SETS, dtype=np.float64)
    assert np.linalg.eigvalsh(K)[0] > -1e-10


def test_levels_finer_than_any_match_are_left_out():
    """Sets that lie apart from each other share no cluster that is smaller than a set."""
    draw = np.random.default_rng(0)
    centers = draw.normal(size=(40, 1, 10)) * 9
    sets = mercer.Ragged.from_list(list(centers + draw.normal(size=(40, 60, 10))))
    tree = grow(sets.values, 5, 5, seed=0)
    whole = VocabularyPyramid(tree.centers, tree.parents, np.ones(len(tree.parents)))
    assert whole.levels.max() >= 3
    kept = VocabularyPyramid.for_data(sets, branching=5, n_levels=5)
    assert kept.levels.max() <= 1
    np.testing.assert_array_equal(kept.centers, tree.centers[: len(kept.centers)])


def test_finds_sets_with_the_same_parts():
    """Sets of the same eight places are nearer than others, in 12 dimensions."""
    draw = np.random.default_rng(1)
    parts = [draw.choice(30, 8, replace=False) for _ in range(15)]
    both = [
        mercer.Ragged.from_list([PLACES[p] + draw.normal(size=(8, 12)) for p in parts])
        for _ in range(2)
    ]
    kernel = VocabularyPyramid.for_data(SETS).normalized()
    assert (kernel(*both).argmax(axis=1) == np.arange(15)).mean() > 0.9


def test_odd_data():
    same = mercer.Ragged(np.ones((50, 3)), np.arange(0, 51, 5))
    np.testing.assert_allclose(VocabularyPyramid.for_data(same).normalized()(same), 1, rtol=1e-6)
    one = mercer.Ragged(np.ones((1, 3)), [0, 1])
    assert VocabularyPyramid.for_data(one)(one) > 0
    with_empty = mercer.Ragged(SETS.values[:9], [0, 0, 9])
    assert KERNEL(with_empty)[0].tolist() == [0, 0]
    with pytest.raises(InputError, match="all sets are empty"):
        VocabularyPyramid.for_data(mercer.Ragged(np.empty((0, 3)), [0, 0]))


def test_bad_arguments():
    good = {"centers": np.zeros((3, 2)), "parents": [-1, -1, 0], "weights": [1, 1, 2]}
    bad = {
        "centers have shape": {"centers": np.zeros(3)},
        "centers": {"centers": np.full((3, 2), np.nan)},
        "parents must be 3 integers": {"parents": [-1, 0]},
        "parents must be 3 integers that do not decrease": {"parents": [-1, 0, -1]},
        "cluster 1 lies in 1, which does not stand before": {"parents": [-1, 1, 1]},
        "weights must be one number": {"weights": [1, 1]},
        "none below that of the cluster": {"weights": [1, 1, 0.5]},
        "at least 0 for each of the 3": {"weights": [1, np.nan, 2]},
        "normalize is 'maximum'": {"normalize": "maximum"},
    }
    for text, change in bad.items():
        with pytest.raises(InputError, match=text):
            VocabularyPyramid(**(good | change))
    with pytest.raises(InputError, match="vectors have 3 features but the clusters 12"):
        KERNEL([[[1.0, 2.0, 3.0]]])
    with pytest.raises(InputError, match="weights is 'depth'"):
        VocabularyPyramid.for_data(SETS, weights="depth")


@pytest.mark.parametrize("kind", [VocabularyPyramid, SpatialPyramid, ProximityDistribution])
def test_stored_sets_of_another_width_are_refused(kind):
    """A folder may hold clusters that its items were never compared with."""
    places = np.random.default_rng(1).uniform(0, 9, (len(SETS.values), 2))
    sets = mercer.Ragged(SETS.values, SETS.offsets, positions=places)
    kernel = kind.for_data(sets)
    tree = kernel.prepare(sets).pack()
    assert len(Prepared.unpack(tree, kernel)) == len(sets)
    name = "centers" if kind is VocabularyPyramid else "words"
    narrow = kernel.get_params(deep=False) | {name: getattr(kernel, name)[:, :1]}
    with pytest.raises(StoreError, match="not what"):
        Prepared.unpack(tree, kind(**narrow))
