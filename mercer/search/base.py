"""What every searcher does: build rows over vectors, and name those worth comparing.

A searcher is a recipe: parameters, and what `fit` learned. What it builds over vectors, its rows,
is a separate object that never changes. All rows of one searcher give comparable candidates, even
from different segments, files or processes.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from mercer.errors import StoreError
from mercer.runtime.arrays import Ids
from mercer.runtime.lazy import lazy
from mercer.runtime.locks import Lock
from mercer.runtime.params import Params

Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.uint8]
LISTED = 10_000_000  # candidates of all queries in a block: a quarter of a gigabyte as lists grow


@dataclass(frozen=True)
class Candidates:
    """Rows worth comparing with each query, the most promising first.

    Attributes
    ----------
    rows : ndarray of int64, shape (n_queries, n)
        Row numbers; -1 where there are fewer.
    values : ndarray of float32, shape (n_queries, n)
        How promising each row is, decreasing, comparable between all rows of one searcher; minus
        infinity for rows of -1. From a `BoundedSearcher`, upper bounds of the kernel.
    given_up : ndarray of bool, shape (n_queries,), optional
        Queries with so many promising rows that none of them is named.
    """

    rows: Ids
    values: Floats
    given_up: Mask | None = None


@dataclass(frozen=True, eq=False)
class Allowed:
    """Which rows may be named, as a list: the others cost nothing.

    Attributes
    ----------
    rows : ndarray of int64
        The numbers of the rows that may be named, increasing.
    n : int
        How many rows there are in all.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.search import Allowed
    >>> allowed = Allowed.where(np.array([True, False, True]))
    >>> len(allowed), allowed.rows, allowed.mask
    (2, array([0, 2]), array([ True, False,  True]))
    """

    rows: Ids
    n: int

    @classmethod
    def where(cls, mask: Mask) -> Self:
        """Return the rows that a mask flags."""
        return cls(np.flatnonzero(mask), len(mask))

    @lazy
    def mask(self) -> Mask:
        """A flag for each row, made on first access."""
        flags = np.zeros(self.n, bool)
        flags[self.rows] = True
        return flags

    def __len__(self) -> int:
        return len(self.rows)


def only_allowed(found: Candidates, allowed: Allowed, n: int) -> Candidates:
    """Return the first n candidates that are allowed."""
    good = (found.rows >= 0) & allowed.mask[found.rows]
    order = np.argsort(~good, axis=1, kind="stable")[:, :n]
    rows = np.where(good, found.rows, -1)
    values = np.where(good, found.values, -np.inf).astype(np.float32)
    return Candidates(np.take_along_axis(rows, order, 1), np.take_along_axis(values, order, 1))


class Rows(ABC):
    """What a searcher built over vectors. Subclasses are frozen dataclasses.

    Their fields are arrays, numbers or None, and are exactly what is stored. Anything derived from
    them that takes time, or cannot be stored, is kept by `derived` and not stored or pickled.
    """

    was_read = False

    @classmethod
    def read(cls, **kept: Any) -> Self:
        """Return rows with these fields, from a file that may be damaged."""
        rows = cls(**kept)
        vars(rows)["was_read"] = True
        return rows

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    def derived(self, name: str, make: Callable[[], Any]) -> Any:
        """Return the result of `make`, which is called only once for these rows."""
        kept: dict[str, Any] = self.__dict__.get("_derived") or {}
        if name not in kept:
            with _MAKING.held():  # else two threads might make and hold one each
                kept = self.__dict__.setdefault("_derived", {})
                if name not in kept:
                    kept[name] = make()
        return kept[name]

    def made(self) -> dict[str, Any]:
        """Return what `derived` has made so far, by name."""
        return dict(self.__dict__.get("_derived") or {})

    def kept(self) -> dict[str, Any]:
        """Return the fields by name: what is stored."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def __getstate__(self) -> dict[str, Any]:
        return self.kept()


_MAKING = Lock()


