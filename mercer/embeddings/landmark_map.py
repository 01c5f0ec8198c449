"""Embeddings that are linear in kernel values to landmarks: z(x) = Wᵀ k(L, x) - offsets."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mercer import items, kernels
from mercer.embeddings.base import Embedding
from mercer.embeddings.subspace import Matrix
from mercer.kernels import Kernel, Prepared
from mercer.runtime import parallel
from mercer.runtime.arrays import Ids

__all__ = ["LandmarkMap"]

BLOCK = 1024  # items embedded in one task: weights are packed once for so many


class LandmarkMap(Embedding):
    """What kernel PCA and kernelized hashing share: landmarks, weights, and the map they make.

    Attributes
    ----------
    kernel : str or Kernel
        The similarity, a parameter of every subclass.
    landmarks_ : Prepared
        The p landmarks.
    weights_ : ndarray of float64, shape (p, d)
        Vectors are ``k(x, landmarks) @ weights_ - offsets_``.
    offsets_ : ndarray of float64, shape (d,)
        What is subtracted.
    """

    learned: ClassVar[tuple[str, ...]] = ("landmarks_", "weights_", "offsets_", "n_landmarks_")

    kernel: str | Kernel
    landmarks_: Prepared
    weights_: npt.NDArray[np.float64]
    offsets_: npt.NDArray[np.float64]

    @property
    def compared(self) -> Kernel:
        """The kernel that items and landmarks are compared by."""
        return kernels.get(self.kernel)

    def serves(self, kernel: Kernel) -> bool:
        """Whether the vectors stand for this kernel."""
        return bool(kernels.get(self.kernel) == kernel)

    def transform(
        self, X: Any, *, n_jobs: int | None = None, show_progress: bool | None = None
    ) -> npt.NDArray[np.float32]:
        """Return the vectors of items, shape (len(X), d).

        Parameters
        ----------
        X : items
            Raw or prepared.
        n_jobs : int, optional
            How many threads; see `mercer.runtime.parallel.count`.
        show_progress : bool, optional
            Whether to show a progress bar; by default on terminals, for work of over a second.
        """
        self._require_fitted()
        kernel, where = self.compared, f"{type(self).__name__}.transform"
        P = kernel.prepare(X, where=where)
        kernel._require_alike(P, self.landmarks_, ("the items", "the landmarks"))
        error = kernel.tolerance(P, self.landmarks_, dtype=np.float64)
        out = np.empty((len(P), self._width), np.float32)
        precision = self._precision
        weights, offsets = (A.astype(precision) for A in (self.weights_, self.offsets_))

        def fill(span: slice) -> None:
            crossed = np.empty((span.stop - span.start, len(self.landmarks_)), precision)
            kernel.tile(P[span], self.landmarks_, crossed, (span.start, 0))
            Z = crossed @ weights
            Z -= offsets
            out[span] = self._finished(Z, crossed, P[span], span.start, error)

        parallel.run(
            fill, [(span,) for span in parallel.spans(len(P), BLOCK)],
            n_jobs=n_jobs if kernel._threads else 1, label="embedding", show=show_progress,
        )  # fmt: skip
        return out

    @property
    def _precision(self) -> type[np.floating]:
        return np.float32  # enough where only signs are kept

    @property
    def _width(self) -> int:
        """How many dimensions the vectors have."""
        return int(self.weights_.shape[1])

    def _finished(
        self, Z: Matrix, crossed: Matrix, P: Prepared, first_row: int, error: float
    ) -> Matrix:
        """Return the vectors of a block as they are handed out.

        `crossed` are its kernel values to the landmarks and `error` bounds their rounding.
        """
        return Z

    def _landmarks(self, X: Any, n: int, rng: np.random.Generator) -> Prepared:
        """Return at most n landmarks: those that the kernel asks for, and random items."""
        asked = self.compared.anchors
        if asked is None:
            return self._drawn(X, n, rng)
        if len(asked) >= n:
            return asked[:n]
        return Prepared.join([asked, self._drawn(X, n - len(asked), rng)])

    def _drawn(self, X: Any, n: int, rng: np.random.Generator) -> Prepared:
        """Return at most n of the items, a random choice in the order of the rows."""
        n_items = items.length(X)
        rows = np.sort(rng.choice(n_items, min(n, n_items), replace=False))
        return self._taken(X, rows)

    def _taken(self, X: Any, rows: Ids) -> Prepared:
        if isinstance(X, Prepared):
            return self.compared.prepare(X.take(rows))
        where = f"{type(self).__name__}.fit"
        return self.compared.prepare(items.take(X, rows), where=where)
