"""Random samples of items, and what kernels learn from them in `for_data`."""

from typing import Any

import numpy as np

from mercer import items
from mercer.runtime.arrays import Array

SAMPLE = 1000  # items in a sample by default


def sampled(X: Any, seed: Any, n: int = SAMPLE) -> Any:
    """Return a random choice of at most n items, in the order of the rows.

    `seed` is anything that `numpy.random.default_rng` takes, including a generator.
    """
    n_items = items.length(X)
    rows = np.random.default_rng(seed).choice(n_items, min(n, n_items), replace=False)
    return items.take(X, np.sort(rows))


def mean_between(distances: Array) -> float:
    """Return the mean of a square matrix off its diagonal, or 1 if that is 0."""
    n = len(distances)
    mean = float(distances.sum() - np.trace(distances)) / max(1, n * (n - 1))
    return mean if mean > 0 else 1.0
