"""Kernelized LSH against NumPy twins: K^(-1/2) e_S, centring, low rank, and the law of its bits."""

from __future__ import annotations

import numpy as np
import pytest
import reference
import scipy.linalg
from scipy import stats
from zoo import ANIMALS, HISTOGRAMS, VECTORS

from mercer import kernels
from mercer.embeddings import KernelPCA, KLSHDirections
from mercer.embeddings.theory import sampled_floors
from mercer.errors import InputError, NotFittedError
from mercer.testing import check_embedding

MANY = np.random.default_rng(5).dirichlet(np.full(24, 0.3), size=700).astype(np.float32)
CENTERS = ["both", "landmarks", "none"]
SOME = ["chi2-float32", "chi2-uint8", "rbf-sparse", "cosine-sparse", "tanimoto-bool",
        "tanimoto-packed", "tversky-asymmetric", "strings", "string-distance", "sets", "deep",
        "my_dot", "gram", "precomputed"]  # fmt: skip


@pytest.mark.parametrize("animal", [a for a in ANIMALS if a.name in SOME], ids=lambda a: a.name)
def test_contract(animal):
    check_embedding(KLSHDirections(animal.kernel, 20, n_landmarks=80, subset=10), animal.X)


@pytest.mark.parametrize("center", CENTERS)
@pytest.mark.parametrize(
    "options", [{}, {"subset": None}, {"rank": 5}, {"scale": 3.0}, {"normalize": False}], ids=repr
)
def test_contract_of_every_option(center, options):
    options = {"subset": 10, **options}
    check_embedding(KLSHDirections("chi2", 9, n_landmarks=80, center=center, **options), HISTOGRAMS)


def grams(fitted, X=MANY):
    """Return k(L, L) and k(X, L) of the kernel that is compared, in double precision."""
    L = fitted.landmarks_
    return (
        fitted.compared(L, L[:], dtype=np.float64),
        fitted.compared(X, L, dtype=np.float64),
    )


def centring(p):
    return np.eye(p) - 1 / p


def inverse_root(K):
    """Return the square root of the pseudo-inverse, by Schur decomposition."""
    inverse = np.linalg.pinv(K, rcond=1e-10, hermitian=True)
    return np.real(scipy.linalg.sqrtm((inverse + inverse.T) / 2))


def subsets(fitted, K):
    """Return e_S of every direction, from its weights: K^(1/2) w = H e_S has two values."""
    H = centring(len(K))
    drawn = np.real(scipy.linalg.sqrtm(H @ K @ H)) @ fitted.weights_
    return (drawn > drawn.min(axis=0) + 0.5).astype(float)


def require_projections(fitted, expected):
    """Projections of MANY are as expected, but for single precision of kernel values and weights.

    A value is off by at most 4 units of rounding of Σ |w| k, and k is at most 1.
    """
    slack = 4 * 2.0**-23 * np.abs(fitted.weights_).sum(axis=0) + 1e-6
    assert (np.abs(fitted.transform(MANY) - expected) <= slack).all()
    assert slack.max() < 0.02 * np.abs(expected).max()


# ---- the weights


@pytest.mark.parametrize("center", ["both", "landmarks"])
@pytest.mark.parametrize(
    "kernel, p, t", [(kernels.RBF(5.0), 40, 8), ("chi2", 30, 15), ("chi2", 30, 1)]
)
def test_weights_are_the_inverse_root_times_a_subset(kernel, p, t, center):
    fitted = KLSHDirections(kernel, 50, n_landmarks=p, subset=t, center=center).fit(MANY)
    K, _ = grams(fitted)
    H, chosen = centring(p), subsets(fitted, K)
    np.testing.assert_array_equal(chosen.sum(axis=0), t)
    assert np.unique(chosen, axis=1).shape[1] > 1  # not always the same landmarks
    expected = inverse_root(H @ K @ H) @ chosen
    np.testing.assert_allclose(fitted.weights_, expected, atol=1e-5 * np.abs(expected).max())
    np.testing.assert_allclose(fitted.weights_.sum(axis=0), 0, atol=1e-9)


