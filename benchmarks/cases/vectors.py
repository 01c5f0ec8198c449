"""Made vectors: histograms, cubes, clusters, heavy tails, lengths that vary."""

from __future__ import annotations

from typing import Any

import numpy as np

import mercer
from benchmarks.cases.base import QUERIES, Data, case, parted
from mercer import kernels

Generator = np.random.Generator


@mercer.kernel
def weighted_city_block(x: Any, y: Any) -> float:
    total = 0.0
    for i in range(len(x)):
        total += abs(x[i] - y[i]) / (1 + i)
    return -total


@mercer.kernel
def cauchy(x: Any, y: Any) -> float:
    total = 0.0
    for i in range(len(x)):
        total += (x[i] - y[i]) ** 2
    return 1 / (1 + total)


@mercer.kernel
def sigmoid(x: Any, y: Any) -> float:
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return np.tanh(0.1 * total - 1)


@mercer.kernel
def own_product(x: Any, y: Any) -> float:
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


def clusters(rng: Generator, n: int, d: int, n_clusters: int, spread: float) -> Any:
    centres = rng.normal(size=(n_clusters, d))
    return (centres[rng.integers(n_clusters, size=n)] + spread * rng.normal(size=(n, d))).astype(
        np.float32
    )


def drawn(X: Any, rng: Generator, kernel: Any) -> Data:
    return parted(np.asarray(X, np.float32), rng, len(X) - QUERIES, kernel)


@case("Gaussian 32-d, lengths vary, linear")
def _(rng: Generator) -> Data:
    X = rng.normal(size=(12_300, 32)) * rng.lognormal(0, 0.5, size=(12_300, 1))
    return drawn(X, rng, "linear")


@case("Gaussian 64-d, linear")
def _(rng: Generator) -> Data:
    return drawn(rng.normal(size=(10_300, 64)), rng, "linear")


@case("Student t(2) 24-d, linear")
def _(rng: Generator) -> Data:
    return drawn(rng.standard_t(2, size=(10_300, 24)), rng, "linear")


@case("Student t(1.5) 48-d, own dot product")
def _(rng: Generator) -> Data:
    return drawn(rng.standard_t(1.5, size=(10_300, 48)), rng, own_product)


@case("Student t(1.5) 16-d, RBF")
def _(rng: Generator) -> Data:
    return drawn(rng.standard_t(1.5, size=(10_300, 16)), rng, "rbf")


@case("Student t(2) 32-d, Laplacian")
def _(rng: Generator) -> Data:
    return drawn(rng.standard_t(2, size=(10_300, 32)), rng, "laplacian")


@case("Dirichlet(.2) 128 bins, chi-square")
def _(rng: Generator) -> Data:
    return drawn(rng.dirichlet(np.full(128, 0.2), size=15_300), rng, "chi2")


@case("Dirichlet(.05) 128 bins, Jensen-Shannon")
def _(rng: Generator) -> Data:
    return drawn(rng.dirichlet(np.full(128, 0.05), size=10_300), rng, "jensen_shannon")


@case("Dirichlet(1) 16 bins, intersection")
def _(rng: Generator) -> Data:
    return drawn(rng.dirichlet(np.ones(16), size=15_300), rng, "intersection")


@case("Dirichlet(.5) 64 bins times lengths, chi-square")
def _(rng: Generator) -> Data:
    X = rng.dirichlet(np.full(64, 0.5), size=12_300) * rng.lognormal(0, 0.7, size=(12_300, 1))
    return drawn(X, rng, "chi2")


@case("uniform cube 24-d, RBF")
def _(rng: Generator) -> Data:
    return drawn(rng.random((15_300, 24)), rng, "rbf")


@case("uniform cube 64-d, RBF")
def _(rng: Generator) -> Data:
    return drawn(rng.random((12_300, 64)), rng, "rbf")


@case("clusters 16-d, own weighted city block")
def _(rng: Generator) -> Data:
    return drawn(clusters(rng, 15_300, 16, 100, 0.3), rng, weighted_city_block)


@case("clusters 8-d, own Cauchy")
def _(rng: Generator) -> Data:
    return drawn(clusters(rng, 15_300, 8, 50, 0.5), rng, cauchy)


@case("uniform 8-d, Laplacian")
def _(rng: Generator) -> Data:
    return drawn(rng.random((15_300, 8)), rng, "laplacian")


@case("plane 2-d, RBF")
def _(rng: Generator) -> Data:
    return drawn(rng.normal(size=(15_300, 2)), rng, "rbf")


@case("Gaussian 12-d, polynomial")
def _(rng: Generator) -> Data:
    return drawn(rng.normal(size=(12_300, 12)), rng, kernels.Polynomial(3))


@case("Gaussian 16-d, own sigmoid, not PSD")
def _(rng: Generator) -> Data:
    return drawn(rng.normal(size=(10_300, 16)), rng, sigmoid)


@case("five copies of each, chi-square")
def _(rng: Generator) -> Data:
    X = rng.dirichlet(np.ones(32), size=2_300)
    Q, rest = X[:QUERIES], X[QUERIES:]
    return Data(np.float32(np.repeat(rest, 5, axis=0)), np.float32(Q), kernels.Chi2())


@case("curved surface in 784-d, Laplacian")
def _(rng: Generator) -> Data:
    low = rng.normal(size=(6_300, 6))
    X = np.maximum(low @ rng.normal(size=(6, 784)) + rng.normal(size=784), 0)
    return drawn(X + 0.05 * rng.random(X.shape), rng, "laplacian")


@case("Gaussian 100-d, Mahalanobis")
def _(rng: Generator) -> Data:
    G = rng.normal(size=(100, 100)) * np.exp(-np.arange(100) / 20)[:, None]
    return drawn(rng.normal(size=(8_300, 100)), rng, kernels.Mahalanobis(G.T @ G))


@case("histograms, chi-square plus RBF")
def _(rng: Generator) -> Data:
    X = np.float32(rng.dirichlet(np.full(32, 0.5), size=10_300))
    return drawn(X, rng, 0.5 * kernels.Chi2() + kernels.RBF.for_data(X))


@case("minus a distance, from_gram")
def _(rng: Generator) -> Data:
    return drawn(rng.normal(size=(6_300, 12)), rng, kernels.from_gram(minus_city_block))


def minus_city_block(X: Any, Y: Any) -> Any:
    return -np.abs(X[:, None] - Y[None]).sum(axis=2)
