"""Windows of photos as histograms of visual words: more histograms of 1,000 words than photos."""

from __future__ import annotations

from typing import Any

import faiss
import numpy as np

from experiments.photos import photos
from experiments.real_data import SEED, DataSet, data_folder, l1_normalised
from mercer import Ragged, kernels

SMALLEST = 0.3  # of a photo's width and height
LEAST = 20  # features of a window


def windows(n_rows: int, n_queries: int) -> DataSet:
    """Return histograms of random windows, for exponential χ².

    Queries, and those to calibrate with, are windows of other photos than the base.
    """
    words = np.load(data_folder() / "bow" / "vocab_k1000.npy")
    data = photos()
    rng = np.random.default_rng(SEED)
    X = histograms(data.base, words, n_rows, rng)
    asked = histograms(data.queries, words, 2 * n_queries, rng)
    return DataSet("windows", kernels.ExpChi2(gamma=1.0), X, asked[:n_queries], asked[n_queries:])


def histograms(sets: Ragged, words: Any, n: int, rng: np.random.Generator) -> Any:
    """Return how often each word is in each of n random windows, summing to 1."""
    _, found = faiss.knn(sets.values.astype(np.float32), words, 1)
    counts = np.zeros((n, len(words)), np.float32)
    row = 0
    while row < n:
        photo = rng.integers(len(sets))
        features = slice(sets.offsets[photo], sets.offsets[photo + 1])
        seen = found[features, 0][inside(sets.positions[features], rng)]
        if len(seen) >= LEAST:
            np.add.at(counts[row], seen, 1)
            row += 1
    return l1_normalised(counts)


def inside(places: Any, rng: np.random.Generator) -> Any:
    """Return which places are in a random window of their photo."""
    low, high = places.min(axis=0), places.max(axis=0)
    share = rng.uniform(SMALLEST, 1, 2)
    start = low + rng.random(2) * (1 - share) * (high - low)
    return ((places >= start) & (places <= start + share * (high - low))).all(axis=1)