def test_without_centring_the_matrix_is_used_as_it_is():
    """E eq. 15."""
    fitted = KLSHDirections("rbf", 50, n_landmarks=40, subset=8, center="none").fit(MANY)
    K, crossed = grams(fitted)
    drawn = np.real(scipy.linalg.sqrtm(K)) @ fitted.weights_
    np.testing.assert_allclose(drawn, drawn.round(), atol=1e-6)
    np.testing.assert_array_equal(drawn.round().sum(axis=0), 8)
    np.testing.assert_allclose(fitted.weights_, inverse_root(K) @ drawn.round(), rtol=1e-5)
    require_projections(fitted, crossed @ fitted.weights_)
    assert fitted.rank_ == 40


def test_every_landmark_is_drawn_as_often():
    fitted = KLSHDirections("rbf", 2000, n_landmarks=20, subset=5).fit(MANY)
    often = subsets(fitted, grams(fitted)[0]).mean(axis=1)
    np.testing.assert_allclose(often, 5 / 20, atol=4 * np.sqrt(0.25 * 0.75 / 2000))


def test_offsets_centre_the_items():
    """Two of four terms of the centred kernel vanish, one is the offset (theory: centring)."""
    fitted = KLSHDirections("chi2", 50, n_landmarks=30, subset=8).fit(MANY)
    K, crossed = grams(fitted)
    np.testing.assert_allclose(fitted.offsets_, fitted.weights_.T @ K.mean(axis=1), rtol=1e-9)
    four = crossed - crossed.mean(axis=1)[:, None] - K.mean(axis=0) + K.mean()
    require_projections(fitted, four @ fitted.weights_)


def test_items_are_not_centred_as_the_paper_prints_it():
    fitted = KLSHDirections("chi2", 50, n_landmarks=30, subset=8, center="landmarks").fit(MANY)
    assert not fitted.offsets_.any()
    require_projections(fitted, grams(fitted)[1] @ fitted.weights_)


@pytest.mark.parametrize("center", CENTERS)
def test_floors_are_those_of_what_is_hashed(center):
    """Items are centred for "both" only; "landmarks" centres the directions, not the items."""
    fitted = KLSHDirections("chi2", 8, n_landmarks=60, subset=None, rank=12, center=center)
    fitted.fit(MANY[:256])
    K, crossed = grams(fitted, MANY[:256])
    own = np.ones(256)  # the kernel is normalised
    H = np.eye(60) if center == "none" else centring(60)
    values, vectors = np.linalg.eigh(H @ K @ H)
    if center == "both":
        own = own - 2 * crossed.mean(axis=1) + K.mean()
        crossed = crossed - K.mean(axis=0)
    Z = crossed @ H @ vectors[:, -12:] / np.sqrt(values[-12:])
    np.testing.assert_allclose(fitted.floors_, sampled_floors(Z, own), atol=1e-6)


def test_small_eigenvalues_do_not_bring_the_mean_back():
    """Their vectors have a part of the mean by rounding, which dividing by √θ makes large."""
    near = (MANY + MANY.mean(axis=0)) / 2
    fitted = KLSHDirections("chi2", 50, n_landmarks=300, subset=None).fit(near)
    assert fitted.rank_ < 299  # some eigenvalues are below rounding, and others next to it
    K, crossed = grams(fitted, near)
    size = np.abs(fitted.weights_).max()
    np.testing.assert_allclose(fitted.weights_.sum(axis=0), 0, atol=1e-9 * size)
    four = crossed - crossed.mean(axis=1)[:, None] - K.mean(axis=0) + K.mean()
    alike = (four @ fitted.weights_ >= 0) == (fitted.transform(near) >= 0)
    assert alike.mean() > 0.95
    pca = KernelPCA(fitted.compared, 300, n_landmarks=300, center=True).fit(near)
    K = fitted.compared(near, dtype=np.float64)
    variance = np.trace(K) / len(K) - K.mean()
    assert pca.energies_.sum() == pytest.approx(variance, rel=0.01)


