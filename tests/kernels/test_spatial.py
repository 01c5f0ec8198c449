"""The spatial pyramid and the proximity distribution against plain histograms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from set_reference import intersection, proximity_counts, spatial_histograms, unary_codes

import mercer
from mercer.errors import InputError
from mercer.kernels import ProximityDistribution, SpatialPyramid

WORDS = np.random.default_rng(0).random((5, 3)).astype(np.float32)
FRAME = np.array([[0.0, 0.0], [16.0, 12.0]])


def some_sets(seed, n=5, most=14, n_coordinates=2):
    """Return sets with whole positions, so that many distances are equal."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, most, n)
    places = rng.integers(-1, 15, (sizes.sum(), n_coordinates))
    return mercer.Ragged(rng.random((sizes.sum(), 3)), np.append(0, sizes.cumsum()), places)


def parts(sets):
    """Return vectors and positions of each set."""
    spans = zip(sets.offsets[:-1], sets.offsets[1:], strict=True)
    return [(sets.values[a:b], sets.positions[a:b]) for a, b in spans]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_spatial_pyramid_equals_unary_codes(seed, n_levels):
    sets = some_sets(seed)
    weights = np.sort(np.random.default_rng(seed).random(n_levels))[::-1] + 0.1
    kernel = SpatialPyramid(WORDS, FRAME, n_levels, weights=weights)
    histograms = [spatial_histograms(*one, WORDS, FRAME, n_levels) for one in parts(sets)]
    falls = weights - np.append(weights[1:], 0)
    codes = unary_codes(histograms, lambda b: falls[b[0]])
    K = kernel(sets, dtype=np.float64)
    np.testing.assert_allclose(K, codes @ codes.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(np.diag(K), weights[0] * np.diff(sets.offsets), rtol=1e-12)


def test_one_level_is_a_bag_of_words():
    sets = some_sets(1)
    kernel = SpatialPyramid(WORDS, FRAME, 1)
    histograms = [spatial_histograms(*one, WORDS, FRAME, 1) for one in parts(sets)]
    expected = [[intersection(a, b, lambda _: 1) for b in histograms] for a in histograms]
    np.testing.assert_array_equal(kernel(sets), expected)


def test_positions_outside_the_frame_count_as_on_its_border():
    far, edge = (
        mercer.Ragged(WORDS[:1], [0, 1], positions=[place]) for place in ([99.0, -7.0], [16, 0])
    )
    assert SpatialPyramid(WORDS, FRAME, 4)(far, edge) == 1


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 20), st.integers(1, 3))
def test_proximity_distribution_equals_the_sum_over_all_ranks(seed, n_ranks, n_coordinates):
    sets = some_sets(seed, n_coordinates=n_coordinates)
    kernel = ProximityDistribution(WORDS, n_ranks)
    H = [proximity_counts(*one, WORDS, n_ranks) for one in parts(sets)]
    expected = [[np.minimum(a, b).sum() for b in H] for a in H]
    np.testing.assert_array_equal(kernel(sets), expected)


def test_proximity_of_a_set_to_itself():
    """k(Y, Y) = m R (R + 1) / 2 for m > R; ranks that no point has count as the last (M eq. 17)."""
    rng = np.random.default_rng(0)
    sets = mercer.Ragged(rng.random((60, 3)), [0, 50, 60], rng.random((60, 2)))
    m, R = np.array([50, 10]), 12
    near = np.minimum(R, m - 1)
    expected = m * (near * (near + 1) / 2 + near * (R - near))
    np.testing.assert_array_equal(ProximityDistribution(WORDS, R).diag(sets), expected)
    assert expected[0] == 50 * 12 * 13 / 2


@pytest.mark.parametrize("seed", range(3))
def test_order_of_points_does_not_matter_even_where_distances_tie(seed):
    sets = some_sets(seed, n=6, most=40)
    order = np.concatenate([
        np.random.default_rng(a).permutation(np.arange(a, b))
        for a, b in zip(sets.offsets[:-1], sets.offsets[1:], strict=True)
    ])  # fmt: skip
    turned = mercer.Ragged(sets.values[order], sets.offsets, sets.positions[order])
    for kernel in (SpatialPyramid(WORDS, FRAME), ProximityDistribution(WORDS, 8)):
        K = kernel(sets)
        np.testing.assert_array_equal(kernel(turned), K)
        np.testing.assert_array_equal(kernel(sets, turned), K)


