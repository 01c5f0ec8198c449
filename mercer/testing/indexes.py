"""What every index must do."""

from functools import partial
from typing import Any

import numpy as np

from mercer import evaluate, items
from mercer.errors import InputError, NotFittedError
from mercer.index import Index
from mercer.index.matches import Matches
from mercer.kernels.similarity import TINY, unit
from mercer.runtime.arrays import Array, Ids
from mercer.runtime.border import border
from mercer.testing.subject import Subject, run

SAMPLE = 300  # items looked at
QUERIES = 12  # of them, used as queries
K = 5


@border
def check_index(index: Index, X: Any) -> list[str]:
    """Check that an index keeps its promises on items like X.

    What was checked is returned in words; `CheckError` says what does not hold.

    Parameters
    ----------
    index : Index
        The index to check; copies of it are fitted and filled, it stays as it is.
    X : items
        At least 8 items; the first 300 are used.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).random((40, 5))
    >>> for line in mercer.testing.check_index(mercer.exact("chi2"), X)[:2]:
    ...     print(line)
    parameters can be read, set and printed
    says NotFittedError before `fit`
    """
    X = items.rows_of(X)[:SAMPLE]
    if items.length(X) < 8:
        raise InputError(f"{items.length(X)} items are too few. Pass at least 8.")
    return run(_CHECKS, _Filled(index, X))


class _Filled(Subject):
    """An index with some items, and what brute force finds among them."""

    check = "check_index"

    def __init__(self, index: Index, X: Any) -> None:
        super().__init__(index)
        self.X, self.n = X, items.length(X)
        self.Q = X[:QUERIES]
        self.kernel = index.kernel.suited(X)
        P, R = (self.kernel.prepare(some) for some in (self.Q, X))
        self.scores: Array = self.kernel(P, R, dtype=np.float64)
        self.tolerance = 2 * evaluate.ground_truth(self.kernel, R, P, K).tolerance.astype(float)

    def slack(self, values: Array) -> Array:
        """Return what rounding may do to scores, which are kept in float32; one row a query."""
        there = np.abs(np.where(np.isfinite(values), values, 0))
        return np.asarray(self.tolerance[:, None] + 2 * unit(np.float32) * there + TINY)

    def fitted(self) -> Index:
        """Return a copy that was fitted and has no items."""
        new: Index = self.part.fresh()
        return new.fit(self.X)

    def filled(self, ids: Any = None) -> Index:
        """Return a copy with all items."""
        return self.fitted().add(self.X, ids)

    def require_answer(
        self, found: Matches, k: int, when: str, rows: Ids | None = None, names: Any = None
    ) -> None:
        """Raise CheckError unless an answer has its form, and equals brute force where `exact`.

        `rows` are those that may be found and `names` the ids of all rows.
        """
        if found.ids.shape != (len(self.scores), k) or found.scores.shape != found.ids.shape:
            self.fail(f"{when}: ids have shape {found.ids.shape}")
        rows = np.arange(self.n) if rows is None else rows
        named = self._rows(found, names, when)
        self._require_scores(found, named, rows, when)
        best = np.full((len(named), k), -np.inf)
        best[:, : len(rows)] = -np.sort(-self.scores[:, rows], axis=1)[:, :k]
        short = found.scores.astype(np.float64) < best - self.slack(best)
        if (short.any(axis=1) & found.exact).any():
            query = int(np.argmax(short.any(axis=1) & found.exact))
            self.fail(f"{when}: `exact`, but query {query} has better items than those found")
        if (found.evaluations > len(rows)).any():
            self.fail(f"{when}: {found.evaluations.max()} evaluations of {len(rows)} items")

    def _rows(self, found: Matches, names: Any, when: str) -> Ids:
        """Return the row of every id found, -1 where there is none."""
        known: dict[Any, int] = {None: -1, -1: -1}
        known |= {name: row for row, name in enumerate(range(self.n) if names is None else names)}
        strange = [one for one in found.ids.ravel().tolist() if one not in known]
        if strange:
            self.fail(f"{when}: id {strange[0]!r} is not in the index")
        return np.array([[known[one] for one in row] for row in found.ids.tolist()])

    def _require_scores(self, found: Matches, named: Ids, rows: Ids, when: str) -> None:
        empty = named < 0
        if (empty != np.isneginf(found.scores)).any():
            self.fail(f"{when}: places without an item do not score minus infinity")
        if not np.isin(named[~empty], rows).all():
            self.fail(f"{when}: an item that may not be found is found")
        for query, row in enumerate(named):
            if len(np.unique(row[row >= 0])) < (row >= 0).sum():
                self.fail(f"{when}: an item is found twice for query {query}")
        if (found.scores[:, 1:] > found.scores[:, :-1]).any():
            self.fail(f"{when}: scores do not decrease")
        true = np.take_along_axis(self.scores, np.maximum(named, 0), 1)
        gaps = np.where(empty, 0, np.abs(np.where(empty, 0, found.scores) - true))
        if (gaps > self.slack(true)).any():
            query = int(np.argwhere(gaps > self.slack(true))[0, 0])
            self.fail(f"{when}: scores of query {query} are not the kernel's")

    def require_same(self, one: Matches, other: Matches, when: str) -> None:
        """Raise CheckError unless two answers have the same scores, up to rounding."""
        with np.errstate(invalid="ignore"):
            gaps = np.abs(one.scores.astype(np.float64) - other.scores)
        gaps[one.scores == other.scores] = 0
        if not (gaps <= self.slack(one.scores)).all():
            self.fail(f"{when}: other scores, by {np.nanmax(gaps):.3g}")


