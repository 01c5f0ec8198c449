"""The index: joins kernel, embedding and searcher, and merges the answers of its segments."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

from mercer import items, kernels, store
from mercer.embeddings import Embedding
from mercer.errors import CertificateWarning, InputError
from mercer.index import calibration
from mercer.index.aim import Aim
from mercer.index.changing import Changing
from mercer.index.damage import Source, tells_damage
from mercer.index.expecting import planned, proving, warn_if_empty, warn_of_recall
from mercer.index.matches import Matches
from mercer.index.pace import Pace
from mercer.index.recipe import Recipe
from mercer.index.searching import DISPROVED, Search, certified
from mercer.index.state import State
from mercer.items import columns_of, require_columns
from mercer.kernels import Kernel
from mercer.kernels.memory import Memory, remembering
from mercer.runtime import parallel
from mercer.runtime.border import about, border
from mercer.runtime.locks import Lock
from mercer.runtime.params import check_number
from mercer.search import Searcher


class Index(Changing):
    """Items that can be searched by similarity, added to, removed from, filtered and saved.

    Made by `mercer.exact` and similar functions. Wherever they are accepted, `n_jobs` is the number
    of threads (see `mercer.runtime.parallel.count`; a few quick queries use only one), and
    `show_progress` says whether to show a progress bar: by default on terminals, for work that
    takes over a second.

    Parameters
    ----------
    kernel : str or Kernel
        The similarity; scores are always its values.
    embedding : Embedding
        Turns items into vectors.
    searcher : Searcher
        Finds candidates among vectors.
    aim : Aim, optional
        What searches are to reach. If it is given, embedding and searcher are chosen when items
        are added, and those given serve until then.

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

    def __init__(
        self, kernel: str | Kernel, embedding: Embedding, searcher: Searcher,
        aim: Aim | None = None,
    ) -> None:  # fmt: skip
        self.kernel = kernels.get(kernel)
        self.embedding = embedding
        self.searcher = searcher
        self.aim = aim
        self._state = State()
        self._changing = Lock()  # threads that change the index wait for each other
        self._compacting = Lock()
        self._compacts = False  # whether segments are being joined, so that they must stay
        self._origins = store.Origins()
        self._source: Source | None = None
        self.disproof_: str | None = None
        self._validate()

    def _validate(self) -> None:
        if not self.embedding.serves(self.kernel):
            raise InputError(
                f"{self.embedding!r} does not embed items for {self.kernel!r}. Give both "
                "the same kernel."
            )
        self._pace = Pace()

    # ---- learning

    @border
    @parallel.without_blas_threads
    def fit(
        self, X: Any, y: Any = None, *, queries: Any = None, measure: bool = True,
        forget: bool = False, keep_items: bool = True,
    ) -> Self:  # fmt: skip
        """Learn the embedding from items and return self.

        Nothing is added: call `add` with the items to be found.

        Parameters
        ----------
        X : items
            The data, or a fair sample of it.
        y : None
            Not used.
        queries : items, optional
            A sample of what will be asked, by which recall is measured. By default, items are
            asked for the others; that tells little if queries come from elsewhere.
        measure : bool
            Whether to measure the recall of methods that do not prove their answers, from 1,000
            items on, and the fastest manner of proof; searches then choose their effort by it, and
            warn if they find too little. An index made by `mercer.auto` always measures.
        forget : bool
            Whether to remove all items that were added before. An index that has items refuses to
            learn otherwise, because what it holds would not fit to what it has learned.
        keep_items : bool
            Whether items are kept beside their codes. Without them an index is much smaller, and
            answers by its codes alone: `Matches.estimated`.
        """
        with self._changing.held():
            self._require_empty(forget)
            with remembering(Memory()) as memory:
                learned = Recipe.fitted(self.kernel, self.embedding, self.searcher, X, keep_items)
            memory.expected = items.length(items.rows_of(X))
            with about("the queries"):
                require_columns(columns_of(X), queries)
                asked = None if queries is None else learned.kernel.prepare(queries, copy=True)
            self.disproof_ = None
            self._become(State(
                learned, queries=asked, measures=measure, aim=self.aim, columns=columns_of(X),
                memory=memory,
            ))  # fmt: skip
        return self

    @border
    def empty(self) -> Index:
        """Return an index that has learned the same but has no items.

        Several such indexes, filled with different items, give comparable candidates.

        Examples
        --------
        >>> import mercer
        >>> X = [[0.5, 0.5], [1.0, 0.0], [0.4, 0.6]]
        >>> index = mercer.exact("chi2").fit(X).add(X)
        >>> len(index.empty()), index.empty().add(X[:1]).search(X[:1], k=1).ids
        (0, array([[0]]))
        """
        new = self.fresh()
        self._state.fitted("empty")
        new._state = self._state.emptied()
        return new

    # ---- searching

    @border
    @tells_damage
    def search(
        self, Q: Any, k: int = 10, *, candidates: int | None = None, effort: int | None = None,
        recall: float | None = None, where: Any = None, relaxed: bool = False,
        n_jobs: int | None = None, show_progress: bool | None = None,
    ) -> Matches:  # fmt: skip
        """Find the k most similar items for every query.

        Parameters
        ----------
        Q : items
            The queries.
        k : int
            How many items to find for each query. If there are fewer, the rest is -1 (or None), and
            `Matches.found` says how many there are; a k that exceeds the number of items by more
            than 1,000 is taken as that number.
        candidates : int, optional
            The most kernel values per query, not counting landmarks. By default as many as a proof
            needs or, for methods without a proof, ten times k and at least 100, and more where the
            recall that was measured asks for it. `exact` says for which queries they were enough.
        effort : int, optional
            The `n_probe` of `inverted` or the `ef` of `graph`, for this search: larger values find
            more and take longer. By default that of `index.searcher`, and more where the recall
            that was measured asks for it.
        recall : float, optional
            The share of the true items to find, in place of `candidates` and `effort`: they are
            chosen by what was measured when items were added, with a margin for its chance errors.
            Where no setting is known to find so much, everything is compared.
        where : array_like or dict, optional
            Which items may be found: their ids, a mask over `ids`, or what their records say, such
            as ``{"year": {">=": 2000}, "class": {"in": ["a", "b"]}, "kind": "photo"}``. Operators
            are ==, !=, <, <=, >, >= and in; all conditions must hold.
        relaxed : bool
            Whether to accept the probability given to `calibrate` in return for fewer kernel values
            (Bourrier et al. 2015, eq. 28). No answer is then `exact`.

        Returns
        -------
        Matches
            Best first; among equal scores the item added first comes first.
        """
        state = self._newest()  # read once: other threads may replace it meanwhile
        require_columns(state.columns, Q)
        limited = candidates is not None or where is not None
        plan = planned(state, self._planner, k, candidates, effort, recall, where is not None)
        plan = plan if limited or relaxed else proving(plan, state)
        share = calibration.usable(state.relaxation, limited) if relaxed else 1.0
        search = Search(state.asked, state.segments, self._pace, plan.recall)
        found = search.best(Q, k, where, plan.candidates, plan.effort, share, plan.everything)
        self._note(search.disproof)
        warn_of_recall(plan, state, k)
        warn_if_empty(state)
        probability = state.probability if relaxed else 0.0
        return certified(found, self.disproof_ is None, probability or 0.0)

    @border
    @tells_damage
    def within(
        self, Q: Any, score: float, *, where: Any = None, n_jobs: int | None = None,
        show_progress: bool | None = None,
    ) -> list[Matches]:  # fmt: skip
        """Find every item that scores at least `score`, for every query.

        Parameters
        ----------
        Q : items
            The queries.
        score : float
            The least kernel value.
        where : array_like or dict, optional
            Which items may be found: their ids, a mask over `ids`, or what their records say.

        Returns
        -------
        list of Matches
            One for each query, with a single row of all the items found, best first.

        Examples
        --------
        >>> import mercer
        >>> X = [[0.5, 0.5], [1.0, 0.0], [0.4, 0.6]]
        >>> index = mercer.exact("chi2").fit(X).add(X)
        >>> index.within([[0.5, 0.5]], score=0.9)[0].ids
        array([[0, 2]])
        """
        check_number("score", score)
        if not (self._known.bounded or self._known.exhaustive or self.aim):
            raise InputError(
                "this method has no bounds, so it cannot tell when all items are "
                "found. Use an index made by mercer.exact or mercer.brute."
            )
        state = self._newest()
        require_columns(state.columns, Q)
        search = Search(*state.fitted("within"), self._pace)
        lists = search.above(Q, float(score), where)
        self._note(search.disproof)
        warn_if_empty(state)
        return [certified(one, self.disproof_ is None) for one in lists]

    @border
    @tells_damage
    @parallel.without_blas_threads
    def calibrate(self, Q: Any, probability: float = 0.95, *, n_jobs: int | None = None) -> Self:
        """Learn from typical queries how far the bounds may be relaxed.

        ``search(..., relaxed=True)`` then finds the true nearest item of a new query with at least
        this probability, over the random choice of `Q` and the new query (the conformal argument).
        This holds for the current items: adding or removing items discards the calibration.

        Parameters
        ----------
        Q : items
            Queries that are not among the items, drawn in the same way as future queries.
        probability : float
            Between 0 and 1. It needs at least ``probability / (1 - probability)`` queries.
        """
        check_number("probability", probability, above=0)
        if not self._known.bounded or not len(self):
            raise InputError("needs an index made by mercer.exact, with items.")
        with self._changing.held():
            recipe, segments = self._state.fitted("calibrate")
            require_columns(self._state.columns, Q)
            P = recipe.kernel.prepare(Q)
            share = calibration.learned(
                recipe.embedding, P, self.search(P, 1), segments, probability
            )
            self._become(replace(self._state, relaxation=share, probability=float(probability)))
        return self

    # ---- steps

    def _require_empty(self, forget: bool) -> None:
        if len(self) and not forget:
            raise InputError(
                f"the index has {len(self)} items, which it would forget. Call fit(X, forget=True) "
                "if that is meant, or make a new index; add takes more items."
            )

    def _note(self, disproof: str | None) -> None:
        """Remember that the kernel broke its claims, and warn once per search."""
        if disproof:
            self.disproof_ = self.disproof_ or disproof
            warnings.warn(f"{disproof}. {DISPROVED}", CertificateWarning, stacklevel=5)

    def __getstate__(self) -> dict[str, Any]:
        kept = ("_state", "_origins", "disproof_")
        return super().__getstate__() | {name: getattr(self, name) for name in kept}
