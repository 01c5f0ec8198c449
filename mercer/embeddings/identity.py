"""Vectors as they are."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mercer import items, kernels
from mercer.embeddings.base import Embedding
from mercer.errors import InputError
from mercer.kernels import Kernel, Prepared
from mercer.runtime.params import stored

__all__ = ["Identity"]


@stored
class Identity(Embedding):
    """Dense vectors as they are, for kernels that are their inner product or their angle.

    Parameters
    ----------
    kernel : str or Kernel
        "linear" or "cosine".
    unit : bool
        With "cosine": whether vectors are scaled to length 1, so that distances rank alike.

    Examples
    --------
    >>> from mercer.embeddings import Identity
    >>> Identity("cosine").fit_transform([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """

    learned = ("n_features_",)

    def __init__(self, kernel: str | Kernel = "cosine", unit: bool = False) -> None:
        self.kernel = kernel
        self.unit = unit
        self._validate()

    def _validate(self) -> None:
        kernel = kernels.get(self.kernel)
        if not isinstance(kernel, (kernels.Linear, kernels.Cosine)):
            raise InputError(
                f"Identity: the inner product of the vectors themselves does not stand for "
                f"{kernel!r}. Use Linear or Cosine, or an embedding made for kernels (KernelPCA)."
            )
        if self.unit and not isinstance(kernel, kernels.Cosine):
            raise InputError(f"Identity: unit=True changes {kernel!r}. Use it with 'cosine' only.")

    def serves(self, kernel: Kernel) -> bool:
        """Whether this is the kernel it was made for."""
        return bool(kernels.get(self.kernel) == kernel)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Remember how wide the vectors are; return self."""
        P = kernels.get(self.kernel).prepare(X, where="Identity.fit")
        self.n_features_ = int(P.parts[0].shape[1])
        return self

    def transform(
        self, X: Any, *, n_jobs: int | None = None, show_progress: bool | None = None
    ) -> npt.NDArray[np.float32]:
        """Return the vectors as float32, sparse ones as dense."""
        self._require_fitted()
        P: Prepared = kernels.get(self.kernel).prepare(X, where="Identity.transform")
        rows = P.parts[0]
        if rows.shape[1] != self.n_features_:
            raise InputError(
                f"Identity.transform: items have {rows.shape[1]} features but it was fitted on "
                f"{self.n_features_}. Pass items from the same source."
            )
        dense = rows.toarray() if items.is_sparse(rows) else rows
        if self.unit:
            dense = dense * P.parts[1][:, None]
        return np.ascontiguousarray(dense, dtype=np.float32)
