"""What every searcher must do."""

import pickle
from typing import Any

import numpy as np
import numpy.typing as npt

from mercer.errors import InputError
from mercer.kernels.similarity import TINY, unit
from mercer.runtime.arrays import Array
from mercer.runtime.border import border
from mercer.search import Allowed, BoundedSearcher, Candidates, Searcher
from mercer.search.base import Floats, Mask
from mercer.testing.subject import Subject, run

SAMPLE = 2000  # vectors looked at
QUERIES = 20  # of them, used as queries


@border
def check_searcher(searcher: Searcher, Z: npt.ArrayLike) -> list[str]:
    """Check that a searcher keeps its promises on vectors like Z.

    What was checked is returned in words; `CheckError` says what does not hold.

    Parameters
    ----------
    searcher : Searcher
        The searcher to check; copies of it are built, it stays as it is.
    Z : array_like, shape (n, d)
        At least 8 vectors, as an embedding gives them; the first 2,000 are used.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> Z = np.random.default_rng(0).random((50, 5))
    >>> for line in mercer.testing.check_searcher(mercer.search.BoundScan(), Z)[:2]:
    ...     print(line)
    parameters can be read, set and printed
    `fit` returns self, learns what is declared, and leaves the parameters as they are
    """
    vectors = np.ascontiguousarray(Z, np.float32)[:SAMPLE]
    if vectors.ndim != 2 or len(vectors) < 8:
        raise InputError(f"got shape {vectors.shape}. Pass at least 8 vectors.")
    return run(_CHECKS, _Searched(searcher, vectors))


