"""Vectors that kernels know by themselves, and what kernels declare to rank as."""

from __future__ import annotations

import numpy as np
import pytest
from zoo import COUNTS, HISTOGRAMS, SPARSE, VECTORS

import mercer
from mercer import kernels
from mercer.embeddings import Euclidean, Explicit
from mercer.errors import InputError
from mercer.testing import check_embedding, check_kernel

MATRIX = np.diag(np.arange(1.0, VECTORS.shape[1] + 1))
KNOWN = {
    "linear": (kernels.Linear(), VECTORS, lambda X: X),
    "cosine": (kernels.Cosine(), VECTORS, lambda X: X / np.linalg.norm(X, axis=1)[:, None]),
    "hellinger": (kernels.Hellinger(), HISTOGRAMS, np.sqrt),
    "chi2": (kernels.Chi2(), HISTOGRAMS, np.sqrt),
    "mahalanobis": (kernels.Mahalanobis(MATRIX), VECTORS, lambda X: X @ np.sqrt(MATRIX)),
    "normalized": (
        kernels.Linear().normalized(), VECTORS, lambda X: X / np.linalg.norm(X, axis=1)[:, None],
    ),
    "rbf": (kernels.RBF(), VECTORS, lambda X: X),
    "radial": (kernels.Mahalanobis(MATRIX).radial(), VECTORS, lambda X: X @ np.sqrt(MATRIX)),
}  # fmt: skip


@pytest.mark.parametrize("kernel, X, expected", KNOWN.values(), ids=KNOWN)
def test_vectors_are_the_formula(kernel, X, expected):
    check_embedding(Explicit(kernel), X)
    found = Explicit(kernel).fit_transform(X)
    np.testing.assert_allclose(found, expected(X.astype(np.float64)), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["linear", "cosine", "hellinger"])
@pytest.mark.parametrize("X", [COUNTS, SPARSE], ids=["uint8", "sparse"])
def test_sparse_and_counted_items(name, X):
    check_embedding(Explicit(name), X)
    Z = Explicit(name).fit_transform(X).astype(np.float64)
    np.testing.assert_allclose(Z @ Z.T, kernels.get(name)(X, dtype="float64"), rtol=1e-5, atol=1e-5)


def test_it_serves_its_kernel_only():
    assert Explicit("cosine").serves(kernels.Cosine())
    assert not Explicit("cosine").serves(kernels.Linear())


@pytest.mark.parametrize("stranger", ["laplacian", "tanimoto", kernels.Polynomial()], ids=str)
def test_kernels_without_vectors_are_refused(stranger):
    with pytest.raises(InputError, match="Explicit: no vectors are known that rank as"):
        Explicit(stranger)


def test_another_width_is_refused():
    with pytest.raises(InputError, match="items have 3 features but it was fitted on 24"):
        Explicit("linear").fit(VECTORS).transform(VECTORS[:, :3])


# ---- what kernels declare


@mercer.kernel(psd=True, ranks_as="rbf")
def cauchy(x, y):
    total = 0.0
    for i in range(len(x)):
        total += (x[i] - y[i]) ** 2
    return 1 / (1 + total)


@mercer.kernel(psd=True, nonnegative=True, nearly="hellinger", ceiling="hellinger")
def own_chi2(x, y):
    total = 0.0
    for i in range(len(x)):
        if x[i] + y[i] > 0:
            total += 2 * x[i] * y[i] / (x[i] + y[i])
    return total


@mercer.kernel(psd=True, ranks_as="linear")
def liar(x, y):
    total = 0.0
    for i in range(len(x)):
        total += abs(x[i] - y[i])
    return np.exp(-total / len(x))


@pytest.mark.parametrize(
    "kernel, X", [(cauchy, VECTORS), (own_chi2, HISTOGRAMS)], ids=["ranks_as", "nearly"]
)
def test_a_users_kernel_gets_the_declared_map_without_a_trial(kernel, X, monkeypatch):
    def tried(*args):
        raise AssertionError("a map was tried")

    monkeypatch.setattr("mercer.embeddings.euclidean.Trial", tried)
    many = np.tile(X, (20, 1))
    fitted = Euclidean(kernel).fit(many + np.float32(0))
    assert isinstance(fitted.map_, Explicit)
    assert fitted.n_landmarks_ == 0
    check_kernel(kernel, X)


def test_a_declaration_that_is_wrong_is_found():
    with pytest.raises(mercer.CheckError, match="otherwise than Linear"):
        check_kernel(liar, VECTORS)
    with pytest.raises(mercer.CheckError, match="above its ceiling"):
        check_kernel(kernels.CompiledKernel(own_chi2.function, ceiling="intersection"), HISTOGRAMS)


def test_what_ranks_alike_is_followed_to_the_end():
    chain = [(one.kernel, one.by_distance) for one in (2.0 * kernels.ExpChi2()).alike()]
    assert chain[-2:] == [(kernels.Chi2(), True), (kernels.Hellinger(), True)]
    # distances under exp(linear) are not those of vectors: the same order is not enough
    assert Explicit.of(kernels.Linear().exp(1.0).radial()) is None
    assert Explicit.of(kernels.Linear().exp(1.0)).kernel == kernels.Linear()


def test_declared_ceilings_exclude_and_nothing_is_missed():
    X = np.random.default_rng(0).dirichlet(np.ones(16), size=800).astype(np.float32)
    index = mercer.exact(own_chi2, n_landmarks=100, n_components=32).fit(X).add(X)
    truth = mercer.evaluate.ground_truth("chi2", X, X[:50], 5)
    found = index.search(X[:50], 5)
    assert found.exact.all()
    np.testing.assert_array_equal(found.ids, truth.ids)


@pytest.mark.parametrize("name", ["rbf", "chi2", "linear"])
def test_hyperplanes_hash_every_kernel_with_vectors(name):
    X = np.random.default_rng(1).dirichlet(np.ones(12), size=600).astype(np.float32)
    index = mercer.lsh(name, n_bits=256).fit(X).add(X)
    truth = mercer.evaluate.ground_truth(name, X, X[:60], 1)
    found = index.search(X[:60], 1, candidates=100)
    assert mercer.evaluate.recall(found, truth) > 0.9
