"""The principal axes of vectors, as many as their nearest neighbours need."""

import numpy as np
import numpy.typing as npt

from mercer.embeddings.subspace import Spectrum, leading
from mercer.runtime.arrays import Ids

Floats = npt.NDArray[np.float32]
SHARE = 0.99  # of the variance is kept, with 128 axes at most; or
SAME, MOST = 0.8, 1024  # more axes, so many at most, until this share of the nearest stays so
STEP = 32  # axes, by which more are tried
ROWS, QUERIES = 4000, 100  # of the vectors, to find the nearest of
NEAREST = 10


def principal(Z: Floats, n_axes: int | None = None) -> tuple[Floats, Floats] | None:
    """Return the mean of vectors and the axes to keep, one a column; None to keep all dimensions.

    There are `n_axes`, or as many as are `enough`.
    """
    mean = Z.mean(axis=0, dtype=np.float64)
    centred = Z - mean
    spread = Spectrum.of(centred.T @ centred)
    kept = n_axes or enough(centred, spread)
    if kept >= Z.shape[1]:
        return None
    return mean.astype(np.float32), np.ascontiguousarray(spread.vectors[:, :kept], np.float32)


def enough(centred: npt.NDArray[np.float64], spread: Spectrum) -> int:
    """Return how many axes have nearly all of the variance, or keep most neighbours.

    The ten nearest of some vectors by all dimensions are compared with those by the first axes.
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
    """Return squared distances to all vectors, less the length of the one that asks."""
    squares: Floats = np.einsum("ij,ij->i", Z, Z) - 2 * (Z[asked] @ Z.T)
    return squares


def _nearest(squares: Floats, asked: slice) -> Ids:
    """Return the nearest of each, itself left out."""
    squares[np.arange(len(squares)), np.arange(squares.shape[1])[asked]] = np.inf
    n = min(NEAREST, squares.shape[1] - 1)
    return np.asarray(np.argpartition(squares, n, axis=1)[:, :n])
