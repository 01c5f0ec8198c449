"""Binary Fourier codes against the formula of their bits, directly and through kernel PCA."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy import stats
from zoo import ANIMALS, COUNTS, HISTOGRAMS, SPARSE, VECTORS

from mercer import kernels
from mercer.embeddings import FourierDirections, KernelPCA
from mercer.errors import InputError, NotFittedError
from mercer.testing import check_embedding

MANY = np.random.default_rng(5).dirichlet(np.full(24, 0.3), size=700).astype(np.float32)
N_BITS = 40_000
SOME = ["rbf-float32", "rbf-uint8", "rbf-sparse", "laplacian-float32", "laplacian-uint8",
        "laplacian-sparse", "chi2-float32", "chi2-sparse", "tanimoto-bool", "tanimoto-packed",
        "tversky-asymmetric", "strings", "string-distance", "sets", "deep", "my_dot",
        "precomputed"]  # fmt: skip


@pytest.mark.parametrize("animal", [a for a in ANIMALS if a.name in SOME], ids=lambda a: a.name)
def test_contract(animal):
    check_embedding(FourierDirections(animal.kernel, 12, n_landmarks=80), animal.X)


def promised(kappa, n_terms=2000):
    """Return (8/π²) Σ_m (1 - κ_m) / (4m² - 1) (theory: fourier); the rest by its limit.

    kappa(m) is the kernel at m times the distance.
    """
    m = np.arange(1, n_terms + 1)
    rest = (1 - kappa(n_terms + 1)) / (2 * (2 * n_terms + 1))  # Σ 1/(4m² - 1) telescopes
    return 8 / np.pi**2 * (((1 - kappa(m)) / (4.0 * m**2 - 1)).sum() + rest)


def require_rates(Y, pairs, expected):
    """Bits of pairs of rows differ as often as expected, within 4 standard errors."""
    bits = Y >= 0
    found = np.array([(bits[i] != bits[j]).mean() for i, j in pairs])
    errors = np.sqrt(expected * (1 - expected) / bits.shape[1])
    assert (np.abs(found - expected) <= 4 * errors).all(), (found, expected)


# ---- vectors as they are


@pytest.mark.parametrize("gamma", [None, 0.03, 4.0])
@pytest.mark.parametrize("scale", [None, 0.5])
@pytest.mark.parametrize("cls, power", [(kernels.RBF, 2), (kernels.Laplacian, 1)])
def test_bits_differ_as_often_as_the_formula_says(cls, power, gamma, scale):
    direction = np.random.default_rng(2).normal(size=6)
    X = VECTORS[0, :6] + np.outer([0, 0.05, 0.2, 0.5, 1, 2, 5], direction)
    X = X.astype(np.float32)
    fitted = FourierDirections(cls(gamma), N_BITS, scale=scale, seed=3).fit(X)
    sharpness = (scale or 1.0) * (gamma or 1 / 6)
    distances = (np.abs(X.astype(np.float64) - X[0]) ** power).sum(axis=1)[1:]
    expected = np.array([promised(lambda m, d=d: np.exp(-sharpness * d * m**power))
                         for d in distances])  # fmt: skip
    assert expected.max() <= 4 / np.pi**2
    assert (np.diff(expected) >= 0).all()
    require_rates(fitted.transform(X), [(0, j) for j in range(1, 7)], expected)
    told = fitted.agreement(cls(gamma)(X, dtype=np.float64)[0, 1:])
    np.testing.assert_allclose(told, 1 - expected, atol=3e-4)


def test_formula_agrees_with_one_wave_integrated():
    """The formula itself: P = E|cos u - cos v| / 2 over the phase, at the mean over ω."""
    b = (np.arange(1024) + 0.5) * 2 * np.pi / 1024
    shifts = np.random.default_rng(0).normal(size=(4000, 1)) * 0.7  # of an RBF, 2γd² = 0.49
    rates = np.abs(np.cos(b + shifts) - np.cos(b)).mean(axis=1) / 2
    expected = promised(lambda m: np.exp(-0.245 * m**2))
    assert abs(rates.mean() - expected) < 4 * rates.std() / np.sqrt(4000)


@pytest.mark.parametrize("kernel", [kernels.RBF(1.0), kernels.Laplacian(1.0)])
def test_bits_of_far_items_differ_at_most_so_often(kernel):
    X = 1000 * VECTORS[:8]
    limit = 4 / np.pi**2
    pairs = list(zip(*np.triu_indices(8, 1), strict=True))
    Y = FourierDirections(kernel, N_BITS).fit(X).transform(X)
    require_rates(Y, pairs, np.full(len(pairs), limit))
    assert promised(lambda m: np.zeros(np.shape(m))) == pytest.approx(limit, abs=1e-9)


def test_waves_of_the_vectors_themselves():
    fitted = FourierDirections("rbf", 30).fit(VECTORS)
    assert fitted.n_landmarks_ == 0
    assert fitted.scale_ == 1.0
    assert fitted.landmarks_ is None
    phases = VECTORS.astype(np.float64) @ fitted.weights_ - fitted.offsets_
    np.testing.assert_allclose(
        fitted.transform(VECTORS), np.cos(phases) + fitted.shifts_, atol=1e-6
    )
    assert (np.abs(fitted.shifts_) <= 1).all()
    assert ((-fitted.offsets_ >= 0) & (-fitted.offsets_ <= 2 * np.pi)).all()


@pytest.mark.parametrize("gamma, scale", [(None, 1.0), (0.3, 1.0), (0.3, 5.0)])
def test_waves_follow_the_fourier_transform_of_the_kernel(gamma, scale):
    """N(0, 2γ) and Cauchy(γ), γ = 1 / 24 features by default: Kolmogorov's test of 240,000."""
    sharpness = scale * (gamma or 1 / 24)
    laws = {kernels.RBF: stats.norm(0, np.sqrt(2 * sharpness)),
            kernels.Laplacian: stats.cauchy(0, sharpness)}  # fmt: skip
    for cls, law in laws.items():
        fitted = FourierDirections(cls(gamma), 10_000, scale=scale).fit(VECTORS)
        assert fitted.weights_.shape == (24, 10_000)
        assert stats.kstest(fitted.weights_.ravel(), law.cdf).pvalue > 1e-3


