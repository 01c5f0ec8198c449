"""Maps of each feature on its own, for additive kernels (Bourrier et al. 2015, §2.2.2)."""

from abc import abstractmethod
from typing import Any

import numpy as np

from mercer import items
from mercer.embeddings.base import Embedding, Floats
from mercer.kernels import Prepared
from mercer.runtime import parallel

BLOCK = 2048  # items mapped in one task


class FeatureMap(Embedding):
    """The base of maps that turn each feature of nonnegative vectors into equally many numbers."""

    def _fit(self, X: Any) -> None:
        rows = self._rows(self.compared.prepare(X))
        self._learn(rows)
        self.n_features_ = int(rows.shape[1])

    def _transform(self, P: Prepared) -> Floats:
        rows = self._rows(P)
        out = np.empty((len(P), self.n_features_ * self._per_feature), np.float32)

        def fill(span: slice) -> None:
            self._map(np.ascontiguousarray(items.dense(rows[span]), np.float32), out[span])

        parallel.over(len(out), BLOCK, fill, "embedding")
        return out

    def _rows(self, P: Prepared) -> Any:
        """Return the vectors as they are kept: changed, if the kernel changes them."""
        return P.under(self.compared.of_kept).rows

    @property
    @abstractmethod
    def _per_feature(self) -> int:
        """How many numbers a feature becomes."""

    def _learn(self, rows: Any) -> None:
        """Learn from items, dense or sparse."""

    @abstractmethod
    def _map(self, X: Floats, out: Floats) -> None:
        """Fill `out` with the vectors of dense rows: the first number of all features first."""
