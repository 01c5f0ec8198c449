"""Kernels of changed items: the values, the facts that follow, and what indexes keep."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from zoo import COUNTS, HISTOGRAMS, SETS, SPARSE, VECTORS

import mercer
from mercer import kernels
from mercer.embeddings import AdditiveMap, Explicit, FeatureKPCA
from mercer.errors import InputError

CHI2, RBF = kernels.Chi2(), kernels.RBF(gamma=0.3)


def reference(X, change):
    """Change rows with plain NumPy, in double precision."""
    X = np.asarray(X, np.float64)
    if change == "sqrt":
        return np.sqrt(X)
    if change == "standardized":
        spread = X.std(axis=0)
        return (X - X.mean(axis=0)) / np.where(spread == 0, 1, spread)
    sizes = X.sum(axis=1) if change == "l1" else np.linalg.norm(X, axis=1)
    return X / np.where(sizes == 0, 1, sizes)[:, None]


@pytest.mark.parametrize("change", ["l1", "l2", "sqrt", "standardized"])
@pytest.mark.parametrize("given", [COUNTS, COUNTS.astype(float), SPARSE], ids=["u1", "f8", "csr"])
def test_values_are_those_of_changed_items(change, given):
    inner = RBF if change == "standardized" else CHI2
    kernel = inner.of(change).suited(given)
    dense = given.toarray() if scipy.sparse.issparse(given) else given
    changed = reference(dense, change)
    if change == "standardized" and scipy.sparse.issparse(given):  # scaled only: distances agree
        changed = dense / np.where(dense.std(axis=0) == 0, 1, dense.std(axis=0))
    np.testing.assert_allclose(kernel(given), inner(changed), rtol=2e-5, atol=1e-6)
    P = kernel.prepare(given)
    assert P.kept.dtype == np.float32
    assert P.form == inner.prepare(given).form


def test_vectors_in_sets_are_changed():
    kernel = kernels.SumMatch(CHI2).of("l1")
    values = reference(SETS.values, "l1")
    changed = mercer.Ragged(values, SETS.offsets, SETS.positions)
    np.testing.assert_allclose(kernel(SETS), kernels.SumMatch(CHI2)(changed), rtol=1e-5)


rows = hnp.arrays(np.float32, (5, 7), elements=st.floats(0, 1e6, width=32))


@settings(max_examples=30, deadline=None)
@given(rows, st.sampled_from(["l1", "l2", "sqrt"]))
def test_a_row_does_not_depend_on_the_others(X, change):
    kernel = kernels.Linear().of(change)
    whole = kernel.prepare(X).kept
    for row in range(len(X)):
        assert np.array_equal(kernel.prepare(X[row : row + 1]).kept[0], whole[row])


def test_rows_of_zeros_stay_zeros():
    for change in ("l1", "l2"):
        kept = kernels.Linear().of(change).prepare([[0, 0], [3, 1]]).kept
        assert not kept[0].any()
        assert kept[1].any()


def test_features_that_do_not_vary_are_not_divided():
    X = np.column_stack([np.full(50, 0.1), np.arange(50)])
    kernel = kernels.Linear().of("standardized").suited(X)
    assert kernel.scale[0] == 1
    np.testing.assert_allclose(kernel.prepare(X).kept[:, 0], 0, atol=1e-7)


def test_moments_are_those_of_all_blocks():
    X = np.random.default_rng(0).normal(5, 3, size=(10_000, 3)).astype(np.float32)
    kernel = kernels.Linear().of("standardized").suited(X)
    np.testing.assert_allclose(kernel.mean, X.mean(axis=0, dtype=float))
    np.testing.assert_allclose(kernel.scale, X.std(axis=0, dtype=float))


# ---- facts


def test_facts_follow_from_the_kernel_inside():
    kernel = CHI2.of("l1")
    assert kernel.psd
    assert kernel.nonnegative
    assert kernel.nearly == kernel.ceiling == kernels.Hellinger().of("l1")
    assert Explicit.of(kernel).kernel == kernels.Hellinger().of("l1")
    assert not kernels.MaxSim(kernels.Linear()).of("l2").psd
    assert not kernels.Linear().of("l2").nonnegative
    assert kernels.Linear().of("sqrt").nonnegative


def test_distances_rank_as_those_of_changed_items():
    found = Explicit.of(RBF.of("l2"))
    assert found == (kernels.Linear().of("l2"), True)
    assert RBF.of("l2").wraps is None


@pytest.mark.parametrize(
    "wrap", [lambda k: k.of("sqrt").of("l1"), lambda k: k.of("l1").normalized()]
)
def test_items_under_another_kernel_are_not_changed_twice(wrap):
    P, other = wrap(CHI2).prepare(COUNTS), wrap(kernels.Hellinger())
    np.testing.assert_array_equal(other(P.under(other)), other(COUNTS))


def test_items_that_were_changed_otherwise_are_refused():
    with pytest.raises(InputError, match="changed otherwise"):
        CHI2.of("l1").prepare(COUNTS).under(CHI2.of("sqrt"))
    with pytest.raises(InputError, match="were prepared for Chi2"):
        CHI2.of("l1").prepare(CHI2.prepare(COUNTS))


@pytest.mark.parametrize("make", [AdditiveMap, FeatureKPCA])
def test_maps_of_features_take_changed_items(make):
    changed = make(CHI2).fit_transform(reference(COUNTS, "l1"))
    np.testing.assert_allclose(make(CHI2.of("l1")).fit_transform(COUNTS), changed, atol=2e-4)


def test_pyramids_of_changed_vectors_are_hashed():
    pyramid = kernels.PyramidMatch(0.2, 3)
    changed = mercer.Ragged(reference(SETS.values, "l1"), SETS.offsets)
    found = mercer.pyramid(pyramid.of("l1"), n_bits=64).fit(SETS).encode(SETS)
    expected = mercer.pyramid(pyramid, n_bits=64).fit(changed).encode(changed)
    assert np.array_equal(found, expected)


# ---- refusals


@pytest.mark.parametrize("change", ["l1", "sqrt"])
def test_negative_values_are_refused_by_row(change):
    X = np.ones((5, 3))
    X[3, 1] = -1
    with pytest.raises(InputError, match="row 3"):
        kernels.Linear().of(change)(X)
    with pytest.raises(InputError, match="row 3"):
        kernels.RBF().of(change).suited(X)


def test_what_is_not_finite_is_refused():
    X = np.ones((5, 3))
    X[2, 1] = np.nan
    with pytest.raises(InputError, match="row 2"):
        kernels.Linear().of("standardized").suited(X)
    tiny = kernels.Standardized(kernels.Linear(), [0.0], [1e-30])
    with pytest.raises(InputError, match="infinity"):
        tiny([[1.0], [3e38]])


@pytest.mark.parametrize(
    "make, match",
    [
        (lambda: CHI2.of("l3"), "Chi2.of: change is 'l3'"),
        (lambda: CHI2.of("standardized"), "no negative values"),
        (lambda: kernels.Tanimoto().of("l1"), "kind 'bits'"),
        (lambda: kernels.Transformed(CHI2, "l3"), "Pass 'l1', 'l2' or 'sqrt'"),
        (lambda: kernels.Standardized(RBF, [0.0]), "both mean and scale"),
        (lambda: kernels.Standardized(RBF, [0.0], [0.0]), "above 0"),
        (lambda: kernels.Standardized(RBF, [0.0], [1.0, 2.0]), "one for each feature"),
        (lambda: RBF.of("standardized")(VECTORS), "not known yet"),
        (lambda: RBF.of("standardized").suited(VECTORS)(VECTORS[:, :3]), "3 features"),
    ],
)
def test_bad_calls(make, match):
    with pytest.raises(InputError, match=match):
        make()


# ---- indexes


METHODS = {
    "brute": {}, "exact": {}, "klsh": {"n_bits": 64}, "kpca_lsh": {}, "lsh": {}, "kpca_pq": {},
    "inverted": {}, "graph": {}, "fourier": {}, "auto": {},
}  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("stored", [False, True])
def test_indexes_change_items_and_queries(method, stored, tmp_path):
    X = np.random.default_rng(1).poisson(3, size=(300, 20)).astype(np.uint8) + 1
    index = getattr(mercer, method)(CHI2.of("l1"), **METHODS[method]).fit(X).add(X[:200])
    if stored:
        index.save(tmp_path / "index")
        index = mercer.load(tmp_path / "index").add(X[200:])
    else:
        index.add(X[200:])
    assert index.kernel_ == CHI2.of("l1")
    found = index.search(5 * X[::50].astype(np.float32), 1, candidates=300)
    assert found.ids.ravel().tolist() == list(range(0, 300, 50))
    np.testing.assert_allclose(found.scores, 1, rtol=1e-5)


def test_open_parameters_are_learned_and_stored(tmp_path):
    X = HISTOGRAMS * 100 + 3
    index = mercer.exact(kernels.RBF().of("standardized")).fit(X).add(X)
    changed = reference(X, "standardized")
    kernel = index.kernel_
    np.testing.assert_allclose(kernel.mean, X.mean(axis=0), rtol=1e-5)
    assert kernel.kernel.gamma == pytest.approx(kernels.RBF.for_data(changed).gamma, rel=1e-4)
    index.save(tmp_path / "index")
    found = mercer.load(tmp_path / "index").search(X, 2)
    expected = mercer.exact(kernel.kernel).fit(changed).add(changed).search(changed, 2)
    assert found.exact.all()
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-4)


def test_gamma_is_that_of_changed_items():
    expected = kernels.RBF.for_data(reference(COUNTS, "l2").astype(np.float32))
    assert kernels.RBF().of("l2").suited(COUNTS).kernel.gamma == pytest.approx(expected.gamma)


def test_the_stored_form():
    assert kernels.to_spec(CHI2.of("l1")) == {
        "name": "transformed", "kernel": {"name": "chi2"}, "change": "l1",
    }  # fmt: skip
    assert repr((CHI2 + RBF).of("l1")) == "(Chi2() + RBF(gamma=0.3)).of('l1')"
    assert repr(CHI2.of("l1").normalized()) == "Chi2().of('l1').normalized()"