def test_bytes_are_numbers():
    bytes_, floats = (FourierDirections("laplacian", 40).fit(X).transform(X)
                      for X in (COUNTS, COUNTS.astype(np.float32)))  # fmt: skip
    np.testing.assert_array_equal(bytes_, floats)


# ---- through kernel PCA


@pytest.mark.parametrize("scale", [0.5, 3.0, None])
@pytest.mark.parametrize("kernel", ["chi2", "jensen_shannon"])
def test_with_all_components_the_kernel_is_exp(kernel, scale):
    """κ(m d) = exp(-(s/2) m² |φ(x) - φ(y)|²); exp(s (k - 1)) for m = 1, and item 3 is empty."""
    X = HISTOGRAMS[:25]
    fitted = FourierDirections(kernel, N_BITS, scale=scale, n_components=25, n_landmarks=25)
    Y = fitted.fit(X).transform(X)
    K = kernels.get(kernel).normalized()(X, dtype=np.float64)
    squares = np.diag(K)[:, None] + np.diag(K) - 2 * K
    assert np.diag(K)[3] == 0
    np.testing.assert_allclose(squares[:3, :3], 2 * (1 - K[:3, :3]), atol=1e-12)
    pairs = list(zip(*np.triu_indices(25, 1), strict=True))
    half = fitted.scale_ / 2
    expected = np.array([promised(lambda m, q=squares[pair]: np.exp(-half * q * m**2), 500)
                         for pair in pairs])  # fmt: skip
    require_rates(Y, pairs, expected)


def test_a_transformed_kernel_gets_the_bits_of_its_fourier_transform():
    """The same law on two ways: RBF vectors as they are, and kernel PCA of the exponent."""
    X = VECTORS[:12] / np.linalg.norm(VECTORS[:12], axis=1)[:, None]
    direct = FourierDirections(kernels.RBF(1.5), N_BITS).fit(X)  # exp(3 (⟨x, y⟩ - 1))
    around = FourierDirections("cosine", N_BITS, scale=3.0).fit(X)
    assert (direct.n_landmarks_, around.n_landmarks_) == (0, 12)
    rates = []
    for fitted in (direct, around):
        bits = fitted.transform(X) >= 0
        rates.append((bits[:, None] != bits).mean(axis=2))
    error = np.sqrt(2 * 0.25 / N_BITS)
    np.testing.assert_allclose(*rates, atol=4 * error)


def test_waves_go_through_kernel_pca_vectors():
    """Both linear maps are folded into one; ω is then known from the weights."""
    fitted = FourierDirections("chi2", 3000, n_components=10, n_landmarks=60, seed=2).fit(MANY)
    pca = KernelPCA(kernels.Chi2().normalized(), 10, n_landmarks=60, center=True, seed=2).fit(MANY)
    waves = np.linalg.lstsq(pca.weights_, fitted.weights_, rcond=None)[0]
    np.testing.assert_allclose(
        pca.weights_ @ waves, fitted.weights_, atol=1e-9 * np.abs(fitted.weights_).max()
    )
    b = pca.offsets_ @ waves - fitted.offsets_
    assert ((b >= 0) & (b <= 2 * np.pi)).all()
    expected = np.cos(pca.transform(MANY).astype(np.float64) @ waves + b) + fitted.shifts_
    np.testing.assert_allclose(fitted.transform(MANY), expected, atol=1e-4)
    # N(0, s): 30,000 numbers estimate the variance to 0.8 %
    assert waves.var() == pytest.approx(fitted.scale_, rel=0.04)
    assert fitted.n_landmarks_ == 60


