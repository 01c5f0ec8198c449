"""Sorted lists of permuted codes: near codes share a long prefix in some list (Charikar)."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from mercer import parallel
from mercer.arrays import Array
from mercer.codes import Code
from mercer.errors import InputError, StoreError
from mercer.params import check_count, check_number
from mercer.search import _list_loops
from mercer.search._list_sorting import ROW, sort_list
from mercer.search.base import Candidates, Floats, Mask, Searcher

__all__ = ["SortedLists"]

DIRECTORY_ROWS = 2  # 2^2: rows, on average, that share the bits of a directory
DIRECTORY_BITS = 24  # at most
TASKS = 8  # lists sorted by a thread in one go
GB = 1e9


class SortedLists(Searcher):
    """Codes sorted in many orders, each after a permutation of the bits (K section 3, M 4.4).

    A query is looked up in every list, and the entries around its places are met in the order of
    the longest prefix they share with it, over all lists together. The rows met are ranked by
    their whole codes. A list takes 8 bytes a row, and up to one more for its directory.

    There are M = ⌈n^(1/(1+ε))⌉ lists of n rows, and 2M entries are met. (K and M print 2M for the
    number of lists as well; the numbers they report belong to M lists and 2M entries.) More are
    met until there are as many rows as were asked for. Where more would be met than there are
    rows allowed, all of those are ranked: that is faster, and nothing is missed.

    Lists are not added to: new rows make a new segment, whose lists are sorted runs of their own.

    Parameters
    ----------
    code : Code
        Turns vectors into bits, the signs of what its `query` returns. `build` fits it if it has
        learned nothing yet.
    epsilon : float
        Fewer lists, and worse answers, the larger it is.
    n_lists : int, optional
        How many lists, instead of by `epsilon`.
    neighbours : int
        How many times 2M further entries are met (K's B).
    asymmetric : bool
        Whether a query keeps its projections y, and rows are ranked by Σ ± y over their bits;
        otherwise by the Hamming distance.
    memory_limit : int
        The most bytes that lists may take.
    seed : int
        Chooses the permutations.

    Attributes
    ----------
    codes_ : ndarray of uint8, shape (n, n_bytes)
        The codes of all rows.
    permutations_ : ndarray of uint16, shape (n_lists, n_bits)
        In what order each list looks at the bits.
    lists_ : ndarray of uint64, shape (n_lists, n)
        The first 32 permuted bits of a row above its number, sorted.
    directories_ : ndarray of uint32, shape (n_lists, 2^c + 1)
        Where the entries with each of the 2^c prefixes begin.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.codes import Sign
    >>> from mercer.search import SortedLists
    >>> Z = np.random.default_rng(0).normal(size=(1000, 64)).astype(np.float32)
    >>> lists = SortedLists(Sign(None)).build(Z)
    >>> lists
    SortedLists(code=Sign(hyperplanes=None))
    >>> lists.candidates(Z[:3], n=1).rows.T
    array([[0, 1, 2]])
    """

    learns = True

    def __init__(
        self, code: Code, epsilon: float = 1.0, n_lists: int | None = None, neighbours: int = 0,
        asymmetric: bool = True, memory_limit: int = 2 << 30, seed: int = 0,
    ) -> None:  # fmt: skip
        self.code = code
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
                f"SortedLists: code is {self.code!r}. Pass a code that is compared bit by bit, "
                "such as Sign()."
            )
        check_number("SortedLists", "epsilon", self.epsilon, above=0)
        if self.n_lists is not None:
            check_count("SortedLists", "n_lists", self.n_lists)
        check_count("SortedLists", "neighbours", self.neighbours, at_least=0)
        check_count("SortedLists", "memory_limit", self.memory_limit)
        check_count("SortedLists", "seed", self.seed, at_least=0)

    def fit(self, Z: Floats) -> Self:
        """Let the code learn from vectors; return self."""
        self.code.fit(Z)
        return self

    def build(self, Z: Floats) -> Self:
        """Encode the vectors of all rows, sort their codes in every list, and return self."""
        if not any(name.endswith("_") for name in vars(self.code)):
            self.fit(Z)
        n, n_bits = len(Z), self.code.query(Z[:1]).shape[1]
        n_lists, n_prefixes = self._sizes(n, n_bits)
        self._require_memory(n_lists, n, self.memory(n, n_bits))
        self.codes_ = self.code.encode(Z)
        rng = np.random.default_rng(self.seed)
        order = np.tile(np.arange(n_bits, dtype=np.uint16), (n_lists, 1))
        self.permutations_ = rng.permuted(order, axis=1)
        self.lists_ = np.empty((n_lists, n), np.uint64)
        self.directories_ = np.empty((n_lists, n_prefixes + 1), np.uint32)
        tasks = [(span,) for span in parallel.spans(n_lists, TASKS)]
        parallel.run(self._sort, tasks, label="sorting lists")
        return self

    def memory(self, n_rows: int, n_bits: int) -> int:
        """Return how many bytes the lists of so many rows take, beside their codes.

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
        """Return the number of lists, and of prefixes that each can be entered by."""
        # a root that should be whole may come out a little above
        by_epsilon = max(1, math.ceil(n ** (1 / (1 + self.epsilon)) - 1e-9))
        return self.n_lists or by_epsilon, 1 << _directory_bits(n, n_bits)

    def _require_memory(self, n_lists: int, n: int, n_bytes: int) -> None:
        if n_bytes > self.memory_limit:
            raise InputError(
                f"SortedLists: {n_lists} lists of {n} rows need {n_bytes / GB:.3g} GB, above "
                f"memory_limit {self.memory_limit / GB:.3g} GB. Use fewer lists (n_lists, or a "
                "larger epsilon), or raise memory_limit."
            )

    def _sort(self, span: slice) -> None:
        spare = np.empty(len(self), np.uint64)
        for i in range(span.start, span.stop):
            sort_list(
                self.codes_, self.permutations_[i], self.lists_[i], spare, self.directories_[i]
            )

    def __len__(self) -> int:
        return len(self.codes_)

    def candidates(self, Zq: Floats, n: int, allowed: Mask | None = None) -> Candidates:
        """Return the n best of the rows found for each query; see `Searcher`.

        Values are Σ ± y, or minus the Hamming distance.
        """
        n_allowed = len(self) if allowed is None else int(np.count_nonzero(allowed))
        shape = len(Zq), min(n, n_allowed)
        rows, values = np.full(shape, -1), np.full(shape, -np.inf, np.float32)
        if rows.size:
            bits, weights, offset = self._compared(self.code.query(Zq))
            everything = max(self._budget, n) >= n_allowed
            open_ = np.empty(0, bool) if allowed is None else allowed
            _list_loops.answer(
                *self._state(), _frozen(open_), everything, bits, weights, offset, self._budget,
                rows, values,
            )  # fmt: skip
        return Candidates(rows, values)

    @property
    def _budget(self) -> int:
        """How many entries are met at least."""
        return 2 * len(self.lists_) * (1 + self.neighbours)

    def _state(self) -> tuple[Array, ...]:
        """Return what was built as the compiled loops take it."""
        if not self.lists_.flags.writeable:
            self._require_sound()
        parts = self.lists_, self.directories_, self.permutations_, self.codes_
        return tuple(_frozen(part) for part in parts)

    def _require_sound(self) -> None:
        """Refuse lists from a damaged file, which compiled loops would follow anywhere."""
        if self._is_sound:
            return
        raise StoreError(
            "SortedLists: the lists name rows or bits that are not there: their file is damaged. "
            "Run mercer verify on the index, and restore it from a copy or build it again."
        )

    @cached_property
    def _is_sound(self) -> bool:
        n_bits = self.permutations_.shape[1]
        return (
            all(int((entries & ROW).max(initial=0)) < len(self) for entries in self.lists_)
            and int(self.directories_.max(initial=0)) <= len(self)
            and int(self.permutations_.max(initial=0)) < min(n_bits, 8 * self.codes_.shape[1])
            and len(self.lists_) == len(self.directories_) == len(self.permutations_)
            and self.lists_.shape[1] == len(self)
        )

    def _compared(self, projections: Floats) -> tuple[npt.NDArray[np.uint8], Floats, np.float32]:
        """Return the bits of queries, and what their values are made of (see `_list_loops.answer`).

        The Hamming distance is half the number of bits less Σ ± 1/2.
        """
        n_queries, n_bits = projections.shape
        bits = (projections >= 0).astype(np.uint8)
        weights = np.zeros((n_queries, 8 * self.codes_.shape[1]), np.float32)
        weights[:, :n_bits] = projections if self.asymmetric else bits - np.float32(0.5)
        return bits, weights, np.float32(0 if self.asymmetric else -n_bits / 2)


def _directory_bits(n: int, n_bits: int) -> int:
    """Return by how many bits a directory looks up, at least one."""
    return max(1, min(n.bit_length() - 1 - DIRECTORY_ROWS, n_bits, DIRECTORY_BITS))


def _frozen(array: Array) -> Array:
    """Return a read-only view, as arrays of a saved index are: loops are compiled only once."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
