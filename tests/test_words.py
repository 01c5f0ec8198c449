"""Kernels of words and positions against counting, and their hashing against the angle."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer import evaluate, kernels
from mercer.embeddings import PyramidDirections
from mercer.errors import InputError

WORDS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], np.float32)
FRAME = [[0, 0], [1, 1]]


def photos(sizes, seed=0, grid=None):
    """Return sets with positions; on a coarse grid many are equally far apart."""
    rng = np.random.default_rng(seed)
    n = int(np.sum(sizes))
    places = rng.random((n, 2)) if grid is None else rng.integers(0, grid, (n, 2)) / grid
    return mercer.Ragged(rng.random((n, 2)), np.cumsum([0, *sizes]), places)


def words_of(sets):
    gaps = ((sets.values[:, None] - WORDS) ** 2).sum(axis=2)
    return gaps.argmin(axis=1)


def parts(sets):
    """Return words and positions of every set."""
    words = words_of(sets)
    bounds = zip(sets.offsets[:-1], sets.offsets[1:], strict=True)
    return [(words[a:b], sets.positions[a:b]) for a, b in bounds]


def spatial_twin(one, other, n_levels, weights):
    """Count words in cells, level by level, from the finest on."""
    total = 0.0
    for level in range(n_levels):
        cells = 2 ** (n_levels - 1 - level)
        histograms = [
            Counter((w, *np.minimum((p * cells).astype(int), cells - 1)) for w, p in
                    zip(*side, strict=True))
            for side in (one, other)
        ]  # fmt: skip
        rest = weights[level + 1] if level + 1 < n_levels else 0.0
        total += (weights[level] - rest) * sum((histograms[0] & histograms[1]).values())
    return total


def proximity_twin(one, other, n_ranks):
    """Fill H(a, b, r) for all ranks, and intersect."""
    tables = []
    for words, places in (one, other):
        H = np.zeros((3, 3, n_ranks))
        for i in range(len(words)):
            gaps = ((places.astype(np.float64) - places[i]) ** 2).sum(axis=1)
            # of neighbours equally far the smaller word is nearer
            order = [j for j in np.lexsort((words, gaps)) if j != i]
            for rank, j in enumerate(order[:n_ranks]):
                H[words[i], words[j], rank:] += 1
        tables.append(H)
    return np.minimum(*tables).sum()


@pytest.mark.parametrize("weights", [None, [1.0, 0.4, 0.4], [2.0, 1.0, 0.0]])
def test_spatial_pyramid_counts_words_in_cells(weights):
    sets = photos([12, 1, 0, 30, 7])
    kernel = kernels.SpatialPyramid(WORDS, FRAME, 3, weights=weights)
    used = [1.0, 0.5, 0.25] if weights is None else weights
    twin = [[spatial_twin(a, b, 3, used) for b in parts(sets)] for a in parts(sets)]
    np.testing.assert_allclose(kernel(sets, dtype=np.float64), twin, rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(sets), used[0] * np.diff(sets.offsets))


def test_positions_outside_count_as_those_at_the_border():
    inside = mercer.Ragged([[0.0, 0.0]], [0, 1], [[0.99, 0.01]])
    outside = mercer.Ragged([[0.0, 0.0]], [0, 1], [[7.0, -3.0]])
    kernel = kernels.SpatialPyramid(WORDS, FRAME, 3)
    assert kernel(inside, outside)[0, 0] == 1


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=4),
    st.integers(1, 6), st.sampled_from([None, 2, 4]), st.integers(0, 99),
)  # fmt: skip
def test_proximities_are_intersected_rank_by_rank(sizes, n_ranks, grid, seed):
    sets = photos(sizes, seed, grid)
    kernel = kernels.ProximityDistribution(WORDS, n_ranks)
    twin = [[proximity_twin(a, b, n_ranks) for b in parts(sets)] for a in parts(sets)]
    np.testing.assert_allclose(kernel(sets, dtype=np.float64), twin, rtol=1e-12)


def test_self_similarity_of_proximities():
    sets = photos([80, 65, 10])
    own = kernels.ProximityDistribution(WORDS, 64).diag(sets)
    # with 10 points there are 9 neighbours: rank r is met by min(r, 9) of them
    assert own.tolist() == [80 * 64 * 65 / 2, 65 * 64 * 65 / 2, 10 * (45 + 55 * 9)]


@pytest.mark.parametrize("cls", [kernels.SpatialPyramid, kernels.ProximityDistribution])
def test_bits_agree_as_the_angle_says(cls):
    sets = photos([20] * 6, seed=3)
    kernel = cls.for_data(sets, n_words=4)
    Z = PyramidDirections(kernel, 8000, seed=1).fit_transform(sets)
    agreed = np.mean((Z[:, None] >= 0) == (Z[None] >= 0), axis=2)
    P = kernel.normalized()(sets, dtype=np.float64)
    expected = 1 - np.arccos(np.clip(P, -1, 1)) / np.pi
    assert np.abs(agreed - expected).max() < 4 * 0.5 / np.sqrt(8000)


@pytest.mark.parametrize("cls", [kernels.SpatialPyramid, kernels.ProximityDistribution])
@pytest.mark.parametrize("method", [mercer.exact, mercer.klsh, mercer.pyramid])
def test_searched_and_saved(cls, method, tmp_path):
    sets = photos(np.random.default_rng(1).integers(3, 30, 80))
    kernel = cls.for_data(sets, n_words=10).normalized()
    settings = {} if method is mercer.pyramid else {"n_landmarks": 60}
    index = method(kernel, **settings).fit(sets).add(sets)
    found = index.search(sets[:9], 3, candidates=None if method is mercer.exact else 80)
    truth = evaluate.ground_truth(kernel, sets, sets[:9], 3)
    assert evaluate.recall(found, truth) == 1
    assert found.exact.all()
    index.save(tmp_path / "index")
    loaded = mercer.load(tmp_path / "index").search(sets[:9], 3, candidates=80)
    np.testing.assert_array_equal(loaded.scores, found.scores)


def test_words_are_learned_the_same_again():
    sets = photos([40] * 10)
    one, other = (kernels.ProximityDistribution.for_data(sets, n_words=8) for _ in range(2))
    np.testing.assert_array_equal(one.words, other.words)
    assert len(kernels.SpatialPyramid.for_data(photos([3]), n_words=50).words) == 3


@pytest.mark.parametrize("call, text", [
    (lambda: kernels.SpatialPyramid([], FRAME), r"words have shape \(0,\)"),
    (lambda: kernels.SpatialPyramid([[np.nan]], FRAME), "Pass finite numbers"),
    (lambda: kernels.SpatialPyramid(WORDS, [[0, 0], [1, -1]]), "frame"),
    (lambda: kernels.SpatialPyramid(WORDS, [0, 1]), "frame"),
    (lambda: kernels.SpatialPyramid(WORDS, FRAME, 99), "too many bins"),
    (lambda: kernels.SpatialPyramid(WORDS, FRAME, 2, weights=[1, 2]), "do not increase"),
    (lambda: kernels.SpatialPyramid(WORDS, [[0], [1]])(photos([3])), "positions have shape"),
    (lambda: kernels.ProximityDistribution(WORDS, 0), "n_ranks"),
    (lambda: kernels.ProximityDistribution(WORDS, 256), "n_ranks is 256"),
    (lambda: kernels.ProximityDistribution(WORDS)([[[0.0, 1.0]]]), "have no positions"),
    (lambda: kernels.SpatialPyramid.for_data([[[0.0, 1.0]]]), "have no positions"),
    (lambda: kernels.SpatialPyramid.for_data(photos([0, 0])), "all sets are empty"),
    (lambda: kernels.ProximityDistribution([[0.0]])(photos([3])), "but the words 1"),
    (lambda: kernels.get("spatial_pyramid"), r"SpatialPyramid\.for_data"),
])  # fmt: skip
def test_bad_calls(call, text):
    with pytest.raises(InputError, match=text):
        call()
