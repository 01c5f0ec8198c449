"""What a kind of item is, and which kinds there are.

A kind is one object that knows all about its items: how they are checked, cut, joined, compared,
stored, and which files they come from. A kernel names the kind that it takes. A new kind is a
subclass of `Kind` and a call of `register`; nothing else has to know of it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from mercer.errors import InputError, StoreError
from mercer.runtime.arrays import Array, Ids

Mask = npt.NDArray[np.bool_]


class Items(NamedTuple):
    """What a file of items contains."""

    X: Any  # the items
    ids: Array | None = None  # what they are called, integers or strings, where the file says it


class Options(NamedTuple):
    """How a file is read."""

    key: str | None = None  # which array of an archive
    id_column: str | None = None  # which column of a table has the ids


class FileType(NamedTuple):
    """A type of file that items come from."""

    extensions: tuple[str, ...]  # what their names end in; "/" for folders
    read: Callable[[Path, Options], Items]
    # whether a file with such an extension is meant; by default where no other type fits
    fits: Callable[[Path, Options], bool] | None = None
    has_columns: bool = False  # whether one of its columns may hold ids


class Kind(ABC):
    """A kind of items, kept in one collection that has a length and can be sliced.

    Attributes
    ----------
    name : str
        What kernels call it, in `Kernel.input`.
    files : tuple of FileType
        Which files such items come from.
    """

    name: ClassVar[str]
    files: ClassVar[tuple[FileType, ...]] = ()

    @abstractmethod
    def check(self, X: Any, first_row: int = 0) -> Any:
        """Return what a user gave as a collection of this kind, or raise `InputError`.

        `first_row` is the number of the first row, where X is a block of something larger.
        """

    @abstractmethod
    def holds(self, X: Any) -> bool:
        """Whether X is a collection of this kind."""

    @abstractmethod
    def join(self, several: Sequence[Any]) -> Any:
        """Return the items of several collections, one after the other."""

    def pack(self, X: Any) -> Any:
        """Return a collection as plain values and arrays, which can be stored."""
        raise StoreError(f"save: items of kind {self.name!r} cannot be stored: it has no `pack`.")

    def unpack(self, tree: Any) -> Any:
        """Return the collection that `pack` described; mapped arrays stay mapped."""
        raise StoreError(f"items of kind {self.name!r} cannot be read: it has no `unpack`.")

    def take(self, X: Any, rows: Ids) -> Any:
        """Return the items with these row numbers, in this order."""
        return X[rows]

    def form(self, X: Any) -> tuple[str, int] | None:
        """Return what must be the same of items that are compared, and how wide they are."""
        return None

    def same(self, X: Any, Y: Any) -> bool:
        """Whether two collections hold the same items."""
        return bool(X == Y)

    def values(self, X: Any) -> Array | None:
        """Return all numbers that the items consist of, or None where they are no numbers."""
        return None

    def rows_with(self, X: Any, odd: Mask) -> Mask:
        """Return which items have one of the `values` that are odd."""
        return np.asarray(odd.any(axis=1))


_kinds: dict[str, Kind] = {}


def register(kind: Kind) -> Kind:
    """Let kernels name a kind of item, and collections of it be recognised.

    Of kinds that hold the same collection, the one registered last is meant.

    Parameters
    ----------
    kind : Kind
        The kind; one of the same name is replaced.

    Examples
    --------
    >>> from mercer import items
    >>> items.register(items.get("sets")).name
    'sets'
    """
    _kinds.pop(kind.name, None)
    _kinds[kind.name] = kind
    return kind


def kinds() -> list[Kind]:
    """Return all kinds, the one registered last first."""
    return list(reversed(_kinds.values()))


def get(name: str) -> Kind:
    """Return the kind that has this name.

    Examples
    --------
    >>> from mercer import items
    >>> items.get("vectors").form([[1.0, 2.0]])
    ('dense', 2)
    """
    if name not in _kinds:
        known = ", ".join(sorted(_kinds))
        raise InputError(f"no items are called {name!r}. Kinds are: {known}.")
    return _kinds[name]


def kind_of(X: Any) -> Kind:
    """Return the kind of a collection.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import items
    >>> items.kind_of(np.zeros((3, 2))).name, items.kind_of(["a", "b"]).name
    ('vectors', 'any')
    """
    if type(X) is np.ndarray and X.dtype != object:
        return _kinds["vectors"]  # by far the most
    return next((kind for kind in kinds() if kind.holds(X)), _kinds["any"])
