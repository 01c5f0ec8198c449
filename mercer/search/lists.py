"""Sorted lists of permuted codes: near codes share a long prefix in some list (Charikar)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mercer.codes import Code, Sign
from mercer.errors import InputError
from mercer.runtime import parallel
from mercer.runtime.arrays import Array, Ids
from mercer.runtime.params import check_count, check_number, stored
from mercer.search import _list_loops
from mercer.search._list_sorting import ROW, sort_list
from mercer.search.base import Allowed, Candidates, Codes, Floats, Rows, Searcher

DIRECTORY_ROWS = 2  # 2^2: rows, on average, that share the bits of a directory
DIRECTORY_BITS = 24  # at most
TASKS = 8  # lists sorted by a thread in one go
GB = 1e9


@dataclass(frozen=True, eq=False)
class SortedRows(Rows):
    """Codes, and the lists they are sorted in.

    Attributes
    ----------
    codes : ndarray of uint8, shape (n, n_bytes)
        The codes of all rows.
    permutations : ndarray of uint16, shape (n_lists, n_bits)
        The order in which each list compares the bits.
    lists : ndarray of uint64, shape (n_lists, n)
        The first 32 permuted bits of a row above its number, sorted.
    directories : ndarray of uint32, shape (n_lists, 2^c + 1)
        Where the entries with each of the 2^c prefixes begin.
    """

    codes: Codes
    permutations: npt.NDArray[np.uint16]
    lists: npt.NDArray[np.uint64]
    directories: npt.NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.codes)


@stored
class SortedLists(Searcher):
    """Codes sorted in many orders, each after a permutation of the bits.

    A query is looked up in every list, and the entries around its place are met in the order of
    the longest prefix they share with it, over all lists together (Kulis and Grauman 2012, section
    3; Kulis, Jain and Grauman 2009, section 3.6). The rows met are ranked by their whole codes. A
    list takes 8 bytes per row, and up to one more for its directory.

    There are M = ⌈n^(1/(1+ε))⌉ lists of n rows, and 2M entries are met. (Both papers print 2M for
    the number of lists as well; the numbers they report belong to M lists and 2M entries.) More
    are met until there are as many rows as requested. If more would be met than there are allowed
    rows, all of those are ranked instead: this is faster, and nothing is missed.

    Lists never grow: new rows make a new segment with sorted lists of its own.

    Parameters
    ----------
    code : Code, optional
        Turns vectors into bits, the signs of what its `query` returns; `fit` fits a copy of it. By
        default ``Sign(None)``.
    epsilon : float
        Larger values give fewer lists and worse answers.
    n_lists : int, optional
        How many lists; by default set by `epsilon`.
    neighbours : int
        How many times 2M further entries are met (B in Kulis and Grauman 2012).
    asymmetric : bool
        Whether a query keeps its projections y, and rows are ranked by Σ ± y over their bits;
        otherwise by the Hamming distance.
    memory_limit : int
        The most bytes that lists may take.
    seed : int
        Chooses the permutations.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.codes import Sign
    >>> from mercer.search import SortedLists
    >>> Z = np.random.default_rng(0).normal(size=(1000, 64)).astype(np.float32)
    >>> lists = SortedLists(Sign(None)).fit(Z)
    >>> lists
    SortedLists(code=Sign(hyperplanes=None))
    >>> lists.candidates(lists.build(Z), Z[:3], n=1).rows.T
    array([[0, 1, 2]])
    """

    rows = SortedRows
    learned = ("code_",)

    def __init__(
        self, code: Code | None = None, epsilon: float = 1.0, n_lists: int | None = None,
        neighbours: int = 0, asymmetric: bool = True, memory_limit: int = 2 << 30, seed: int = 0,
    ) -> None:  # fmt: skip
        self.code: Code = Sign(None) if code is None else code
        self.epsilon = epsilon
        self.n_lists = n_lists
        self.neighbours = neighbours
        self.asymmetric = asymmetric
        self.memory_limit = memory_limit
        self.seed = seed
        self._validate()

    def _validate(self) -> None:
        if not isinstance(self.code, Code) or self.code.distance != "hamming":
            raise InputError(
                f"code is {self.code!r}. Pass a code that is compared bit by bit, such as Sign()."
            )
        check_number("epsilon", self.epsilon, above=0)
        check_count("n_lists", self.n_lists, optional=True)
        check_count("neighbours", self.neighbours, at_least=0)
        check_count("memory_limit", self.memory_limit)
        check_count("seed", self.seed, at_least=0)

    @property
    def in_proportion(self) -> bool:  # type: ignore[override]
        """Whether values are Σ ± y."""
        return self.asymmetric

    def fit(self, Z: Floats, n: int | None = None) -> Self:
        """Fit a copy of the code to vectors and return self."""
        self.code_ = self.code.fresh().fit(Z)
        return self

    def build(self, Z: Floats) -> SortedRows:
        """Encode the vectors of all rows, and sort their codes in every list."""
        self._require_fitted()
        return self._sorted(self.code_.encode(Z), self.code_.query(Z[:1]).shape[1])

    def join(self, several: Sequence[Any], kept: Sequence[Ids]) -> SortedRows:
        """Sort the `kept` codes of several anew."""
        parts = [rows.codes[some] for rows, some in zip(several, kept, strict=True)]
        return self._sorted(np.concatenate(parts), several[0].permutations.shape[1])

    def _sorted(self, codes: Codes, n_bits: int) -> SortedRows:
        n = len(codes)
        n_lists, n_prefixes = self._sizes(n, n_bits)
        self._require_memory(n_lists, n, self.memory(n, n_bits))
        rng = np.random.default_rng(self.seed)
        order = np.tile(np.arange(n_bits, dtype=np.uint16), (n_lists, 1))
        permutations = rng.permuted(order, axis=1)
        lists = np.empty((n_lists, n), np.uint64)
        directories = np.empty((n_lists, n_prefixes + 1), np.uint32)

        def fill(span: slice) -> None:
            spare = np.empty(n, np.uint64)
            for i in range(span.start, span.stop):
                sort_list(codes, permutations[i], lists[i], spare, directories[i])

        parallel.over(n_lists, TASKS, fill, "sorting lists")
        return SortedRows(codes, permutations, lists, directories)

    def memory(self, n_rows: int, n_bits: int) -> int:
        """Return how many bytes the lists of `n_rows` rows take, in addition to their codes.

        Examples
        --------
        >>> from mercer.codes import Sign
        >>> from mercer.search import SortedLists
        >>> SortedLists(Sign(None), epsilon=1.0).memory(1_000_000, n_bits=128)
        8524292000
        """
        n_lists, n_prefixes = self._sizes(n_rows, n_bits)
        return n_lists * (8 * n_rows + 4 * (n_prefixes + 1))

    def _sizes(self, n: int, n_bits: int) -> tuple[int, int]:
        """Return the number of lists, and of prefixes in each directory."""
        # rounding may put a whole root a little too high
        by_epsilon = max(1, math.ceil(n ** (1 / (1 + self.epsilon)) - 1e-9))
        return self.n_lists or by_epsilon, 1 << _directory_bits(n, n_bits)

    def _require_memory(self, n_lists: int, n: int, n_bytes: int) -> None:
        if n_bytes > self.memory_limit:
            raise InputError(
                f"SortedLists: {n_lists} lists of {n} rows need {n_bytes / GB:.3g} GB, above "
                f"memory_limit {self.memory_limit / GB:.3g} GB. Use fewer lists (n_lists, or a "
                "larger epsilon), or raise memory_limit."
            )

    def is_sound(self, rows: SortedRows, width: int) -> bool:
        """Whether the lists name only rows and bits that are there."""
        n_bits = self.code_.query(np.zeros((1, width), np.float32)).shape[1]
        n, directories = len(rows), rows.directories
        return (
            rows.codes.dtype == np.uint8
            and rows.codes.shape == (n, -(-n_bits // 8))
            and rows.lists.dtype == np.uint64
            and rows.lists.shape == (len(rows.lists), n)
            and rows.permutations.dtype == np.uint16
            and rows.permutations.shape == (len(rows.lists), n_bits)
            and directories.dtype == np.uint32
            and directories.shape == (len(rows.lists), (1 << _directory_bits(n, n_bits)) + 1)
            and all(int((entries & ROW).max()) < n for entries in rows.lists)
            and bool((np.sort(rows.permutations, axis=1) == np.arange(n_bits)).all())
            and bool((directories[:, 0] == 0).all() and (directories[:, -1] == n).all())
            and bool((directories[:, 1:] >= directories[:, :-1]).all())
        )

    def candidates(
        self, rows: SortedRows, Zq: Floats, n: int, allowed: Allowed | None = None,
        effort: int | None = None,
    ) -> Candidates:  # fmt: skip
        """Return the n best of the rows found for each query; see `Searcher`.

        Values are Σ ± y, or minus the Hamming distance.
        """
        n_allowed = len(rows) if allowed is None else len(allowed)
        shape = len(Zq), min(n, n_allowed)
        found, values = np.full(shape, -1), np.full(shape, -np.inf, np.float32)
        if found.size:
            bits, weights, offset = self._compared(self.code_.query(Zq), rows.codes.shape[1])
            budget = 2 * len(rows.lists) * (1 + self.neighbours)  # entries met at least
            everything = max(budget, n) >= n_allowed
            open_ = np.empty(0, bool) if allowed is None else allowed.mask
            _list_loops.answer(
                *_loop_arguments(rows), _frozen(open_), everything, bits, weights, offset, budget,
                found, values,
            )  # fmt: skip
        return Candidates(found, values)

    def _compared(self, projections: Floats, n_bytes: int) -> tuple[Codes, Floats, np.float32]:
        """Return the bits of queries, their weights and the offset (see `_list_loops.answer`).

        The Hamming distance is half the number of bits less Σ ± 1/2.
        """
        n_queries, n_bits = projections.shape
        bits = (projections >= 0).astype(np.uint8)
        weights = np.zeros((n_queries, 8 * n_bytes), np.float32)
        weights[:, :n_bits] = projections if self.asymmetric else bits - np.float32(0.5)
        return bits, weights, np.float32(0 if self.asymmetric else -n_bits / 2)


def _loop_arguments(rows: SortedRows) -> tuple[Array, ...]:
    """Return rows as the compiled loops take them."""
    parts = rows.lists, rows.directories, rows.permutations, rows.codes
    return tuple(_frozen(part) for part in parts)


def _directory_bits(n: int, n_bits: int) -> int:
    """Return the number of bits that a directory looks up, at least one."""
    return max(1, min(n.bit_length() - 1 - DIRECTORY_ROWS, n_bits, DIRECTORY_BITS))


def _frozen(array: Array) -> Array:
    """Return a view, read-only like arrays of a saved index: loops are compiled only once."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
