"""Bag of words with labels, and the votes of neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.real_data import SEED, data_folder, l1_normalised


@dataclass(frozen=True)
class Labelled:
    """Base rows and queries that are sorted into classes.

    Attributes
    ----------
    X, Q : ndarray of float32, shape (n, d)
        Base rows and queries.
    y, asked : ndarray of int, shape (n,)
        Their classes.
    """

    X: Any
    y: Any
    Q: Any
    asked: Any


def words(n_words: int, n_rows: int, n_queries: int) -> Labelled:
    """Return photos as histograms of 200 or 1,000 visual words that sum to 1, split at random."""
    stored = np.load(data_folder() / "bow" / f"bow_k{n_words}.npz")
    X, y = l1_normalised(stored["X"]), stored["y"].astype(np.int64)
    order = np.random.default_rng(SEED).permutation(len(X))
    asked, base = order[:n_queries], order[n_queries : n_queries + n_rows]
    return Labelled(X[base], y[base], X[asked], y[asked])


def accuracy(neighbours: Any, data: Labelled) -> float:
    """Return the share of queries whose neighbours, best first, elect their class."""
    elected = [elect(labels) for labels in data.y[neighbours]]
    return float(np.mean(np.array(elected) == data.asked))


def elect(labels: Any) -> int:
    """Return the most frequent label; of several, the one that stands first."""
    counts = np.bincount(labels)
    return int(labels[np.argmax(counts[labels])])
