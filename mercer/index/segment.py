"""Frozen rows: prepared items, their vectors, their ids, and which of them were removed."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mercer.errors import InputError, StoreError
from mercer.index.payload import Payload
from mercer.kernels import Kernel, Prepared
from mercer.runtime.arrays import Array, Ids
from mercer.runtime.lazy import lazy
from mercer.search import Allowed, Rows
from mercer.search.base import Mask

SAME = ("_order", "_consecutive", "largest", "usual", "_others")  # whatever is removed
SORTED = 64  # if at most one in this many rows is named, sorting is cheaper than flags for all


@dataclass(frozen=True, eq=False)
class Segment:
    """Items that were added together.

    Attributes
    ----------
    items : Prepared
        The items, row by row; none if the index does not keep them.
    diag : ndarray of float64, shape (n,)
        k(x, x) of each; none if the index does not keep items.
    rows : Rows
        What the searcher built over their vectors.
    ids : ndarray of int64 or str, shape (n,)
        What users call the items.
    removed : ndarray of bool, shape (n,)
        Which items were removed; the others are live.
    payload : Payload, optional
        The records that the items carry.
    """

    items: Prepared
    diag: npt.NDArray[np.float64]
    rows: Rows
    ids: Array
    removed: Mask
    payload: Payload | None = None

    def __len__(self) -> int:
        """Return the number of live items."""
        return self._n_there

    @lazy
    def _n_there(self) -> int:
        return len(self.ids) - int(np.count_nonzero(self.removed))

    @property
    def live_ids(self) -> Array:
        """The ids of the live items, in the order of the rows."""
        found = self.ids[~self.removed]
        if found.dtype.kind == "i" and found.min(initial=0) < 0:
            raise StoreError(
                "an id is negative: the files of this index are damaged, or were changed."
            )
        return found

    @property
    def live_rows(self) -> Ids:
        """The numbers of the live rows."""
        return np.flatnonzero(~self.removed)

    def without_items(self) -> Segment:
        """Return what searches by codes alone need: no items, and no k(x, x)."""
        return replace(self, items=self.items[:0], diag=self.diag[:0])

    def live_items(self) -> Prepared:
        """Return the live items, in the order of the rows."""
        whole = len(self.items) == 0 or not self.removed.any()  # or no items are kept
        return self.items if whole else self.items.take(self.live_rows)

    def live_diag(self) -> npt.NDArray[np.float64]:
        """Return k(x, x) of the live items."""
        return self.diag[~self.removed] if len(self.diag) else self.diag

    @lazy
    def _order(self) -> Ids:
        return np.argsort(self.ids, kind="stable")

    @lazy
    def _consecutive(self) -> bool:
        """Whether the ids are consecutive numbers, as they are by default."""
        return self.ids.dtype.kind == "i" and bool((np.diff(self.ids) == 1).all())

    @property
    def next_id(self) -> int:
        """A number above all ids; 0 where they are strings."""
        return int(self.ids.max()) + 1 if self.ids.dtype.kind == "i" else 0

    def find(self, ids: Array) -> Ids:
        """Return the row of every id; -1 for ids that are not live."""
        if self._consecutive:
            rows = np.clip(ids - self.ids[0], 0, len(self.ids) - 1)
        else:
            places = np.searchsorted(self.ids, ids, sorter=self._order)
            rows = self._order[places.clip(max=len(self.ids) - 1)]
        return np.where((self.ids[rows] == ids) & ~self.removed[rows], rows, -1)

    def records(self, rows: Ids) -> list[dict[str, Any]]:
        """Return the records of some rows, empty for items without one."""
        return [{} for _ in rows] if self.payload is None else self.payload.records(rows)

    def live_records(self) -> list[dict[str, Any]] | None:
        """Return the records of the live items; None if no item has one."""
        return None if self.payload is None else self.records(self.live_rows)

    def listed(self, rows: Ids) -> Ids:
        """Return those rows that are not -1, each once, increasing."""
        rows = rows[rows >= 0]
        if len(rows) < len(self.ids) // SORTED:
            return np.unique(rows)
        flags = np.zeros(len(self.ids), bool)
        flags[rows] = True
        return np.flatnonzero(flags)

    def without(self, rows: Ids) -> Segment:
        """Return this segment with these rows removed."""
        if not len(rows):
            return self
        removed = self.removed.copy()
        removed[rows] = True
        return self.with_removed(removed)

    def with_removed(self, removed: Mask) -> Segment:
        """Return the same rows of which others are removed, with what is known of them."""
        new = replace(self, removed=removed)
        vars(new).update({name: vars(self)[name] for name in SAME if name in vars(self)})
        return new

    @lazy
    def there(self) -> Allowed | None:
        """The live rows; None if no row was removed."""
        return Allowed.where(~self.removed) if self.removed.any() else None

    @lazy
    def largest(self) -> float:
        """The largest √|k(x, x)|, which every search needs."""
        return float(np.sqrt(np.abs(self.diag).max()))

    @lazy
    def usual(self) -> float:
        """The median of √|k(x, x)|, the usual length of an item."""
        return float(np.sqrt(np.median(np.abs(self.diag))))

    def under(self, kernel: Kernel) -> tuple[Prepared, float]:
        """Return the items prepared for another kernel, and its largest √k(x, x)."""
        if kernel not in self._others:
            P = self.items.under(kernel)
            self._others[kernel] = P, float(np.sqrt(kernel.diag(P, dtype=np.float64).max()))
        return self._others[kernel]

    @lazy
    def _others(self) -> dict[Kernel, tuple[Prepared, float]]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


def as_ids(ids: Any) -> Array:
    """Return ids as an array of int64 or str, or raise InputError."""
    found = np.asarray(ids)
    if found.dtype == object and all(isinstance(one, str) for one in found.ravel()):
        found = found.astype(str)
    if found.ndim != 1 or (found.dtype.kind not in "iuU" and found.size):
        raise InputError(
            f"ids have shape {found.shape} and type {found.dtype}. Pass one integer or "
            "one string per item, in a list or array."
        )
    if found.dtype.kind == "u" and found.size and found.max() > np.iinfo(np.int64).max:
        raise InputError(f"id {found.max()} is too large. Ids are below 2^63.")
    if found.dtype.kind == "i" and found.size and found.min() < 0:
        raise InputError(f"id {found.min()} is negative; -1 stands for no item.")
    return found if found.dtype.kind == "U" else found.astype(np.int64)
