"""Operations on items of every kind."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mercer.errors import InputError, StoreError
from mercer.items import values
from mercer.items.kind import get, kind_of, kinds
from mercer.items.tables import rows_in
from mercer.runtime.arrays import Array, Ids, is_sparse
from mercer.runtime.border import border


def check(X: Any, kind: str = "vectors", *, nonnegative: bool = False, first_row: int = 0) -> Any:
    """Return items in the form the package works with, or raise `InputError`.

    Parameters
    ----------
    X : items
        What the user passed.
    kind : str
        The name of the kind that the kernel takes.
    nonnegative : bool
        Whether negative values are refused (histograms and counts).
    first_row : int
        The number of the first row, if X is a block of a larger collection.

    Returns
    -------
    items
        As listed in the table at the top of `mercer.items`.

    Examples
    --------
    >>> from mercer import items
    >>> items.check([[1, 2], [3, 4]]).dtype
    dtype('float32')
    """
    checked = get(kind).check(rows_of(X), first_row)
    if kind != "any":
        values.require_good(kind_of(checked), checked, nonnegative, first_row)
    return checked


def rows_of(X: Any) -> Any:
    """Return X as something whose rows can be sliced and taken, without reading them.

    Examples
    --------
    >>> from mercer import items
    >>> items.rows_of(("a", "b"))
    ['a', 'b']
    """
    if type(X) is np.ndarray and X.ndim and len(X):  # by far the most common
        return X
    _refuse_other_types(X)
    if hasattr(X, "to_numpy"):  # a pandas or polars table: its rows are the items
        X = rows_in(X)
    if is_sparse(X):
        X = X.tocsr()
    if length(X) == 0:
        raise InputError("there are no items. Pass at least one.")
    return list(X) if isinstance(X, (tuple, range)) else X


def _refuse_other_types(X: Any) -> None:
    """Raise InputError for a value that looks like a collection of items but is not."""
    if isinstance(X, (str, bytes)):
        raise InputError("got one string. Pass a list of items: [text].")
    if isinstance(X, (dict, set, frozenset)) or X is None:
        raise InputError(f"got a {type(X).__name__}, which has no rows. Pass a list or an array.")
    if getattr(X, "shape", None) == ():
        raise InputError(f"got {type(X).__name__}, which has no rows. Pass a list or an array.")
    if not hasattr(X, "__len__") and not hasattr(X, "shape"):
        raise InputError(
            f"got {type(X).__name__}, which has no length. Pass a list or an array: list(items)."
        )


def length(X: Any) -> int:
    """Return the number of items."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def form(X: Any) -> tuple[str, int] | None:
    """Return the type and width that items must share to be compared, or None.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import items
    >>> items.form(np.zeros((3, 128)))
    ('dense', 128)
    """
    return kind_of(X).form(X)


def take(X: Any, rows: Ids) -> Any:
    """Return the items with these row numbers, in this order.

    Examples
    --------
    >>> from mercer import items
    >>> items.take(["a", "b", "c"], [2, 0])
    ['c', 'a']
    """
    return kind_of(X).take(X, rows)


def blocks(X: Any, n_rows: int) -> Iterator[tuple[int, Any]]:
    """Yield ``(first_row, block)`` with at most `n_rows` items each.

    Examples
    --------
    >>> from mercer import items
    >>> list(items.blocks([1, 2, 3], 2))
    [(0, [1, 2]), (2, [3])]
    """
    for start in range(0, length(X), n_rows):
        yield start, X[start : start + n_rows]


def join(several: Sequence[Any]) -> Any:
    """Return the items of several collections of one kind, one after the other.

    Examples
    --------
    >>> from mercer import items
    >>> items.join([["a"], ["b", "c"]])
    ['a', 'b', 'c']
    """
    return kind_of(several[0]).join(several)


def dense(X: Any) -> Array:
    """Return vectors, dense or sparse, as a dense array."""
    return np.asarray(X.toarray() if is_sparse(X) else X)


def same(X: Any, Y: Any) -> bool:
    """Whether two collections hold the same items.

    Examples
    --------
    >>> from mercer import items
    >>> items.same(["a", "b"], ["a", "c"])
    False
    """
    return X is Y or (kind_of(X) is kind_of(Y) and kind_of(X).same(X, Y))


def share_memory(X: Any, Y: Any) -> bool:
    """Whether writing to X may change Y.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.items.verbs import share_memory
    >>> X = np.zeros((3, 2), np.float32)
    >>> share_memory(X, X[1:]), share_memory(X, X.copy())
    (True, False)
    """
    left, right = (kind_of(one).values(one) for one in (rows_of(X), Y))
    if left is None or right is None or not left.flags.writeable:
        return False
    return bool(np.may_share_memory(left, right))


@border
def drop_bad(X: Any, kind: str = "vectors") -> tuple[Any, Ids]:
    """Return the items without NaN and infinity, and their row numbers.

    Parameters
    ----------
    X : items
        Items that consist of numbers: vectors, dense or sparse, or sets.
    kind : str
        The name of their kind.

    Returns
    -------
    items, ndarray of int
        The good items and their row numbers.

    Examples
    --------
    >>> from mercer import items
    >>> good, rows = items.drop_bad([[1.0, 2.0], [float("nan"), 0.0]])
    >>> good, rows
    (array([[1., 2.]], dtype=float32), array([0]))
    """
    checked = get(kind).check(rows_of(X))
    good = np.flatnonzero(~values.bad_rows(kind_of(checked), checked))
    return take(checked, good), good


def pack(X: Any) -> dict[str, Any]:
    """Return a collection as plain values and arrays under the name of its kind.

    Examples
    --------
    >>> from mercer import items
    >>> items.unpack(items.pack(["cat", "dog"]))
    ['cat', 'dog']
    """
    kind = kind_of(X)
    return {kind.name: kind.pack(X)}


def unpack(tree: dict[str, Any]) -> Any:
    """Return what `pack` described; arrays mapped from disk stay mapped."""
    [(name, packed)] = tree.items()
    if name not in (kind.name for kind in kinds()):
        raise StoreError(
            f"it has items of a kind {name!r} that is not known here. If it is your own, call "
            "mercer.items.register before loading."
        )
    return get(name).unpack(packed)
