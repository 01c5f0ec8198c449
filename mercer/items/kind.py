"""Kinds of items, and the registry of kinds.

A kind is one object that defines how its items are checked, cut, joined, compared and stored, and
which files they come from. A kernel names the kind that it takes. To add a kind, subclass `Kind`
and call `register`; nothing else needs to change.
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
    ids: Array | None = None  # integers or strings, if the file contains ids
    labels: Array | None = None  # the same for labels
    columns: list[str] | None = None  # the names of the features, if the file contains them


class Options(NamedTuple):
    """How a file is read."""

    key: str | None = None  # which array of an archive
    id_column: str | None = None  # which column of a table has the ids
    label_column: str | None = None  # and which the labels
    drop: tuple[str, ...] = ()  # columns that are left out

    @property
    def asks_for_columns(self) -> bool:
        """Whether a table is required."""
        return bool(self.id_column or self.label_column or self.drop)


class FileType(NamedTuple):
    """A type of file that items are read from."""

    extensions: tuple[str, ...]  # what the names of files end in; "/" for folders
    read: Callable[[Path, Options], Items]
    # whether a file with such an extension is of this type; by default, if no other type fits
    fits: Callable[[Path, Options], bool] | None = None
    has_columns: bool = False  # whether one of its columns may hold ids


class Kind(ABC):
    """A kind of items, kept in one collection that has a length and can be sliced.

    Attributes
    ----------
    name : str
        The name that kernels use in `Kernel.input`.
    files : tuple of FileType
        The types of files that such items are read from.
    has_columns : bool
        Whether each item is a row of numbers, and all have the same columns.
    """

    name: ClassVar[str]
    has_columns: ClassVar[bool] = False
    files: ClassVar[tuple[FileType, ...]] = ()

    @abstractmethod
    def check(self, X: Any, first_row: int = 0) -> Any:
        """Return what the user passed as a collection of this kind, or raise `InputError`.

        `first_row` is the number of the first row, if X is a block of a larger collection.
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
        """Return the type and width that items must share to be compared, or None."""
        return None

    def same(self, X: Any, Y: Any) -> bool:
        """Whether two collections hold the same items."""
        return bool(X == Y)

    def values(self, X: Any) -> Array | None:
        """Return all numbers that the items consist of, or None if they are not numbers."""
        return None

    def rows_with(self, X: Any, odd: Mask) -> Mask:
        """Return which items contain one of the `values` marked in `odd`."""
        return np.asarray(odd.any(axis=1))


_kinds: dict[str, Kind] = {}


def register(kind: Kind) -> Kind:
    """Register a kind of item, so that kernels can name it and its collections are recognised.

    If several kinds hold the same collection, the one registered last is used.

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
        return _kinds["vectors"]  # by far the most common
    return next((kind for kind in kinds() if kind.holds(X)), _kinds["any"])
