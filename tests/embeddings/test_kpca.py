"""Kernel PCA against NumPy twins: projections, residuals, the best subspace, odd items."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from zoo import ANIMALS, COUNTS, HISTOGRAMS, VECTORS

import mercer
from mercer import kernels
from mercer.embeddings import KernelPCA
from mercer.embeddings.subspace import Spectrum, basis
from mercer.errors import InputError, KernelError, NotFittedError
from mercer.testing import check_embedding

PSD = [
    animal
    for animal in ANIMALS
    if animal.kernel.psd
    and not animal.name.startswith(("my_dot", "my_sum", "dice", "tversky"))
    and (not animal.name.endswith(("-sparse", "-uint8")) or animal.name.startswith("chi2"))
]


def grams(pca, X):
    """Return k(L, L), k(X, L) and k(X, X) in double precision."""
    kernel, L = kernels.get(pca.kernel), pca.landmarks_
    P = kernel.prepare(X)
    return (
        kernel(L, L[:], dtype=np.float64),
        kernel(P, L, dtype=np.float64),
        kernel(P, P[:], dtype=np.float64),
    )


@pytest.mark.parametrize("animal", PSD, ids=lambda a: a.name)
def test_contract(animal):
    check_embedding(KernelPCA(animal.kernel, 20, n_landmarks=40, residual=True), animal.X)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("how", ["random", "farthest"])
def test_contract_of_every_option(center, residual, how):
    pca = KernelPCA("jensen_shannon", 6, n_landmarks=15, landmarks=how, center=center,
                    residual=residual, seed=4)  # fmt: skip
    check_embedding(pca, HISTOGRAMS)
    assert pca.upper_bound == (residual and not center)


@pytest.mark.parametrize("kernel, X", [("chi2", HISTOGRAMS), ("rbf", VECTORS), ("linear", COUNTS)])
def test_all_components_give_the_projection_on_the_landmarks(kernel, X):
    pca = KernelPCA(kernel, 70, n_landmarks=30).fit(X)
    K, crossed, _ = grams(pca, X)
    Z = pca.transform(X).astype(np.float64)
    expected = reference.projected(K, crossed, crossed)
    np.testing.assert_allclose(Z @ Z.T, expected, atol=3e-6 * np.abs(expected).max())


def test_residuals_are_what_the_projection_loses():
    pca = KernelPCA("rbf", 70, n_landmarks=30, residual=True).fit(VECTORS)
    K, crossed, own = grams(pca, VECTORS)
    lost = np.diag(own) - np.diag(reference.projected(K, crossed, crossed))
    residuals = pca.transform(VECTORS)[:, -1].astype(np.float64)
    assert (residuals**2 >= lost - 1e-12).all()
    # rounding adds the share `rounding_` of k(x, x) = 1 to the squares, and little more
    np.testing.assert_allclose(residuals**2, lost, atol=1.1 * pca.rounding_)


def test_centred_vectors_stand_for_the_centred_kernel():
    """Theory: centred. k = z·z + m(x) + m(y) - c + ⟨residuals⟩, which R R bounds."""
    pca = KernelPCA("chi2", 70, n_landmarks=30, center=True, residual=True).fit(HISTOGRAMS)
    K, crossed, own = grams(pca, HISTOGRAMS)
    Z = pca.transform(HISTOGRAMS).astype(np.float64)
    z, R = Z[:, :-1], Z[:, -1]
    H = np.eye(len(K)) - 1 / len(K)
    shifted = crossed - K.mean(axis=0) - crossed.mean(axis=1)[:, None] + K.mean()
    expected = reference.projected(H @ K @ H, shifted, shifted)
    np.testing.assert_allclose(z @ z.T, expected, atol=1e-6)
    residues = reference.centred(K, crossed, crossed, own) - z @ z.T
    assert (np.abs(residues) <= np.outer(R, R) + 1e-6).all()
    inside = crossed.mean(axis=1)
    rebuilt = z @ z.T + inside[:, None] + inside - K.mean()
    assert (rebuilt + np.outer(R, R) >= own - 1e-6).all()


@pytest.mark.parametrize("n_components", [1, 4, 12, 30])
@pytest.mark.parametrize("kernel, X", [("chi2", HISTOGRAMS), ("rbf", VECTORS)])
def test_two_stages_capture_the_most_a_subspace_can(kernel, X, n_components):
    pca = KernelPCA(kernel, n_components, n_landmarks=40, seed=2).fit(X)
    K, crossed, _ = grams(pca, X)
    found = reference.captured(K, crossed, pca.weights_)
    one_stage = basis(Spectrum.of(K), 1e-10)[:, :n_components]
    assert found >= reference.captured(K, crossed, one_stage) * (1 - 1e-9)
    # Eckart–Young: no subspace of the span captures more than the leading eigenvalues
    values = np.linalg.eigvalsh(reference.projected(K, crossed, crossed) / len(X))
    assert found == pytest.approx(values[::-1][:n_components].sum(), rel=1e-6)
    np.testing.assert_allclose(pca.energies_.sum(), found, rtol=1e-6)
    assert (np.diff(pca.energies_) <= 1e-12).all()


def test_two_stages_beat_one_on_skewed_landmarks():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 6)) * [3, 3, 3, 0.1, 0.1, 0.1]
    X[:4] = rng.normal(size=(4, 6)) * [0, 0, 0, 30, 30, 30]  # few and far: farthest finds them
    pca = KernelPCA("linear", 3, n_landmarks=12, landmarks="farthest").fit(X)
    K, crossed, _ = grams(pca, X)
    one_stage = basis(Spectrum.of(K), 1e-10)[:, :3]
    gain = reference.captured(K, crossed, pca.weights_) / reference.captured(K, crossed, one_stage)
    assert gain > 2


# ---- odd items


def bounded(kernel, X, **options):
    """Fit with residuals, check the bounds against the kernel, and return the embedding."""
    pca = KernelPCA(kernel, residual=True, **options).fit(X)
    Z = pca.transform(X)
    K = kernels.get(kernel)(X, dtype=np.float64)
    assert (K - 1e-13 * np.abs(K).max() <= Z @ Z.T).all()
    return pca


def test_rank_of_few_features():
    X = np.random.default_rng(0).normal(size=(80, 3)).astype(np.float32)
    pca = bounded("linear", X, n_components=20, n_landmarks=50)
    assert pca.n_components_ == 3
    assert pca.transform(X).shape == (80, 4)
    assert (pca.transform(X)[:, -1] < 0.02 * np.linalg.norm(X, axis=1).max()).all()


def test_duplicated_landmarks_and_items():
    X = np.repeat(HISTOGRAMS[:10], 6, axis=0)
    assert bounded("chi2", X, n_components=32, n_landmarks=50).n_components_ <= 10


@pytest.mark.parametrize("n_landmarks, n_components", [(500, 10), (10, 500), (500, 500), (1, 1)])
def test_more_landmarks_than_items_and_components_than_landmarks(n_landmarks, n_components):
    pca = bounded("rbf", VECTORS, n_landmarks=n_landmarks, n_components=n_components)
    assert pca.n_landmarks_ == min(n_landmarks, 70)
    assert pca.n_components_ == min(n_components, n_landmarks, 70)


@pytest.mark.parametrize("kernel", ["chi2", "linear", "hellinger"])
def test_zero_items(kernel):
    X = np.zeros((5, 4), np.float32)
    Z = KernelPCA(kernel, residual=True).fit(X).transform(X)
    assert np.isfinite(Z).all()
    assert (Z @ Z.T >= 0).all()
    mixed = np.vstack([X, HISTOGRAMS[:9, :4]])
    bounded(kernel, mixed, n_landmarks=8)


@pytest.mark.parametrize("kernel", ["chi2", "rbf", "cosine"])
@pytest.mark.parametrize("n", [1, 2, 40])
def test_all_items_equal(kernel, n):
    pca = bounded(kernel, np.tile(HISTOGRAMS[:1], (n, 1)))
    assert pca.n_components_ == 1


def test_sample_and_seed_choose():
    a, b, c = (KernelPCA("rbf", 5, n_landmarks=20, seed=s).fit(VECTORS) for s in (0, 0, 1))
    np.testing.assert_array_equal(a.weights_, b.weights_)
    assert not np.array_equal(a.landmarks_.kept, c.landmarks_.kept)
    few = KernelPCA("rbf", 5, n_landmarks=20, n_sample=10).fit(VECTORS)
    assert few.transform(VECTORS).shape == (70, 5)


# ---- what cannot be certified


def test_negative_eigenvalues_are_named():
    @mercer.kernel(psd=True)
    def distance(x, y):
        return -np.abs(x - y).sum()

    text = r"eigenvalue -1.85e\+03 \(largest 112\).*not positive semi-definite.*mercer.brute"
    with pytest.raises(KernelError, match=text):
        KernelPCA(distance, residual=True).fit(VECTORS)
    assert KernelPCA(distance, 4).fit(VECTORS).transform(VECTORS).shape == (70, 4)


def test_undeclared_and_asymmetric_kernels_are_refused():
    silent = kernels.from_gram(lambda X, Y: np.asarray(X) @ np.asarray(Y).T)
    with pytest.raises(KernelError, match=r"not declared positive semi-definite.*psd=True"):
        KernelPCA(silent, residual=True).fit(VECTORS)
    uneven = kernels.Tversky(0.9, 0.1)
    with pytest.raises(KernelError, match="is not symmetric"):
        KernelPCA(uneven, residual=True).fit(VECTORS > 0.5)


def test_bounds_that_float32_cannot_hold_are_refused():
    """Infinite bounds would cancel to NaN, and items with such bounds would not be found."""
    huge = VECTORS * np.float32(1e12)
    with pytest.raises(KernelError, match=r"item 0 has k\(x, x\) = 1, .*too large for float32"):
        KernelPCA(kernels.RBF(0.5), 64, residual=True).fit(huge).transform(huge)
    small = KernelPCA(kernels.RBF(0.5), 64, residual=True).fit(VECTORS)
    with pytest.raises(KernelError, match=r"too large for float32 bounds\. Scale the items"):
        small.transform(huge * np.float32(1e6))
    with pytest.raises(KernelError, match="too large for float32 bounds"):
        KernelPCA("polynomial", residual=True).fit(huge).transform(huge)


def test_before_fit_and_other_items():
    with pytest.raises(NotFittedError, match=r"Call KernelPCA\.fit"):
        KernelPCA("rbf").transform(VECTORS)
    with pytest.raises(InputError, match="the items: 3 features, but the landmarks: 24"):
        KernelPCA("rbf").fit(VECTORS).transform(VECTORS[:, :3])
