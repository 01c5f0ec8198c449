"""The pyramid match against unary codes and plain histograms, its levels, and hostile sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from set_reference import grid_histograms, intersection, unary_codes

import mercer
from mercer import evaluate, kernels
from mercer.errors import InputError
from mercer.kernels import PyramidMatch


def some_sets(seed, n=6, width=2, high=40.0, most=12):
    rng = np.random.default_rng(seed)
    return [rng.random((int(rng.integers(0, most)), width)) * high - high / 3 for _ in range(n)]


def ragged(sets, width=2):
    kept = [np.asarray(one, np.float32).reshape(-1, width) for one in sets]
    return mercer.Ragged(np.concatenate(kept), np.cumsum([0] + [len(one) for one in kept]))


def twins(kernel, sets):
    """Return the histograms of sets by plain counting, and the coefficient of a bin."""
    weights = np.append(_weights(kernel), 0)
    width = sets.values.shape[1]
    found = [
        grid_histograms(one, kernel.finest, kernel.n_levels, kernel.shifts(width)) for one in sets
    ]
    return found, lambda b: weights[b[0]] - weights[b[0] + 1]


def _weights(kernel):
    return 0.5 ** np.arange(kernel.n_levels) if kernel.weights is None else kernel.weights


falling = st.lists(st.floats(0.001, 100), min_size=1, max_size=6).map(
    lambda some: sorted(some, reverse=True)
)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), falling, st.floats(0.3, 20), st.none() | st.integers(0, 99))
def test_equals_the_inner_product_of_unary_codes_for_any_weights(seed, weights, finest, shift):
    sets = ragged(some_sets(seed))
    kernel = PyramidMatch(finest, len(weights), weights=weights, shift=shift)
    histograms, coefficient = twins(kernel, sets)
    codes = unary_codes(histograms, coefficient)
    expected = codes @ codes.T
    np.testing.assert_allclose(kernel(sets, dtype=np.float64), expected, rtol=1e-12, atol=1e-12)
    by_counts = [[intersection(a, b, coefficient) for b in histograms] for a in histograms]
    np.testing.assert_allclose(expected, by_counts, rtol=1e-12, atol=1e-12)
    ids = np.tile(np.arange(len(sets)), (len(sets), 1))
    np.testing.assert_allclose(kernel.score(sets, sets, ids), expected, rtol=1e-6, atol=1e-30)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.3, 5))
def test_bins_are_nested(seed, finest):
    """Points that meet on a level meet on every coarser one, so intersections only grow."""
    sets = ragged(some_sets(seed))
    last = np.zeros((len(sets), len(sets)))
    for level in range(7):
        # a weight of 1 up to a level and 0 beyond counts the points that meet on it
        weights = (np.arange(7) <= level).astype(float)
        meeting = PyramidMatch(finest, 7, weights=weights, shift=3)(sets)
        assert (meeting >= last).all()
        last = meeting
    sizes = np.diff(sets.offsets)
    assert (last <= np.minimum.outer(sizes, sizes)).all()


def test_similarity_to_itself_is_the_first_weight_times_the_size():
    sets = ragged(some_sets(1))
    kernel = PyramidMatch(0.7, 5, weights=[0.9, 0.5, 0.4, 0.1, 0.0])
    np.testing.assert_allclose(kernel.diag(sets), 0.9 * np.diff(sets.offsets), rtol=1e-6)


def test_order_of_points_does_not_matter():
    sets = some_sets(2)
    turned = [one[::-1] for one in sets]
    kernel = PyramidMatch(1.0, 4)
    np.testing.assert_array_equal(kernel(ragged(sets)), kernel(ragged(turned)))


def test_is_positive_semidefinite():
    sets = ragged(some_sets(3, n=40))
    K = PyramidMatch(2.0, 5).normalized()(sets, dtype=np.float64)
    assert np.linalg.eigvalsh(K)[0] > -1e-10


def test_minimum_normalisation_forgives_additional_points():
    sets = some_sets(4, n=2, most=12)
    sets = [sets[0][:1], np.concatenate([sets[0][:1], sets[1] + 1000])]
    plain, least = (PyramidMatch(1.0, 4, normalize=n) for n in (None, "minimum"))
    assert least(ragged(sets))[0, 1] == 1
    assert plain.normalized()(ragged(sets))[0, 1] < 1
    K, own = plain(ragged(sets)), plain.diag(ragged(sets))
    np.testing.assert_allclose(least(ragged(sets)), K / np.minimum.outer(own, own))
    assert plain.psd
    assert not least.psd


def test_minimum_normalisation_is_not_positive_semidefinite():
    """Y lies in both others, which share nothing."""
    kernel = PyramidMatch(1.0, 1, shift=None, normalize="minimum")
    K = kernel(ragged([[[0, 0], [9, 9]], [[0, 0]], [[9, 9]]]), dtype=np.float64)
    assert np.linalg.eigvalsh(K)[0] < -0.4
    with pytest.raises(InputError, match=r"normalize is 'product'.*\.normalized\(\)"):
        PyramidMatch(1.0, 1, normalize="product")


# ---- levels from the data


def clustered(n, seed, scale=1.0):
    """Return sets whose points scatter by about 1/2 around a few of 60 places."""
    rng = np.random.default_rng(seed)
    places = np.random.default_rng(9).random((60, 2)) * 100
    return ragged([
        scale * (places[rng.choice(60, 15)] + rng.normal(0, 0.5, (15, 2))) for _ in range(n)
    ])  # fmt: skip


def test_levels_are_those_on_which_sets_meet():
    kernel = PyramidMatch.for_data(clustered(100, 0))
    assert 0.2 < kernel.finest < 2
    assert 25 < kernel.finest * 2 ** (kernel.n_levels - 1) < 120
    assert kernel.shift == 0
    assert PyramidMatch.for_data(clustered(100, 0), seed=5).shift == 5


def test_levels_follow_the_scale():
    one, thousand = (PyramidMatch.for_data(clustered(100, 0, scale)) for scale in (1.0, 1000.0))
    assert thousand.n_levels == one.n_levels
    assert thousand.finest == pytest.approx(1000 * one.finest, rel=0.01)


def test_levels_finer_than_any_match_are_left_out():
    sets = clustered(100, 0)
    chosen = PyramidMatch.for_data(sets)
    finer = PyramidMatch(chosen.finest / 16, chosen.n_levels + 4)
    near = [np.sort(k.normalized()(sets), axis=1)[:, -2].mean() for k in (chosen, finer)]
    assert near[0] > 0.1
    assert near[1] < near[0] / 4


@pytest.mark.parametrize(
    "sets",
    [
        [[[1.0, 1.0]]],
        [[[1.0, 1.0]], [[1.0, 1.0]]],
        [[], [[1.0, 2.0]], []],
        [[], []],
        [[[0.0, 0.0], [1e6, 1.0]], [[0.0, 0.0], [1e6, 1.0]]],
    ],
)
def test_levels_of_odd_data(sets):
    kernel = PyramidMatch.for_data(ragged(sets))
    assert kernel.finest > 0
    assert 1 <= kernel.n_levels <= 24
    assert kernel(ragged(sets)).shape == (len(sets), len(sets))


# ---- hostile sets


def test_empty_sets_and_single_points():
    sets = ragged([[], [[1.0, 2.0]], [], [[1.0, 2.0], [30.0, 2.0]]])
    kernel = PyramidMatch(1.0, 3)
    expected = np.array([[0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0], [0, 1, 0, 2]])
    np.testing.assert_array_equal(kernel(sets), expected)
    np.testing.assert_array_equal(kernel.normalized()(sets)[0], np.zeros(4))
    np.testing.assert_array_equal(PyramidMatch(1.0, 3, normalize="minimum")(sets)[0], np.zeros(4))
    nothing = mercer.Ragged.from_list([[]])
    np.testing.assert_array_equal(kernel(nothing, sets), np.zeros((1, 4)))
    found = evaluate.ground_truth(kernel, sets, nothing, 2)
    assert found.scores.tolist() == [[0, 0]]


def test_a_hundred_thousand_points():
    rng = np.random.default_rng(0)
    large = rng.random((100_000, 3))
    sets = ragged([large, large[:7], large[::2]], width=3)
    K = PyramidMatch(0.01, 6)(sets)
    np.testing.assert_array_equal(np.diag(K), [100_000, 7, 50_000])
    np.testing.assert_array_equal(K[0], [100_000, 7, 50_000])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_bad_values_are_refused(bad):
    sets = ragged([[[1.0, 2.0]], [[1.0, bad]]])
    for call in (PyramidMatch(1.0, 2), PyramidMatch.for_data):
        with pytest.raises(InputError, match=r"1 of 2 items contain .* \(first: row 1\)"):
            call(sets)


def test_sets_of_other_widths_are_refused():
    kernel = PyramidMatch(1.0, 2)
    with pytest.raises(InputError, match=r"sets have \[2, 3\] features"):
        kernel([[[1.0, 2.0]], [[1.0, 2.0, 3.0]]])
    with pytest.raises(InputError, match="X: 2 features, but Y: 3"):
        kernel(ragged([[[1.0, 2.0]]]), ragged([[[1.0, 2.0, 3.0]]], width=3))


@pytest.mark.parametrize("offsets", [[0, 2], [0, 3, 1], [1, 3], [0, 4]])
def test_wrong_offsets_are_refused(offsets):
    with pytest.raises(InputError, match="Ragged: offsets"):
        PyramidMatch(1.0, 2)(mercer.Ragged(np.zeros((3, 2)), offsets))


def test_points_too_far_from_the_origin_are_refused():
    with pytest.raises(InputError, match=r"a value of 1e.20 is too far from 0 for bins of side 1"):
        PyramidMatch(1.0, 2)([[[1e20]]])
    assert PyramidMatch(1e10, 2)([[[1e20]]]) == 1


@pytest.mark.parametrize(
    "arguments, text",
    [
        ({"finest": 0.0}, "finest is 0.0"),
        ({"n_levels": 0}, "n_levels is 0"),
        ({"n_levels": 25}, "n_levels is 25. Pass at most 24"),
        ({"shift": -1}, "shift is -1"),
        ({"weights": [1.0]}, "Pass 2 numbers"),
        ({"weights": [0.5, 1.0]}, "do not increase"),
        ({"weights": [0.5, -1.0]}, "at least 0"),
        ({"weights": [0.0, 0.0]}, "at least 0"),
        ({"weights": [np.nan, 0.0]}, "at least 0"),
    ],
)
def test_bad_parameters(arguments, text):
    with pytest.raises(InputError, match=text):
        PyramidMatch(**({"finest": 1.0, "n_levels": 2} | arguments))


def test_the_name_alone_tells_what_to_do():
    for name in ("pyramid_match", "vocabulary_pyramid", "spatial_pyramid"):
        cls = kernels.NAMES[name].__name__
        with pytest.raises(InputError, match=rf"depend on the data.*kernels.{cls}.for_data"):
            kernels.get(name)