def test_centring_the_items_balances_the_bits():
    def imbalance(center):
        fitted = KLSHDirections("chi2", 200, n_landmarks=60, subset=15, center=center).fit(MANY)
        return np.abs((fitted.transform(MANY) >= 0).mean(axis=0) - 0.5).mean()

    assert imbalance("both") < 0.05
    assert imbalance("landmarks") > 2 * imbalance("both")


def test_rank_is_one_less_than_the_landmarks():
    for rank in (None, 29, 30, 500):
        assert KLSHDirections("chi2", 9, n_landmarks=30, subset=8, rank=rank).fit(MANY).rank_ == 29
    linear = KLSHDirections("linear", 9, n_landmarks=30, subset=8, normalize=False)
    assert linear.fit(MANY[:, :4]).rank_ == 4


@pytest.mark.parametrize("center", ["both", "landmarks"])
@pytest.mark.parametrize("rank", [1, 5, 12])
def test_low_rank_uses_the_leading_eigenpairs(rank, center):
    options = {"n_landmarks": 30, "subset": 8, "center": center, "seed": 3}
    full = KLSHDirections("chi2", 50, **options).fit(MANY)
    low = KLSHDirections("chi2", 50, rank=rank, **options).fit(MANY)
    K, _ = grams(full)
    values, vectors = np.linalg.eigh(centring(30) @ K @ centring(30))
    U = vectors[:, -rank:]
    expected = U @ np.diag(values[-rank:] ** -0.5) @ U.T @ subsets(full, K)
    np.testing.assert_allclose(low.weights_, expected, atol=1e-7 * np.abs(expected).max())
    assert low.rank_ == np.linalg.matrix_rank(low.weights_) == rank
    np.testing.assert_allclose(low.spectrum_, values[::-1], atol=1e-10 * values[-1])
    # still orthogonal to the mean, so that offsets hold for any rank
    np.testing.assert_allclose(low.weights_.sum(axis=0), 0, atol=1e-9)


def given(draws, **options):
    """Return directions that draw what is given in place of chance, fitted."""

    class Given(KLSHDirections):
        def _draws(self, p, rng):
            return draws

    return Given("chi2", draws.shape[1], n_landmarks=len(draws), **options).fit(MANY)


@pytest.mark.parametrize("center", ["both", "landmarks"])
def test_a_subset_and_the_rest_give_flipped_bits(center):
    rng = np.random.default_rng(0)
    some = (rng.permuted(np.tile(np.arange(30), (40, 1)), axis=1) < 10).T.astype(float)
    one, rest = (given(draws, center=center, subset=10) for draws in (some, 1 - some))
    np.testing.assert_allclose(one.weights_, -rest.weights_, atol=1e-6)
    Y, Y_rest = one.transform(MANY), rest.transform(MANY)
    clear = np.abs(Y) > 1e-5
    assert clear.mean() > 0.999
    np.testing.assert_array_equal((Y >= 0)[clear], (Y_rest < 0)[clear])


# ---- Gaussian draws: centred kernel PCA and LSH (theory: subsets)


def test_gaussian_draws_are_lsh_of_kernel_pca_vectors():
    g = np.random.default_rng(1).normal(size=(30, 50))
    fitted = given(g, subset=None)
    K, crossed = grams(fitted)
    values, vectors = np.linalg.eigh(centring(30) @ K @ centring(30))
    U, values = vectors[:, 1:], values[1:]  # without the mean
    z = (crossed - K.mean(axis=0)) @ U / np.sqrt(values)
    require_projections(fitted, z @ (U.T @ g))
    pca = KernelPCA(fitted.compared, 29, n_landmarks=30, center=True).fit(fitted.landmarks_)
    Z = pca.transform(MANY).astype(np.float64)
    np.testing.assert_allclose(Z @ Z.T, z @ z.T, atol=1e-5)


def test_projections_have_the_covariance_of_the_vectors():
    """E[y(x) y(x')] over Gaussian directions is z(x)·z(x'), within 5 standard errors."""
    n_bits = 20_000
    fitted = KLSHDirections("chi2", n_bits, n_landmarks=60, subset=None).fit(HISTOGRAMS[:60])
    Y = fitted.transform(HISTOGRAMS[:60]).astype(np.float64)
    pca = KernelPCA(fitted.compared, 60, n_landmarks=60, center=True).fit(HISTOGRAMS[:60])
    Z = pca.transform(HISTOGRAMS[:60]).astype(np.float64)
    expected = Z @ Z.T
    own = np.diag(expected)
    errors = np.sqrt((np.outer(own, own) + expected**2) / n_bits)
    assert (np.abs(Y @ Y.T / n_bits - expected) <= 5 * errors).all()


