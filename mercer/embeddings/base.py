"""The base of all embeddings: learn from items, then turn items into vectors."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mercer import items, kernels
from mercer.errors import InputError
from mercer.kernels import Kernel, Prepared
from mercer.kernels.announcing import announce
from mercer.runtime import parallel
from mercer.runtime.border import border
from mercer.runtime.lazy import forget, lazy
from mercer.runtime.params import Params

Floats = npt.NDArray[np.float32]


class Embedding(Params):
    """A map from items to float32 vectors, learned by `fit`.

    A subclass lists its learned attributes in `learned`, and defines `_fit` and `_transform`.

    Attributes
    ----------
    kernel : str or Kernel
        The similarity, a parameter of every embedding.
    upper_bound : bool
        Whether the computed inner product of two vectors is never below the kernel, however
        it is rounded. Certificates rely on it.
    by_value : bool
        Whether vectors depend on k(x, x), and are those of angles only if the kernel is normalised.
    n_landmarks_ : int
        How many kernel values embedding one item takes.
    rounding_ : float
        Where `upper_bound` holds: the share of √(k(x, x) k(y, y)) that rounding may move an
        inner product by.
    n_features_ : int
        The required width of items; 0 if any width will do, or if it is checked elsewhere.
    agrees_by : str
        What `agreement` is a function of: "cosine" or "similarity".
    """

    kernel: str | Kernel
    upper_bound: bool = False
    by_value: bool = False
    n_landmarks_: int = 0
    rounding_: float = 0.0
    n_features_: int = 0
    agrees_by: str = "cosine"

    def _validate(self) -> None:
        kernels.get(self.kernel)

    @lazy
    def compared(self) -> Kernel:
        """The kernel that items are prepared for."""
        return kernels.get(self.kernel)

    def serves(self, kernel: Kernel) -> bool:
        """Whether the vectors stand for this kernel."""
        return bool(kernels.get(self.kernel) == kernel)

    def takes(self, kernel: Kernel) -> bool:
        """Whether this embedding can stand for another kernel."""
        try:
            self.fresh().set_params(kernel=kernel)
        except InputError:
            return False
        return True

    @border
    @parallel.without_blas_threads
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from items and return self.

        Parameters
        ----------
        X : items
            The data, or a representative sample of it.
        y : None
            Ignored; present for scikit-learn's pipelines.
        """
        forget(self)
        self._fit(items.rows_of(X))
        forget(self)  # what was cached while only part was learned
        return self

    @border
    def transform(
        self, X: Any, *, n_jobs: int | None = None, show_progress: bool | None = None
    ) -> Floats:
        """Return one vector per item, shape (len(X), d), C-contiguous.

        Parameters
        ----------
        X : items
            Raw or prepared.
        n_jobs, show_progress
            As in `mercer.Index`.
        """
        P = self._prepared(X)
        announce(self.compared, len(P) * self.n_landmarks_, f"transform, {len(P):,} items")
        return self._transform(P)

    def diag(self, P: Prepared) -> npt.NDArray[np.float64]:
        """Return k(x, x) of items, which the squared lengths of their vectors stand for."""
        return np.asarray(self.compared.diag(P.under(self.compared), dtype=np.float64))

    @border
    def query(self, X: Any, *, n_jobs: int | None = None) -> Floats:
        """Return the vectors of queries; most embeddings treat queries like items."""
        return self._transform(self._prepared(X))

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Learn from items and return their vectors."""
        return self.fit(X, y).transform(X)

    @property
    def witnesses(self) -> Prepared | None:
        """Items that the embedding keeps; their kernel values show whether a kernel is the same."""
        return None

    def agreement(self, similarities: npt.ArrayLike) -> npt.NDArray[np.float64] | None:
        """Return the expected share of equal bits of items this similar; None if it is unknown.

        The bits are signs of projections on random directions, centred if the vectors are.
        """
        return np.asarray(1 - np.arccos(similarities) / np.pi)

    # ---- what an embedding defines

    @abstractmethod
    def _fit(self, X: Any) -> None:
        """Learn from items, raw or prepared."""

    @abstractmethod
    def _transform(self, P: Prepared) -> Floats:
        """Return the vectors of items."""

    # ---- what an embedding can use

    def _prepared(self, X: Any) -> Prepared:
        """Return prepared items; they must be as wide as those given to `fit`."""
        self._require_fitted()
        ready = isinstance(X, Prepared) and X.kernel is self.compared
        P: Prepared = X if ready else self.compared.prepare(X)
        if P.form is not None and self.n_features_ not in (0, P.form[1]):
            raise InputError(
                f"items have {P.form[1]} features but it was fitted on {self.n_features_}. Pass "
                "items from the same source."
            )
        return P