class Searcher(Params):
    """A way to find promising rows: parameters, and what `fit` learned from vectors.

    Attributes
    ----------
    rows : type of Rows
        What `build` returns; stored rows are read back as this.
    takes_effort : bool
        Whether `candidates` makes use of `effort`.
    in_proportion : bool
        Whether values grow in proportion to the query vector.
    by_blocks : bool
        Whether rows built over blocks of vectors and joined are as good as those over all of them,
        and made as fast. Then not all vectors need be in memory together.
    grows : bool
        Whether joining rows to all rows of another segment costs little more than building over
        the joined rows alone.
    """

    rows: ClassVar[type[Rows]]
    takes_effort: bool = False
    in_proportion: bool = False
    by_blocks: bool = False
    grows: bool = False

    @property
    def effort(self) -> int | None:
        """The effort set by the parameters; None if the searcher chooses it."""
        return None

    def efforts(self, rows: Any) -> list[int]:
        """Return efforts worth trying, increasing; none for searchers that take none."""
        return [int(8 * 2**i) for i in range(8)] if self.takes_effort else []

    def usual_effort(self, rows: Any) -> int | None:
        """Return the effort of searches that say nothing; None for searchers that take none."""
        return self.effort

    def depth(self, rows: Any, effort: int) -> int:
        """Return how many candidates an effort is meant for; more would take more effort."""
        return len(rows)

    def wanted(self, n: int) -> int:
        """Return how many vectors `fit` needs of those of n items."""
        return min(n, 10_000) if self.learned else 0

    def fit(self, Z: Floats, n: int | None = None) -> Self:
        """Learn from the vectors of a sample, if there is anything to learn, and return self.

        Parameters
        ----------
        Z : ndarray of float32, shape (m, d)
            The vectors.
        n : int, optional
            How many items they are a sample of; m by default.
        """
        return self

    @abstractmethod
    def build(self, Z: Floats) -> Rows:
        """Return rows over vectors, shape (n, d), without changing the searcher."""

    def join(self, several: Sequence[Rows], kept: Sequence[Ids]) -> Rows | None:
        """Return the `kept` rows of several as one, or None if that needs their vectors."""
        return None

    def without(self, rows: Any, gone: Ids) -> Rows:
        """Return the rows as if some had never been there; they may still be named.

        A searcher that finds a row more easily if the query is one of the rows forgets these: what
        it finds for items then tells what it finds for new queries.
        """
        return rows  # type: ignore[no-any-return]

    def read(self, kept: dict[str, Any]) -> Rows:
        """Return rows with the fields that `Rows.kept` gave, from a file that may be damaged."""
        return self.rows.read(**kept)

    def is_sound(self, rows: Any, width: int) -> bool:
        """Whether the fields of rows fit together, and fit vectors of `width` components.

        Rows from a file are checked before compiled code relies on them.
        """
        return True

    def require_sound(self, rows: Rows, width: int) -> None:
        """Raise StoreError if rows were read from a file and do not fit together."""

        def look() -> bool:
            try:
                return self.is_sound(rows, width)
            except (AttributeError, LookupError, TypeError, ValueError):
                return False

        if rows.was_read and not rows.derived(f"sound {width}", look):
            raise StoreError(
                f"{type(self).__name__}: its rows do not fit together: their files are damaged. "
                "Run mercer verify on the index, and restore it from a copy or build it again."
            )

    @abstractmethod
    def candidates(
        self, rows: Any, Zq: Floats, n: int, allowed: Allowed | None = None,
        effort: int | None = None,
    ) -> Candidates:  # fmt: skip
        """Return at most n promising rows for each query vector.

        Parameters
        ----------
        rows : Rows
            What `build` returned.
        Zq : ndarray of float32, shape (n_queries, d)
            Query vectors, from the same embedding as the rows.
        n : int
            How many rows at most.
        allowed : Allowed, optional
            Which rows may be named; all of them by default.
        effort : int, optional
            Replaces the searcher's own effort, if it `takes_effort`: more finds more and is slower.
        """


class BoundedSearcher(Searcher):
    """A searcher whose values are upper bounds of the kernel, and that finds all above a floor.

    Vectors are those of an embedding with `upper_bound`, the residual last: the kernel is at most
    the inner product of two of them. Every value is that inner product, in which the product of
    residuals may be scaled by a share.

    Attributes
    ----------
    seed_share : float
        The share of the product of residuals in the values of `seeds`.
    """

    seed_share: ClassVar[float] = 1.0

    @abstractmethod
    def reaching(
        self, rows: Any, Zq: Floats, floors: Floats, allowed: Allowed | None = None,
        relaxed: float = 1.0, give_up: float = 1.0,
    ) -> Candidates:  # fmt: skip
        """Return every row whose bound reaches the floor of the query.

        Parameters
        ----------
        rows : Rows
            What `build` returned.
        Zq : ndarray of float32, shape (n_queries, d)
            Query vectors.
        floors : ndarray of float32, shape (n_queries,)
            The least bound of interest.
        allowed : Allowed, optional
            Which rows may be named.
        relaxed : float
            The share of R_q R_x in the values (Bourrier et al. 2015, eq. 28); below 1 these are no
            longer bounds.
        give_up : float
            Queries for which more than this share of the rows reach the floor may be given up; if
            it is below 1, so may those whose lists would take too much memory (`LISTED`).
        """

    @abstractmethod
    def residuals(self, rows: Any) -> Floats:
        """Return R of every row, the last component of its vector."""

    def seeds(self, rows: Any, Zq: Floats, n: int, allowed: Allowed | None = None) -> Candidates:
        """Return n rows that are probably good, for a first threshold."""
        return self.candidates(rows, Zq, n, allowed)
