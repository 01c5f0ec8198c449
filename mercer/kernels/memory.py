"""Remember what Python functions returned, while an index learns and is filled.

A call of a user's function may take a millisecond, and learning, adding and measuring ask for many
pairs more than once. An index opens its memory around its own work (`remembering`). Outside of it
nothing is remembered, so that a function that changed is never answered for.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from mercer.runtime.arrays import Ids
from mercer.runtime.locks import Lock

ITEMS = 4096  # items whose pairs are remembered: 64 MB of values for each function
OWN = 100_000  # items of which only k(x, x) is remembered
Values = npt.NDArray[np.float64]


class Memory:
    """Values of symmetric functions for pairs of the first items that were compared.

    Attributes
    ----------
    saved : float
        How long the calls would have taken that were not made, in seconds.
    expected : int
        How many items will be added whose calls were announced by `fit`.
    announced : bool
        Whether the work under way was announced.
    """

    def __init__(self) -> None:
        self.saved = 0.0
        self.expected = 0
        self.announced = False
        self._tables: dict[int, _Table] = {}

    def __reduce__(self) -> tuple[type[Memory], tuple[()]]:
        return Memory, ()  # copies in other processes begin with nothing

    def table(self, kernel: Any) -> _Table:
        """Return what is remembered for a kernel."""
        return self._tables.setdefault(id(kernel), _Table(kernel))

    def forget(self) -> None:
        """Forget all values."""
        self._tables.clear()


class _Table:
    """The values of one function."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel  # kept alive: its id names this table
        self._numbers: dict[Any, int] = {}  # of items, in the order in which they were seen
        self._alive: list[Any] = []  # items whose ids are among the keys
        self._values: Values = np.empty(0)  # of pairs i <= j, at j (j + 1) / 2 + i; NaN if unknown
        self._own: dict[Any, float] = {}  # of items with themselves
        self._lock = Lock()

    def numbers(self, items: Sequence[Any], kept: bool) -> Ids:
        """Return the numbers of items, -1 where their values cannot be remembered."""
        with self._lock.held():
            found = [self._number(item, kept) for item in items]
            room = len(self._numbers) * (len(self._numbers) + 1) // 2
            if room > len(self._values):
                more = np.full(max(room, 2 * len(self._values)) - len(self._values), np.nan)
                self._values = np.concatenate([self._values, more])
        return np.array(found, np.int64)

    def own(self, items: Sequence[Any], kept: bool, call: Callable[[Ids], Values]) -> Values:
        """Return the values of items with themselves; these take no numbers."""
        keys = [_key(item, kept) for item in items]
        with self._lock.held():
            found = np.array([self._own.get(key, np.nan) for key in keys], np.float64)
        unknown = np.flatnonzero(np.isnan(found))
        found[unknown] = call(unknown)
        with self._lock.held():
            for place in unknown[: max(0, OWN - len(self._own))].tolist():
                if keys[place] is not None:
                    self._own[keys[place]] = float(found[place])
                    self._hold(keys[place], items[place])
        return found

    def _hold(self, key: Any, item: Any) -> None:
        if key[0] is _SAME:
            self._alive.append(item)

    def _number(self, item: Any, kept: bool) -> int:
        key = _key(item, kept)
        if key is None:
            return -1
        number = self._numbers.get(key, -1)
        if number < 0 and len(self._numbers) < ITEMS:
            number = self._numbers[key] = len(self._numbers)
            self._hold(key, item)
        return number

    def values(self, left: Ids, right: Ids, call: Callable[[Ids], Values]) -> tuple[Values, int]:
        """Return the values of pairs, and how many of them were not computed.

        Parameters
        ----------
        left, right : ndarray of int, shape (n,)
            The numbers of the items of each pair.
        call : callable
            Computes the values of some of the n pairs, given which.
        """
        low, high = np.minimum(left, right), np.maximum(left, right)
        places = np.where(low >= 0, high * (high + 1) // 2 + low, -1)
        found = np.full(len(places), np.nan)
        with self._lock.held():
            found[places >= 0] = self._values[places[places >= 0]]
        unknown = np.flatnonzero(np.isnan(found))
        once, first, inverse = np.unique(places[unknown], return_index=True, return_inverse=True)
        if len(once) and once[0] < 0:  # each of those that cannot be remembered
            return self._with_strange(found, places, unknown, call)
        computed = call(unknown[first])
        found[unknown] = computed[inverse]
        with self._lock.held():
            self._values[once] = computed
        return found, len(found) - len(once)

    def _with_strange(
        self, found: Values, places: Ids, unknown: Ids, call: Callable[[Ids], Values]
    ) -> tuple[Values, int]:
        """Do the same where some items cannot be remembered."""
        computed = call(unknown)
        found[unknown] = computed
        named = places[unknown] >= 0
        with self._lock.held():
            self._values[places[unknown[named]]] = computed[named]
        return found, len(found) - len(unknown)


_SAME = object()  # marks keys that name one object, and not its value


def _key(item: Any, kept: bool) -> Any:
    """Return what tells an item from others, or None if nothing does.

    `kept` says whether the item itself is kept in a collection, and is not made for each look.
    """
    if type(item) in (str, bytes):
        return type(item), item
    if isinstance(item, (np.ndarray, np.generic)) and item.dtype.kind != "O":
        digest = hashlib.blake2b(np.ascontiguousarray(item).data, digest_size=16).digest()
        return item.dtype.str, item.shape, digest
    return (_SAME, id(item)) if kept else None


class _Open(threading.local):
    """The memory that is open on this thread."""

    memory: Memory | None = None


_open = _Open()


@contextmanager
def remembering(memory: Memory) -> Iterator[Memory]:
    """Let kernels use a memory meanwhile, on this thread."""
    before, _open.memory = _open.memory, memory
    memory.announced = False
    try:
        yield memory
    finally:
        _open.memory = before


@contextmanager
def afresh() -> Iterator[None]:
    """Let kernels be asked again for what is remembered, on this thread."""
    before, _open.memory = _open.memory, None
    try:
        yield
    finally:
        _open.memory = before


def in_use() -> Memory | None:
    """Return the memory that is open, or None."""
    return _open.memory


def clock() -> float:
    """Return a time in seconds that goes on as if nothing were remembered."""
    return time.perf_counter() + (_open.memory.saved if _open.memory else 0.0)
