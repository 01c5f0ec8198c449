"""Optimal matchings against all permutations of tiny sets, and against bounds of larger ones."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.matching import equal_mass_matching, partial_matching
from mercer.errors import InputError


def points(size, d, seed):
    return np.random.default_rng(seed).integers(0, 20, (size, d)).astype(np.float32)


def apart(Y, Z):
    return np.abs(Y[:, None].astype(float) - Z).sum(axis=2)


def least_partial(Y, Z):
    """Try all ways to match the smaller set."""
    costs = apart(Y, Z) if len(Y) <= len(Z) else apart(Z, Y)
    ways = permutations(range(costs.shape[1]), costs.shape[0])
    return min(sum(costs[i, j] for i, j in enumerate(way)) for way in ways)


def least_whole(Y, Z):
    """Repeat the points until both sets are equally large, and try all permutations."""
    common = np.lcm(len(Y), len(Z))
    costs = apart(np.repeat(Y, common // len(Y), axis=0), np.repeat(Z, common // len(Z), axis=0))
    ways = permutations(range(common))
    return min(sum(costs[i, j] for i, j in enumerate(way)) for way in ways) / common


sizes = st.tuples(st.integers(1, 6), st.integers(1, 6))


@settings(max_examples=60, deadline=None)
@given(sizes, st.integers(1, 3), st.integers(0, 10_000))
def test_partial_matching_is_the_best_of_all(both, d, seed):
    Y, Z = points(both[0], d, seed), points(both[1], d, seed + 1)
    found = partial_matching(Y, Z)
    assert found.cost == pytest.approx(least_partial(Y, Z))
    assert len(found.rows) == min(both)
    assert len(set(found.rows)) == len(set(found.columns)) == min(both)
    np.testing.assert_allclose(found.distances, apart(Y, Z)[found.rows, found.columns])
    assert partial_matching(Z, Y).cost == pytest.approx(found.cost)


@pytest.mark.parametrize("both", [(1, 1), (1, 4), (2, 3), (3, 2), (2, 4), (3, 3), (5, 5), (6, 3)])
@pytest.mark.parametrize("seed", range(3))
def test_equal_mass_matching_is_the_best_of_all(both, seed):
    Y, Z = points(both[0], 2, seed), points(both[1], 2, seed + 9)
    found = equal_mass_matching(Y, Z)
    assert found.cost == pytest.approx(least_whole(Y, Z), rel=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.tuples(st.integers(1, 40), st.integers(1, 40)), st.integers(0, 10_000))
def test_all_mass_moves_and_in_one_dimension_it_moves_in_order(both, seed):
    """On a line the cost is the area between the two distribution functions."""
    Y, Z = points(both[0], 1, seed), points(both[1], 1, seed + 1)
    found = equal_mass_matching(Y, Z)
    for rows, size in ((found.rows, both[0]), (found.columns, both[1])):
        masses = np.bincount(rows, weights=found.shares, minlength=size)
        np.testing.assert_allclose(masses, 1 / size, atol=1e-8)
    at = np.arange(20)
    below = [(sets[:, 0][:, None] <= at).mean(axis=0) for sets in (Y, Z)]
    assert found.cost == pytest.approx(np.abs(below[0] - below[1]).sum(), abs=1e-7)


def test_far_points_cost_nothing_only_where_they_may_be_left_out():
    Y = points(5, 2, 0)
    clutter = np.vstack([Y, [[1000, 1000]]])
    assert partial_matching(Y, clutter).cost == 0
    assert equal_mass_matching(Y, clutter).cost > 100


def test_empty_sets():
    found = partial_matching([], [[1.0, 2.0]])
    assert (len(found.rows), found.cost) == (0, 0.0)
    with pytest.raises(InputError, match=r"the sets have 0 and 1 points\. An empty set has no"):
        equal_mass_matching([], [[1.0]])


def test_bad_points():
    with pytest.raises(InputError, match="partial_matching: the points have 1 and 2 features"):
        partial_matching([[1.0]], [[1.0, 2.0]])
    with pytest.raises(InputError, match="partial_matching: 1 of 1 items contain NaN"):
        partial_matching([[np.nan]], [[1.0]])
    with pytest.raises(InputError, match="equal_mass_matching: got one dimension with 2 values"):
        equal_mass_matching([1.0, 2.0], [[1.0]])
