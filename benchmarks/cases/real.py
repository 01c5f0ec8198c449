"""Real data: parts of it at random for each seed."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from benchmarks.cases.base import Data, case, parted
from experiments.real_data import data_folder, l1_normalised
from mercer import kernels

Generator = np.random.Generator


@cache
def stored(name: str, key: str = "X") -> Any:
    return np.load(data_folder() / name)[key]


@case("SIFT, chi-square")
def _(rng: Generator) -> Data:
    return parted(l1_normalised(stored("sift/sift_learn.npz")), rng, 20_000, "chi2")


@case("SIFT counts, chi-square")
def _(rng: Generator) -> Data:
    return parted(stored("sift/sift_base_0.npz"), rng, 20_000, "chi2")


@case("visual words, exponential chi-square")
def _(rng: Generator) -> Data:
    words = l1_normalised(stored("bow/bow_k1000.npz"))
    return parted(words, rng, 5_600, kernels.ExpChi2(gamma=1.0))


@case("GIST of tiny photos, RBF")
def _(rng: Generator) -> Data:
    return parted(stored("gist/cifar10_train_gist384.npz").astype(np.float32), rng, 12_000, "rbf")


@case("GIST of photos, Laplacian")
def _(rng: Generator) -> Data:
    return parted(stored("gist/photos_gist384.npz").astype(np.float32), rng, 6_000, "laplacian")


@case("vectors of words, cosine")
def _(rng: Generator) -> Data:
    return parted(stored("tables/glove100.npz").astype(np.float32), rng, 20_000, "cosine")


@case("vectors of words, linear")
def _(rng: Generator) -> Data:
    return parted(stored("tables/glove100.npz").astype(np.float32), rng, 20_000, "linear")


@case("spoken letters 617-d, intersection of histograms")
def _(rng: Generator) -> Data:
    X = stored("tables/isolet1560.npz").astype(np.float32)
    X = l1_normalised(X - X.min(axis=0) + 1e-6)
    return parted(X, rng, len(X) - 300, "intersection")
