"""Maps of additive kernels against the kernels and formulas they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from zoo import COUNTS, HISTOGRAMS, SPARSE, VECTORS

from mercer import kernels
from mercer.embeddings import AdditiveMap, Explicit, FeatureKPCA
from mercer.errors import InputError
from mercer.testing import check_embedding

NAMES = ["chi2", "intersection", "jensen_shannon"]
# largest errors of one feature for values up to 1, with 3, 5 and 7 numbers a feature
ERRORS = {
    "chi2": [0.032, 0.013, 0.006],
    "intersection": [0.105, 0.078, 0.064],
    "jensen_shannon": [0.018, 0.0066, 0.0028],
}


def grid():
    """Return one feature of values up to 1, from very small ones on."""
    return np.concatenate([[0.0], np.geomspace(1e-6, 1, 120)])[:, None].astype(np.float32)


def off(embedding, X):
    """Return how much inner products exceed the kernel, for all pairs."""
    Z = embedding.fit_transform(X).astype(np.float64)
    return Z @ Z.T - kernels.get(embedding.kernel)(X, X.copy(), dtype=np.float64)


# ---- square roots


def test_square_roots_are_hellinger():
    np.testing.assert_allclose(off(Explicit("hellinger"), HISTOGRAMS), 0, atol=1e-6)
    np.testing.assert_array_equal(
        Explicit("hellinger").fit_transform(HISTOGRAMS), np.sqrt(HISTOGRAMS)
    )


@pytest.mark.parametrize("name", NAMES)
def test_square_roots_are_never_below(name):
    """Theory: ceilings. intersection ≤ χ² ≤ JS ≤ Hellinger."""
    assert (off(Explicit(name), HISTOGRAMS) >= -1e-6).all()
    assert (off(Explicit(name), COUNTS) >= -1e-4).all()


# ---- sampled spectra


@pytest.mark.parametrize("name", NAMES)
def test_spectra_are_fourier_transforms(name):
    """K(w) = ∫ κ(l) cos(l w) dl, and √(xy) K(log y/x) is the kernel."""
    kernel = kernels.get(name)
    signature, spectrum = kernel.homogeneous
    for w in (0.0, 0.7, 2.5):
        # only the intersection's spectrum has a long tail: Fourier weights for it
        options = {"weight": "cos", "wvar": w} if w else {}
        end = np.inf if name == "intersection" else 20
        value = 2 * integrate.quad(lambda f: float(spectrum(f)), 0, end, **options)[0]
        assert value == pytest.approx(float(signature(np.array(w))), abs=1e-6)
        x, y = 0.3, 0.3 * np.exp(w)
        expected = kernel([[x]], [[y]], dtype=np.float64)[0, 0]
        assert np.sqrt(x * y) * value == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_steps", [1, 2, 3])
def test_errors_are_as_small_as_stated(name, n_steps):
    psi = AdditiveMap(name, n_steps)
    largest = np.abs(off(psi, grid())).max()
    assert largest <= ERRORS[name][n_steps - 1]
    assert largest == pytest.approx(psi.error_, rel=0.03)


def test_the_interval_matters():
    """5 numbers with the interval for 7 err by .05, with L = .5 by .015 (theory: additive)."""
    errors = [np.abs(off(AdditiveMap("chi2", 2, interval), grid())).max() for interval in
              (None, 0.5, 0.4)]  # fmt: skip
    assert errors[0] <= 0.013 < errors[1] <= 0.0155
    assert errors[2] > 0.04


@pytest.mark.parametrize("name", NAMES)
def test_formula(name):
    """ψ_0 = √(x L κ(0)), ψ_2j-1, ψ_2j = √(2 x L κ(jL)) (cos, sin)(jL log x)."""
    psi = AdditiveMap(name, 2).fit(HISTOGRAMS)
    _, spectrum = kernels.get(name).homogeneous
    L, x = psi.interval_, HISTOGRAMS[0, 5].astype(np.float64)
    expected = [np.sqrt(x * L * spectrum(0.0))]
    for j in (1, 2):
        height = np.sqrt(2 * x * L * spectrum(j * L))
        expected += [height * np.cos(j * L * np.log(x)), height * np.sin(j * L * np.log(x))]
    np.testing.assert_allclose(psi.transform(HISTOGRAMS[:1])[0, 5::24], expected, atol=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_sampled_maps_are_no_bounds(name):
    """Theory: additive. they exceed the kernel's own values somewhere, and say so."""
    psi = AdditiveMap(name, 1, interval=0.8)
    assert (off(psi, grid()) > 1e-3).any() or (off(psi, grid()) < -1e-3).any()
    assert not psi.upper_bound
    assert not Explicit(name).upper_bound
    assert not FeatureKPCA(name).upper_bound


