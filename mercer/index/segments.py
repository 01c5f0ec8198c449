"""The segments of an index: where items are, which may be found, and which id comes next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.errors import InputError
from mercer.index.payload import conditions
from mercer.index.segment import Segment, as_ids
from mercer.index.views import View
from mercer.kernels import Prepared
from mercer.runtime.arrays import Array, Ids
from mercer.runtime.lazy import lazy
from mercer.search import Allowed
from mercer.search.base import Mask


@dataclass(frozen=True)
class Segments:
    """Segments in the order they were added; every change gives new `Segments`."""

    members: tuple[Segment, ...] = ()
    next_id: int = 0  # above all ids that were ever given to an item

    def __len__(self) -> int:
        """Return the number of live items."""
        return self._n_there

    def __getstate__(self) -> dict[str, Any]:
        return {"members": self.members, "next_id": self.next_id}

    @lazy
    def _n_there(self) -> int:
        return sum(len(segment) for segment in self.members)

    @property
    def ids(self) -> Array:
        """The ids of the live items."""
        return np.concatenate([s.live_ids for s in self.members] or [np.empty(0, np.int64)])

    @property
    def id_type(self) -> str | None:
        """The type of ids: "int64", "str", or None while there are no items."""
        if not self.members:
            return None
        return "str" if self.members[0].ids.dtype.kind == "U" else "int64"

    def names(self, rows: Array) -> Array:
        """Return the ids of rows; for rows of -1, -1 or, where ids are strings, None."""
        is_text = self.id_type == "str"
        if len(self.members) == 1 and not is_text and rows.size and rows.min() >= 0:
            return self.members[0].ids[rows]
        named = np.full(rows.shape, None if is_text else -1, object if is_text else np.int64)
        first = 0
        for segment in self.members:
            inside = (rows >= first) & (rows < first + len(segment.ids))
            named[inside] = segment.ids[rows[inside] - first]
            first += len(segment.ids)
        return named

    def records(self, rows: Array) -> Array | None:
        """Return the record of each of some rows, None for rows of -1; None if there are none."""
        if all(segment.payload is None for segment in self.members):
            return None
        found = np.full(rows.shape, None, object)
        first = 0
        for segment in self.members:
            inside = (rows >= first) & (rows < first + len(segment.ids))
            found[inside] = segment.records(rows[inside] - first)
            first += len(segment.ids)
        return found

    def items(self, ids: Any) -> Prepared:
        """Return the items with these ids, in this order; unknown ids are an error."""
        places = self._rows(self._same_type(as_ids(ids)))
        found = [s.items.take(r[r >= 0]) for s, r in zip(self.members, places, strict=True)]
        order = np.concatenate([np.flatnonzero(rows >= 0) for rows in places])
        return Prepared.join(found).take(np.argsort(order))

    def holds(self, name: object) -> bool:
        """Whether an item has this id."""
        kind = {str: "str", int: "int64", np.str_: "str", np.int64: "int64"}.get(type(name))
        if kind is None or kind != self.id_type:
            return False
        return any((segment.find(np.array([name])) >= 0).any() for segment in self.members)

    def _rows(self, names: Array, told: str = "Pass ids out of index.ids.") -> list[Ids]:
        """Return where each segment has these ids, -1 where it does not; one of them must."""
        places = [segment.find(names) for segment in self.members]
        missing = np.all([rows < 0 for rows in places], axis=0) | np.zeros(len(names), bool)
        if missing.any():
            raise InputError(
                f"{int(missing.sum())} of {len(names)} ids are not in the index "
                f"(first: {names[np.argmax(missing)].item()!r}). {told}"
            )
        return places

    # ---- changes

    def with_last(self, segment: Segment, instead_of: int = 0) -> Segments:
        """Return these segments with one more, which replaces the last `instead_of` segments."""
        kept = self.members[: len(self.members) - instead_of]
        return Segments((*kept, segment), max(self.next_id, segment.next_id))

    def as_one(self, segment: Segment) -> Segments:
        """Return one segment in place of all."""
        return Segments((segment,) if len(segment) else (), self.next_id)

    def without(self, ids: Any) -> Segments:
        """Return these segments without some items; unknown ids are an error."""
        names = self._same_type(as_ids(ids))
        if len(np.unique(names)) < len(names):
            raise InputError("an id is given twice. Pass each once.")
        rows = self._rows(names, "Nothing was removed.")
        changed = [s.without(r[r >= 0]) for s, r in zip(self.members, rows, strict=True)]
        return Segments(tuple(segment for segment in changed if len(segment)), self.next_id)

    def new_ids(self, ids: Any, n: int) -> Array:
        """Return the ids of n new items: those given, or the next numbers."""
        if ids is None:
            return self._next_ids(n)
        names = self._same_type(as_ids(ids))
        if len(names) != n:
            raise InputError(f"{len(names)} ids for {n} items. Pass one id per item.")
        different, counts = np.unique(names, return_counts=True)
        if len(different) < n:
            twice = different[np.argmax(counts)].item()
            raise InputError(f"id {twice!r} stands for {counts.max()} items. Use each id once.")
        for segment in self.members:
            taken = segment.find(names) >= 0
            if taken.any():
                raise InputError(
                    f"{int(taken.sum())} ids are in the index already (first: "
                    f"{names[np.argmax(taken)].item()!r}). Remove them first to replace them."
                )
        return names

    def _next_ids(self, n: int) -> Array:
        if self.id_type == "str":
            raise InputError("the items so far have string ids. Pass ids=.")
        return np.arange(self.next_id, self.next_id + n)

    def _same_type(self, names: Array) -> Array:
        kind = "str" if names.dtype.kind == "U" else "int64"
        if self.id_type not in (None, kind) and len(names):
            raise InputError(
                f"the ids are of type {kind} but those of the index are "
                f"{self.id_type}. Use one type throughout."
            )
        return names

    # ---- searching

    def views(self, allowed: Any) -> list[View]:
        """Return the segments as a search sees them; `allowed` are ids or a mask over `ids`."""
        return self._whole if allowed is None else self._views(self._filtered(allowed))

    @lazy
    def _whole(self) -> list[View]:
        """The views of searches without a filter, which most are."""
        return self._views([segment.there for segment in self.members])

    def _views(self, allowed: Sequence[Allowed | None]) -> list[View]:
        first, views = 0, []
        for segment, some in zip(self.members, allowed, strict=True):
            if some is None or len(some):
                views.append(View(segment, first, some))
            first += len(segment.ids)
        return views

    def _filtered(self, allowed: Any) -> list[Allowed]:
        """Return which rows of each segment are live and allowed."""
        if isinstance(allowed, Mapping):
            return self._fulfilling(allowed)
        given = np.asarray(allowed)
        if given.dtype == bool:
            return self._flagged(given)
        rows = self._rows(self._same_type(as_ids(given)))
        pairs = zip(self.members, rows, strict=True)
        return [Allowed(segment.listed(some), len(segment.ids)) for segment, some in pairs]

    def _fulfilling(self, where: Mapping[str, Any]) -> list[Allowed]:
        """Return which rows have records that fulfil all conditions."""
        held = [segment.payload for segment in self.members if segment.payload is not None]
        known = {name for payload in held for name in payload.columns}
        for name, condition in where.items():
            conditions(name, condition)
            if name not in known and self.members:
                raise InputError(
                    f"where: no item has a field {name!r}. Fields are: "
                    f"{', '.join(sorted(known)) or 'none; pass payload= to add'}."
                )
        masks = [np.zeros(len(s.ids), bool) if s.payload is None else s.payload.matching(where)
                 for s in self.members]  # fmt: skip
        return [Allowed.where(mask & ~segment.removed)
                for mask, segment in zip(masks, self.members, strict=True)]  # fmt: skip

    def _flagged(self, flags: Mask) -> list[Allowed]:
        """Turn a mask over the live items into rows of each segment."""
        if flags.shape != (len(self),):
            raise InputError(
                f"the mask has shape {flags.shape} but the index has {len(self)} items. "
                "Pass one flag per item, in the order of index.ids, or a list of ids."
            )
        found, start = [], 0
        for segment in self.members:
            rows = np.flatnonzero(flags[start : start + len(segment)])
            there = rows if segment.there is None else segment.there.rows[rows]
            found.append(Allowed(there, len(segment.ids)))
            start += len(segment)
        return found
