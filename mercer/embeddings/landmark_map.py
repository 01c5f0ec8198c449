"""Embeddings that are linear in kernel values with landmarks: z(x) = Wᵀ k(L, x) - offsets."""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mercer import items
from mercer.embeddings.affordable import n_affordable
from mercer.embeddings.base import Embedding, Floats
from mercer.embeddings.subspace import Matrix
from mercer.kernels import Prepared
from mercer.kernels.announcing import announce
from mercer.kernels.memory import in_use
from mercer.kernels.sampling import sampled
from mercer.runtime import parallel
from mercer.runtime.lazy import lazy

BLOCK = 1024  # items embedded in one task, for which the weights are packed once


class LandmarkMap(Embedding):
    """The base of kernel PCA and kernelized hashing: landmarks, weights, and the map they define.

    Attributes
    ----------
    landmarks_ : Prepared
        The p landmarks.
    weights_ : ndarray of float64, shape (p, d)
        Vectors are ``k(x, landmarks) @ weights_ - offsets_``.
    offsets_ : ndarray of float64, shape (d,)
        What is subtracted.
    """

    learned: ClassVar[tuple[str, ...]] = ("landmarks_", "weights_", "offsets_", "n_landmarks_")

    n_landmarks: int | None
    landmarks_: Prepared
    weights_: npt.NDArray[np.float64]
    offsets_: npt.NDArray[np.float64]

    @property
    def witnesses(self) -> Prepared | None:
        """The landmarks."""
        return self.landmarks_ if self.is_fitted else None

    def _transform(self, P: Prepared) -> Floats:
        kernel = self.compared
        kernel.require_alike(P, self.landmarks_, ("the items", "the landmarks"))
        out = np.empty((len(P), self._width), np.float32)
        weights, offsets = self._affine

        def fill(span: slice) -> None:
            n = span.stop - span.start
            some = P if n == len(P) else P[span]
            crossed = np.empty((n, len(self.landmarks_)), weights.dtype)
            kernel.tile(some, self.landmarks_, crossed, (span.start, 0))
            Z = crossed @ weights
            Z -= offsets
            out[span] = self._finished(Z, crossed, some, span.start)

        parallel.over(len(P), BLOCK, fill, "embedding", n_jobs=kernel.n_jobs)
        return out

    @lazy
    def _affine(self) -> tuple[Matrix, Matrix]:
        """Weights and offsets in the precision that vectors are computed in."""
        precision = self._precision
        return self.weights_.astype(precision), self.offsets_.astype(precision)

    @property
    def _precision(self) -> type[np.floating]:
        return np.float32  # enough where only signs are kept

    @property
    def _width(self) -> int:
        """How many dimensions the vectors have."""
        return int(self.weights_.shape[1])

    def _finished(self, Z: Matrix, crossed: Matrix, P: Prepared, first_row: int) -> Matrix:
        """Return the final vectors of a block.

        `crossed` are its kernel values with the landmarks.
        """
        return Z

    def _n_landmarks(self, X: Any, usual: int) -> int:
        """Return how many landmarks to choose, and say how long that takes if it is long."""
        kernel, n = self.compared, items.length(X)
        p = n_affordable(kernel, X, self.n_landmarks, usual)
        if in_use() is not None:
            few = min(p, n)
            announce(kernel, few * (2 * n - few + 1) // 2, f"fit and add, {n:,} items", True)
        return p

    def _landmarks(self, X: Any, n: int, rng: np.random.Generator) -> Prepared:
        """Return at most n landmarks: the anchors of the kernel, then random items."""
        asked = self.compared.anchors
        if asked is None:
            return self._drawn(X, n, rng)
        if len(asked) >= n:
            return asked[:n]
        return Prepared.join([asked, self._drawn(X, n - len(asked), rng)])

    def _drawn(self, X: Any, n: int, rng: np.random.Generator) -> Prepared:
        """Return a random choice of at most n items, in the order of the rows."""
        return self.compared.prepare(sampled(X, rng, n))
