"""Kernels of sets against their formulas, on sets of all sizes, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import PAIRS, corr_distance, max_sim, sum_match
from zoo import PLACED, PLACED_BYTES

import mercer
from mercer import Ragged, evaluate, kernels
from mercer.errors import InputError, KernelError
from mercer.kernels import sets as module


def sets_of(sizes, d=4, seed=0, kind="uniform"):
    """Return sets of these sizes, with positions."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    values = (
        rng.random((offsets[-1], d)) if kind == "uniform" else rng.normal(size=(offsets[-1], d))
    )
    return Ragged(values.astype(np.float32), offsets, 300 * rng.random((offsets[-1], 2)))


def gram(pair, X, Y):
    """Return pair(i, j) of all pairs of sets, in double precision."""
    return np.array([[pair(i, j) for j in range(len(Y))] for i in range(len(X))])


def by_base(function, base, X, Y):
    A, B = ([one.astype(np.float64) for one in sets] for sets in (X, Y))
    return gram(lambda i, j: function(base, A[i], B[j]), X, Y)


def corr(X, Y, gamma, weight):
    def value(i, j):
        Z, W = X[i].astype(np.float64), Y[j].astype(np.float64)
        if not len(Z) or not len(W):
            return 0.0
        places = [sets.positions[sets.offsets[k] : sets.offsets[k + 1]].astype(np.float32)
                  for sets, k in ((X, i), (Y, j))]  # fmt: skip
        return np.exp(-gamma * corr_distance(Z, W, *(p.astype(np.float64) for p in places), weight))

    return gram(value, X, Y)


def assert_within_tolerance(kernel, X, Y, expected, dtype=np.float32):
    P, R = kernel.prepare(X), kernel.prepare(Y)
    own = np.sqrt(np.outer(kernel.diag(P, dtype=float), kernel.diag(R, dtype=float)))
    slack = kernel.tolerance(P, R, dtype=dtype) * np.maximum(own, np.abs(expected)) + 1e-33
    gap = np.abs(kernel(P, R, dtype=dtype) - expected)
    assert (gap <= slack + 1e-13 * (1 + np.abs(expected))).all(), (gap - slack).max()
    assert kernel.tolerance(P, R, dtype=dtype) < 1e-3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("base", ["rbf", "chi2", "linear", "cosine", "laplacian"])
def test_against_twins(base, dtype):
    for X in (PLACED[:25], PLACED_BYTES[:25]):
        if base in ("rbf", "laplacian") and X.values.dtype == np.uint8:
            continue  # nothing is left of exp(-255²)
        for cls, twin in ((kernels.SumMatch, sum_match), (kernels.MaxSim, max_sim)):
            expected = by_base(twin, PAIRS[base], X, X[:9])
            assert_within_tolerance(cls(kernels.get(base)), X, X[:9], expected, dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weight", [0.25, 0.0, 40.0])
def test_corr_against_its_twin(weight, dtype):
    for X, gamma in ((PLACED[:25], 0.7), (PLACED_BYTES[:25], 2e-5)):
        kernel = kernels.Corr(gamma, weight, image_size=100.0)
        expected = corr(X, X[:9], gamma, weight / 100)
        assert_within_tolerance(kernel, X, X[:9], expected, dtype)


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 40), min_size=2, max_size=6),
    d=st.integers(1, 9),
    rows=st.integers(1, 16),
    columns=st.integers(1, 16),
    seed=st.integers(0, 1000),
)
def test_cutting_into_blocks_changes_nothing(sizes, d, rows, columns, seed):
    """Sets may begin and end anywhere in a block, and span many."""
    X = sets_of(sizes, d, seed, "normal")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ROWS", rows)
        patch.setattr(module, "COLUMNS", columns)
        cut = [kernel(X, dtype=np.float64) for kernel in KERNELS]
    for kernel, found in zip(KERNELS, cut, strict=True):
        np.testing.assert_allclose(found, kernel(X, dtype=np.float64), rtol=1e-9, atol=1e-12)


KERNELS = (
    kernels.SumMatch(kernels.RBF(gamma=0.2)),
    kernels.MaxSim(kernels.Linear()),
    kernels.Corr(gamma=0.1),
)


