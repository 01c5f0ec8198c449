"""What all segments of an index share: the kernel, the embedding and the searcher."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mercer import items, kernels
from mercer.embeddings import Embedding
from mercer.errors import InputError
from mercer.index.payload import joined
from mercer.index.precision import warn_of_rounding
from mercer.index.segment import Segment
from mercer.index.segments import Segments
from mercer.kernels import Kernel, Prepared
from mercer.kernels.lengths import comparable
from mercer.runtime import parallel, progress
from mercer.runtime.arrays import Array
from mercer.runtime.lazy import lazy
from mercer.search import BoundedSearcher, ByLength, Everything, Rows, Searcher

LINKED, LINKING, LINKS = 2000, 100, 60  # items, queries, candidates: for a link
BLOCK = 65_536  # items embedded at a time, where the searcher keeps codes and not the vectors
RATIO = 4  # a segment with fewer than this many times the rows after it is joined with them;
GROWING = 250  # so many times that where rows are just added: copying the others takes less


@dataclass(frozen=True)
class Recipe:
    """How items become segments, and what is known about their candidates."""

    kernel: Kernel
    embedding: Embedding  # turns items into vectors; fitted
    searcher: Searcher  # builds rows over vectors; fitted
    keeps_items: bool = True  # beside what the searcher built

    @classmethod
    def fitted(
        cls, kernel: Kernel, embedding: Embedding, searcher: Searcher, X: Any,
        keeps_items: bool = True,
    ) -> Recipe:  # fmt: skip
        """Return copies of the embedding and the searcher that learned from items.

        What the kernel left open is chosen from the items too.
        """
        X = items.rows_of(X)
        suited = kernel.suited(X)
        unlearned, chosen = embedding.fresh(), searcher.fresh()
        if suited is not kernel:
            unlearned.set_params(kernel=suited)
        if not isinstance(searcher, (BoundedSearcher, Everything)):
            chosen = _by_length(suited, unlearned, chosen, X)
        learned = cls(suited, unlearned.fit(X), chosen, keeps_items)
        warn_of_rounding(suited, X)
        n = items.length(X)
        wanted = chosen.wanted(n)
        if wanted:
            chosen.fit(learned.embedding.transform(_spread(X, wanted)), n)
        if isinstance(chosen, ByLength):
            learned._learn_link(chosen, X)
        if not keeps_items:
            learned._require_code()
        return learned

    def unlearned(self) -> tuple[Embedding, Searcher]:
        """Return the embedding and the searcher as they were before `fitted`."""
        embedding, searcher = self.embedding.fresh(), self.searcher.fresh()
        if not embedding.serves(self.kernel):
            embedding.set_params(kernel=self.kernel)
        return embedding, searcher.searcher if isinstance(searcher, ByLength) else searcher

    def _learn_link(self, searcher: ByLength, X: Any) -> None:
        """Learn what values of candidates say about the normalised kernel, from a sample."""
        P = self.kernel.prepare(_spread(X, LINKED))
        some = P.take(np.unique(np.linspace(0, len(P) - 1, LINKING).astype(int)))
        inner, measured = searcher.searcher_, self._measured
        cosine = measured.normalized()
        rows, Zq = inner.build(self.embedding.transform(P)), self.embedding.query(some)
        found = inner.candidates(rows, Zq, LINKS)
        ready, asked = (cosine.prepare(measured.prepare(one)) for one in (P, some))
        cosines = cosine.score(asked, ready, found.rows)
        searcher.learn_link(Zq, found.values, cosines)

    @property
    def _measured(self) -> Kernel:
        """The kernel whose k(x, x) are lengths: this one, or one with a constant added."""
        compared = kernels.get(self.embedding.kernel)
        return compared.wraps if compared.keeps_angles and compared != self.kernel else compared

    def _rows(self, P: Prepared, diag: npt.NDArray[np.float64]) -> Rows:
        if not self.searcher.by_blocks or len(P) <= BLOCK:
            return self._built(P, diag)
        parts = []
        with progress.bar("embedding", len(P)) as advance:
            for span in parallel.spans(len(P), BLOCK):
                parts.append(self._built(P[span], diag[span]))
                advance(len(parts[-1]))
        joined = self.searcher.join(parts, [np.arange(len(part)) for part in parts])
        return self._built(P, diag) if joined is None else joined

    def _built(self, P: Prepared, diag: npt.NDArray[np.float64]) -> Rows:
        Z = self.embedding.transform(P)
        if not isinstance(self.searcher, ByLength):
            return self.searcher.build(Z)
        measured = self._measured
        squares = diag if measured == self.kernel else measured.diag(P, dtype=float)
        return self.searcher.build(Z, np.sqrt(np.maximum(squares, 0)))

    @lazy
    def kernel_name(self) -> str:
        """The kernel's ``repr``, for answers."""
        return repr(self.kernel)

    @lazy
    def bounded(self) -> bool:
        """Whether the values of candidates bound this kernel."""
        return (
            isinstance(self.searcher, BoundedSearcher)
            and self.embedding.upper_bound
            and self.embedding.serves(self.kernel)
        )

    @property
    def exhaustive(self) -> bool:
        """Whether every item is compared."""
        return isinstance(self.searcher, Everything)

    def build(self, P: Prepared, ids: Array) -> Segment:
        """Return a segment of these items."""
        diag = self.kernel.diag(P, dtype=np.float64)
        built = Segment(P, diag, self._rows(P, diag), ids, np.zeros(len(ids), bool))
        return built if self.keeps_items else built.without_items()

    def join(self, segments: Sequence[Segment]) -> Segment:
        """Return one segment of all live items."""
        P = Prepared.join([segment.live_items() for segment in segments])
        ids = np.concatenate([segment.live_ids for segment in segments])
        kept = [segment.live_rows for segment in segments]
        rows = self.searcher.join([segment.rows for segment in segments], kept)
        records = joined([(s.payload, one) for s, one in zip(segments, kept, strict=True)])
        if rows is None:
            return replace(self.build(P, ids), payload=records)
        diag = np.concatenate([segment.live_diag() for segment in segments])
        return Segment(P, diag, rows, ids, np.zeros(len(ids), bool), records)

    def tidied(self, segments: Segments, written: bool = False) -> Segments:
        """Join the last segments, so that each has several times as many rows as all after it.

        Few segments remain, however items were added, and a row is moved a few times at most. If
        what is joined is to be `written`, that is done less often: about log2(n) remain.
        """
        members, n_last, total = segments.members, 1, len(segments.members[-1])
        while n_last < len(members) and self._joins(members[-n_last - 1], total, written):
            n_last += 1
            total += len(members[-n_last])
        if n_last == 1:
            return segments
        joined = self.join(members[-n_last:])
        return segments.with_last(joined, instead_of=n_last)

    def _joins(self, segment: Segment, n_after: int, written: bool) -> bool:
        """Whether a segment is joined with the rows after it."""
        if written:
            return len(segment) <= n_after
        grows = self.searcher.grows and not segment.removed.any()
        return len(segment) < RATIO * n_after * (GROWING if grows else 1)

    def encode(self, X: Any) -> npt.NDArray[np.uint8]:
        """Return the codes of items, where the searcher has codes."""
        codes: npt.NDArray[np.uint8] = self._require_code().encode(self.embedding.transform(X))
        return codes

    def _require_code(self) -> Any:
        """Return the searcher's code, or raise InputError if it has none."""
        code = getattr(self.searcher, "code_", None)
        if code is None:
            raise InputError(
                f"{self.searcher!r} keeps no codes. Use an index made by mercer.klsh "
                "or another method of hashing."
            )
        return code


def _by_length(kernel: Kernel, embedding: Embedding, searcher: Searcher, X: Any) -> Searcher:
    """Return the searcher to use; let the embedding compare by a kernel that has angles.

    Where k(x, x) varies, vectors stand for the normalised kernel, and lengths are kept apart.
    """
    compared, varies = comparable(kernel, X)
    normal = compared.normalized()
    searcher = searcher.searcher if isinstance(searcher, ByLength) else searcher
    if varies and embedding.by_value and embedding.takes(normal):
        embedding.set_params(kernel=normal)
        return ByLength(searcher)
    if compared is not kernel:
        embedding.set_params(kernel=compared)
    return ByLength(searcher) if varies and not embedding.by_value else searcher


def _spread(X: Any, wanted: int) -> Any:
    """Return `wanted` items, evenly spaced."""
    rows = np.unique(np.linspace(0, items.length(X) - 1, wanted).astype(int))
    return items.take(items.rows_of(X), rows)