def _parameters(subject: _Filled) -> None:
    """parameters can be read, set and printed."""
    subject.require_params()


def _unfitted(subject: _Filled) -> None:
    """says NotFittedError before `fit`."""
    new = subject.part.fresh()
    calls = {"add": lambda: new.add(subject.X), "search": lambda: new.search(subject.Q, 1)}
    for verb, call in calls.items():
        subject.require_error(f"`{verb}` before `fit`", call, NotFittedError)


def _searching(subject: _Filled) -> None:
    """answers are those of brute force, in no more evaluations, and all exact if certified."""
    index = subject.fitted()
    if len(index) != 0:
        subject.fail(f"`fit` added {len(index)} items")
    if index.add(subject.X) is not index or len(index) != subject.n:
        subject.fail(f"after `add` len is {len(index)} for {subject.n} items")
    for k in (1, K, subject.n, subject.n + 3):
        found = index.search(subject.Q, k)
        subject.require_answer(found, k, f"k={k}")
        if index.info()["certified"] and not found.exact.all():
            subject.fail(f"k={k}: certified, but not every answer is exact")


def _names(subject: _Filled) -> None:
    """ids are numbers or strings, each used once."""
    numbers = 7 * np.arange(subject.n) + 3
    words = [f"item {number}" for number in numbers]
    for names in (numbers.tolist(), words):
        index = subject.filled(names)
        subject.require_answer(index.search(subject.Q, K), K, "own ids", names=names)
        missing = index.search(subject.Q, subject.n + 1).ids[:, -1].tolist()
        nothing = None if isinstance(names[0], str) else -1
        if any(one != nothing for one in missing):
            subject.fail(f"beyond the last item stands {missing[0]!r} instead of {nothing}")
        again = partial(index.add, subject.X[:1], names[:1])
        subject.require_error("an id that is in the index", again)


def _filters(subject: _Filled) -> None:
    """`where` allows the given ids or flags and nothing else."""
    index = subject.filled()
    rng = np.random.default_rng(0)
    for share in (0.0, 0.01, 0.5, 0.99):
        mask = rng.random(subject.n) < share
        rows = np.flatnonzero(mask)
        for where in (rows, mask):
            found = index.search(subject.Q, K, where=where)
            subject.require_answer(found, K, f"where {len(rows)} items are allowed", rows)
    strange = partial(index.search, subject.Q, K, where=[subject.n])
    subject.require_error("`where` with an id that is not in the index", strange)


def _candidates(subject: _Filled) -> None:
    """`candidates` limits the evaluations."""
    index = subject.filled()
    for n in (1, 7, subject.n):
        found = index.search(subject.Q, K, candidates=n)
        subject.require_answer(found, K, f"candidates={n}")
        if (found.evaluations > n).any():
            subject.fail(f"candidates={n}: {found.evaluations.max()} evaluations")


def _removing(subject: _Filled) -> None:
    """removed items are not found, can be added again, and `compact` changes no answer."""
    index = subject.filled()
    gone = np.arange(0, subject.n, 3)
    left = np.setdiff1d(np.arange(subject.n), gone)
    if index.remove(gone) is not index or len(index) != len(left):
        subject.fail(f"after `remove` len is {len(index)} instead of {len(left)}")
    before = index.search(subject.Q, K)
    subject.require_answer(before, K, "after `remove`", left)
    subject.require_error("removing what is not there", lambda: index.remove(gone[:1]))
    after = index.compact().search(subject.Q, K)
    subject.require_answer(after, K, "after `compact`", left)
    if index.info()["certified"]:
        subject.require_same(before, after, "after `compact`")
    index.add(items.take(subject.X, gone), gone)
    subject.require_answer(index.search(subject.Q, K), K, "added again")


def _pieces(subject: _Filled) -> None:
    """items added in pieces are found as if added at once."""
    whole, index = subject.filled(), subject.fitted()
    for _, block in items.blocks(subject.X, max(1, subject.n // 5)):
        index.add(block)
    if not np.array_equal(index.ids, np.arange(subject.n)):
        subject.fail("added in pieces, `ids` are not 0, 1, 2, ...")
    found = index.search(subject.Q, K)
    subject.require_answer(found, K, "added in pieces")
    if index.info()["certified"]:
        subject.require_same(whole.search(subject.Q, K), found, "added in pieces")


def _within(subject: _Filled) -> None:
    """`within` finds every item that scores enough, if certified."""
    index = subject.filled()
    if not index.info()["certified"]:
        return
    for share in (0.01, 0.3, 1.0):
        floor = float(np.quantile(subject.scores, 1 - share))
        for query, found in enumerate(index.within(subject.Q, floor)):
            true, slack = subject.scores[query], subject.slack(subject.scores)[query]
            sure, possible = true > floor + slack, true >= floor - slack
            named = np.zeros(subject.n, bool)
            named[found.ids[0]] = True
            if found.ids.shape[1] != named.sum() or (sure & ~named).any():
                subject.fail(f"`within` {floor:.6g} misses items of query {query}, or repeats one")
            if (named & ~possible).any():
                subject.fail(f"`within` {floor:.6g} finds too much for query {query}")


_CHECKS = (
    _parameters,
    _unfitted,
    _searching,
    _names,
    _filters,
    _candidates,
    _removing,
    _pieces,
    _within,
)