@settings(max_examples=30, deadline=None)
@given(size=st.integers(1, 30), other=st.integers(1, 30), seed=st.integers(0, 1000))
def test_order_within_a_set_means_nothing(size, other, seed):
    X = sets_of([size, other], 3, seed)
    rng = np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(size), size + rng.permutation(other)])
    mixed = Ragged(X.values[order], X.offsets, X.positions[order])
    for kernel in KERNELS:
        np.testing.assert_allclose(
            kernel(mixed, dtype=np.float64), kernel(X, dtype=np.float64), rtol=1e-10
        )


def test_sum_match_is_the_inner_product_of_means():
    X = sets_of([5, 1, 30, 12], 6, kind="normal")
    means = np.array([one.astype(np.float64).mean(axis=0) for one in X])
    found = kernels.SumMatch(kernels.Linear())(X, dtype=np.float64)
    np.testing.assert_allclose(found, means @ means.T, rtol=1e-9, atol=1e-12)


def test_sum_match_is_definite_and_the_others_are_not():
    X = sets_of(np.random.default_rng(2).integers(1, 6, 60), 2, 1)
    least = {
        kernel.label: np.linalg.eigvalsh(kernel(X, dtype=np.float64))[0]
        for kernel in (*KERNELS[:2], kernels.Corr(gamma=0.01, position_weight=40.0))
    }
    assert least["SumMatch"] > -1e-12
    assert least["MaxSim"] < -1e-3
    assert least["Corr"] < -1e-5
    assert [kernel.psd for kernel in KERNELS] == [True, False, False]


def test_vectors_that_cancel_raise_the_tolerance():
    """Two opposite vectors have a mean of nearly 0, so nothing is known about its cosine."""
    tilted = Ragged(np.float32([[1, 0], [-1, 1e-4], [1, 0]]), [0, 2, 3])
    kernel = kernels.SumMatch(kernels.Linear())
    assert kernel.tolerance(kernel.prepare(tilted)) > 100 * kernel.tolerance(
        kernel.prepare(tilted[1:])
    )
    opposite = Ragged(np.float32([[1, 0], [-1, 0]]), [0, 2])
    assert kernel.tolerance(kernel.prepare(opposite)) == 1


def test_for_data():
    X = PLACED[:20]
    costs = -np.log(corr(X, X, 1.0, 0.25 / 270.0) + np.eye(20)[:, 4:5] * 1.0 + 1e-300)
    filled = [i for i in range(20) if i != 4]  # one set is empty
    mean = costs[np.ix_(filled, filled)].sum() / (19 * 18)
    assert kernels.Corr.for_data(X).gamma == pytest.approx(1 / mean, rel=1e-6)
    assert kernels.Corr.for_data(X[4:5]).gamma == 1.0
    base = kernels.SumMatch.for_data(X).base
    assert base.gamma == pytest.approx(kernels.RBF.for_data(X.values).gamma)
    assert kernels.SumMatch.for_data(X[4:5]) == kernels.SumMatch()
    sharp = kernels.Corr.for_data(X, position_weight=9.0, image_size=90.0)
    assert (sharp.position_weight, sharp.image_size) == (9.0, 90.0)


# ---- in an index


def test_exact_search_is_proven():
    X = sets_of(np.random.default_rng(3).integers(1, 12, 300), 3, 2)
    kernel = kernels.SumMatch(kernels.RBF(gamma=3.0))
    index = mercer.exact(kernel, n_landmarks=80, n_components=40).fit(X[50:]).add(X[50:])
    found = index.search(X[:50], 3)
    truth = evaluate.ground_truth(kernel, X[50:], X[:50], 3)
    assert found.exact.all()
    assert found.evaluations.mean() < 100
    np.testing.assert_allclose(found.scores, truth.scores, rtol=1e-5)


def test_hashing_with_corr_drops_negative_eigenvalues():
    rng = np.random.default_rng(4)
    models = sets_of([4] * 10, 3, 5)
    rows = np.repeat(np.arange(10), 30)
    X = models.take(rows)
    X = Ragged(X.values + 0.1 * rng.normal(size=X.values.shape), X.offsets,
               X.positions + 20 * rng.normal(size=X.positions.shape))  # fmt: skip
    kernel = kernels.Corr(0.3 * kernels.Corr.for_data(X).gamma)
    index = mercer.klsh(kernel, n_bits=64, n_landmarks=60).fit(X).add(X)
    assert index.embedding_.spectrum_[-1] < -1e-3
    assert index.embedding_.rank_ < 59
    found = index.search(X, 5, candidates=40)
    assert (rows[found.ids] == rows[:, None]).mean() > 0.97
    truth = evaluate.ground_truth(kernel, X, X, 1)
    assert evaluate.recall(found, truth, 1) > 0.99
    assert not mercer.exact(kernel).info()["certified"]


