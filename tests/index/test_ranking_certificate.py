"""The attack on the certificate: no bound below the kernel, no false `exact`."""

from __future__ import annotations

import hostile
import numpy as np
import pytest
from built import Built

import mercer
from mercer import evaluate, kernels
from mercer.embeddings import KernelPCA
from mercer.errors import CertificateWarning, KernelError
from mercer.search import BoundScan, _bytes
from mercer.search.heads import ByteHead, FloatHead

chi2, rbf = kernels.Chi2(), kernels.RBF(gamma=0.5)


@mercer.kernel(psd=True, nonnegative=True)
def overlap(x, y):
    total = 0.0
    for i in range(len(x)):
        total += min(x[i], y[i])
    return total


HISTOGRAM_KERNELS = {
    "chi2": chi2,
    "intersection": kernels.Intersection(),
    "jensen_shannon": kernels.JensenShannon(),
    "hellinger": kernels.Hellinger(),
    "user": overlap,
    "exp": chi2.normalized().exp(3.0),
    "sum": chi2 + rbf,
    "product": kernels.Intersection() * kernels.Laplacian(),
    "normalized": kernels.JensenShannon().normalized(),
}
VECTOR_KERNELS = {
    "rbf": rbf,
    "laplacian": kernels.Laplacian(),
    "linear": kernels.Linear(),
    "cosine": kernels.Cosine(),
    "polynomial": kernels.Polynomial(degree=2),
    "gram": kernels.from_gram(lambda X, Y: (X @ Y.T) ** 2, psd=True),
}
TRIALS = [(chi2, 1.0, 320, 80, "random")]
TRIALS += [(kernel, 1.0, 150, 70, "random") for kernel in HISTOGRAM_KERNELS.values()]
TRIALS += [(kernel, 1.0, 150, 70, "random") for kernel in VECTOR_KERNELS.values()]
TRIALS += [
    (chi2, 1.0, 64, 200, "farthest"), (chi2, 1e-12, 100, 64, "random"),
    (chi2, 1e12, 100, 64, "random"), (kernels.Linear(), 1e-12, 60, 20, "kmeans++"),
    (kernels.Linear(), 1e12, 60, 64, "random"), (rbf, 1e-6, 100, 64, "random"),
    (kernels.Cosine(), 1e-12, 100, 64, "random"), (rbf, 1.0, 100, 64, "kmeans++"),
    (kernels.MinMax(), 1.0, 100, 70, "random"), (kernels.ExpChi2(), 1.0, 100, 70, "farthest"),
]  # fmt: skip
N, QUERIES = 1000, 250  # 250,000 pairs a trial, more than 6 million in all


def floor_of(kernel, P, rows):
    """Return the kernel of some rows with all in float64, less what its rounding allows."""
    Q = P.take(rows)
    own = np.sqrt(kernel.diag(P, dtype=np.float64))
    error = kernel.tolerance(P, dtype=np.float64)
    return kernel(Q, P, dtype=np.float64) - error * np.outer(own[rows], own) - 1e-33


def require_bounds(bounds, floor):
    short = ~(bounds >= floor[: bounds.shape[0], : bounds.shape[1]])
    assert not short.any(), f"{short.sum()} of {short.size} bounds are below the kernel"


