"""Every kind of kernel with items it can compare; tests run over all of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

import mercer
from mercer import kernels, learn

rng = np.random.default_rng(7)
VECTORS = rng.normal(size=(70, 24)).astype(np.float32)
HISTOGRAMS = rng.dirichlet(np.full(24, 0.3), size=70).astype(np.float32)
HISTOGRAMS[3] = 0  # an item with nothing in it
COUNTS = rng.poisson(0.7, size=(70, 40)).astype(np.uint8)
BITS = rng.random((70, 100)) < 0.2
BITS[5] = False
SPARSE = scipy.sparse.csr_array(COUNTS.astype(np.float32))
WORDS = ["".join(rng.choice(list("abcd"), size=rng.integers(1, 9))) for _ in range(70)]
SETS = mercer.Ragged.from_list([rng.random((int(rng.integers(1, 6)), 3)) for _ in range(70)])
PLACES = rng.integers(0, 9, (len(SETS.values), 2))  # with ties
SETS = mercer.Ragged(SETS.values, SETS.offsets, PLACES)


def placed_sets(n=70, seed=8):
    """Return sets of up to 6 vectors with positions; one of them is empty."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, n)
    sizes[4] = 0
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return mercer.Ragged(
        rng.random((offsets[-1], 5), np.float32), offsets, 250 * rng.random((offsets[-1], 2))
    )


PLACED = placed_sets()
PLACED_BYTES = mercer.Ragged(
    (255 * PLACED.values).astype(np.uint8), PLACED.offsets, PLACED.positions
)


@mercer.kernel(psd=True, nonnegative=True)
def my_chi2(x, y):
    total = 0.0
    for i in range(len(x)):
        below = x[i] + y[i]
        if below > 0:
            total += 2 * x[i] * y[i] / below
    return total


@mercer.kernel(psd=True)
def my_dot(x, y):
    return (x * y).sum()


def shared_letters(x, y):
    return len(set(x) & set(y))


def letter_difference(x, y):
    return len(set(x) ^ set(y))


def mean_match(x, y):
    """The mean of all inner products of two sets."""
    return float((np.asarray(x, np.float64) @ np.asarray(y, np.float64).T).mean())


def cubes(X, Y):
    return (np.asarray(X, np.float64) @ np.asarray(Y, np.float64).T) ** 3