@pytest.mark.parametrize("options", [{}, {"rank": 8}, {"scale": 2.0}], ids=repr)
def test_bits_differ_as_often_as_the_angle_says(options):
    """1 - arccos(cos)/π of centred vectors within 4 standard errors (theory: collisions)."""
    n_bits = 20_000
    fitted = KLSHDirections("chi2", n_bits, n_landmarks=60, subset=None, **options).fit(MANY)
    bits = fitted.transform(MANY[:20]) >= 0
    K, crossed = grams(fitted, MANY[:20])
    H = centring(60)
    values, vectors = np.linalg.eigh(H @ K @ H)
    r = options.get("rank", 59)
    z = (crossed - K.mean(axis=0)) @ vectors[:, -r:] / np.sqrt(values[-r:])
    z /= np.linalg.norm(z, axis=1)[:, None]
    i, j = np.triu_indices(20, 1)
    expected = np.arccos((z @ z.T)[i, j]) / np.pi
    found = (bits[i] != bits[j]).mean(axis=1)
    errors = np.sqrt(expected * (1 - expected) / n_bits)
    assert (np.abs(found - expected) <= 4 * errors).all()
    assert expected.min() < 0.45  # not all pairs at right angles, which any bits would satisfy


def normal_share(p, t):
    """Return for which share of new items the projections on 500 directions pass as normal.

    Anderson–Darling at 5 %, with mean and variance estimated (critical value 0.752).
    """
    fitted = KLSHDirections("chi2", 500, n_landmarks=p, subset=t).fit(MANY[:600])
    Y = fitted.transform(MANY[600:]).T.astype(np.float64)
    Y, n = np.sort(stats.zscore(Y, ddof=1), axis=0), len(Y)
    odd = (2 * np.arange(1, n + 1) - 1)[:, None]
    A = -n - (odd * (stats.norm.logcdf(Y) + stats.norm.logsf(Y[::-1]))).mean(axis=0)
    return (A * (1 + 0.75 / n + 2.25 / n**2) < 0.752).mean()


