"""Distances of vectors rank as the kernel: exactly where a map exists, nearly elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from zoo import ANIMALS, COUNTS, HISTOGRAMS, SPARSE, VECTORS

import mercer
from mercer import kernels
from mercer.embeddings import AdditiveMap, Euclidean, Explicit, KernelPCA
from mercer.embeddings.stand_ins import Trial
from mercer.errors import InputError
from mercer.testing import check_embedding

KERNELS = {animal.name: animal for animal in ANIMALS}


def squares(embedding, X, Q):
    """Return all squared distances from queries to items."""
    Z, Zq = embedding.transform(X).astype(np.float64), embedding.query(Q).astype(np.float64)
    return np.square(Zq[:, None] - Z).sum(axis=2)


def share_of_nearest(embedding, X, Q, k=5, among=15):
    """Return how many of the k largest kernel values are among the nearest vectors."""
    K = kernels.get(embedding.kernel)(Q, X, dtype=np.float64)
    least = -np.sort(-K, axis=1)[:, k - 1 : k]  # as good as the k-th counts, for there are ties
    near = np.argsort(squares(embedding, X, Q), axis=1)[:, :among]
    found = (np.take_along_axis(K, near, 1) >= least - 1e-12).sum(axis=1)
    return np.minimum(found, k).mean() / k


@pytest.mark.parametrize("animal", ANIMALS, ids=lambda a: a.name)
def test_contract(animal):
    check_embedding(Euclidean(animal.kernel, n_landmarks=30), animal.X)


@pytest.mark.parametrize(
    "kernel, X",
    [
        ("linear", VECTORS),
        ("linear", COUNTS),
        ("cosine", VECTORS),
        ("rbf", VECTORS),
        ("hellinger", HISTOGRAMS),
        ("hellinger", COUNTS),
        (3.0 * kernels.Linear(), VECTORS),
        (kernels.Cosine().exp(2.0), VECTORS),
        (kernels.RBF(gamma=0.01).exp(2.0), VECTORS),
    ],
    ids=str,
)
def test_exact_maps_rank_exactly(kernel, X):
    """Increasing functions of the kernel included; all dimensions kept."""
    embedding = Euclidean(kernel, n_components=X.shape[1]).fit(X)
    assert isinstance(embedding.map_, Explicit)
    assert embedding.n_landmarks_ == 0
    K = kernels.get(kernel)(X, X.copy(), dtype=np.float64)
    D = squares(embedding, X, X)
    nearest = np.take_along_axis(K, np.argsort(D, axis=1), 1)
    scale = np.abs(K).max()
    assert (np.diff(nearest, axis=1) <= 1e-5 * scale).all()


def test_zero_vectors_rank_by_their_cosine_of_zero():
    X = VECTORS.copy()
    X[3] = 0
    embedding = Euclidean("cosine", n_components=24).fit(X)
    D = squares(embedding, X, VECTORS[:1])
    np.testing.assert_allclose(D[0], 2 - 2 * kernels.Cosine()(VECTORS[:1], X)[0], atol=1e-5)


@pytest.mark.parametrize("name", ["chi2", "jensen_shannon", "intersection", "exp_chi2"])
@pytest.mark.parametrize("how", ["explicit", "additive"])
def test_maps_of_histograms_rank_nearly(name, how):
    for X in (HISTOGRAMS, COUNTS):
        embedding = Euclidean(name, how).fit(X)
        assert isinstance(embedding.map_, Explicit if how == "explicit" else AdditiveMap)
        assert share_of_nearest(embedding, X, X[:20]) > 0.85


@pytest.mark.parametrize("name", ["my_chi2", "sum", "my_dot", "strings"])
def test_landmarks_rank_nearly(name):
    animal = KERNELS[name]
    X = animal.X
    embedding = Euclidean(animal.kernel, n_landmarks=60).fit(X)
    assert isinstance(embedding.map_, KernelPCA)
    assert embedding.n_landmarks_ == 60
    assert share_of_nearest(embedding, X, X[:20]) > 0.85


def test_a_normalized_kernel_is_nearly_the_map_of_what_it_wraps():
    embedding = Euclidean(kernels.JensenShannon().normalized()).fit(COUNTS)
    assert embedding.map_ == Explicit(kernels.Hellinger().normalized())
    assert share_of_nearest(embedding, COUNTS, COUNTS[:20]) > 0.85


# ---- kernels nothing is known of


@mercer.kernel(nonnegative=True)
def own_chi2(x, y):
    total = 0.0
    for i in range(len(x)):
        if x[i] + y[i] > 0:
            total += 2 * x[i] * y[i] / (x[i] + y[i])
    return total


@mercer.kernel
def own_laplacian(x, y):
    total = 0.0
    for i in range(len(x)):
        total += abs(x[i] - y[i])
    return 1 / (1 + total)


@mercer.kernel
def own_cosine(x, y):
    total, xx, yy = 0.0, 1e-9, 1e-9
    for i in range(len(x)):
        total += x[i] * y[i]
        xx += x[i] * x[i]
        yy += y[i] * y[i]
    return total / (xx * yy) ** 0.5


@mercer.kernel
def own_dot(x, y):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


def many(name):
    """Return more items than kernel PCA is taken for untried."""
    rng = np.random.default_rng(5)
    if name == "histograms":
        return rng.dirichlet(np.full(24, 0.3), size=700).astype(np.float32)
    return (rng.normal(size=(700, 12)) * rng.uniform(0.2, 5, (700, 1))).astype(np.float32)


@pytest.mark.parametrize(
    "kernel, data, kind",
    [
        (own_chi2, "histograms", Explicit),
        (kernels.JensenShannon() + kernels.Chi2(), "histograms", Explicit),
        (own_laplacian, "vectors", Explicit),
        (own_cosine, "vectors", Explicit),
        (own_dot, "vectors", KernelPCA),
    ],
    ids=["chi2", "sum", "laplacian", "cosine", "dot"],
)
def test_unknown_kernels_get_the_map_that_ranks_alike(kernel, data, kind):
    X = many(data)
    embedding = Euclidean(kernel).fit(X)
    assert isinstance(embedding.map_, kind)
    assert (embedding.map_.kernel == kernels.Cosine()) == (kernel is own_cosine)
    assert embedding.n_landmarks_ == (175 if kind is KernelPCA else 0)
    assert share_of_nearest(embedding, X, X[:50], k=5, among=25) > 0.9
    check_embedding(embedding, X)


def test_trials_count_what_vectors_find():
    X = many("histograms")[:200]
    trial = Trial(own_chi2, own_chi2.prepare(X), seed=3)
    rows = np.random.default_rng(3).permutation(200)
    K = own_chi2(X[rows], dtype="float64")
    Z = X[rows, :5]
    D = np.square(Z[:, None] - Z).sum(axis=2)
    hits = 0
    for i in range(100):
        others = np.delete(np.arange(200), i)
        best = others[np.argsort(-K[i, others])[:10]]
        near = others[np.argsort(D[i, others], kind="stable")[:30]]
        hits += len(set(best) & set(near))
    assert trial.share(Z) == pytest.approx(hits / 1000, abs=0.005)
    assert trial.share(np.sqrt(X[rows])) > 0.9 > trial.share(Z)


def test_negative_items_after_square_roots_are_ranked_by_the_kernel():
    """Nothing says that this kernel takes no negative values, though no item of fit had any."""
    kernel = mercer.kernel(own_chi2.function)
    X = many("histograms")
    index = mercer.inverted(kernel).fit(X).add(X)
    assert isinstance(index.embedding_.map_, Explicit)
    odd = X[:3].copy()
    odd[:, 0] = -0.01
    found = index.search(odd, 5, candidates=700)
    truth = mercer.evaluate.ground_truth(kernel, X, odd, 5)
    assert mercer.evaluate.recall(found, truth) == 1


def test_python_functions_are_not_tried():
    """400,000 calls of Python would take longer than kernel PCA saves."""
    calls = []

    def dot(x, y):
        calls.append(1)
        return float(x @ y)

    X = many("vectors")
    Euclidean(kernels.from_function(dot, psd=True), n_landmarks=32).fit(X)
    assert len(calls) < 70_000


def test_self_similarities_that_vary_are_made_up_for():
    """Items of any length: without the dimension for k(x, x), short ones would come first."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(400, 8)) * rng.uniform(0.2, 3, size=(400, 1))).astype(np.float32)
    Q = rng.normal(size=(30, 8)).astype(np.float32)
    for how in ("explicit", "kpca"):
        embedding = Euclidean("linear", how, n_components=8, n_landmarks=100).fit(X)
        assert embedding.top_ == pytest.approx(np.square(X).sum(axis=1).max(), rel=1e-4)
        assert share_of_nearest(embedding, X, Q, k=5, among=5) > 0.95
        assert (embedding.query(Q)[:, -1] == 0).all()
        plain = embedding.transform(X)[:, :-1].astype(np.float64)
        D = np.square(embedding.query(Q)[:, None, :-1] - plain).sum(axis=2)
        K = Q @ X.T
        best, near = np.argsort(-K, axis=1)[:, :5], np.argsort(D, axis=1)[:, :5]
        assert np.mean([np.isin(a, b).mean() for a, b in zip(best, near, strict=True)]) < 0.5


