"""Build segments: prepared items to vectors to a searcher."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mercer import items
from mercer.arrays import Array
from mercer.embeddings import Embedding
from mercer.errors import InputError
from mercer.kernels import Kernel, Prepared
from mercer.search import Searcher
from mercer.segment import Segment
from mercer.segments import Segments

__all__ = ["Builder"]

SAMPLE = 10_000  # items whose vectors a searcher learns from
SMALL = 4096  # segments with fewer rows are joined with the one added after them


@dataclass(frozen=True)
class Builder:
    """What all segments of an index are built with.

    Attributes
    ----------
    kernel : Kernel
        The similarity.
    embedding : Embedding
        Turns items into vectors; fitted.
    searcher : Searcher
        Each segment gets one with the same parameters.
    """

    kernel: Kernel
    embedding: Embedding
    searcher: Searcher

    def embed_sample(self, X: Any) -> npt.NDArray[np.float32]:
        """Return the vectors of at most so many items, evenly chosen."""
        n = items.length(X)
        rows = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(int))
        if isinstance(X, Prepared):
            return self.embedding.transform(X.take(rows))
        return self.embedding.transform(items.take(items.rows_of(X, "Index.fit"), rows))

    def build(
        self, P: Prepared, ids: Array, n_jobs: int | None, show_progress: bool | None
    ) -> Segment:
        """Return a segment of these items."""
        Z = self.embedding.transform(P, n_jobs=n_jobs, show_progress=show_progress)
        searcher = type(self.searcher)(**self.searcher.get_params(deep=False)).build(Z)
        own = self.kernel.diag(P, dtype=np.float64)
        return Segment(P, own, searcher, ids, np.zeros(len(ids), bool))

    def encode(self, X: Any, n_jobs: int | None) -> npt.NDArray[np.uint8]:
        """Return the codes of items, where the searcher has codes."""
        code = getattr(self.searcher, "code", None)
        if code is None:
            raise InputError(
                f"Index.encode: {self.searcher!r} keeps no codes. Use an index made by mercer.klsh "
                "or another method of hashing."
            )
        P = self.kernel.prepare(X, where="Index.encode")
        codes: npt.NDArray[np.uint8] = code.encode(self.embedding.transform(P, n_jobs=n_jobs))
        return codes

    def join(
        self, segments: Sequence[Segment], n_jobs: int | None, show_progress: bool | None = None
    ) -> Segment:
        """Return one segment of all items that are there."""
        P = Prepared.join([segment.live_items() for segment in segments])
        ids = np.concatenate([segment.live_ids for segment in segments])
        return self.build(P, ids, n_jobs, show_progress)

    def join_small(self, segments: Segments, n_jobs: int | None) -> Segments:
        """Join the last segments while they are small, so that single additions do not pile up."""
        while len(segments.members) > 1:
            before, last = segments.members[-2:]
            if len(before) > SMALL or len(before) > 2 * len(last):
                break
            joined = self.join([before, last], n_jobs, show_progress=False)
            segments = segments.with_last(joined, instead_of=2)
        return segments