# ---- hostile sets


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.label)
def test_empty_sets_and_single_vectors(kernel):
    X = sets_of([0, 1, 1, 0, 3])
    K = kernel(X)
    empty = [0, 3]
    assert (K[empty] == 0).all()
    assert (K[:, empty] == 0).all()
    assert (kernel.diag(X)[empty] == 0).all()
    assert (K[1:3, 1:3] != 0).all()
    nothing = Ragged.from_list([[], []])  # no vector at all, so no width
    assert (kernel(nothing, X) == 0).all()
    assert (kernel(X[:1], X) == 0).all()


def test_a_set_of_many_vectors():
    many, few = sets_of([100_000], 2), sets_of([3, 0, 2], 2)
    for kernel in KERNELS[1:]:
        found = kernel(many, few, dtype=np.float64)
        assert found.shape == (1, 3)
        assert found[0, 1] == 0
        assert (found[0, [0, 2]] > 0).all()
    corners = [[0.0, 0.0], [1.0, 1.0]]
    best = kernels.MaxSim(kernels.Linear())(many, [corners], dtype=np.float64)[0, 0]
    sums = many.values.astype(np.float64).sum(axis=1)
    assert best == pytest.approx((sums.mean() + sums.max() / 2) / 2)


BAD = {
    "NaN": (lambda k: k(_with(np.nan)), "1 of 3 items contain NaN (first: row 2)"),
    "infinity": (lambda k: k(_with(np.inf)), "contain infinity, or a value too large"),
    "mixed widths": (lambda k: k(sets_of([2, 2]), sets_of([2], d=3)), "X: 4 features, but Y: 3."),
    "no sets": (lambda k: k([]), "there are no items"),
    "vectors": (lambda k: k(np.ones((3, 4))), "Ragged: set 0 has shape (4,)"),
    "words": (lambda k: k(Ragged([["a"]], [0, 1])), "the vectors are of type <U1. Pass numbers."),
    "bad positions": (
        lambda k: k(Ragged(np.ones((3, 2)), [0, 1, 3], [[0, 0], [1, np.nan], [0, 0]])),
        "1 of 3 positions contain NaN or infinity (first: row 1). Leave these vectors out.",
    ),
    "flat positions": (
        lambda k: k(Ragged(np.ones((3, 2)), [0, 1, 3], [1, 2, 3])),
        "positions have shape (3,) and type int64. Pass numbers, one row per vector",
    ),
}


def _with(value):
    X = sets_of([2, 0, 3])
    X.values[4, 1] = value
    return X


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.label)
@pytest.mark.parametrize("case", BAD)
def test_bad_sets(case, kernel):
    call, text = BAD[case]
    with pytest.raises(InputError) as caught:
        call(kernel)
    assert text in str(caught.value)


def test_bad_parameters():
    with pytest.raises(InputError, match=r"Corr: the sets have no positions\. Pass mercer\.Ragged"):
        kernels.Corr()([[[1.0, 2.0]]])
    for bad in ("rbf", kernels.Tanimoto(), kernels.SumMatch(), None):
        with pytest.raises(InputError, match=r"MaxSim: base is .* Pass a kernel of vectors"):
            kernels.MaxSim().set_params(base=bad)
    for name in ("gamma", "image_size"):
        with pytest.raises(InputError, match=f"Corr: {name} is 0"):
            kernels.Corr(**{name: 0})
    with pytest.raises(InputError, match="position_weight is -1"):
        kernels.Corr(position_weight=-1)
    with pytest.raises(InputError, match="1 of 1 items contain negative values"):
        kernels.SumMatch(kernels.Chi2())([[[-1.0]]])


def test_values_beyond_float32_are_reported_with_their_sets():
    huge = Ragged(np.float32([[1], [3e38], [1]]), [0, 1, 3])
    for cls in (kernels.SumMatch, kernels.MaxSim):
        with pytest.raises(KernelError, match=r"k\(X\[1\], Y\[1\]\) is inf"):
            cls(kernels.Linear())(huge)


def test_inner_parameters_can_be_set():
    kernel = kernels.SumMatch(kernels.RBF(gamma=1.0)).set_params(base__gamma=0.5)
    assert kernels.from_spec(kernels.to_spec(kernel)) == kernels.SumMatch(kernels.RBF(gamma=0.5))
    assert repr(kernels.MaxSim()) == "MaxSim(base=Cosine())"