@pytest.mark.parametrize("how", ["explicit", "kpca"])
@pytest.mark.parametrize("prepared", [True, False])
def test_a_long_item_that_no_sample_holds_is_ranked(how, prepared, monkeypatch):
    """One item in 400 is three times as long: the best answer for many queries."""
    monkeypatch.setattr("mercer.embeddings.euclidean.SAMPLE", 20)
    monkeypatch.setattr("mercer.embeddings.euclidean.BLOCK", 64)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 8)).astype(np.float32)
    X *= rng.uniform(0.9, 1.1, (400, 1)).astype(np.float32)
    X[399] *= 4 * np.linalg.norm(X, axis=1).max() / np.linalg.norm(X[399])
    linear = kernels.Linear()
    fitted = Euclidean(linear, how, n_components=8, n_landmarks=100)
    fitted.fit(linear.prepare(X) if prepared else X)
    assert fitted.top_ == pytest.approx(np.square(X[399]).sum(), rel=1e-5)
    Q = rng.normal(size=(60, 8)).astype(np.float32)
    assert share_of_nearest(fitted, X, Q, k=1, among=1) > 0.95
    best = (Q @ X.T).argmax(axis=1)
    assert (best == 399).sum() > 10


def test_longer_items_than_those_of_fit_are_ranked_too_low():
    """By k(x, x) - M in squared distances, as the docstring says."""
    embedding = Euclidean("linear", n_components=VECTORS.shape[1]).fit(VECTORS)
    X, Q = 10 * VECTORS.astype(np.float64), VECTORS[:5].astype(np.float64)
    Z = embedding.transform(X)
    assert np.isfinite(Z).all()
    assert (Z[:, -1] == 0).all()
    own = np.square(X).sum(axis=1)
    meant = np.square(Q).sum(axis=1)[:, None] + embedding.top_ - 2 * Q @ X.T
    D = squares(embedding, X, Q)
    np.testing.assert_allclose(D - meant, own - embedding.top_ + 0 * D, atol=1e-5 * D.max())


