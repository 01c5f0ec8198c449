"""No vectors: for searches that compare the items themselves."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mercer import items, kernels
from mercer.embeddings.base import Embedding
from mercer.errors import InputError
from mercer.kernels import Kernel, Prepared
from mercer.runtime.params import stored

__all__ = ["NoVectors"]

TRIED = 1000  # items looked at by `fit`


@stored
class NoVectors(Embedding):
    """Vectors of no dimension, where every item is compared by the kernel anyway.

    Parameters
    ----------
    kernel : str or Kernel
        The similarity.

    Attributes
    ----------
    n_features_ : int
        How wide the items are; 0 where they have no width.

    Examples
    --------
    >>> from mercer.embeddings import NoVectors
    >>> NoVectors("chi2").fit_transform([[0.5, 0.5], [1.0, 0.0]]).shape
    (2, 0)
    """

    learned = ("n_features_",)

    def __init__(self, kernel: str | Kernel) -> None:
        self.kernel = kernel
        self._validate()

    def _validate(self) -> None:
        kernels.get(self.kernel)

    def serves(self, kernel: Kernel) -> bool:
        """Whether this is the kernel it was made for."""
        return bool(kernels.get(self.kernel) == kernel)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Look whether the kernel takes such items, and how wide they are; return self."""
        if not isinstance(X, Prepared):
            X = items.rows_of(X, "NoVectors.fit")[:TRIED]
        form = kernels.get(self.kernel).prepare(X, where="NoVectors.fit").form
        self.n_features_ = form[1] if form else 0
        return self

    def transform(
        self, X: Any, *, n_jobs: int | None = None, show_progress: bool | None = None
    ) -> npt.NDArray[np.float32]:
        """Return vectors of no dimension."""
        self._require_fitted()
        P = kernels.get(self.kernel).prepare(X, where="NoVectors.transform")
        if P.form and self.n_features_ not in (0, P.form[1]):
            raise InputError(
                f"NoVectors.transform: items have {P.form[1]} features but it was fitted on "
                f"{self.n_features_}. Pass items from the same source."
            )
        return np.empty((len(P), 0), np.float32)