def learned(kernel, X):
    """Return a kernel with a metric learned from a few pairs, in the span of 20 items."""
    metric = learn.ITML(kernel, n_basis=20, upper=0.5, lower=2.0)
    pairs = learn.from_pairs([(0, 1), (10, 12), (30, 31)], [(2, 4), (6, 7), (40, 50)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mercer.LearningWarning)
        return metric.fit(X, pairs).kernel_


@dataclass(frozen=True)
class Animal:
    name: str
    kernel: kernels.Kernel
    X: Any


def _animals() -> list[Animal]:
    found = []
    for name, cls in kernels.NAMES.items():
        if cls.input == "sets":
            for kind, X in (("float32", PLACED), ("uint8", PLACED_BYTES)):
                suited = cls.for_data(X) if hasattr(cls, "for_data") else cls()
                found += [Animal(f"{name}-{kind}", suited, X)]
            continue
        kernel = kernels.get(name)
        if kernel.input == "bits":
            found += [Animal(f"{name}-bool", kernel, BITS)]
            found += [Animal(f"{name}-packed", kernel, np.packbits(BITS, axis=1))]
            continue
        X = HISTOGRAMS if kernel.nonnegative else VECTORS
        found += [Animal(f"{name}-float32", kernel, X), Animal(f"{name}-uint8", kernel, COUNTS)]
        found += [Animal(f"{name}-sparse", kernel, SPARSE)]
    chi2, rbf = kernels.Chi2(), kernels.RBF(gamma=0.3)
    composed = {
        "sum": chi2 + rbf,
        "product": chi2 * rbf,
        "scaled": 0.25 * kernels.Intersection(),
        "exp": kernels.Chi2().normalized().exp(3.0),
        "normalized": kernels.JensenShannon().normalized(),
        "deep": (0.5 * chi2 + rbf.exp(2.0)).normalized() * kernels.Hellinger(),
        "my_chi2": my_chi2,
        "my_sum": my_chi2.normalized() + kernels.MinMax(),
    }
    found += [Animal(name, kernel, HISTOGRAMS) for name, kernel in composed.items()]
    found += [
        Animal("my_dot", my_dot, VECTORS),
        Animal("my_dot-uint8", my_dot, COUNTS),
        Animal("my_dot-sparse", my_dot, SPARSE),
        Animal("dice", kernels.Tversky(0.5, 0.5), BITS),
        Animal("tversky-asymmetric", kernels.Tversky(0.9, 0.1), BITS),
        Animal("strings", kernels.from_function(shared_letters, psd=True), WORDS),
        Animal("string-distance", kernels.from_distance(letter_difference, 0.5, True), WORDS),
        Animal("string-sum", kernels.from_function(shared_letters, psd=True).normalized()
               + kernels.from_distance(letter_difference, 0.5, psd=True), WORDS),
        Animal("chi2-sets", kernels.SumMatch(chi2).normalized(), PLACED_BYTES),
        Animal("sets", kernels.from_function(mean_match, psd=True), SETS),
        Animal("gram", kernels.from_gram(cubes, psd=True), VECTORS),
        Animal("mahalanobis", learned(None, VECTORS), VECTORS),
        Animal("mahalanobis-uint8", kernels.Mahalanobis(np.diag(np.arange(40.0))), COUNTS),
        Animal("mahalanobis-sparse", kernels.Mahalanobis(np.diag(np.arange(40.0))), SPARSE),
        Animal("radial", kernels.Intersection().radial(2.0), HISTOGRAMS),
        Animal("learned", learned(kernels.Chi2(), HISTOGRAMS), HISTOGRAMS),
        Animal("learned-radial", learned("linear", VECTORS).radial(0.1), VECTORS),
        Animal("learned-sparse", learned("cosine", SPARSE).normalized(), SPARSE),
        Animal("learned-sets", learned(kernels.from_function(mean_match, psd=True), SETS), SETS),
        Animal("learned-indefinite", learned(kernels.Tversky(0.9, 0.1), BITS), BITS),
        Animal("l1-uint8", kernels.Chi2().of("l1"), COUNTS),
        Animal("l1-sparse", kernels.Intersection().of("l1").normalized(), SPARSE),
        Animal("l2", rbf.of("l2"), VECTORS),
        Animal("sqrt", (kernels.Linear() + rbf).of("sqrt"), HISTOGRAMS),
        Animal("l1-sets", kernels.SumMatch(chi2).of("l1"), PLACED_BYTES),
        Animal("standardized", kernels.Laplacian(0.1).of("standardized").suited(VECTORS), VECTORS),
        Animal("precomputed", kernels.Precomputed(VECTORS @ VECTORS.T, psd=True), np.arange(70)),
    ]  # fmt: skip
    return found + _pyramids()


def _pyramids() -> list[Animal]:
    some = SETS.values[:9]
    match = kernels.PyramidMatch(0.2, 3, weights=[1.0, 0.3, 0.1])
    parents, weights = [-1, -1, -1, 0, 0, 1, 1, 2, 2], [1, 1, 1.5, 2, 2, 3, 1, 2, 1.5]
    found = {
        "pyramid_match": match,
        "pyramid_match-normalized": match.normalized(),
        "pyramid_match-minimum": kernels.PyramidMatch(0.3, 2, normalize="minimum"),
        "vocabulary_pyramid": kernels.VocabularyPyramid(some, parents, weights),
        "spatial_pyramid": kernels.SpatialPyramid(some[:6], [[0, 0], [8, 8]]),
        "proximity_distribution": kernels.ProximityDistribution(some[:6], 3),
    }
    return [Animal(name, kernel, SETS) for name, kernel in found.items()]


ANIMALS = _animals()


def two_classes(n=120, d=6, seed=0):
    """Return vectors whose class is one feature among others that are larger."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), np.arange(n) % 2
    X[:, 0] = 0.3 * X[:, 0] + y
    X[:, 1:] *= 2
    return X.astype(np.float32), y
