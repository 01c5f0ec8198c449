"""The index: joins kernel, embedding and searcher, and merges the answers of its segments."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any, Self

from mercer import answer, calibration, kernels, store
from mercer.arrays import Array
from mercer.building import Builder
from mercer.description import describe
from mercer.embeddings import Embedding
from mercer.errors import CertificateWarning, InputError, NotFittedError
from mercer.kernels import Kernel
from mercer.matches import Matches
from mercer.pace import Pace
from mercer.params import Params, check_number
from mercer.search import Searcher
from mercer.search.parts import Part
from mercer.search.rerank import Ranking
from mercer.segments import Segments

__all__ = ["Index"]


class Index(Params):
    """Items that can be searched by similarity, added to, removed from, filtered and saved.

    Made by `mercer.exact` and its like.

    Parameters
    ----------
    kernel : str or Kernel
        The similarity; scores are always its values.
    embedding : Embedding
        Turns items into vectors.
    searcher : Searcher
        Names candidates among vectors; each segment builds one like it.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).dirichlet(np.ones(16), size=500)
    >>> index = mercer.exact("chi2", n_landmarks=100, n_components=32).fit(X).add(X)
    >>> found = index.search(X[:2], k=3)
    >>> found.ids[:, 0], found.exact
    (array([0, 1]), array([ True,  True]))
    """

    relaxation_: float | None
    probability_: float | None

    def __init__(self, kernel: str | Kernel, embedding: Embedding, searcher: Searcher) -> None:
        self.kernel = kernels.get(kernel)
        self.embedding = embedding
        self.searcher = searcher
        if not embedding.serves(self.kernel):
            raise InputError(
                f"Index: {embedding!r} does not embed items for {self.kernel!r}. Give both the "
                "same kernel."
            )
        self.segments_ = Segments()
        self.disproof_: str | None = None
        self._pace = Pace()
        self._forget_calibration()

    # ---- learning and filling

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the embedding from items, forget what was added before, and return self.

        Nothing is added: call `add` with the items that are to be found.

        Parameters
        ----------
        X : items
            The data, or a fair sample of it.
        y : None
            Not used.
        """
        self.embedding.fit(X, y)
        if self.searcher.learns:
            self.searcher.fit(self._builder.embed_sample(X))
        self.segments_, self.disproof_ = Segments(), None
        self._forget_calibration()
        return self

    def add(
        self, X: Any, ids: Any = None, *, n_jobs: int | None = None,
        show_progress: bool | None = None,
    ) -> Self:  # fmt: skip
        """Add items and return self.

        Parameters
        ----------
        X : items
            As those given to `fit`. They are not copied where they have the right type.
        ids : array_like of int or str, shape (len(X),), optional
            What to call them, each once; by default numbers, from 0 or from the largest on.
        n_jobs : int, optional
            How many threads; see `mercer.parallel.count`.
        show_progress : bool, optional
            Whether to show a progress bar; by default on terminals, for work of over a second.
        """
        self._require_fitted("add")
        P = self.kernel.prepare(X, where="Index.add")
        names = self.segments_.new_ids(ids, len(P), "Index.add")
        self.segments_ = self.segments_.with_last(
            self._builder.build(P, names, n_jobs, show_progress)
        )
        self.segments_ = self._builder.join_small(self.segments_, n_jobs)
        self._forget_calibration()
        return self

    def remove(self, ids: Any) -> Self:
        """Remove items by their ids and return self; ids that are not there are an error.

        Parameters
        ----------
        ids : array_like of int or str
            Which items, each once.
        """
        self.segments_ = self.segments_.without(ids, "Index.remove")
        self._forget_calibration()
        return self

    def compact(self, *, n_jobs: int | None = None, show_progress: bool | None = None) -> Self:
        """Rebuild all items as one segment, without those that were removed; return self."""
        old = self.segments_.members
        if len(old) > 1 or any(segment.removed.any() for segment in old):
            self.segments_ = Segments((self._builder.join(old, n_jobs, show_progress),))
        return self

    # ---- searching

    def search(
        self, Q: Any, k: int = 10, *, candidates: int | None = None, effort: int | None = None,
        where: Any = None, relaxed: bool = False, n_jobs: int | None = None,
        show_progress: bool | None = None,
    ) -> Matches:  # fmt: skip
        """Find the k most similar items of every query.

        Parameters
        ----------
        Q : items
            The queries.
        k : int
            How many items to find for each. Where there are fewer, the rest is -1 (or None).
        candidates : int, optional
            At most this many kernel values per query beyond the landmarks. By default as many
            as a proof needs; where the method knows no proof, ten times k and at least 100.
            `exact` tells for which queries they were enough.
        effort : int, optional
            How hard to look for candidates: the `n_probe` of `inverted` or the `ef` of `graph`,
            for this search. By default that of `index.searcher`.
        where : array_like, optional
            Which items may be found: their ids, or a mask over `ids`.
        relaxed : bool
            Whether to be content with the probability chosen by `calibrate`, for fewer kernel
            values (E eq. 28). Nothing is then `exact`.
        n_jobs : int, optional
            How many threads at most; see `mercer.parallel.count`. A few queries stay on one,
            where the last ones were quick.
        show_progress : bool, optional
            Whether to show a progress bar; by default on terminals, for work of over a second.

        Returns
        -------
        Matches
            Best first; among equal scores the item added first comes first.
        """
        effort = answer.checked_effort(self.searcher, k, candidates, effort)
        limited = candidates is not None or where is not None
        share = calibration.usable(self.relaxation_, limited) if relaxed else 1.0
        self._require_fitted("search")
        parts = self.segments_.parts(where, "Index.search")
        kept = max(1, min(k, sum(part.n_allowed for part in parts)))

        def rank(ranking: Ranking) -> Matches:
            if candidates is None and self._bounded:
                ranking.search_all(share)
            else:
                ranking.search_some(candidates, effort)
            return answer.best(ranking, k, self.segments_, self.embedding.n_landmarks_)

        tasks = self._rankings(Q, parts, kept, "Index.search", n_jobs)
        found = self._run(rank, tasks, n_jobs, show_progress)
        probability = self.probability_ if relaxed else 0.0
        return answer.certified(found, self.disproof_ is None, probability or 0.0)

    def within(
        self, Q: Any, score: float, *, where: Any = None, n_jobs: int | None = None,
        show_progress: bool | None = None,
    ) -> list[Matches]:  # fmt: skip
        """Find every item that scores at least so much, for every query.

        Parameters
        ----------
        Q : items
            The queries.
        score : float
            The least kernel value.
        where : array_like, optional
            Which items may be found: their ids, or a mask over `ids`.
        n_jobs : int, optional
            How many threads; see `mercer.parallel.count`.
        show_progress : bool, optional
            Whether to show a progress bar; by default on terminals, for work of over a second.

        Returns
        -------
        list of Matches
            One for each query, with one row of as many items as there are, best first.

        Examples
        --------
        >>> import mercer
        >>> X = [[0.5, 0.5], [1.0, 0.0], [0.4, 0.6]]
        >>> index = mercer.exact("chi2").fit(X).add(X)
        >>> index.within([[0.5, 0.5]], score=0.9)[0].ids
        array([[0, 2]])
        """
        check_number("Index.within", "score", score)
        if not self._bounded:
            raise InputError(
                "Index.within: this method has no bounds, so it cannot tell when all items are "
                "found. Use an index made by mercer.exact."
            )
        self._require_fitted("within")
        parts = self.segments_.parts(where, "Index.within")

        def collect(ranking: Ranking) -> list[Matches]:
            lists = ranking.search_above(float(score))
            costs = self.embedding.n_landmarks_
            return [
                answer.listed(ranking, query, *found, self.segments_, costs)
                for query, found in enumerate(lists)
            ]

        tasks = self._rankings(Q, parts, 1, "Index.within", n_jobs)
        found = self._run(collect, tasks, n_jobs, show_progress)
        holds = self.disproof_ is None
        return [answer.certified([one], holds) for block in found for one in block]

    def calibrate(self, Q: Any, probability: float = 0.95, *, n_jobs: int | None = None) -> Self:
        """Learn, from queries like those to come, how far the bounds may be relaxed.

        The true nearest item of a new query is then found by ``search(..., relaxed=True)`` with
        at least this probability, over the choice of both: the conformal argument. It holds for
        the items of now: adding or removing forgets it.

        Parameters
        ----------
        Q : items
            Queries that are not among the items, drawn as those to come are.
        probability : float
            Between 0 and 1. It needs at least ``probability / (1 - probability)`` queries.
        n_jobs : int, optional
            How many threads; see `mercer.parallel.count`.
        """
        check_number("Index.calibrate", "probability", probability, above=0)
        if not self._bounded or not len(self):
            raise InputError("Index.calibrate: needs an index made by mercer.exact, with items.")
        P = self.kernel.prepare(Q, where="Index.calibrate")
        nearest = self.search(P, 1, n_jobs=n_jobs)
        items = self.segments_.items(nearest.ids[:, 0])
        cosines = calibration.residual_cosines(
            nearest.scores[:, 0],
            self.embedding.transform(P, n_jobs=n_jobs),
            self.embedding.transform(items, n_jobs=n_jobs),
        )
        self.relaxation_ = calibration.relaxation(cosines, probability)
        self.probability_ = float(probability)
        return self

    # ---- looking

    def encode(self, X: Any, *, n_jobs: int | None = None) -> Array:
        """Return the codes of items, by methods that have codes.

        Parameters
        ----------
        X : items
            As those given to `fit`; they are not added.
        n_jobs : int, optional
            How many threads; see `mercer.parallel.count`.

        Returns
        -------
        ndarray of uint8, shape (len(X), n_bytes)
            Bits are packed as ``numpy.packbits`` does.

        Examples
        --------
        >>> import mercer
        >>> X = [[0.5, 0.5], [1.0, 0.0], [0.4, 0.6]]
        >>> mercer.klsh("chi2", n_bits=20).fit(X).encode(X).shape
        (3, 3)
        """
        self._require_fitted("encode")
        return self._builder.encode(X, n_jobs)

    def __len__(self) -> int:
        return len(self.segments_)

    def __bool__(self) -> bool:
        return True  # an empty index is still an index

    @property
    def ids(self) -> Array:
        """The ids of all items, in the order they were added."""
        return self.segments_.ids

    def info(self) -> dict[str, Any]:
        """Return what this index is, as plain values.

        Examples
        --------
        >>> import mercer
        >>> mercer.exact("chi2").info()["kernel"]
        'Chi2()'
        """
        return {
            **describe(self.kernel, self.embedding, self.searcher, self.segments_),
            "fitted": self._is_fitted,
            "certified": self._bounded and self.kernel.psd and self.disproof_ is None,
            "disproof": self.disproof_,
            "relaxed probability": self.probability_,
        }

    # ---- keeping

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this index to a folder, in place of one that is there; `mercer.load` reads it.

        Whatever happens meanwhile, the folder holds the old index or the new one.

        Parameters
        ----------
        path : path
            A new or empty folder, or one that holds an index.

        Examples
        --------
        >>> import tempfile
        >>> import mercer
        >>> X = [[0.5, 0.5], [1.0, 0.0], [0.4, 0.6]]
        >>> folder = tempfile.mkdtemp()
        >>> mercer.exact("chi2").fit(X).add(X).save(folder)
        >>> len(mercer.load(folder))
        3
        """
        facts = {name: vars(self)[name] for name in ("disproof_", "relaxation_", "probability_")}
        tree = store.pack(self.kernel, self.embedding, self.searcher, self.segments_, facts)
        store.write(path, tree)

    # ---- steps

    @property
    def _is_fitted(self) -> bool:
        return any(name.endswith("_") for name in vars(self.embedding))

    def _require_fitted(self, verb: str) -> None:
        if not self._is_fitted:
            raise NotFittedError(f"Index.{verb}: not fitted yet. Call index.fit(X) first.")

    @property
    def _bounded(self) -> bool:
        """Whether the values of candidates bound this kernel."""
        return (
            self.searcher.bounded
            and self.embedding.upper_bound
            and self.embedding.serves(self.kernel)
        )

    @property
    def _builder(self) -> Builder:
        return Builder(self.kernel, self.embedding, self.searcher)

    def _rankings(
        self, Q: Any, parts: list[Part], k: int, where: str, n_jobs: int | None
    ) -> list[Ranking]:
        return answer.rankings(
            self.kernel, self.embedding, Q, parts, k, self._bounded, where, n_jobs, self._pace
        )

    def _run(
        self, function: Callable[[Ranking], Any], tasks: list[Ranking], n_jobs: int | None,
        show_progress: bool | None,
    ) -> list[Any]:  # fmt: skip
        threads = n_jobs if self.kernel._threads else 1
        found, disproof = answer.run(function, tasks, threads, show_progress, self._pace)
        if disproof:
            self.disproof_ = self.disproof_ or disproof
            warnings.warn(f"{disproof}. {answer.DISPROVED}", CertificateWarning, stacklevel=3)
        return found

    def _forget_calibration(self) -> None:
        self.relaxation_ = self.probability_ = None
