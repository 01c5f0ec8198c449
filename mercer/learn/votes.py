"""Whether the nearest other items elect the right class."""

from typing import Any

import numpy as np
import numpy.typing as npt

from mercer import items
from mercer.errors import InputError
from mercer.kernels import Kernel
from mercer.runtime import parallel
from mercer.runtime.arrays import Array, Ids

BLOCK = 1024  # items compared with all others at a time


def are_elected(kernel: Kernel, X: Any, y: npt.ArrayLike, n_votes: int) -> npt.NDArray[np.bool_]:
    """Return for each item whether those nearest to it, apart from itself, elect its class.

    Of classes with as many votes, the one of the nearest item wins.

    Examples
    --------
    >>> from mercer import kernels
    >>> from mercer.learn.votes import are_elected
    >>> are_elected(kernels.Linear(), [[0.0], [1.0], [2.5], [3.0]], ["a", "a", "b", "a"], 1)
    array([ True,  True, False, False])
    """
    labels = np.asarray(y)
    if labels.shape != (items.length(X),) or len(labels) < 2:
        raise InputError(
            f"y has shape {labels.shape} for {items.length(X)} items. Pass one label per item, and "
            "at least two items."
        )
    nearest = _others(kernel, X, min(n_votes, len(labels) - 1))
    classes = np.unique(labels, return_inverse=True)[1]
    return np.array([_elect(classes[row]) for row in nearest] == classes, bool)


def _others(kernel: Kernel, X: Any, k: int) -> Ids:
    """Return the rows of the k nearest other items of each, the nearest first."""
    P = kernel.prepare(X)
    diag = kernel.diag(P, dtype=np.float64)
    found = np.empty((len(P), k), np.int64)
    for span in parallel.spans(len(P), BLOCK):
        distances = diag - 2 * kernel(P[span], P, dtype=np.float64)  # but for k(x, x) of the row
        distances[np.arange(len(distances)), np.arange(span.start, span.stop)] = np.inf
        found[span] = distances.argsort(axis=1, kind="stable")[:, :k]
    return found


def _elect(labels: Array) -> int:
    """Return the most frequent label; of several, the one that stands first."""
    return int(labels[np.argmax(np.bincount(labels)[labels])])