@settings(max_examples=30, deadline=None)
@given(
    x=st.lists(st.floats(0, 1, width=32), min_size=3, max_size=3),
    scale=st.sampled_from([0.25, 3.0, 100.0]), name=st.sampled_from(NAMES),
)  # fmt: skip
def test_maps_are_homogeneous(x, scale, name):
    """k(cx, cy) = c k(x, y), so lengths grow by √c."""
    psi = AdditiveMap(name).fit(grid())
    psi.n_features_ = 3
    X = np.array([x, [1e-3, 0.5, 1.0]], np.float32)
    one, other = (psi.transform(some).astype(np.float64) for some in (X, np.float32(scale) * X))
    np.testing.assert_allclose(other @ other.T, scale * (one @ one.T), rtol=1e-3, atol=1e-5)


# ---- kernel PCA of each feature


@pytest.mark.parametrize("name", [*NAMES, "hellinger"])
def test_kernel_pca_of_each_feature_converges(name):
    errors = [np.abs(off(FeatureKPCA(name, n), HISTOGRAMS[:, :8])).max() for n in (1, 3, 8, 30)]
    assert errors[0] > errors[1] > errors[2] or name == "hellinger"
    assert errors[3] < (0.1 if name == "intersection" else 1e-3)
    if name == "hellinger":  # the span of one value is everything
        assert errors[0] < 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_projections_are_not_longer_than_items(name):
    own = kernels.get(name).diag(HISTOGRAMS)
    Z = FeatureKPCA(name, 4).fit_transform(HISTOGRAMS)
    assert (np.square(Z).sum(axis=1) <= own + 1e-5).all()


def test_kernel_pca_of_one_feature_is_kernel_pca():
    X = np.random.default_rng(0).random((60, 1)).astype(np.float32)
    pca = FeatureKPCA("chi2", 3, n_landmarks=20).fit(X)
    L = pca.landmarks_[0][:, None].astype(np.float64)
    chi2 = kernels.Chi2()
    K, crossed = chi2(L, L.copy(), dtype=np.float64), chi2(X, L, dtype=np.float64)
    whole = crossed @ np.linalg.pinv(K, rcond=1e-6, hermitian=True) @ crossed.T
    Z = pca.transform(X).astype(np.float64)
    # the best three dimensions of the projection on all landmarks
    best = np.sort(np.linalg.eigvalsh(whole))[::-1]
    found = np.sort(np.linalg.eigvalsh(Z @ Z.T))[::-1]
    np.testing.assert_allclose(found[:3], best[:3], rtol=1e-3)


# ---- all of them


@pytest.mark.parametrize("X", [HISTOGRAMS, COUNTS, SPARSE], ids=["float32", "uint8", "sparse"])
@pytest.mark.parametrize("make", [Explicit, AdditiveMap, FeatureKPCA])
def test_contract(make, X):
    for name in NAMES[: 1 if make is FeatureKPCA else 3]:
        check_embedding(make(name), X)


@pytest.mark.parametrize("make", [AdditiveMap, FeatureKPCA])
def test_only_additive_kernels_of_histograms(make):
    for stranger in ("rbf", kernels.Chi2().normalized()):
        with pytest.raises(InputError, match="KernelPCA, which takes any kernel"):
            make(stranger)
    with pytest.raises(InputError, match="negative"):
        make("chi2").fit(VECTORS)
    with pytest.raises(InputError, match="items have 5 features but it was fitted on 24"):
        make("chi2").fit(HISTOGRAMS).transform(HISTOGRAMS[:, :5])


@pytest.mark.parametrize(
    "make, options, text",
    [
        (AdditiveMap, {"n_steps": 0}, "n_steps is 0"),
        (AdditiveMap, {"interval": 0.0}, "interval is 0.0. Pass a finite number above 0"),
        (FeatureKPCA, {"n_components": 0}, "n_components is 0"),
        (FeatureKPCA, {"n_landmarks": 0}, "n_landmarks is 0"),
        (FeatureKPCA, {"seed": -1}, "seed is -1"),
    ],
)
def test_parameters_are_checked(make, options, text):
    with pytest.raises(InputError, match=text):
        make("chi2", **options)
