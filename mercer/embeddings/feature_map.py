"""Maps of every feature by itself, for kernels that are a sum over features (E §2.2.2)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from mercer import items, kernels
from mercer.embeddings.base import Embedding
from mercer.errors import InputError
from mercer.kernels import Kernel, Prepared
from mercer.runtime import parallel

__all__ = ["FeatureMap"]

Floats = npt.NDArray[np.float32]
BLOCK = 2048  # items mapped in one task


class FeatureMap(Embedding):
    """What all of them share: dense nonnegative vectors in, as many numbers a feature out.

    Attributes
    ----------
    kernel : str or Kernel
        The similarity, a parameter of every subclass.
    n_features_ : int
        How wide the items are.
    """

    _served: ClassVar[tuple[type[Kernel], ...]]  # kernels that the inner products stand for

    kernel: str | Kernel
    n_features_: int

    def _validate(self) -> None:
        kernel = kernels.get(self.kernel)
        if not isinstance(kernel, self._served):
            known = ", ".join(cls.__name__ for cls in self._served)
            raise InputError(
                f"{type(self).__name__}: does not stand for {kernel!r}, only for {known}. Use "
                "KernelPCA, which takes any kernel."
            )

    def serves(self, kernel: Kernel) -> bool:
        """Whether this is the kernel it was made for."""
        return bool(kernels.get(self.kernel) == kernel)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what there is to learn from items, and how wide they are; return self.

        Parameters
        ----------
        X : items
            The data, or a fair sample of it.
        y : None
            Not used; here for scikit-learn's pipelines.
        """
        P = self._prepare(X, "fit")
        self._learn(P.parts[0])
        self.n_features_ = int(P.parts[0].shape[1])
        return self

    def transform(
        self, X: Any, *, n_jobs: int | None = None, show_progress: bool | None = None
    ) -> Floats:
        """Return the vectors of items.

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
        rows = self._prepare(X, "transform").parts[0]
        name = type(self).__name__
        if rows.shape[1] != self.n_features_:
            raise InputError(
                f"{name}.transform: items have {rows.shape[1]} features but it was fitted on "
                f"{self.n_features_}. Pass items from the same source."
            )
        out = np.empty((rows.shape[0], self.n_features_ * self._per_feature), np.float32)

        def fill(span: slice) -> None:
            self._map(_dense(rows[span]), out[span])

        parallel.run(
            fill, [(span,) for span in parallel.spans(len(out), BLOCK)], n_jobs=n_jobs,
            label="embedding", show=show_progress,
        )  # fmt: skip
        return out

    def _prepare(self, X: Any, verb: str) -> Prepared:
        return kernels.get(self.kernel).prepare(X, where=f"{type(self).__name__}.{verb}")

    @property
    @abstractmethod
    def _per_feature(self) -> int:
        """How many numbers a feature becomes."""

    def _learn(self, rows: Any) -> None:
        """Learn from items, dense or sparse."""

    @abstractmethod
    def _map(self, X: Floats, out: Floats) -> None:
        """Fill `out` with the vectors of dense rows: the first number of all features, ..."""


def _dense(rows: Any) -> Floats:
    found = rows.toarray() if items.is_sparse(rows) else rows
    return np.ascontiguousarray(found, np.float32)