def test_projections_become_normal():
    """K §6.6: with t, and with p where the share t/p stays; nearly always with Gaussian draws.

    Measured: 0.22, 0.73, 0.95 with t, and 0.11, 0.65, 0.82 with p.
    """
    with_t = [normal_share(60, t) for t in (2, 10, 30)]
    with_p = [normal_share(p, p // 10) for p in (20, 60, 300)]
    for shares in (with_t, with_p):
        assert (np.diff(shares) > 0.05).all()
    assert normal_share(60, None) > 0.85


# ---- the kernel that is compared


def test_transformation_comes_after_normalisation():
    fitted = KLSHDirections("chi2", 9, n_landmarks=30, subset=8, scale=2.5)
    assert fitted.compared == kernels.Chi2().normalized().exp(2.5)
    X = MANY[:10] * np.arange(1, 11, dtype=np.float32)[:, None]  # k(x, x) from 1 to 10
    K = reference.gram(reference.chi2, X, X)
    own = np.sqrt(np.diag(K))
    expected = np.exp(2.5 * (K / np.outer(own, own) - 1))
    np.testing.assert_allclose(fitted.compared(X, dtype=np.float64), expected, rtol=1e-6)
    assert KLSHDirections("chi2", normalize=False).compared == kernels.Chi2()
    raw = KLSHDirections("chi2", normalize=False, scale=2.5).compared
    assert raw == kernels.Chi2().exp(2.5)


def test_lengths_do_not_count_where_the_kernel_is_normalised():
    fitted = KLSHDirections("linear", 30, n_landmarks=30, subset=8).fit(VECTORS)
    np.testing.assert_allclose(fitted.transform(4 * VECTORS), fitted.transform(VECTORS), rtol=1e-4)
    assert fitted.serves(kernels.Linear())
    assert not fitted.serves(kernels.Linear().normalized())


# ---- odd items and parameters


@pytest.mark.parametrize("n", [1, 2, 3, 40])
@pytest.mark.parametrize("center", CENTERS)
def test_equal_items_get_equal_bits(n, center):
    X = np.tile(HISTOGRAMS[:1], (n, 1))
    fitted = KLSHDirections("chi2", 20, center=center).fit(X)
    Y = fitted.transform(X)
    assert np.isfinite(Y).all()
    np.testing.assert_array_equal(Y >= 0, np.tile(Y[:1] >= 0, (n, 1)))
    assert np.isfinite(KLSHDirections("chi2", 20).fit(0 * X).transform(0 * X)).all()


def test_negative_eigenvalues_are_dropped():
    distance = kernels.from_gram(lambda X, Y: -np.abs(np.asarray(X)[:, None] - Y).sum(axis=2))
    fitted = KLSHDirections(
        distance, 20, n_landmarks=40, subset=10, normalize=False, center="none"
    ).fit(VECTORS)
    assert fitted.spectrum_[-1] < 0
    assert fitted.rank_ == (fitted.spectrum_ > 1e-10 * fitted.spectrum_[0]).sum() < 40
    assert np.isfinite(fitted.transform(VECTORS)).all()


def test_few_items():
    fitted = KLSHDirections("chi2", 12, n_landmarks=300, subset=30).fit(MANY[:7])
    assert fitted.n_landmarks_ == 7
    assert (subsets(fitted, grams(fitted)[0]).sum(axis=0) == 3).all()


def test_seeds_choose():
    a, b, c = (KLSHDirections("chi2", 20, n_landmarks=40, subset=9, seed=s).fit(MANY)
               for s in (0, 0, 1))  # fmt: skip
    np.testing.assert_array_equal(a.transform(MANY), b.transform(MANY))
    assert not np.array_equal(a.landmarks_.kept, c.landmarks_.kept)


@pytest.mark.parametrize(
    "options, text",
    [
        ({"subset": 151}, "subset is 151 of 300 landmarks. Pass at most half"),
        ({"n_landmarks": 50, "subset": 30}, "subset is 30 of 50 landmarks"),
        ({"subset": 0}, "subset is 0. Pass an integer of at least 1"),
        ({"rank": 0}, "rank is 0"),
        ({"n_bits": 2.5}, "n_bits is 2.5"),
        ({"scale": 0.0}, "scale is 0.0. Pass a finite number above 0"),
        ({"center": "mean"}, "center is 'mean'. Pass one of: both, landmarks, none"),
        ({"seed": -1}, "seed is -1"),
        ({"kernel": "chi3"}, "Did you mean 'chi2'"),
    ],
)
def test_parameters_are_checked(options, text):
    with pytest.raises(InputError, match=text):
        KLSHDirections(**{"kernel": "chi2", **options})
    with pytest.raises(InputError, match=text):
        KLSHDirections("chi2").set_params(**options)


def test_before_fit_and_other_items():
    with pytest.raises(NotFittedError, match=r"Call KLSHDirections\.fit"):
        KLSHDirections("chi2").transform(MANY)
    with pytest.raises(InputError, match="the items: 3 features, but the landmarks: 24"):
        KLSHDirections("chi2").fit(MANY).transform(MANY[:, :3])


def test_the_subset_adapts_to_few_landmarks():
    few = KLSHDirections("rbf", 40, n_landmarks=50).fit(MANY)
    same = KLSHDirections("rbf", 40, n_landmarks=50, subset=25).fit(MANY)
    np.testing.assert_array_equal(few.weights_, same.weights_)
    many = KLSHDirections("rbf", 40, n_landmarks=70).fit(MANY)
    same = KLSHDirections("rbf", 40, n_landmarks=70, subset=30).fit(MANY)
    np.testing.assert_array_equal(many.weights_, same.weights_)
    for bad in (26, 0, "most", 2.5):
        with pytest.raises(InputError, match="subset is"):
            KLSHDirections("rbf", 40, n_landmarks=50, subset=bad)
