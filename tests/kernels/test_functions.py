"""Kernels of any Python objects."""

from __future__ import annotations

import numpy as np
import pytest
from zoo import SETS, VECTORS, WORDS, letter_difference, mean_match, shared_letters

import mercer
from mercer import kernels
from mercer.errors import InputError, KernelError
from mercer.kernels import functions


def test_pairs_of_objects():
    found = kernels.from_function(shared_letters)(WORDS, WORDS[:5])
    expected = [[len(set(x) & set(y)) for y in WORDS[:5]] for x in WORDS]
    np.testing.assert_array_equal(found, expected)


def test_sets_are_given_one_by_one():
    found = kernels.from_function(mean_match)(SETS)
    assert found[3, 8] == pytest.approx(mean_match(SETS[3], SETS[8]), rel=1e-6)


def test_a_symmetric_gram_calls_each_pair_about_once():
    calls = []

    def counted(x, y):
        calls.append(1)
        return shared_letters(x, y)

    kernel = kernels.from_function(counted)
    P = kernel.prepare(WORDS)
    calls.clear()
    kernel(P)
    assert len(calls) <= 70 * 71 / 2 + 70 * 16  # tiles on the diagonal are computed whole


def test_distances_become_similarities():
    kernel = kernels.from_distance(letter_difference, gamma=0.5)
    assert kernel(["ab"], ["bc"])[0, 0] == pytest.approx(np.exp(-1.0))
    assert repr(kernel) == "from_distance(letter_difference, gamma=0.5)"


def test_gram_functions_see_slices():
    seen = []

    def dot(X, Y):
        seen.append((len(X), len(Y)))
        return X @ Y.T

    big = np.ones((600, 2), np.float32)
    np.testing.assert_array_equal(kernels.from_gram(dot)(big), np.full((600, 600), 2))
    assert max(seen) <= (256, 1024)


def test_precomputed_takes_row_numbers():
    K = VECTORS @ VECTORS.T
    kernel = kernels.Precomputed(K)
    np.testing.assert_array_equal(kernel([3, 1], [0, 2]), K[[3, 1]][:, [0, 2]])
    np.testing.assert_array_equal(kernel.diag([5]), K[[5], [5]])


def test_reprs_can_be_typed_back():
    for kernel in (
        kernels.from_function(shared_letters, psd=True),
        kernels.from_distance(letter_difference, gamma=2.0),
        kernels.from_gram(shared_letters),
    ):
        names = vars(kernels) | {f.__name__: f for f in (shared_letters, letter_difference)}
        assert eval(repr(kernel), names) == kernel


def test_errors_name_the_items():
    def picky(x, y):
        if "d" in x + y:
            raise RuntimeError("no d please")
        return 1.0

    with pytest.raises(KernelError, match="picky: fails on the items 'a' and 'd': RuntimeError"):
        kernels.from_function(picky)(["a", "b", "c", "d"])
    with pytest.raises(KernelError, match="must return a number"):
        kernels.from_function(lambda x, y: "similar")(["a", "b"])
    with pytest.raises(KernelError, match="is nan"):
        kernels.from_function(lambda x, y: float("nan"))(["a", "b"])


def test_distances_that_cannot_be_ranked_are_refused():
    with pytest.raises(KernelError, match=r"is 0 in float32.*gamma of about 0\.001"):
        kernels.from_distance(lambda x, y: 1000.0 * (x != y))(["a", "b"])
    with pytest.raises(KernelError, match="Distances are at least 0"):
        kernels.from_distance(lambda x, y: -1.0)(["a", "b"])


def test_gram_functions_must_return_the_right_shape():
    with pytest.raises(KernelError, match=r"returned shape \(2,\)"):
        kernels.from_gram(lambda X, Y: np.ones(2))(["a", "b"])
    with pytest.raises(KernelError, match="Kernels are symmetric"):
        kernels.from_gram(lambda X, Y: np.arange(4.0).reshape(2, 2))(["a", "b"])


