"""The principal axes of vectors, as many as preserve their nearest neighbours."""

import numpy as np
import numpy.typing as npt

from mercer.embeddings.subspace import Spectrum, leading
from mercer.runtime.arrays import Ids

Floats = npt.NDArray[np.float32]
SHARE = 0.99  # of the variance to keep, with at most 128 axes; or
SAME, MOST = 0.8, 1024  # with more axes, up to this many, until this share of the nearest is kept
STEP = 32  # axes to add at a time
ROWS, QUERIES = 4000, 100  # vectors that are searched, and that are queries
NEAREST = 10


def principal(Z: Floats, n_axes: int | None = None) -> tuple[Floats, Floats] | None:
    """Return the mean of vectors and the axes to keep, as columns; None to keep all dimensions.

    `n_axes` axes are kept, by default as many as are `enough`.
    """
    mean = Z.mean(axis=0, dtype=np.float64)
    centred = Z - mean
    spread = Spectrum.of(centred.T @ centred)
    kept = n_axes or enough(centred, spread)
    if kept >= Z.shape[1]:
        return None
    return mean.astype(np.float32), np.ascontiguousarray(spread.vectors[:, :kept], np.float32)


def enough(centred: npt.NDArray[np.float64], spread: Spectrum) -> int:
    """Return how many axes hold nearly all of the variance, or keep most nearest neighbours.

    The ten nearest neighbours of some vectors in all dimensions are compared with those along the
    first axes.
    """
    usual = leading(spread.values, SHARE)
    most = leading(spread.values, SHARE, MOST)
    if usual == most:
        return usual
    some = centred[:: -(-len(centred) // ROWS)].astype(np.float32)
    Z = some @ spread.vectors.astype(np.float32)
    asked = slice(None, None, -(-len(Z) // QUERIES))
    near = _nearest(_squares(Z, asked), asked)
    for kept in range(usual, most, STEP):
        found = _nearest(_squares(Z[:, :kept], asked), asked)
        same = [len(np.intersect1d(a, b)) for a, b in zip(near, found, strict=True)]
        if sum(same) >= SAME * near.size:
            return kept
    return most


def _squares(Z: Floats, asked: slice) -> Floats:
    """Return squared distances to all vectors, less the squared length of the query."""
    squares: Floats = np.einsum("ij,ij->i", Z, Z) - 2 * (Z[asked] @ Z.T)
    return squares


def _nearest(squares: Floats, asked: slice) -> Ids:
    """Return the nearest neighbours of each query, itself excluded."""
    squares[np.arange(len(squares)), np.arange(squares.shape[1])[asked]] = np.inf
    n = min(NEAREST, squares.shape[1] - 1)
    return np.asarray(np.argpartition(squares, n, axis=1)[:, :n])
