"""What codes find: the true nearest item among the first R by the code (E's recall@R)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.real_data import DataSet
from mercer import evaluate
from mercer.embeddings import Embedding
from mercer.search import Searcher

LEARN = 20_000  # rows that centroids are learned from, at most: 78 for each
TIE = 1e-6  # relative: scores that are closer are equal (theory: ties)


class Found:
    """Data with the score of each query's nearest item.

    Parameters
    ----------
    data : DataSet
        Items, queries and kernel.
    depths : sequence of int
        Which R to tell the recall for; those beyond the rows are left out.
    """

    def __init__(self, data: DataSet, depths: Sequence[int]) -> None:
        self.data = data
        self.depths = [depth for depth in depths if depth <= len(data.X)]
        self.items, self.queries = data.kernel.prepare(data.X), data.kernel.prepare(data.Q)
        self.best = evaluate.ground_truth(data.kernel, self.items, self.queries, 1).scores[:, 0]

    def vectors(self, embedding: Embedding) -> tuple[Any, Any]:
        """Return the vectors of items and queries, after fitting to the items."""
        embedding.fit(self.data.X)
        return embedding.transform(self.data.X), embedding.transform(self.data.Q)

    def recalls(self, searcher: Searcher, Z: Any, Zq: Any) -> list[float]:
        """Return recall@R of what a searcher names, for each depth."""
        built = searcher.fit(Z[:LEARN]).build(Z)
        return self.recalls_of(searcher.candidates(built, Zq, self.depths[-1]).rows)

    def recalls_of(self, rows: Any) -> list[float]:
        """Return recall@R of rows, the most promising first, one query a line."""
        scores = self.data.kernel.score(self.queries, self.items, rows, dtype=np.float64)
        hits = scores >= (self.best - TIE * np.abs(self.best))[:, None]
        return [float(hits[:, :depth].any(axis=1).mean()) for depth in self.depths]