def test_bad_matrices_are_refused():
    with pytest.raises(InputError, match="square matrix"):
        kernels.Precomputed(np.ones((2, 3)))
    with pytest.raises(KernelError, match="Kernels are symmetric"):
        kernels.Precomputed([[1, 2], [3, 1]])
    with pytest.raises(InputError, match="row 1 of K contains NaN"):
        kernels.Precomputed([[1.0, 0.0], [0.0, np.nan]])
    with pytest.raises(InputError, match="item 7 is not a row"):
        kernels.Precomputed(np.eye(3))([0, 7])
    with pytest.raises(InputError, match="Pass row numbers"):
        kernels.Precomputed(np.eye(3))([[0.5]])


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint16, np.float16, np.float32])
@pytest.mark.parametrize("make", [kernels.from_function, kernels.from_gram])
def test_short_numbers_do_not_overflow(kind, make):
    X = np.full((4, 300), 200 if kind == np.uint8 else 100, kind)
    products = np.dot if make is kernels.from_function else lambda X, Y: X @ Y.T
    expected = 300 * float(X[0, 0]) ** 2
    assert (make(products)(X, dtype=np.float64) == expected).all()
    if make is kernels.from_function:
        lists = list(X)  # arrays in a list, and single numbers, too
        assert (make(products)(lists, dtype=np.float64) == expected).all()
        assert make(lambda x, y: x * y)(X[0, :2])[0, 0] == float(X[0, 0]) ** 2


def test_other_items_arrive_as_they_are():
    seen = []

    def look(x, y):
        seen.append(type(x))
        return 1.0

    kernels.from_function(look)(["a", "b"])
    assert set(seen) == {str}
    wide = np.arange(3)
    assert functions.wide(wide) is wide
    flags = np.array([True, False])
    assert functions.wide(flags) is flags


def test_a_function_in_single_precision_is_trusted_no_further():
    X = np.random.default_rng(0).random((50, 8)).astype(np.float32)
    double = kernels.from_gram(lambda X, Y: X @ Y.T, psd=True)
    single = kernels.from_gram(lambda X, Y: (X @ Y.T).astype(np.float32), psd=True)
    P, R = double.prepare(X), single.prepare(X)
    assert double.tolerance(P, dtype=np.float64) < 1e-14
    assert single.tolerance(R, dtype=np.float64) > 1e-7


def test_whole_numbers_are_trusted_as_doubles_are():
    """Counts and integer products are exact: single precision would loosen every certificate."""
    X = np.random.default_rng(0).integers(0, 9, (40, 6))
    for function in (
        lambda X, Y: X @ Y.T,
        lambda X, Y: (X[:, None] == Y).all(axis=2),
        lambda X, Y: [[float(x @ y) for y in Y] for x in X],
    ):
        kernel = kernels.from_gram(function, psd=True)
        P = kernel.prepare(X)
        assert kernel.tolerance(P, dtype=np.float64) < 1e-14
        assert kernel.tolerance(P) < 2 * 2.0**-24


@pytest.mark.parametrize("kind, least", [(np.float32, 1e-7), (np.float16, 1e-3)])
def test_the_coarsest_values_count(kind, least):
    """Blocks may come in different types; the last one alone says nothing of the others."""
    X = np.random.default_rng(0).random((50, 8)).astype(np.float32)

    def mixed(X, Y):
        return X @ Y.T if len(X) < 10 else (X @ Y.T).astype(kind)

    kernel = kernels.from_gram(mixed)
    P = kernel.prepare(X)
    assert kernel.tolerance(P, dtype=np.float64) < 1e-14
    kernel(P, P[:])
    assert kernel.tolerance(P, dtype=np.float64) > least
    kernel(P[:2])
    assert kernel.tolerance(P, dtype=np.float64) > least


def test_tolerance_before_any_value_is_that_of_single_precision():
    kernel = kernels.from_gram(np.inner)
    P = kernel.prepare(VECTORS)
    assert kernels.from_gram(np.inner).tolerance(P, dtype=np.float64) > 1e-7
    assert kernel.tolerance(P, dtype=np.float64) < 1e-14


def test_a_certificate_of_whole_numbers_is_that_of_double_precision():
    """Inner products of counts: bounds are loosened by the rounding of a double, not a float."""
    X = np.random.default_rng(1).poisson(2.0, (300, 20))
    exact = mercer.exact(kernels.from_gram(lambda X, Y: X @ Y.T, psd=True), n_landmarks=60)
    exact.fit(X).add(X)
    counted = exact.search(X[:40], 3)
    single = mercer.exact(
        kernels.from_gram(lambda X, Y: (X @ Y.T).astype(np.float32), psd=True), n_landmarks=60
    )
    assert counted.exact.all()
    assert counted.evaluations.mean() <= single.fit(X).add(X).search(X[:40], 3).evaluations.mean()
    truth = mercer.evaluate.ground_truth("linear", X, X[:40], 3)
    np.testing.assert_array_equal(counted.scores, truth.scores)
