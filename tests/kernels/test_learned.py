"""Learned kernels, the hash functions that carry them, and indexes that learn on."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse
import zoo

import mercer
from mercer import evaluate, kernels, learn
from mercer.embeddings import (
    Explicit,
    KernelPCA,
    KLSHDirections,
    LearnedDirections,
    PyramidDirections,
)
from mercer.embeddings.directions import projected
from mercer.search import SortedLists
from mercer.testing import check_embedding, check_index, check_kernel

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 5)).astype(np.float32)
Y = np.arange(150) % 3
X[:, 0] += 2 * Y
SPARSE = scipy.sparse.random_array((80, 12_000), density=0.01, format="csr", random_state=1)
PAIRS = learn.from_pairs([(0, 3), (1, 4), (2, 5)], [(0, 1), (1, 2), (7, 9)])
VECTORS = learn.ITML(slack=0.5).fit(X, Y)
BASIS = learn.ITML("linear", slack=0.5, n_basis=40).fit(X, Y)


def sparse_metric(kernel="linear"):
    metric = learn.ITML(kernel, slack=5.0, n_basis=80, upper=40.0, lower=200.0, tol=0.05)
    return metric.fit(SPARSE, learn.from_labels(np.arange(80) % 4, 200))


# sets of points on a grid, of two kinds that share half of the grid
PILES = mercer.Ragged.from_list(
    [rng.integers(0, 6, (int(rng.integers(3, 20)), 2)) + 3 * (i % 2) for i in range(60)]
)


def pyramid_metric(normalized):
    pyramid = kernels.PyramidMatch(1.0, 4)
    metric = learn.ITML(
        pyramid.normalized() if normalized else pyramid, slack=5.0, n_basis=30, tol=0.05
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mercer.LearningWarning)
        return metric.fit(PILES, learn.from_labels(np.arange(60) % 2, 200))


def squares(K):
    return np.diag(K)[:, None] + np.diag(K) - 2 * K


# ---- kernels


def test_mahalanobis_is_the_printed_form():
    A, X64 = VECTORS.metric_, X.astype(np.float64)
    K = VECTORS.kernel_(X, dtype="float64")
    np.testing.assert_allclose(K, X64 @ A @ X64.T, atol=1e-6 * np.abs(K).max())
    low_rank = kernels.Mahalanobis(np.outer([1.0, 2.0], [1.0, 2.0]))
    np.testing.assert_allclose(low_rank([[1, 1]], [[3, 4], [2, -1]]), [[33.0, 0.0]], atol=1e-5)


def test_radial_is_a_gaussian_of_the_distance():
    rbf = kernels.RBF(gamma=0.3)
    np.testing.assert_allclose(kernels.Linear().radial(0.3)(X), rbf(X), rtol=1e-5, atol=1e-7)
    for metric in (VECTORS, BASIS):
        K = metric.kernel_(X, dtype="float64")
        np.testing.assert_allclose(
            metric.kernel_.radial(0.7)(X, dtype="float64"), np.exp(-0.7 * squares(K)), atol=1e-9
        )
    chosen = kernels.Radial.for_data(VECTORS.kernel_, X)
    D = squares(VECTORS.kernel_(X, dtype="float64"))
    assert 1 / chosen.gamma == pytest.approx(D.sum() / (150 * 149), rel=1e-6)
    assert kernels.Radial.for_data(kernels.Linear(), np.ones((4, 2))).gamma == 1


def test_distances_are_those_of_transformed_vectors():
    Z = VECTORS.transform(X).astype(np.float64)
    D = squares(VECTORS.kernel_(X, dtype="float64"))
    np.testing.assert_allclose(squares(Z @ Z.T), D, atol=1e-5 * D.max())
    # with a basis that spans everything, nothing lies outside
    Z = BASIS.transform(X).astype(np.float64)
    D = squares(BASIS.kernel_(X, dtype="float64"))
    np.testing.assert_allclose(squares(Z @ Z.T), D, atol=1e-5 * D.max())


def test_a_basis_of_all_items_ranks_new_items_by_transformed_vectors():
    """What a new item has outside of the span is the same for all items of the basis."""
    rbf = kernels.RBF(gamma=0.1)
    metric = learn.ITML(rbf, n_basis=100).fit(X[:100], Y[:100])
    K = metric.kernel_(X[100:], X[:100], dtype="float64")
    D = metric.kernel_.diag(X[:100], dtype="float64") - 2 * K
    Z, Q = metric.transform(X[:100]), metric.transform(X[100:])
    flat = ((Q[:, None].astype(float) - Z[None]) ** 2).sum(axis=-1)
    np.testing.assert_allclose(flat - flat[:, :1], D - D[:, :1], atol=1e-5 * np.abs(D).max())


def test_only_the_factor_may_differ():
    other = kernels.Learned(kernels.Linear(), BASIS.basis_, BASIS.weights_, np.eye(5))
    P = BASIS.kernel_.prepare(X)
    again = other.prepare(P)
    assert again.coordinates is P.coordinates
    np.testing.assert_allclose(other(again), kernels.Linear()(X), atol=1e-4)
    stranger = kernels.Learned(kernels.Linear(), BASIS.basis_, -BASIS.weights_, np.eye(5))
    with pytest.raises(mercer.InputError, match="were prepared for"):
        stranger.prepare(P)


def test_tolerance_follows_what_is_shrunk():
    """An item that a metric makes a thousand times shorter keeps as few digits as it must."""
    kernel = kernels.Learned(kernels.Linear(), [[1.0, 0.0]], [[1.0]], [[1e-3]])
    items = np.array([[1.0, 0.0], [1.0, 1e-3], [0.5, 2e-3]])
    check_kernel(kernel, items)
    assert kernel.tolerance(kernel.prepare(items)) < 1e-6
    exact = items @ np.diag([1e-6, 1.0]) @ items.T
    np.testing.assert_allclose(kernel(items, dtype="float64"), exact, rtol=1e-7)


def test_landmarks_have_the_basis_among_them():
    for directions in (
        KLSHDirections(BASIS.kernel_, 16, n_landmarks=60),
        KernelPCA(BASIS.kernel_.radial(0.1), 8, n_landmarks=60),
    ):
        directions.fit(X)
        np.testing.assert_array_equal(directions.landmarks_.kept[:40], BASIS.basis_)
        assert len(directions.landmarks_) == 60
    few = KLSHDirections(BASIS.kernel_, 16, n_landmarks=30, subset=10).fit(X)
    assert len(few.landmarks_) == 30


# ---- hash functions


@pytest.mark.parametrize("dense", [True, False], ids=["dense", "sparse"])
def test_projections_are_those_of_the_learned_factor(dense):
    """rᵀGφ(x) itself, with G = I + Φ S Φᵀ; the printed γ, of S in place of Sᵀ, is another one."""
    metric = BASIS if dense else sparse_metric()
    items = X if dense else SPARSE
    directions = LearnedDirections(metric.kernel_, 64, seed=3).fit(items)
    V = items.astype(np.float64) if dense else items.toarray()
    Phi = metric.basis_.astype(np.float64) if dense else metric.basis_.toarray()
    S, R = metric.coefficients_, directions.directions_.astype(np.float64)
    if not dense:  # 12,000 features: directions are not stored
        assert not len(R)
        R = projected(scipy.sparse.eye_array(12_000, dtype=np.float32), 64, 3).astype(np.float64)
    exact = V @ R + (V @ Phi.T) @ S.T @ (Phi @ R)
    scale = np.abs(exact).max()
    found = directions.transform(items)
    np.testing.assert_allclose(found, exact, atol=1e-5 * scale)
    np.testing.assert_allclose(directions.gamma_, S.T @ Phi @ R, atol=1e-6 * scale)
    printed = V @ R + (V @ Phi.T) @ S @ (Phi @ R)
    assert np.abs(found - printed).max() > 0.01 * scale
    if dense:  # and the explicit G, learned on its own, has the same projections
        explicit = learn.ITML(slack=0.5).fit(X, Y)
        np.testing.assert_allclose(found, V @ explicit.factor_.T @ R, atol=1e-5 * scale)


def test_cosines_have_directions_too():
    metric = learn.ITML("cosine", n_basis=25, upper=1.0, lower=1.99)
    kernel = metric.fit(SPARSE, learn.from_pairs([(0, 1)], [(2, 3)])).kernel_
    long = SPARSE.multiply(np.arange(1, 81)[:, None]).tocsr()
    directions = LearnedDirections(kernel, 32).fit(SPARSE)
    np.testing.assert_allclose(directions.transform(long), directions.transform(SPARSE), atol=1e-5)


@pytest.mark.parametrize("normalized", [True, False])
def test_pyramids_have_directions_too(normalized):
    """A sum of random walks for each set, of unit length if normalised, and what was learned."""
    metric = pyramid_metric(normalized)
    directions = LearnedDirections(metric.kernel_, 32, seed=4).fit(PILES)
    base = metric.kernel_.kernel
    walks = PyramidDirections(base, 32, seed=4).fit_transform(PILES)
    if normalized:
        walks /= np.sqrt(base.kernel.diag(PILES))[:, None]
    learned = base(PILES, metric.basis_, dtype="float64") @ directions.gamma_
    assert np.abs(learned).max() > 0.1 * np.abs(walks).max()
    np.testing.assert_allclose(directions.transform(PILES), walks + learned, atol=1e-5)


@pytest.mark.parametrize("normalized", [True, False])
def test_bits_of_pyramids_agree_as_angles_say(normalized):
    """As below; directions are shared by all pairs, so all of them may be off together."""
    n_bits = 20_000
    kernel, some = pyramid_metric(normalized).kernel_, PILES[:15]
    signs = LearnedDirections(kernel, n_bits).fit_transform(some) >= 0
    equal = (signs[:, None] == signs[None]).mean(axis=-1)
    cosines = kernel.normalized()(some, dtype="float64")
    expected = 1 - np.arccos(np.clip(cosines, -1, 1)) / np.pi
    assert np.abs(equal - expected).max() < 4 * 0.5 / np.sqrt(n_bits)
    unlearned = 1 - np.arccos(kernel.kernel.normalized()(some).clip(-1, 1)) / np.pi
    assert np.abs(equal - unlearned).max() > 0.05


@pytest.mark.parametrize("metric", [VECTORS, BASIS], ids=["explicit", "implicit"])
def test_bits_agree_as_angles_say(metric):
    """P(equal bits) = 1 - θ/π with θ the angle under the learned metric; 4 standard errors."""
    n_bits = 20_000
    if metric is VECTORS:
        Z = Explicit(metric.kernel_, angles=True).fit_transform(X[:12])
        Z = Z @ np.random.default_rng(0).normal(size=(5, n_bits))
    else:
        Z = LearnedDirections(metric.kernel_, n_bits).fit_transform(X[:12])
    equal = ((Z[:, None] >= 0) == (Z[None] >= 0)).mean(axis=-1)
    cosines = metric.kernel_.normalized()(X[:12], dtype="float64")
    expected = 1 - np.arccos(np.clip(cosines, -1, 1)) / np.pi
    assert np.abs(equal - expected).max() < 4 * 0.5 / np.sqrt(n_bits)


def test_radial_vectors_are_lifted():
    lifted = Explicit(VECTORS.kernel_.radial(0.5), angles=True).fit(X)
    Z = lifted.transform(X).astype(np.float64)
    np.testing.assert_allclose(Z[:, :-1].mean(axis=0), 0, atol=1e-5)
    assert (Z[:, -1] == np.float32(lifted.height_)).all()
    assert np.square(Z[:, :-1]).sum(axis=1).mean() == pytest.approx(lifted.height_**2, rel=1e-5)
    plain = Explicit(VECTORS.kernel_, angles=True).fit_transform(X)
    np.testing.assert_allclose(squares(Z @ Z.T), squares(plain @ plain.T), atol=1e-3)


EMBEDDINGS = {
    "vectors": (Explicit(VECTORS.kernel_, angles=True), X),
    "angles": (Explicit(VECTORS.kernel_.normalized(), angles=True), X),
    "distances": (Explicit(VECTORS.kernel_.radial(0.1), angles=True), X),
    "directions": (LearnedDirections(BASIS.kernel_, 16), X),
    "normalized": (LearnedDirections(BASIS.kernel_.normalized(), 16), X),
    "sparse": (LearnedDirections(sparse_metric().kernel_, 16), SPARSE),
    "pyramid": (LearnedDirections(pyramid_metric(True).kernel_.normalized(), 16), PILES),
}


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_contract_of_embeddings(name):
    check_embedding(*EMBEDDINGS[name])


# ---- indexes

CHI2 = learn.ITML("chi2", n_basis=30, upper=0.1, lower=1.5)
SETS = learn.ITML(kernels.from_function(zoo.mean_match, psd=True), n_basis=20, upper=0.1, lower=1.0)
MAKERS = {
    "explicit": lambda: (VECTORS.kernel_, X),
    "distances": lambda: (VECTORS.kernel_.radial(0.2), X),
    "implicit": lambda: (BASIS.kernel_.normalized(), X),
    "sparse": lambda: (sparse_metric().kernel_, SPARSE),
    "pyramid": lambda: (pyramid_metric(True).kernel_.normalized(), PILES),
    "chi2": lambda: (CHI2.fit(zoo.HISTOGRAMS, PAIRS).kernel_, zoo.HISTOGRAMS),
    "radial chi2": lambda: (CHI2.fit(zoo.HISTOGRAMS, PAIRS).kernel_.radial(0.5), zoo.HISTOGRAMS),
    "sets": lambda: (SETS.fit(zoo.SETS, PAIRS).kernel_, zoo.SETS),
}


@pytest.fixture(params=MAKERS)
def made(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mercer.LearningWarning)
        return MAKERS[request.param]()


def few(kernel, **settings):
    return mercer.learned(kernel, n_bits=48, n_landmarks=50, **settings)


def test_learned_kernels_are_searched(made):
    kernel, items = made
    truth = evaluate.ground_truth(kernel, items, items, 3)
    index = few(kernel).fit(items).add(items)
    assert evaluate.recall(index.search(items, 3, candidates=len(truth.ids)), truth) == 1
    half = index.search(items, 1, candidates=len(truth.ids) // 3)
    assert evaluate.recall(half, truth, 1) > 0.55  # chance: a third
    lists = few(kernel, codes="lists")
    assert isinstance(lists.searcher, SortedLists)
    assert len(lists.fit(items).add(items).search(items, 1, candidates=20).ids) == len(truth.ids)


def test_exact_search_and_hashing_take_learned_kernels(made):
    kernel, items = made
    truth = evaluate.ground_truth(kernel, items, items, 3)
    found = mercer.exact(kernel, n_landmarks=50, n_components=16).fit(items).add(items)
    found = found.search(items, 3)
    assert found.exact.all()
    assert evaluate.recall(found, truth) == 1
    n = len(truth.ids)
    for method in (mercer.klsh, mercer.kpca_lsh):
        index = method(kernel, n_bits=64, n_landmarks=60).fit(items).add(items)
        assert evaluate.recall(index.search(items, 1, candidates=n // 3), truth, 1) > 0.55


def test_learned_indexes_are_saved(made, tmp_path, monkeypatch):
    kernel, items = made
    monkeypatch.setattr(kernels.registry, "_registered", {})
    inside = kernel.innermost
    if isinstance(getattr(inside, "kernel", None), kernels.FunctionKernel):
        mercer.register("mean match", inside.kernel)
    index = few(kernel).fit(items).add(items)
    index.save(tmp_path)
    again = mercer.load(tmp_path)
    assert again.kernel == kernel
    one, other = (some.search(items, 3, candidates=15) for some in (index, again))
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_array_equal(one.scores, other.scores)
    assert mercer.verify(tmp_path)


def test_contract_of_indexes():
    check_index(few(VECTORS.kernel_.radial(0.2)), X)
    check_index(few(BASIS.kernel_), X)


def test_hashed_neighbours_are_those_of_the_metric():
    """Under a metric that sees one feature, hashing finds neighbours by that feature."""
    wide = np.random.default_rng(5).normal(size=(600, 8)).astype(np.float32)
    kernel = kernels.Mahalanobis(np.diag([1.0] + 7 * [1e-4])).radial(1.0)
    index = mercer.learned(kernel, n_bits=128).fit(wide).add(wide)
    found = index.search(wide[:50], 10, candidates=60)
    gaps = np.abs(wide[found.ids][..., 0] - wide[:50, :1])
    assert np.median(gaps[:, 1:]) < 0.05
    plain = mercer.lsh("linear", n_bits=128).fit(wide).add(wide).search(wide[:50], 10)
    assert np.median(np.abs(wide[plain.ids][..., 0] - wide[:50, :1])) > 0.3


# ---- learning on


def test_learning_on_costs_no_kernel_values(monkeypatch):
    metric = sparse_metric()
    index = mercer.learned(metric.kernel_, n_bits=64).fit(SPARSE).add(SPARSE)
    metric.partial_fit(SPARSE[:2], learn.from_pairs([(0, 1)]))
    compared = []
    inner = kernels.Linear._tile
    monkeypatch.setattr(
        kernels.Linear, "_tile", lambda *args: compared.append(args) or inner(*args)
    )
    mercer.relearn(index, metric.kernel_)
    assert not compared
    mercer.learned(metric.kernel_, n_bits=64).fit(SPARSE)
    assert compared  # a new index compares every item with the basis


@pytest.mark.parametrize("wrap", [lambda k: k, lambda k: k.normalized(), lambda k: k.radial(0.1)],
                         ids=["inner products", "angles", "distances"])  # fmt: skip
def test_relearned_indexes_answer_as_new_ones(wrap):
    metric = learn.ITML("linear", slack=0.5, n_basis=40).fit(X, Y)
    index = few(wrap(metric.kernel_)).fit(X).add(X[:100]).add(X[100:], ids=np.arange(500, 550))
    before = index.search(X[:20], 5, candidates=40)
    metric.partial_fit(X, learn.from_pairs([(0, 149)], [(0, 3)]))
    again = mercer.relearn(index.remove([7]), wrap(metric.kernel_))
    fresh = few(wrap(metric.kernel_)).fit(np.delete(X, 7, axis=0))
    fresh.add(np.delete(X, 7, axis=0), ids=np.delete(np.r_[0:100, 500:550], 7))
    one, other = again.search(X[:20], 5, candidates=149), fresh.search(X[:20], 5, candidates=149)
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_allclose(one.scores, other.scores, rtol=1e-6)
    assert not np.array_equal(one.scores, before.scores)
    old = index.search(X[:20], 5, candidates=40)  # the old index still answers as it did
    found = old.ids[before.ids != 7].size
    assert found == before.ids[before.ids != 7].size


def test_bits_after_learning_on_are_those_of_a_new_index():
    metric = sparse_metric()
    index = mercer.learned(metric.kernel_, n_bits=64).fit(SPARSE).add(SPARSE)
    metric.partial_fit(SPARSE, learn.from_pairs([(40, 41)], [(50, 51)]))
    again = mercer.relearn(index, metric.kernel_)
    fresh = mercer.learned(metric.kernel_, n_bits=64).fit(SPARSE).add(SPARSE)
    a, b = (one.segments_.members[0].rows.codes for one in (again, fresh))
    np.testing.assert_array_equal(a, b)
    assert (a != index.segments_.members[0].rows.codes).any()


# ---- what is wrong

BAD = {
    "not learned": (lambda: mercer.learned("chi2"), r"learned: Chi2\(\) is not a learned kernel"),
    "no directions": (lambda: LearnedDirections(BASIS.kernel_.radial(1.0)), "φ\\(x\\) is not known"),
    "no matrix": (lambda: Explicit(BASIS.kernel_, angles=True), "no vectors are known that rank as"),
    "not square": (lambda: kernels.Mahalanobis([[1.0, 2.0]]), r"A has shape \(1, 2\)"),
    "not symmetric": (lambda: kernels.Mahalanobis([[1.0, 2.0], [0.0, 1.0]]), "A is not symmetric"),
    "negative": (lambda: kernels.Mahalanobis(-np.eye(2)), "A has eigenvalue -1"),
    "NaN": (lambda: kernels.Mahalanobis([[np.nan]]), "A contains NaN"),
    "width": (lambda: kernels.Mahalanobis(np.eye(2))(X), "items have 5 features but A has 2 rows"),
    "weights": (lambda: kernels.Learned(kernels.Linear(), X[:4], np.ones((3, 2)), np.eye(2)), r"weights have shape \(3, 2\)"),
    "factor": (lambda: kernels.Learned(kernels.Linear(), X[:4], np.ones((4, 2)), np.eye(3)), r"factor \(3, 3\)"),
    "infinite": (lambda: kernels.Learned(kernels.Linear(), X[:1], [[np.inf]], [[1.0]]), "contain NaN or infinity"),
    "not orthonormal": (lambda: check_kernel(kernels.Learned(kernels.Linear(), X[:1], [[9.0]], [[1.0]]), X), "away from those of an orthonormal basis"),
    "other items": (lambda: BASIS.kernel_(X[:, :3]), "the items: 3 features, but the basis: 5"),
    "gamma": (lambda: BASIS.kernel_.radial(0.0), "Radial: gamma is 0.0"),
    "relearn nothing": (lambda: mercer.relearn(few(BASIS.kernel_), BASIS.kernel_), "the index has no items"),
    "relearn vectors": (lambda: mercer.relearn(few(VECTORS.kernel_).fit(X).add(X), VECTORS.kernel_), "do not serve"),
    "relearn another": (lambda: mercer.relearn(few(BASIS.kernel_).fit(X).add(X), learn.ITML("linear", seed=1, n_basis=30).fit(X, Y).kernel_), "learned over the same basis"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_calls(name):
    call, text = BAD[name]
    with pytest.raises(mercer.MercerError, match=text):
        call()


def test_mahalanobis_states_the_rounding_of_what_it_keeps():
    """Also in double precision: items are kept as Gx in float32."""
    B = rng.normal(size=(16, 16))
    A = B @ B.T
    U = (rng.normal(size=(300, 16)) * 10.0 ** rng.uniform(-4, 4, (300, 1))).astype(np.float32)
    true = U.astype(np.longdouble) @ A.astype(np.longdouble) @ U.T.astype(np.longdouble)
    kernel = kernels.Mahalanobis(A)
    for dtype in (np.float32, np.float64):
        scale = np.sqrt(np.outer(np.diag(true), np.diag(true)))
        error = np.abs(kernel(U, dtype=dtype) - true) / scale
        assert 1e-9 < error.max() <= kernel.tolerance(kernel.prepare(U), dtype=dtype)
