"""Photos as sets of local features: preparing, comparing and hashing them.

scripts/bench sets
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from typing import Any

import numpy as np

from benchmarks.measure import compare, table
from experiments.photos import photos, reduced
from mercer import Ragged, kernels
from mercer.embeddings import PyramidDirections
from mercer.kernels import Prepared, Pyramid

PLAIN_PAIRS = 100  # compared by the plain baseline
PLAIN_SETS = 1  # hashed by it
HASHED = 50  # sets hashed in one go


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=int, default=4039)
    parser.add_argument("--queries", type=int, default=5, help="each compared with all photos")
    parser.add_argument("--bits", type=int, default=256)
    options = parser.parse_args()
    whole = photos(options.photos, options.queries)
    small = reduced(whole)
    made: dict[str, tuple[Pyramid, Ragged, Ragged]] = {}
    for name, cls, data in (
        ("PyramidMatch", kernels.PyramidMatch, small),
        ("VocabularyPyramid", kernels.VocabularyPyramid, whole),
        ("SpatialPyramid", kernels.SpatialPyramid, whole),
        ("ProximityDistribution", kernels.ProximityDistribution, whole),
    ):
        made[name] = cls.for_data(data.base), data.base, data.queries
    print(
        f"{len(whole.base)} photos, {len(whole.queries)} queries, {options.bits} bits, one thread"
    )
    head = ["kernel", "bins a photo", "prepare s", "µs a pair", "plain", "hash ms", "plain"]
    table(head, [_row(name, *one, options.bits) for name, one in made.items()])


def _row(name: str, kernel: Pyramid, X: Ragged, Q: Ragged, n_bits: int) -> list[Any]:
    kernel.prepare(X[:2])  # compiles
    started = time.perf_counter()
    P = kernel.prepare(X)
    prepared = time.perf_counter() - started
    R = kernel.prepare(Q)
    pairs, plain_pairs = _pairs(kernel, R, P)
    hashed, plain_hashed = _hashes(kernel, P, n_bits)
    bins = float(np.diff(P.bins.offsets).mean())
    return [name, round(bins), prepared, pairs, plain_pairs, hashed, plain_hashed]


def _pairs(kernel: Pyramid, R: Prepared, P: Prepared) -> tuple[float, float]:
    """Return the µs a pair takes here, and as an intersection of Python's counters."""
    counters = [counter(P[i : i + 1]) for i in range(min(PLAIN_PAIRS, len(P)))]
    query = counter(R[:1])
    ours, plain = compare(
        lambda: kernel(R, P, n_jobs=1), lambda: plain_scores(kernel, query, counters), rounds=3
    )
    return 1e6 * ours / (len(R) * len(P)), 1e6 * plain / len(counters)


def plain_scores(kernel: Pyramid, query: Counter[int], counters: list[Counter[int]]) -> list[float]:
    """Return the kernel of one set and several, by intersections of Python's counters."""
    weights, down = kernel.coefficients, kernel.coefficient_shift
    shared = (query & other for other in counters)
    return [sum(weights[b >> down] * n for b, n in common.items()) for common in shared]


def counter(P: Prepared) -> Counter[int]:
    """Return the histogram of one prepared set."""
    bins, counts = (part.values.ravel().tolist() for part in (P.bins, P.counts))
    return Counter(dict(zip(bins, counts, strict=True)))


def _hashes(kernel: Pyramid, P: Prepared, n_bits: int) -> tuple[float, float]:
    """Return the ms a photo takes here, and with NumPy's generator seeded by the bin."""
    directions = PyramidDirections(kernel, n_bits).fit(P)
    some = P[:PLAIN_SETS]

    def plainly() -> None:
        for i in range(len(some)):
            plain_walk(kernel, some[i : i + 1], n_bits)

    sample = P[:HASHED]
    ours, plain = compare(lambda: directions.transform(sample, n_jobs=1), plainly, rounds=3)
    return 1e3 * ours / len(sample), 1e3 * plain / len(some)


def plain_walk(kernel: Pyramid, P: Prepared, n_bits: int) -> Any:
    """Return projections with one normal number for every unit of every bin."""
    total = np.zeros(n_bits)
    for b, n in counter(P).items():
        steps = np.random.default_rng(b).standard_normal((n, n_bits))
        total += np.sqrt(kernel.coefficients[b >> kernel.coefficient_shift]) * steps.sum(axis=0)
    return total


if __name__ == "__main__":
    main()
