"""What every embedding does: learn from items, then turn items into vectors."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mercer.kernels import Kernel
from mercer.runtime.params import Params

__all__ = ["Embedding"]


class Embedding(Params):
    """A map from items to float32 vectors, learned by `fit`.

    Attributes
    ----------
    upper_bound : bool
        Whether the computed inner product of two vectors is never below the kernel, however
        it is rounded. Certificates rest on it.
    n_landmarks_ : int
        How many kernel values one item costs.
    rounding_ : float
        Where `upper_bound` holds: the share of √(k(x, x) k(y, y)) that rounding may move an
        inner product by.
    """

    upper_bound: bool = False
    n_landmarks_: int = 0
    rounding_: float = 0.0

    @abstractmethod
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from items and return self."""

    @abstractmethod
    def transform(
        self, X: Any, *, n_jobs: int | None = None, show_progress: bool | None = None
    ) -> npt.NDArray[np.float32]:
        """Return one vector per item, shape (len(X), d), C-contiguous."""

    def query(self, X: Any, *, n_jobs: int | None = None) -> npt.NDArray[np.float32]:
        """Return the vectors of queries, which most embeddings do not tell from items."""
        return self.transform(X, n_jobs=n_jobs, show_progress=False)

    @abstractmethod
    def serves(self, kernel: Kernel) -> bool:
        """Whether the vectors stand for this kernel."""

    def fit_transform(self, X: Any, y: Any = None) -> npt.NDArray[np.float32]:
        """Learn from items and return their vectors."""
        return self.fit(X, y).transform(X)
