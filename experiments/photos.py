"""Photos as sets of local features: SIFT of Caltech-101, with positions and classes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.real_data import data_folder
from mercer import Ragged

SIFT_LENGTH = 512.0  # of every descriptor as bytes
SPREAD = 30.0  # standard deviation of the first principal component: ±4 of them make 8 bits


@dataclass(frozen=True)
class Photos:
    """Base photos and queries, each a set of features.

    Attributes
    ----------
    base, queries : Ragged
        The features, with their positions in pixels.
    y, asked : ndarray of int, shape (n,)
        The classes of base photos and queries.
    """

    base: Ragged
    y: Any
    queries: Ragged
    asked: Any


def photos(n_base: int = 4039, n_queries: int = 600) -> Photos:
    """Return the first photos with all of their SIFT features as bytes."""
    folder = data_folder() / "sift"
    base, asked = np.load(folder / "sets_base.npz"), np.load(folder / "sets_query.npz")
    ends = base["offsets"][: n_base + 1]
    return Photos(
        Ragged(_rows(folder, int(ends[-1])), ends, base["xy"][: ends[-1]].astype(np.float32)),
        base["label"][:n_base].astype(np.int64),
        Ragged(asked["desc"], asked["offsets"], asked["xy"].astype(np.float32))[:n_queries],
        asked["label"][:n_queries].astype(np.int64),
    )


def _rows(folder: Path, n: int) -> Any:
    """Return the first n SIFT features of the base."""
    parts: list[Any] = []
    for part in range(3):
        if sum(map(len, parts)) < n:
            parts.append(np.load(folder / f"sift_base_{part}.npz")["X"])
    return np.concatenate(parts)[:n]


def reduced(data: Photos, n_components: int = 6) -> Photos:
    """Return features of few dimensions for uniform bins: principal components, then position.

    The components are those of features of other photos. All have one scale, that of 8 bits for
    the first; positions are pixels.
    """
    X = np.load(data_folder() / "sift" / "sift_learn.npz")["X"].astype(np.float32)
    mean = X.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(X - mean, rowvar=False))
    map_ = (vectors[:, ::-1][:, :n_components] * (SPREAD / np.sqrt(values[-1]))).astype(np.float32)

    def projected(sets: Ragged) -> Ragged:
        components = (sets.values.astype(np.float32) - mean) @ map_
        return Ragged(np.hstack([components, sets.positions]), sets.offsets, sets.positions)

    return Photos(projected(data.base), data.y, projected(data.queries), data.asked)


def with_position(data: Photos, weight: float = 1.5) -> Photos:
    """Return whole features with their weighted position as two more dimensions."""

    def widened(sets: Ragged) -> Ragged:
        places = weight * sets.positions
        return Ragged(np.hstack([sets.values.astype(np.float32), places]), sets.offsets, places)

    return Photos(widened(data.base), data.y, widened(data.queries), data.asked)