def test_ranks_are_kept_in_a_byte_each_and_bins_in_four():
    sets = some_sets(5, n=3, most=200)
    bins, counts = ProximityDistribution(WORDS, 64).prepare(sets).parts.values()
    sizes = np.diff(sets.offsets)
    np.testing.assert_array_equal(np.diff(bins.offsets), sizes * np.minimum(64, sizes - 1))
    assert counts.values.dtype == np.uint8
    assert bins.values.dtype == np.int32


def test_a_hundred_thousand_points():
    rng = np.random.default_rng(0)
    n = 100_000
    sets = mercer.Ragged(rng.random((n + 2, 3)), [0, n, n + 2], rng.random((n + 2, 2)))
    assert ProximityDistribution(WORDS, 8).diag(sets).tolist() == [n * 36, 2 * 8]
    assert SpatialPyramid(WORDS, [[0, 0], [1, 1]]).diag(sets).tolist() == [n, 2]


def test_empty_sets_and_single_points():
    sets = mercer.Ragged(WORDS[:1], [0, 0, 1], [[1, 1]])
    np.testing.assert_array_equal(SpatialPyramid(WORDS, FRAME)(sets), [[0, 0], [0, 1]])
    np.testing.assert_array_equal(ProximityDistribution(WORDS)(sets), np.zeros((2, 2)))


KERNELS = [SpatialPyramid(WORDS, FRAME), ProximityDistribution(WORDS)]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.label)
def test_bad_sets(kernel):
    place = [[1.0, 1.0]]
    with pytest.raises(InputError, match="have no positions"):
        kernel(mercer.Ragged(WORDS[:1], [0, 1]))
    with pytest.raises(InputError, match=r"positions have shape \(1,\)"):
        kernel(mercer.Ragged(WORDS[:1], [0, 1], [1.0]))
    with pytest.raises(
        InputError, match=r"1 of 2 positions contain NaN or infinity \(first: row 2\)"
    ):
        kernel(mercer.Ragged(WORDS[:2], [0, 0, 1, 2], [[1.0, 1.0], [np.nan, 1.0]]))
    with pytest.raises(InputError, match="vectors have 2 features but the words 3"):
        kernel(mercer.Ragged(WORDS[:1, :2], [0, 1], place))
    with pytest.raises(InputError, match="1 of 1 items contain NaN"):
        kernel(mercer.Ragged([[np.nan, 0, 0]], [0, 1], place))
    with pytest.raises(InputError, match="all sets are empty"):
        type(kernel).for_data(mercer.Ragged(np.empty((0, 3)), [0, 0], np.empty((0, 2))))


def test_bad_arguments():
    with pytest.raises(InputError, match=r"words have shape \(0, 3\)"):
        SpatialPyramid(WORDS[:0], FRAME)
    with pytest.raises(InputError, match=r"frame has shape \(2,\)"):
        SpatialPyramid(WORDS, [0, 1])
    with pytest.raises(InputError, match="frame ends before it begins"):
        SpatialPyramid(WORDS, FRAME[::-1])
    with pytest.raises(InputError, match="too many bins"):
        SpatialPyramid(WORDS, np.array([[0] * 9, [1] * 9]), 8)
    with pytest.raises(InputError, match="Pass 3 numbers"):
        SpatialPyramid(WORDS, FRAME, weights=[1.0])
    with pytest.raises(InputError, match=r"positions have shape .* Pass one row a vector"):
        SpatialPyramid(WORDS, FRAME)(mercer.Ragged(WORDS[:1], [0, 1], [[1, 2, 3]]))
    with pytest.raises(InputError, match="n_ranks is 256"):
        ProximityDistribution(WORDS, 256)


def test_words_are_learned_from_the_data():
    places = np.random.default_rng(3).random((12, 4)) * 100
    vectors = np.repeat(places, 30, axis=0) + np.random.default_rng(4).normal(size=(360, 4))
    sets = mercer.Ragged(vectors, np.arange(0, 361, 10), np.random.default_rng(5).random((360, 2)))
    words = ProximityDistribution.for_data(sets, n_words=12).words
    gaps = np.linalg.norm(vectors[:, None] - words, axis=2).min(axis=1)
    apart = np.linalg.norm(vectors - vectors.mean(axis=0), axis=1)
    assert np.median(gaps) < 0.15 * np.median(apart)
    spatial = SpatialPyramid.for_data(sets, n_words=12)
    np.testing.assert_array_equal(spatial.words, words)
    np.testing.assert_allclose(spatial.frame, [[0, 0], [1, 1]], atol=0.02)