@pytest.mark.parametrize("factor", [0.5, 1.0])
def test_chosen_scale_follows_the_data(factor):
    """The mean of s (1 - k) over pairs is 1, where the components keep nearly all."""
    X = (1 - factor) * MANY.mean(axis=0) + factor * MANY  # all items nearer to each other
    fitted = FourierDirections("chi2", 9, n_components=300, n_landmarks=300).fit(X)
    K = kernels.Chi2().normalized()(X, dtype=np.float64)
    lost = 1 - K[np.triu_indices(len(X), 1)]
    assert fitted.scale_ * lost.mean() == pytest.approx(1, rel=0.1)


def test_near_items_differ_in_fewer_bits():
    """Through 64 components of 300 landmarks; the 1 % nearest pairs against all."""
    X = MANY[:400]
    bits = FourierDirections("chi2", 256).fit(MANY).transform(X) >= 0
    K = kernels.Chi2().normalized()(X)
    i, j = np.triu_indices(len(X), 1)
    differ = (bits[i] != bits[j]).mean(axis=1)
    near = K[i, j] > np.quantile(K[i, j], 0.99)
    assert differ[near].mean() < 0.8 * differ.mean()
    assert differ.mean() < 4 / np.pi**2


def test_sparse_vectors_go_through_kernel_pca():
    kernel = kernels.RBF(0.05)
    sparse = FourierDirections(kernel, N_BITS, n_components=70, scale=2.0).fit(SPARSE)
    assert sparse.n_landmarks_ == 70
    K = kernel(SPARSE[:8], dtype=np.float64)
    pairs = list(zip(*np.triu_indices(8, 1), strict=True))
    expected = np.array([promised(lambda m, k=K[pair]: np.exp(2 * (k - 1) * m**2), 500)
                         for pair in pairs])  # fmt: skip
    require_rates(sparse.transform(SPARSE[:8]), pairs, expected)


# ---- odd items and parameters


def test_fitted_again_on_other_items():
    fitted = FourierDirections("rbf", 10, seed=1).fit(SPARSE)
    assert fitted.n_landmarks_ == 70
    fitted.fit(VECTORS)
    again = FourierDirections("rbf", 10, seed=1).fit(VECTORS)
    assert set(vars(fitted)) == set(vars(again))  # no landmarks left behind
    np.testing.assert_array_equal(fitted.transform(VECTORS), again.transform(VECTORS))


@pytest.mark.parametrize("kernel", ["chi2", "rbf", "laplacian"])
@pytest.mark.parametrize("n", [1, 2, 40])
def test_equal_items_get_equal_bits(kernel, n):
    for X in (np.tile(MANY[:1], (n, 1)), np.zeros((n, 4), np.float32)):
        Y = FourierDirections(kernel, 20).fit(X).transform(X)
        np.testing.assert_allclose(Y, np.tile(Y[:1], (n, 1)), atol=1e-6)


def test_prepared_for_the_kernel_of_the_index():
    for kernel, X in ((kernels.Chi2(), MANY), (kernels.RBF(), VECTORS)):
        raw = FourierDirections(kernel, 10, n_landmarks=40).fit(X)
        prepared = FourierDirections(kernel, 10, n_landmarks=40).fit(kernel.prepare(X))
        np.testing.assert_array_equal(raw.transform(X), prepared.transform(kernel.prepare(X)))
        assert raw.serves(kernel)
        assert not raw.serves(kernel.normalized())


def test_seeds_choose():
    for kernel in ("chi2", "laplacian"):
        a, b, c = (FourierDirections(kernel, 20, n_landmarks=40, seed=s).fit(MANY).transform(MANY)
                   for s in (0, 0, 1))  # fmt: skip
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(a, c)


@pytest.mark.parametrize(
    "options, text",
    [
        ({"n_bits": 0}, "n_bits is 0. Pass an integer of at least 1"),
        ({"n_components": 1.5}, "n_components is 1.5"),
        ({"n_landmarks": 0}, "n_landmarks is 0"),
        ({"scale": 0.0}, "scale is 0.0. Pass a finite number above 0"),
        ({"seed": -1}, "seed is -1"),
        ({"kernel": "rfb"}, "Did you mean 'rbf'"),
    ],
)
def test_parameters_are_checked(options, text):
    with pytest.raises(InputError, match=text):
        FourierDirections(**{"kernel": "rbf", **options})
    with pytest.raises(InputError, match=text):
        FourierDirections("rbf").set_params(**options)


def test_before_fit_and_other_items():
    for kernel in ("chi2", "rbf"):
        with pytest.raises(NotFittedError, match=r"Call FourierDirections\.fit"):
            FourierDirections(kernel).transform(MANY)
        with pytest.raises(InputError, match=r"FourierDirections\.fit: there are no items"):
            FourierDirections(kernel).fit([])
    with pytest.raises(InputError, match="the items: 3 features, but the landmarks: 24"):
        FourierDirections("chi2").fit(MANY).transform(MANY[:, :3])
    with pytest.raises(InputError, match=r"transform: items have 3 features but .* on 24"):
        FourierDirections("rbf").fit(MANY).transform(MANY[:, :3])
    with pytest.raises(InputError, match="items are sparse, but it was fitted on dense ones"):
        FourierDirections("rbf").fit(MANY).transform(scipy.sparse.csr_array(MANY))
