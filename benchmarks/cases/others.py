"""Made items that are not dense vectors: sparse counts, bits, sets, strings."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

import mercer
from benchmarks.cases.base import QUERIES, Data, case, parted
from mercer import kernels

Generator = np.random.Generator


def zipf_counts(rng: Generator, n: int, n_words: int, length: int) -> Any:
    """Return texts of topics as sparse counts of words."""
    weights = 1 / np.arange(1, n_words + 1)
    topics = np.stack([weights[rng.permutation(n_words)] ** 1.1 for _ in range(40)])
    topics /= topics.sum(axis=1, keepdims=True)
    lengths = rng.poisson(length * rng.lognormal(0, 0.5, size=n)) + 5
    rows = [
        rng.multinomial(m, 0.7 * topics[t] + 0.3 * weights / weights.sum())
        for t, m in zip(rng.integers(40, size=n), lengths, strict=True)
    ]
    return sparse.csr_array(np.array(rows), dtype=np.float32)


def fingerprints(rng: Generator, n: int, n_bits: int, share: float) -> Any:
    """Return bits around random centres, packed."""
    centres = rng.random((n // 40, n_bits)) < share
    X = centres[rng.integers(len(centres), size=n)] ^ (rng.random((n, n_bits)) < share / 4)
    return np.packbits(X, axis=1)


@case("counts of words, MinMax")
def _(rng: Generator) -> Data:
    return parted(zipf_counts(rng, 4_300, 2_000, 60), rng, 4_000, kernels.MinMax())


@case("counts of words, cosine")
def _(rng: Generator) -> Data:
    return parted(zipf_counts(rng, 6_300, 3_000, 80), rng, 6_000, kernels.Cosine())


@case("counts of words, linear")
def _(rng: Generator) -> Data:
    return parted(zipf_counts(rng, 6_300, 2_000, 60), rng, 6_000, kernels.Linear())


@case("fingerprints of 1,024 bits, Tanimoto")
def _(rng: Generator) -> Data:
    return parted(fingerprints(rng, 12_300, 1024, 0.05), rng, 12_000, kernels.Tanimoto())


@case("fingerprints of 256 bits, Tversky")
def _(rng: Generator) -> Data:
    return parted(fingerprints(rng, 10_300, 256, 0.1), rng, 10_000, kernels.Tversky(0.5, 0.5))


@case("sets of points, pyramid match")
def _(rng: Generator) -> Data:
    sets = mercer.Ragged.from_list(point_sets(rng, 2_300))
    return parted(sets, rng, 2_000, kernels.PyramidMatch.for_data(sets))


@case("sets of points, sum match")
def _(rng: Generator) -> Data:
    sets = mercer.Ragged.from_list(point_sets(rng, 2_300))
    return parted(sets, rng, 2_000, kernels.SumMatch(kernels.RBF(gamma=0.05)))


def point_sets(rng: Generator, n: int) -> list[Any]:
    """Return noisy parts of random shapes."""
    shapes = [rng.uniform(0, 100, size=(30, 3)) for _ in range(n // 20)]
    return [
        np.float32(shape[rng.permutation(30)[: rng.integers(8, 25)]] + rng.normal(size=3))
        for shape in (shapes[i] for i in rng.integers(len(shapes), size=n))
    ]


@case("words, a Python function")
def _(rng: Generator) -> Data:
    letters = np.array(list("abcdefgh"))
    roots = ["".join(rng.choice(letters, 9)) for _ in range(150)]
    words = [changed(roots[i], letters, rng) for i in rng.integers(150, size=1_500 + QUERIES)]
    return Data(words[QUERIES:], words[:QUERIES], kernels.from_function(shared_pairs))


def changed(word: str, letters: Any, rng: Generator) -> str:
    found = list(word)
    for place in rng.integers(len(word), size=2):
        found[place] = str(rng.choice(letters))
    return "".join(found)


def shared_pairs(x: str, y: str) -> float:
    a, b = {x[i : i + 2] for i in range(len(x) - 1)}, {y[i : i + 2] for i in range(len(y) - 1)}
    return len(a & b) / len(a | b)