class _Searched(Subject):
    """A searcher with some vectors, queries among them, and their inner products."""

    check = "check_searcher"

    def __init__(self, searcher: Searcher, Z: Floats) -> None:
        super().__init__(searcher)
        self.Z = Z
        self.searcher: Any = searcher.fresh().fit(Z)
        self.rows = self.searcher.build(Z.copy())
        self.Q = np.ascontiguousarray(Z[:: max(1, len(Z) // QUERIES)][:QUERIES])
        double, queries = Z.astype(np.float64), self.Q.astype(np.float64)
        self.products = queries @ double.T
        lengths = np.outer(np.linalg.norm(queries, axis=1), np.linalg.norm(double, axis=1))
        # a sum of d products in any order, in two parts
        self.slack = (Z.shape[1] + 8) * 1.01 * unit(np.float32) * lengths + TINY

    def candidates(self, n: int, allowed: Mask | None = None) -> Candidates:
        """Ask for n candidates of every query."""
        open_ = None if allowed is None else Allowed.where(allowed)
        found: Candidates = self.searcher.candidates(self.rows, self.Q, n, open_)
        return found

    def require_form(self, found: Candidates, n: int, allowed: Mask | None, when: str) -> None:
        """Raise CheckError where rows or values are not as `Candidates` says."""
        rows, values = found.rows, found.values
        if rows.dtype != np.int64 or values.dtype != np.float32 or rows.shape != values.shape:
            self.fail(f"{when}: rows are {rows.dtype} {rows.shape}, values {values.dtype} "
                      f"{values.shape}; int64 and float32 of one shape are expected")  # fmt: skip
        if len(rows) != len(self.Q) or rows.shape[1] > n:
            self.fail(f"{when}: shape {rows.shape} for {len(self.Q)} queries and n={n}")
        if rows.size and (rows.min() < -1 or rows.max() >= len(self.Z)):
            self.fail(f"{when}: rows from {rows.min()} to {rows.max()} of {len(self.Z)}")
        if ((rows == -1) != np.isneginf(values)).any():
            self.fail(f"{when}: -1 and minus infinity do not stand together")
        if (values[:, 1:] > values[:, :-1]).any():
            self.fail(f"{when}: values do not decrease")
        self._require_once(rows, when)
        if allowed is not None and not allowed[rows[rows >= 0]].all():
            self.fail(f"{when}: a row that is not allowed is named")

    def _require_once(self, rows: Array, when: str) -> None:
        for row in rows:
            named = row[row >= 0]
            if len(np.unique(named)) < len(named):
                self.fail(f"{when}: a row is named twice")

    def require_best(self, found: Candidates, n: int, allowed: Mask | None, when: str) -> None:
        """Raise CheckError unless the rows have the largest inner products, ties aside."""
        open_ = np.ones(len(self.Z), bool) if allowed is None else allowed
        wanted = min(n, int(open_.sum()))
        if ((found.rows >= 0).sum(axis=1) != wanted).any():
            self.fail(f"{when}: fewer than {wanted} rows are named")
        rows, values = found.rows[:, :wanted], found.values[:, :wanted]
        self.require_values(rows, values, when)
        masked = np.where(open_, self.products, -np.inf)
        best = -np.sort(-masked, axis=1)[:, :wanted]
        slack = self.slack.max(axis=1, keepdims=True)
        if (values < best - slack).any():
            query = int(np.argwhere(values < best - slack)[0, 0])
            self.fail(f"{when}: a row with a larger inner product is missing for query {query}")

    def require_values(self, rows: Array, values: Array, when: str) -> None:
        """Raise CheckError unless values are the inner products, up to rounding."""
        expected, slack = (
            np.take_along_axis(matrix, np.maximum(rows, 0), 1)
            for matrix in (self.products, self.slack)
        )
        wrong = (np.abs(values - expected) > slack) & (rows >= 0)
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            self.fail(f"{when}: the value of row {rows[i, j]} is {values[i, j]:.9g}, but its inner "
                      f"product {expected[i, j]:.9g}")  # fmt: skip


def _masks(n: int) -> dict[str, Mask | None]:
    """Return which rows are allowed, from none to all."""
    rng = np.random.default_rng(0)
    return {
        "no mask": None,
        "none allowed": np.zeros(n, bool),
        "one allowed": np.arange(n) == n // 2,
        "few allowed": rng.random(n) < 0.1,
        "most allowed": rng.random(n) < 0.9,
        "all allowed": np.ones(n, bool),
    }


def _parameters(subject: _Searched) -> None:
    """parameters can be read, set and printed."""
    subject.require_params()
    if not isinstance(subject.part.takes_effort, bool):
        subject.fail(f"`takes_effort` is {subject.part.takes_effort!r}, not True or False")


def _fitting(subject: _Searched) -> None:
    """`fit` returns self, learns what is declared, and leaves the parameters as they are."""
    new = subject.part.fresh()
    before = repr(new)
    if new.fit(subject.Z.copy()) is not new:
        subject.fail("`fit` does not return self")
    if not new.is_fitted:
        missing = [name for name in new.learned if name not in vars(new)]
        subject.fail(f"`fit` does not set {', '.join(missing)}, which `learned` names")
    strange = [name for name in vars(new) if name.endswith("_") and name not in new.learned]
    if strange:
        subject.fail(f"`fit` sets {strange[0]}, which `learned` does not name: it would be lost")
    if repr(new) != before or new != subject.part:
        subject.fail("`fit` changes a parameter")


def _building(subject: _Searched) -> None:
    """`build` gives rows of its own, and changes neither its input nor the searcher."""
    searcher, Z = subject.searcher, subject.Z.copy()
    before = {name: id(value) for name, value in vars(searcher).items()}
    rows = searcher.build(Z)
    if not isinstance(rows, searcher.rows):
        subject.fail(f"`build` returns {type(rows).__name__}, not the type that `rows` names")
    if len(rows) != len(Z):
        subject.fail(f"len is {len(rows)} for {len(Z)} vectors")
    searcher.candidates(rows, Z[:3], 2)
    if not np.array_equal(Z, subject.Z):
        subject.fail("the vectors were changed")
    if {name: id(vars(searcher)[name]) for name in before} != before:
        subject.fail("`build` changes the searcher: other rows could not use it")


def _is_plain(value: Any) -> bool:
    """Whether a value can be stored: an array, a number, a string, None, or made of these."""
    if isinstance(value, list):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return isinstance(value, (np.ndarray, np.generic, int, float, str, type(None)))


def _stored(subject: _Searched) -> None:
    """rows are made of arrays, numbers and None, can be pickled, and answer as before."""
    kept = subject.rows.kept()
    for name, value in kept.items():
        if not _is_plain(value):
            subject.fail(f"`{name}` of its rows is a {type(value).__name__}, which is not stored")
    for again in (subject.searcher.read(kept), pickle.loads(pickle.dumps(subject.rows))):
        found = subject.searcher.candidates(again, subject.Q, 5)
        if not np.array_equal(found.rows, subject.candidates(5).rows):
            subject.fail("rows made of the same fields give other candidates")


def _joining(subject: _Searched) -> None:
    """`join` gives the rows that stay, in their order, where it does not leave that to `build`."""
    half = len(subject.Z) // 2
    parts = [subject.searcher.build(Z.copy()) for Z in (subject.Z[:half], subject.Z[half:])]
    kept = [np.arange(0, len(part), 2) for part in parts]
    joined = subject.searcher.join(parts, kept)
    if joined is None:
        return
    Z = subject.Z[np.concatenate([kept[0], half + kept[1]])]
    if len(joined) != len(Z):
        subject.fail(f"`join` of {len(Z)} rows gives {len(joined)}")
    own = np.arange(len(Z))[:, None]
    at_once, in_two = (
        (subject.searcher.candidates(rows, Z, 20).rows == own).any(axis=1).mean()
        for rows in (subject.searcher.build(Z.copy()), joined)
    )
    if in_two < at_once - 0.1:
        subject.fail(f"after `join`, {in_two:.0%} of the rows are found by themselves, "
                     f"{at_once:.0%} if built at once")  # fmt: skip


def _efforts(subject: _Searched) -> None:
    """any effort gives candidates, where it takes one."""
    if not subject.part.takes_effort:
        return
    for effort in (1, 7, 10_000):
        found = subject.searcher.candidates(subject.rows, subject.Q, 5, None, effort)
        subject.require_form(found, 5, None, f"effort={effort}")


def _candidates(subject: _Searched) -> None:
    """candidates are allowed rows, each once, the most promising first."""
    n_rows = len(subject.Z)
    for name, allowed in _masks(n_rows).items():
        for n in (1, 5, n_rows + 3):
            found = subject.candidates(n, allowed)
            subject.require_form(found, n, allowed, f"{name}, n={n}")


def _best(subject: _Searched) -> None:
    """candidates have the largest inner products, where it is bounded."""
    if not isinstance(subject.part, BoundedSearcher):
        return
    for name, allowed in _masks(len(subject.Z)).items():
        for n in (1, 5, len(subject.Z) + 3):
            found = subject.candidates(n, allowed)
            subject.require_best(found, n, allowed, f"{name}, n={n}")


def _reaching(subject: _Searched) -> None:
    """`reaching` names every row whose inner product reaches the floor, where it is bounded."""
    if not isinstance(subject.part, BoundedSearcher):
        return
    n = len(subject.Z)
    for share in (0.0, 0.01, 0.5, 1.0):
        floors = np.quantile(subject.products, 1 - share, axis=1).astype(np.float32)
        floors = np.full_like(floors, -np.inf) if share == 1 else floors
        for name, allowed in _masks(n).items():
            when = f"`reaching`, {name}, a floor that {share:.0%} reach"
            open_ = None if allowed is None else Allowed.where(allowed)
            found = subject.searcher.reaching(subject.rows, subject.Q, floors, open_)
            subject.require_form(found, n, allowed, when)
            subject.require_values(found.rows, found.values, when)
            _require_reaching(subject, found, floors, allowed, when)


def _require_reaching(
    subject: _Searched, found: Candidates, floors: Floats, allowed: Mask | None, when: str
) -> None:
    named = np.zeros(subject.products.shape, bool)
    queries, places = np.nonzero(found.rows >= 0)
    named[queries, found.rows[queries, places]] = True
    open_ = np.ones(len(subject.Z), bool) if allowed is None else allowed
    missing = open_ & ~named & (subject.products > floors[:, None] + subject.slack)
    if missing.any():
        query, row = np.argwhere(missing)[0]
        subject.fail(f"{when}: row {row} is missing for query {query}")
    with np.errstate(invalid="ignore"):
        wrong = named & (subject.products < floors[:, None] - subject.slack)
    if wrong.any():
        query, row = np.argwhere(wrong)[0]
        subject.fail(f"{when}: row {row} does not reach the floor of query {query}")


def _relaxed(subject: _Searched) -> None:
    """`reaching` adds the share of the residuals that is asked for, and gives up where it may."""
    if not isinstance(subject.part, BoundedSearcher):
        return
    residuals = np.outer(subject.Q[:, -1], subject.Z[:, -1]).astype(np.float64)
    lowest = np.full(len(subject.Q), -np.inf, np.float32)
    found = subject.searcher.reaching(subject.rows, subject.Q, lowest, None, 0.5)
    expected = np.take_along_axis(subject.products - residuals / 2, found.rows, 1)
    slack = np.take_along_axis(subject.slack, found.rows, 1)
    if (np.abs(found.values - expected) > slack).any():
        subject.fail("`reaching` with relaxed=0.5: values are not z·z + R R/2")
    some = subject.searcher.reaching(subject.rows, subject.Q, lowest, None, 1.0, 0.1)
    kept = np.ones(len(subject.Q), bool) if some.given_up is None else ~some.given_up
    if not ((some.rows >= 0).sum(axis=1)[kept] == len(subject.Z)).all():
        subject.fail("`reaching` with give_up=0.1: rows are missing of a query not given up")


def _bounded_parts(subject: _Searched) -> None:
    """`residuals` are the last components, and `seeds` have the share they declare."""
    if not isinstance(subject.part, BoundedSearcher):
        return
    if not np.array_equal(subject.searcher.residuals(subject.rows), subject.Z[:, -1]):
        subject.fail("`residuals` are not the last components of the vectors")
    found = subject.searcher.seeds(subject.rows, subject.Q, 5)
    share = subject.part.seed_share
    residuals = np.outer(subject.Q[:, -1], subject.Z[:, -1]).astype(np.float64)
    expected = subject.products - (1 - share) * residuals
    wanted, slack = (np.take_along_axis(A, found.rows, 1) for A in (expected, subject.slack))
    if (np.abs(found.values - wanted) > slack).any():
        subject.fail(f"values of `seeds` are not z·z + {share} R R")


def _single(subject: _Searched) -> None:
    """one row is enough."""
    rows = subject.searcher.build(subject.Z[:1].copy())
    found = subject.searcher.candidates(rows, subject.Q, 3)
    first, rest = found.rows[:, :1], found.rows[:, 1:]
    if first.shape[1] == 0 or (first != 0).any() or (rest != -1).any():
        subject.fail(f"a single row: candidates are {found.rows[0].tolist()}")


def _again(subject: _Searched) -> None:
    """the same question gets the same answer."""
    one, two = (subject.candidates(5) for _ in range(2))
    new = subject.part.fresh().fit(subject.Z)
    rebuilt = new.candidates(new.build(subject.Z.copy()), subject.Q, 5)
    for other in (two, rebuilt):
        if not np.array_equal(one.rows, other.rows):
            subject.fail("asked twice, it names other rows")


_CHECKS = (
    _parameters,
    _fitting,
    _building,
    _candidates,
    _efforts,
    _best,
    _reaching,
    _relaxed,
    _bounded_parts,
    _single,
    _again,
    _stored,
    _joining,
)
