"""The spaces in which a metric is learned: vectors, or the span of some basis items."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mercer import items
from mercer.embeddings.subspace import Spectrum, exact_weights
from mercer.errors import InputError, KernelError
from mercer.kernels import Kernel, Prepared
from mercer.learn._loops import squared_distances
from mercer.runtime import parallel
from mercer.runtime.arrays import Ids
from mercer.runtime.lazy import lazy

Matrix = npt.NDArray[np.float64]
BLOCK = 4096  # pairs whose kernel values are computed at a time


@dataclass(frozen=True)
class VectorSpace:
    """The space of dense vectors with this many features."""

    n_features: int

    @classmethod
    def of(cls, X: Any) -> Self:
        """Return the space of these vectors."""
        return cls(int(_dense(X).shape[1]))

    def prepare(self, X: Any) -> Matrix:
        """Return checked vectors in double precision."""
        rows = _dense(X)
        if rows.shape[1] != self.n_features:
            raise InputError(
                f"items have {rows.shape[1]} features but it was fitted on "
                f"{self.n_features}. Pass items from the same source."
            )
        return np.asarray(rows, np.float64)

    def coordinates(self, P: Matrix) -> Matrix:
        """Return the vectors, shape (n, d)."""
        return P

    def distances(self, P: Matrix, pairs: Ids) -> Matrix:
        """Return the squared distances of pairs before anything is learned."""
        found = np.empty(len(pairs))
        squared_distances(P, pairs, found)
        return found

    def rests(self, P: Matrix, Z: Matrix, pairs: Ids) -> Matrix:
        """Return the part of these distances outside the coordinates Z: none."""
        return np.zeros(len(pairs))


@dataclass(frozen=True)
class BasisSpace:
    """The span of some basis items in the kernel's space, with an orthonormal basis.

    Attributes
    ----------
    kernel : Kernel
        The similarity before anything is learned.
    basis : items
        The c basis items.
    weights : ndarray of float64, shape (c, d)
        Coordinates are ``k(x, basis) @ weights``.
    """

    kernel: Kernel
    basis: Any
    weights: Matrix

    @classmethod
    def of(cls, kernel: Kernel, chosen: Any) -> Self:
        """Return the span of these items, without directions that are rounding errors.

        Directions of negative eigenvalues, which a kernel that is not positive semi-definite
        has, are left out as well.
        """
        P = kernel.prepare(chosen)
        K = kernel(P, P[:], dtype=np.float64)
        error = kernel.tolerance(P, dtype=np.float64)
        W = exact_weights(Spectrum.of(K), (K + K.T) / 2, error)
        if not W.shape[1]:
            raise KernelError(
                f"ITML: the basis items span nothing under {kernel!r}: no eigenvalue of their "
                "kernel matrix is above 0. Pass other items, or another kernel."
            )
        return cls(kernel, chosen, W)

    @lazy
    def _landmarks(self) -> Prepared:
        return self.kernel.prepare(self.basis)

    def prepare(self, X: Any) -> Prepared:
        """Return items prepared for the kernel."""
        P = self.kernel.prepare(X)
        self.kernel.require_alike(P, self._landmarks, ("the items", "the basis"))
        return P

    def coordinates(self, P: Prepared) -> Matrix:
        """Return the projections of items on the span, shape (n, d)."""
        return np.asarray(self.kernel(P, self._landmarks, dtype=np.float64) @ self.weights)

    def distances(self, P: Prepared, pairs: Ids) -> Matrix:
        """Return the squared distances of pairs before anything is learned."""
        diag = self.kernel.diag(P, dtype=np.float64)
        crossed = [
            self.kernel.score(P.take(pairs[span, 0]), P, pairs[span, 1:], dtype=np.float64)
            for span in parallel.spans(len(pairs), BLOCK)
        ]
        values = np.concatenate(crossed)[:, 0]
        return np.asarray(np.maximum(diag[pairs].sum(axis=1) - 2 * values, 0))

    def rests(self, P: Prepared, Z: Matrix, pairs: Ids) -> Matrix:
        """Return the part of these distances outside the coordinates Z (theory: outside)."""
        if not len(pairs):
            return np.empty(0)
        inside = np.empty(len(pairs))
        squared_distances(Z, pairs, inside)
        return np.maximum(self.distances(P, pairs) - inside, 0)


Space = VectorSpace | BasisSpace


def _dense(X: Any) -> Any:
    rows = items.check(X, "vectors")
    if items.form(rows) != ("dense", rows.shape[1]):
        raise InputError(
            "items are sparse, and a matrix for all pairs of features would be dense. "
            "Pass kernel='linear', which learns in the span of some items."
        )
    return rows