def test_sparse_and_wide_items_go_through_landmarks():
    assert isinstance(Euclidean("chi2").fit(SPARSE).map_, KernelPCA)
    assert isinstance(Euclidean("chi2", "explicit").fit(SPARSE).map_, Explicit)
    wide = np.random.default_rng(0).random((40, 2100)).astype(np.float32)
    assert isinstance(Euclidean("chi2", n_components=8).fit(wide).map_, KernelPCA)


def test_wide_vectors_keep_their_principal_axes():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(500, 6)) @ rng.normal(size=(6, 200))).astype(np.float32)
    embedding = Euclidean("rbf").fit(X)
    assert embedding.axes_.shape == (200, 8)  # six, rounded up
    D = np.square(X[:9, None].astype(np.float64) - X).sum(axis=2)
    np.testing.assert_allclose(squares(embedding, X, X[:9]), D, rtol=1e-3, atol=1e-3 * D.max())


def test_flat_spectra_keep_more_dimensions():
    """Rare words: every one of them has its own dimension, and 128 would have a third of them."""
    rng = np.random.default_rng(0)
    X = rng.poisson(0.04, size=(2500, 400)).astype(np.float32)
    X[:, 0] += 1
    X /= X.sum(axis=1, keepdims=True)
    embedding = Euclidean("chi2").fit(X)
    assert 200 < embedding.axes_.shape[1] < 400
    few = Euclidean("chi2", n_components=128).fit(X)
    found = [share_of_nearest(one, X, X[:40], k=10, among=30) for one in (embedding, few)]
    assert found[0] > 0.9 > 0.8 > found[1]


def test_numbers_are_chosen_from_the_items():
    X = np.random.default_rng(0).dirichlet(np.full(24, 0.4), size=1200)
    landmarks = [Euclidean("chi2", "kpca").fit(X[:n]).n_landmarks_ for n in (50, 400, 1200)]
    assert landmarks == [32, 100, 256]
    kept = Euclidean("chi2", "kpca").fit(X).transform(X[:3]).shape[1]
    assert kept % 8 == 0
    assert 16 <= kept <= 128


@pytest.mark.parametrize(
    "kernel, how, text",
    [
        ("chi2", "best", "how is 'best'. Ways are: auto, kpca"),
        ("tanimoto", "explicit", "'explicit' does not stand for 'tanimoto'. Use 'kpca'"),
        ("rbf", "additive", "does not stand for"),
        ("hellinger", "additive", "does not stand for"),
        ("laplacian", "explicit", "does not stand for"),
    ],
)
def test_ways_are_checked(kernel, how, text):
    with pytest.raises(InputError, match=text):
        Euclidean(kernel, how)


def test_parameters_are_checked():
    for options in ({"n_components": 0}, {"n_landmarks": 0}, {"seed": -1}):
        with pytest.raises(InputError, match=f"{next(iter(options))} is"):
            Euclidean("chi2", **options)
    with pytest.raises(InputError, match="negative"):
        mercer.inverted("chi2").fit(VECTORS)
