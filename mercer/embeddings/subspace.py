"""The span of some landmarks in the kernel's space: a basis, and how exact it is.

All matrices here are float64, with p landmarks and E dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mercer.kernels.similarity import unit

Matrix = npt.NDArray[np.float64]
SHARE = 0.94  # of the energy that is kept by default: beyond, search by distance gains little
STEP, MOST = 8, 128  # components: a multiple of the first, and at most the second
THRESHOLDS = [1e-10, 1e-8, 1e-6, 1e-4]  # of eigenvalues: the first that keeps the basis exact
DEPARTURE = 2.0**-20  # from orthonormal: still below the rounding of the inner products


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues, decreasing, and eigenvectors of a landmark matrix."""

    values: Matrix  # (p,)
    vectors: Matrix  # (p, p), one a column

    @classmethod
    def of(cls, K: Matrix) -> Spectrum:
        """Decompose a symmetric matrix."""
        values, vectors = np.linalg.eigh((K + K.T) / 2)
        return cls(values[::-1], vectors[:, ::-1])


def basis(spectrum: Spectrum, threshold: float) -> Matrix:
    """Return W0 = U Θ^(-1/2), shape (p, rank): weights of an orthonormal basis of the span.

    Eigenvalues up to `threshold` times the largest are dropped, and nothing is added to them:
    jitter would make the vectors longer than the items they stand for.
    """
    values = spectrum.values
    kept = values > max(threshold * values[0], np.finfo(np.float64).tiny)
    return np.ascontiguousarray(spectrum.vectors[:, kept] / np.sqrt(values[kept]))


def rotation(moment: Matrix, n_components: int | None) -> Matrix:
    """Return the leading eigenvectors of a second moment, with signs that do not depend on LAPACK.

    For items projected on the whole basis they span the best subspace of this dimension. With
    None, it is chosen by `leading`.
    """
    if not moment.size:
        return moment  # landmarks that are all 0 span nothing
    found = Spectrum.of(moment)
    vectors = found.vectors[:, : n_components or leading(found.values)]
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return np.asarray(vectors * signs)


def leading(energies: Matrix, share: float = SHARE, most: int = MOST) -> int:
    """Return how many of decreasing energies hold this share of their sum, but at most `most`."""
    sums = np.maximum(energies, 0).cumsum()
    needed = int(np.searchsorted(sums, share * sums[-1])) + 1
    return min(-(-needed // STEP) * STEP, most, len(energies))


def departure(W: Matrix, K: Matrix, error: float) -> float:
    """Bound ‖G - I‖ for G = Wᵀ K W of the exact kernel: how far the basis is from orthonormal.

    `error` bounds the computed K: entry (i, j) is off by at most error · √(K_ii K_jj).
    """
    size = np.abs(W)
    found = float(np.linalg.norm(W.T @ K @ W - np.eye(W.shape[1])))
    scale = np.sqrt(np.abs(np.diag(K)))
    kernel_part = error * float(((scale @ size) ** 2).sum())
    products = 4 * len(K) * unit(np.float64) * float(np.linalg.norm(size.T @ np.abs(K) @ size))
    return found + kernel_part + products


def centred(K: Matrix) -> Matrix:
    """Return H K H with H = I - eeᵀ/p (K p.3 misprints the third term)."""
    means = K.mean(axis=0)
    return np.asarray(K - means - means[:, None] + means.mean())


def exact_weights(
    spectrum: Spectrum, K: Matrix, error: float, turned: Callable[[Matrix], Matrix] = np.asarray
) -> Matrix:
    """Return the weights of the finest basis of a landmark matrix K that is orthonormal.

    `error` bounds the rounding of its values; `turned` changes a basis before it is measured.
    """
    for threshold in THRESHOLDS:
        W = turned(basis(spectrum, threshold))
        if departure(W, K, error) <= DEPARTURE:
            break
    return W
