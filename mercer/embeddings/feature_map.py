"""Maps of every feature by itself, for kernels that are a sum over features (E §2.2.2)."""

from abc import abstractmethod
from typing import Any

import numpy as np

from mercer import items
from mercer.embeddings.base import Embedding, Floats
from mercer.kernels import Prepared
from mercer.runtime import parallel

BLOCK = 2048  # items mapped in one task


class FeatureMap(Embedding):
    """What all of them share: nonnegative vectors in, as many numbers a feature out."""

    def _fit(self, X: Any) -> None:
        rows = self.compared.prepare(X).rows
        self._learn(rows)
        self.n_features_ = int(rows.shape[1])

    def _transform(self, P: Prepared) -> Floats:
        rows = P.rows
        out = np.empty((len(P), self.n_features_ * self._per_feature), np.float32)

        def fill(span: slice) -> None:
            self._map(np.ascontiguousarray(items.dense(rows[span]), np.float32), out[span])

        parallel.over(len(out), BLOCK, fill, "embedding")
        return out

    @property
    @abstractmethod
    def _per_feature(self) -> int:
        """How many numbers a feature becomes."""

    def _learn(self, rows: Any) -> None:
        """Learn from items, dense or sparse."""

    @abstractmethod
    def _map(self, X: Floats, out: Floats) -> None:
        """Fill `out` with the vectors of dense rows: the first number of all features, ..."""
