"""Every kind of kernel with items it can compare; tests run over all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

import mercer
from mercer import kernels

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


@dataclass(frozen=True)
class Animal:
    name: str
    kernel: kernels.Kernel
    X: Any


def _animals() -> list[Animal]:
    found = []
    for name, cls in kernels.NAMES.items():
        if cls.input == "sets":
            continue  # their parameters depend on the data: see below
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
        Animal("sets", kernels.from_function(mean_match, psd=True), SETS),
        Animal("gram", kernels.from_gram(cubes, psd=True), VECTORS),
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