@pytest.mark.parametrize("trial", range(len(TRIALS)))
def test_no_bound_is_below_the_kernel(trial):
    kernel, scale, n_landmarks, n_components, how = TRIALS[trial]
    signed = kernel in VECTOR_KERNELS.values()
    X = hostile.items(N, 24, trial, signed) * np.float32(scale)
    pca = KernelPCA(kernel, n_components, n_landmarks=n_landmarks, landmarks=how, residual=True)
    P = kernel.prepare(X)
    Z = pca.fit(P).transform(P)
    rows = np.arange(0, N, N // QUERIES)
    floor = floor_of(kernel, P, rows)
    for bounds in hostile.products(Z[rows], Z):
        require_bounds(bounds, floor)
    _attack_the_scan(Z, rows, floor)
    assert floor.size == N * QUERIES


def _attack_the_scan(Z, rows, floor):
    """Bounds of heads, and those put together from head and tail, tile by tile or row by row."""
    n_head = max(1, Z.shape[1] // 3)
    scan = Built(BoundScan(n_head), Z)
    for kind in [FloatHead, ByteHead][: 1 + _bytes.AVAILABLE]:
        head = kind(Z, n_head)
        first = np.empty(floor.shape, np.float32)
        require_bounds(head.fill(head.queries(Z[rows]), slice(0, len(Z)), first), floor)
    everything = np.full(len(rows), -np.inf, np.float32)
    require_bounds(_spread(scan.reaching(Z[rows], everything), floor.shape), floor)
    best = -np.partition(-floor, 3, axis=1)[:, 3]
    named = _spread(scan.reaching(Z[rows], np.nextafter(best.astype(np.float32), -np.inf)),
                    floor.shape)  # fmt: skip
    assert (named[floor >= best[:, None]] > -np.inf).all()  # what reaches the floor is named
    found = named > -np.inf
    assert (named[found] >= floor[found]).all()


def _spread(found, shape):
    """Return the values of candidates as a matrix, minus infinity where a row is not named."""
    bounds = np.full(shape, -np.inf)
    i, j = np.nonzero(found.rows >= 0)
    bounds[i, found.rows[i, j]] = found.values[i, j]
    return bounds


def test_bits():
    kernel = kernels.Tanimoto()
    rng = np.random.default_rng(0)
    B = rng.random((1000, 64)) < rng.choice([0.02, 0.2, 0.5], size=(1000, 1))
    B[100:200] = B[:100]
    P = kernel.prepare(B)
    Z = KernelPCA(kernel, 70, n_landmarks=150, residual=True).fit(P).transform(P)
    rows = np.arange(0, 1000, 4)
    floor = floor_of(kernel, P, rows)
    for bounds in hostile.products(Z[rows], Z):
        require_bounds(bounds, floor)
    _attack_the_scan(Z, rows, floor)
    assert floor.size == N * QUERIES


def test_the_attack_is_large():
    """Every trial counts its own pairs: tests of this file may run in several processes."""
    assert (len(TRIALS) + 1) * N * QUERIES >= 5_000_000


def test_an_attack_on_naive_bounds_succeeds():
    """Without slack the same items break the bounds: the attack is strong (theory: rounding)."""
    X = hostile.items(N, 24, 0)
    P = chi2.prepare(X)
    pca = KernelPCA(chi2, 80, n_landmarks=320, residual=True).fit(P)
    z = pca.transform(P)[:, :-1]
    own = chi2.diag(P, dtype=np.float64)
    lost = own - (z.astype(np.float64) ** 2).sum(axis=1)
    naive = np.column_stack([z, np.sqrt(np.maximum(lost, 0))]).astype(np.float32)
    floor = floor_of(chi2, P, np.arange(N))
    assert (naive @ naive.T < floor).sum() > 100


# ---- end to end


def brute(kernel, X, Q, k):
    """Return float64 scores of all pairs, and the k best of each row."""
    K = kernel(kernel.prepare(Q), kernel.prepare(X), dtype=np.float64)
    return K, -np.sort(-K, axis=1)[:, :k]


def require_truth(found, kernel, X, Q, k):
    """Every answer is exact, and scores as float64 brute force up to the tolerance."""
    K, best = brute(kernel, X, Q, k)
    assert found.exact.all()
    named = np.take_along_axis(K, found.ids[:, : best.shape[1]], 1)
    slack = found.tolerance[:, None] + 1e-33
    assert (named >= best - slack).all()
    rounded = slack + 2.0**-24 * np.abs(named)  # scores are returned in float32
    assert (np.abs(found.scores[:, : best.shape[1]] - named) <= rounded).all()
    assert (found.evaluations <= len(X)).all()


@pytest.mark.parametrize("kernel", [chi2, rbf, kernels.Hellinger(), chi2 + rbf], ids=repr)
@pytest.mark.parametrize("n_components", [8, 64])
def test_near_ties(kernel, n_components):
    X = hostile.near_ties(1200, 16, 0)
    index = mercer.exact(kernel, n_landmarks=100, n_components=n_components).fit(X).add(X)
    for k in (1, 5):
        require_truth(index.search(X[:150], k), kernel, X, X[:150], k)


@pytest.mark.parametrize("kernel", HISTOGRAM_KERNELS)
def test_hostile_items_end_to_end(kernel):
    kernel = HISTOGRAM_KERNELS[kernel]
    X = hostile.items(800, 16, 5)
    index = mercer.exact(kernel, n_landmarks=80, n_components=24).fit(X).add(X)
    for k in (1, 10, 800):
        require_truth(index.search(X[::40], k), index.kernel_, X, X[::40], k)


def test_few_items():
    X = hostile.near_ties(5, 8, 1)
    one = mercer.exact("chi2").fit(X[:1]).add(X[:1])
    assert one.search(X, 3).ids.tolist() == [[0, -1, -1]] * 5
    assert one.search(X, 3).exact.all()
    index = mercer.exact("chi2").fit(X).add(X)
    for k in (5, 9):
        require_truth(index.search(X, k), chi2, X, X, k)


def test_fitted_elsewhere():
    """Landmarks far from the items give loose bounds, but no wrong ones."""
    X = hostile.items(600, 16, 3)
    index = mercer.exact("rbf", n_landmarks=50, n_components=16).fit(X[:60] * 0.01 + 5).add(X)
    require_truth(index.search(X[:50], 4), index.kernel_, X, X[:50], 4)


def test_within_at_the_scores_themselves():
    X = hostile.near_ties(400, 16, 2)
    K, _ = brute(chi2, X, X[:10], 1)
    index = mercer.exact("chi2", n_landmarks=60, n_components=64).fit(X).add(X)
    for query in range(10):
        score = np.sort(K[query])[-7]
        found = index.within(X[query : query + 1], float(score))[0]
        assert found.exact.all()
        assert set(found.ids[0].tolist()) >= set(np.flatnonzero(K[query] > score + 1e-15).tolist())
        assert (K[query, found.ids[0]] >= score - 1e-15).all()


# ---- kernels that lie

rng = np.random.default_rng(0)
X6, Q6 = rng.normal(size=(300, 6)), rng.normal(size=(40, 6))


def squares(X, Y):
    return ((np.asarray(X)[:, None] - np.asarray(Y)[None]) ** 2).sum(axis=2)


def bell(X, Y):
    return np.exp(-squares(X, Y) / 6)


def odd_pairs(X, Y):
    """Pairs of different items that both lie on one side: no landmark lies there."""
    side = (np.asarray(X)[:, :1] > 0) & (np.asarray(Y)[:, 0] > 0)
    return side & (squares(X, Y) > 0)


def hashed(X, Y, a, b):
    """Return numbers that look like chance, the same at every call."""
    left, right = (np.sin(1e4 * (np.asarray(Z) @ np.arange(1, 7))) for Z in (X, Y))
    return np.sin(1e4 * (a * left[:, None] + b * right + left[:, None] * right))


LIARS = {
    "distance": lambda X, Y: -np.sqrt(squares(X, Y)),
    "parabola": lambda X, Y: 20 - squares(X, Y),
    "sigmoid": lambda X, Y: np.tanh(0.5 * np.asarray(X) @ np.asarray(Y).T - 1),
    "window": lambda X, Y: (squares(X, Y) < 4).astype(float),
    "opposite": lambda X, Y: 1 - bell(X, Y),
    "maximum": lambda X, Y: np.maximum(np.asarray(X)[:, None], np.asarray(Y)[None]).sum(2) + 10,
    "twice": lambda X, Y: np.where(odd_pairs(X, Y), 2, 1) * bell(X, Y),
    "far is near": lambda X, Y: np.where(odd_pairs(X, Y), 1 - bell(X, Y), bell(X, Y)),
    "negative": lambda X, Y: np.where(odd_pairs(X, Y), -1, 1) * bell(X, Y),
    "indicator": lambda X, Y: bell(X, Y) + 3.0 * odd_pairs(X, Y),
}


def never_false(function, n_landmarks, n_components, k=3):
    """Fit, add and search: refused, warned about, or right wherever `exact`; return which."""
    kernel = kernels.from_gram(function, psd=True)
    left = X6[X6[:, 0] < 0]
    index = mercer.exact(kernel, n_landmarks=n_landmarks, n_components=n_components)
    try:
        found = index.fit(left).add(X6).search(Q6, k)
    except KernelError:
        return "refused"
    except CertificateWarning:
        assert index.disproof_ is not None
        assert not index.info()["certified"]
        with pytest.warns(CertificateWarning, match="No answer of this index is certified"):
            found = index.search(Q6, k)
        assert not found.exact.any()
        assert not found.probability.any()
        return "warned"
    best = -np.sort(-function(Q6, X6), axis=1)[:, :k]
    right = (found.scores >= best - found.tolerance[:, None] - 1e-6).all(axis=1)
    assert right[found.exact].all()
    return "right"


@pytest.mark.parametrize("liar", LIARS)
@pytest.mark.parametrize("n_landmarks, n_components", [(8, 4), (40, 16), (200, 64)])
def test_liars_are_caught(liar, n_landmarks, n_components):
    assert never_false(LIARS[liar], n_landmarks, n_components) in ("refused", "warned")


@pytest.mark.parametrize("factor", [1.2, 2.0])
def test_first_guesses_are_tested_as_well(factor):
    """One query at a time, the rows that set the threshold are the only ones evaluated."""

    def raised(X, Y):
        return np.where(odd_pairs(X, Y), factor, 1) * bell(X, Y)

    kernel = kernels.from_gram(raised, psd=True)
    index = mercer.exact(kernel, n_landmarks=40, n_components=16)
    index.fit(X6[X6[:, 0] < 0]).add(X6)
    for q in Q6:
        index.disproof_ = None
        try:
            found = index.search(q[None], 3)
        except CertificateWarning:
            continue
        best = np.sort(raised(q[None], X6)[0])[-3]
        assert not found.exact[0] or found.scores[0, -1] >= best - 1e-5


CHANCE = np.random.default_rng(0)
NOISE = {
    "random": lambda X, Y: bell(X, Y) + 1e-3 * CHANCE.random((len(X), len(Y))),
    "factor": lambda X, Y: bell(X, Y) * (1 + 1e-4 * CHANCE.random((len(X), 1))),
    "uneven hash": lambda X, Y: bell(X, Y) + 1e-3 * hashed(X, Y, 1, 2),
    "even hash": lambda X, Y: bell(X, Y) + 1e-3 * hashed(X, Y, 1, 1),
    "linear and hash": lambda X, Y: np.asarray(X) @ np.asarray(Y).T + 1e-3 * hashed(X, Y, 1, 1),
}


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("n_landmarks, n_components", [(8, 4), (60, 40)])
def test_noise_never_gets_a_false_certificate(noise, n_landmarks, n_components):
    outcome = never_false(NOISE[noise], n_landmarks, n_components)
    assert outcome != "right" or noise == "even hash"


def test_noise_that_begins_after_the_trials():
    """A function that is steady while it is fitted and drifts later."""
    calls = []

    def drifting(x, y):
        calls.append(1)
        drift = 1e-3 * np.sin(len(calls)) if len(calls) > 150_000 else 0.0
        return float(np.exp(-((x - y) ** 2).sum() / 6) + drift)

    kernel = kernels.from_function(drifting, psd=True)
    index = mercer.exact(kernel, n_landmarks=30, n_components=12).fit(X6[:120]).add(X6[:120])
    assert len(calls) < 150_000
    calls += [1] * 150_000
    with pytest.warns(CertificateWarning, match="further apart than its tolerance|outside of what"):
        assert not index.search(Q6[:5], 3).exact.any()
    assert not index.within(Q6[:1], 0.5)[0].exact.any()


def test_truth_agrees_with_the_certificate_on_real_kernels():
    X = hostile.items(500, 12, 9)
    for kernel in (chi2, rbf, kernels.MinMax()):
        found = mercer.exact(kernel, n_landmarks=60).fit(X).add(X).search(X[:60], 5)
        truth = evaluate.ground_truth(kernel, X, X[:60], 5)
        np.testing.assert_allclose(found.scores, truth.scores, rtol=1e-6)
