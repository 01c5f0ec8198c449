"""Each kernel against its NumPy twin, and all of them against the public contract."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from reference import PAIRS, gram, tversky
from sklearn.metrics import pairwise
from zoo import ANIMALS, BITS, COUNTS, HISTOGRAMS, VECTORS

import mercer
from mercer import kernels
from mercer.errors import KernelError
from mercer.testing import check_kernel

VECTOR_KERNELS = [name for name, cls in kernels.NAMES.items() if cls.input == "vectors"]


def scale(kernel, X, Y):
    return np.sqrt(np.outer(kernel.diag(X, dtype=float), kernel.diag(Y, dtype=float)))


def assert_within_tolerance(kernel, X, Y, expected, dtype=np.float32):
    """Assert that computed values are as near to the exact ones as the kernel promises."""
    P, R = kernel.prepare(X), kernel.prepare(Y)
    slack = kernel.tolerance(P, R, dtype=dtype) * scale(kernel, P, R) + 1e-33
    reference_error = 1e-13 * (1 + np.abs(expected))
    gap = np.abs(kernel(P, R, dtype=dtype).astype(np.float64) - expected)
    assert (gap <= slack + reference_error).all(), (gap - slack).max()


@pytest.mark.parametrize("animal", ANIMALS, ids=lambda a: a.name)
def test_contract(animal):
    assert len(check_kernel(animal.kernel, animal.X)) == 14


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", VECTOR_KERNELS)
def test_dense_against_twin(name, dtype):
    kernel = kernels.get(name)
    for A in (HISTOGRAMS if kernel.nonnegative else VECTORS, COUNTS):
        expected = gram(PAIRS[name], A, A[:9])
        assert_within_tolerance(kernel, A, A[:9], expected, dtype)


@pytest.mark.parametrize("density", [0.01, 0.4])  # tiles are merged, or made dense
@pytest.mark.parametrize("name", VECTOR_KERNELS)
def test_sparse_equals_dense(name, density):
    kernel = kernels.get(name)
    C = scipy.sparse.random_array((40, 200), density=density, random_state=1, dtype=np.float32)
    expected = gram(PAIRS[name], C.toarray(), C.toarray())
    assert_within_tolerance(kernel, C, C, expected)
    ids = np.tile(np.arange(40), (40, 1))
    np.testing.assert_allclose(kernel.score(C, C, ids), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", VECTOR_KERNELS)
def test_rather_full_sparse_rows_are_compared_as_dense_ones(name, monkeypatch):
    """A merge of rows that are a third full takes up to 80 times as long."""
    kernel = kernels.get(name)
    C = scipy.sparse.random_array((40, 200), density=0.3, random_state=1, dtype=np.float32).tocsr()
    P = kernel.prepare(C)
    monkeypatch.setattr("mercer.kernels.sums._loops.SPARSE_LOOPS", None)
    monkeypatch.setattr(scipy.sparse.csr_array, "__matmul__", None)
    assert kernel(P).shape == (40, 40)


@pytest.mark.parametrize("a, b", [(1, 1), (0.5, 0.5), (0.9, 0.1), (0, 1), (0, 0)])
def test_bits_against_twin(a, b):
    expected = gram(lambda x, y: tversky(x, y, a, b), BITS, BITS)
    found = kernels.Tversky(a, b)(BITS)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("n_bits", [1, 7, 64, 65, 166, 1024])
def test_bits_of_any_length_packed_or_not(n_bits):
    bits = np.random.default_rng(n_bits).random((9, n_bits)) < 0.4
    expected = gram(PAIRS["tanimoto"], bits, bits)
    tanimoto = kernels.Tanimoto()
    for form in (bits, bits.astype(float), np.packbits(bits, axis=1), bits.astype(np.uint8),
                 scipy.sparse.csr_array(bits)):  # fmt: skip
        np.testing.assert_allclose(tanimoto(form), expected, rtol=1e-6)


def test_mixed_types_and_one_query():
    floats = COUNTS.astype(np.float32)
    for kernel in (kernels.Chi2(), kernels.Linear(), kernels.RBF(gamma=0.1)):
        np.testing.assert_allclose(kernel(COUNTS, floats), kernel(floats), rtol=1e-5)
        np.testing.assert_allclose(kernel(COUNTS[:1], floats), kernel(floats)[:1], rtol=1e-5)


@pytest.mark.parametrize(
    "ours, theirs",
    [
        (kernels.Chi2(), lambda X: 1 + pairwise.additive_chi2_kernel(X) / 2),  # rows sum to 1
        (kernels.ExpChi2(gamma=0.7), lambda X: pairwise.chi2_kernel(X, gamma=0.7)),
        (kernels.RBF(), pairwise.rbf_kernel),
        (kernels.Laplacian(), pairwise.laplacian_kernel),
        (kernels.Polynomial(degree=4), lambda X: pairwise.polynomial_kernel(X, degree=4)),
        (kernels.Cosine(), pairwise.cosine_similarity),
    ],
    ids=lambda one: one.label if isinstance(one, kernels.Kernel) else "",
)
def test_same_conventions_as_scikit_learn(ours, theirs):
    X = np.delete(HISTOGRAMS, 3, axis=0)
    X = X / X.sum(axis=1, keepdims=True, dtype=np.float64)
    np.testing.assert_allclose(ours(X), theirs(X), rtol=2e-5, atol=2e-6)


nonnegative_pair = hnp.arrays(
    np.float32, (2, 12), elements=st.floats(0, 1000, width=32, allow_subnormal=False)
)


@settings(max_examples=150, deadline=None)
@given(nonnegative_pair)
def test_order_of_histogram_kernels(X):
    """Intersection ≤ χ² ≤ JS ≤ Hellinger, and χ² ≤ 2 intersection, for all nonnegative items."""
    low, chi2, js, high = (
        kernels.get(name)(X, dtype=np.float64)[0, 1]
        for name in ("intersection", "chi2", "jensen_shannon", "hellinger")
    )
    slack = 1e-12 * X.sum(dtype=np.float64)
    assert low <= chi2 + slack
    assert chi2 <= js + slack
    assert js <= high + slack
    assert chi2 <= 2 * low + slack


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(VECTOR_KERNELS),
    d=st.integers(1, 300),
    magnitude=st.integers(-8, 8),
    zeros=st.floats(0, 0.95),
    seed=st.integers(0, 1000),
)
def test_tolerance_holds_against_double_precision(name, d, magnitude, zeros, seed):
    """The float32 loop is within its derived bound, for items of any width, scale and sparsity."""
    rng = np.random.default_rng(seed)
    kernel = kernels.get(name)
    X = (rng.random((6, d)) ** 4 * 10.0**magnitude).astype(np.float32)
    X[rng.random(X.shape) < zeros] = 0
    X[4] = np.where(X[3] > 0, np.nextafter(X[3], np.float32(np.inf)), 0)  # one step away
    X[5] = X[2]
    if name in ("rbf", "laplacian"):
        kernel.set_params(gamma=float(10.0 ** -(2 * magnitude if name == "rbf" else magnitude)))
    if name == "polynomial":
        X *= np.float32(10.0**-magnitude)
    expected = kernel_in_double(name, kernel, X)
    assert_within_tolerance(kernel, X, X, expected)


def kernel_in_double(name, kernel, X):
    """Return the values by formula; gammas differ from the defaults of the twins."""
    if name == "rbf":
        return gram(lambda x, y: np.exp(-kernel.gamma * np.sum((x - y) ** 2)), X, X)
    if name == "laplacian":
        return gram(lambda x, y: np.exp(-kernel.gamma * np.sum(np.abs(x - y))), X, X)
    return gram(PAIRS[name], X, X)


def test_rbf_survives_a_far_origin():
    """|x|² + |y|² - 2⟨x, y⟩ in float32 would lose everything here."""
    X = (1e3 + np.random.default_rng(0).random((20, 16))).astype(np.float32)
    kernel = kernels.RBF(gamma=1.0)
    expected = gram(lambda x, y: np.exp(-np.sum((x - y) ** 2)), X, X)
    np.testing.assert_allclose(kernel(X), expected, atol=1e-6)


@pytest.mark.parametrize("size", [1e-40, 1e-25, 1e-18, 1e18, 1e30])
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_cosine_does_not_see_the_scale(size, form):
    X = VECTORS[:10].astype(np.float64)
    X[1], X[2] = X[1] * size, X[2] * size
    X = X.astype(np.float32)
    kernel, expected = kernels.Cosine(), gram(PAIRS["cosine"], X, X)
    ids = np.tile(np.arange(10), (10, 1))
    atol = 1e-6 if size > 1e-37 else 1e-4  # numbers below 1e-38 have fewer digits
    np.testing.assert_allclose(kernel(form(X)), expected, atol=atol)
    np.testing.assert_allclose(kernel.score(form(X), form(X), ids), expected, atol=atol)


def test_sizes_that_float32_cannot_divide_by_are_refused():
    X = HISTOGRAMS[:5].copy()
    X[4] *= np.float32(1e-35)
    with pytest.raises(KernelError, match="MinMax: the sum of item 4 is 1e-35"):
        kernels.MinMax()(X)
    with pytest.raises(KernelError, match=r"k\(x, x\) of item 4 is .*Scale the items"):
        kernels.Chi2().normalized()(X)


def test_jensen_shannon_keeps_relative_precision_of_small_ratios():
    X = np.array([[1.0, 0.0], [1e-9, 0.0]], np.float32)
    expected = PAIRS["jensen_shannon"](*X.astype(np.float64))
    assert kernels.JensenShannon()(X)[0, 1] == pytest.approx(expected, rel=1e-6)


def test_exponential_chi2_is_the_exponential_of_chi2():
    """Theory: alike. exp-χ² with gamma is exp(s (k - 1)), s = 2 gamma, on rows that sum to 1."""
    X = np.delete(HISTOGRAMS, 3, axis=0)
    composed = kernels.Chi2().exp(2 * 0.8)
    np.testing.assert_allclose(kernels.ExpChi2(gamma=0.8)(X), composed(X), rtol=1e-5)


def test_for_data_gives_the_mean_distance():
    X = VECTORS[:30]
    distances = gram(lambda x, y: np.sum((x - y) ** 2), X, X)
    mean = distances.sum() / (30 * 29)
    assert kernels.RBF.for_data(X).gamma == pytest.approx(1 / mean, rel=1e-9)
    sparse = scipy.sparse.csr_array(X)
    assert kernels.RBF.for_data(sparse).gamma == pytest.approx(1 / mean, rel=1e-9)
    assert kernels.Laplacian.for_data(X[:1]).gamma == 1.0


def test_scores_of_no_item_are_minus_infinity():
    ids = np.array([[2, -1, 0], [-1, -1, -1]])
    for animal in ANIMALS:
        P = animal.kernel.prepare(animal.X)
        found = animal.kernel.score(P[:2], P, ids)
        assert np.isneginf(found[ids < 0]).all(), animal.name
        expected = animal.kernel(P[:2], P[:])[np.arange(2)[:, None], ids]
        np.testing.assert_allclose(found[ids >= 0], expected[ids >= 0], rtol=1e-4, atol=1e-6)


def test_sparse_sums_are_in_double_precision():
    """SciPy sums float32 rows in float32: `exact` then took MinMax for not positive."""
    rng = np.random.default_rng(0)
    for seed in range(10):
        X = scipy.sparse.random_array((200, 400), density=0.3, rng=rng, dtype=np.float32).tocsr()
        kernel = kernels.MinMax()
        sizes = np.asarray(X.toarray().astype(np.float64).sum(axis=1))
        np.testing.assert_allclose(kernel.prepare(X).measures, sizes, rtol=1e-15)
        dense, sparse = (kernel(one, dtype=np.float64) for one in (X.toarray(), X))
        np.testing.assert_allclose(sparse, dense, rtol=1e-14)
        index = mercer.exact(kernel, n_landmarks=150, n_components=64, seed=seed).fit(X).add(X)
        assert index.search(X[:20], 3).exact.all()
