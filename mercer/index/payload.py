"""Records that items carry: kept in columns, returned with answers, asked for in filters."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.errors import InputError, StoreError
from mercer.runtime.arrays import Array, Ids
from mercer.search.base import Mask
from mercer.store.values import RESTORE

TYPES: dict[type, str] = {bool: "|b1", int: "<i8", float: "<f8"}  # kept as arrays of these
ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip
OPERATORS = ("==", "!=", *ORDERS, "in")


@dataclass(frozen=True, eq=False)
class Column:
    """One field of all records.

    Attributes
    ----------
    places : ndarray of int64, shape (n,)
        Which of the values each record has; -1 where it lacks the field.
    values : list or ndarray
        Numbers, if all are of one type, each as often as it occurs; otherwise different values.
    """

    places: Ids
    values: Any

    @classmethod
    def of(cls, found: Sequence[Any], missing: object) -> Column:
        """Return the column of some values, those that are `missing` excepted."""
        there = [one is not missing for one in found]
        given = [one for one in found if one is not missing]
        kinds = {type(one) for one in given}
        [kind] = kinds if len(kinds) == 1 else [object]
        places = np.where(there, np.cumsum(there) - 1, -1)
        if kind in TYPES and (kind is not int or all(-(2**63) <= one < 2**63 for one in given)):
            return cls(places, np.array(given, TYPES[kind]))
        texts = [json.dumps(one, sort_keys=True) for one in given]
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        places[places >= 0] = [numbers[text] for text in texts]
        return cls(places, [json.loads(text) for text in numbers])

    def get(self, rows: Ids) -> list[tuple[bool, Any]]:
        """Return whether records have the field, and its values."""
        found = [(place >= 0, place) for place in self.places[rows].tolist()]
        values = self.values
        if isinstance(values, list):
            return [(there, values[place] if there else None) for there, place in found]
        return [(there, values[place].item() if there else None) for there, place in found]

    def matching(self, operator: str, operand: Any) -> Mask:
        """Return which records have a value that fulfils a condition."""
        passed = np.append(_test(self.values, operator, operand), False)  # -1 is the last
        return np.asarray(passed[self.places])


@dataclass(frozen=True, eq=False)
class Payload:
    """The records of the rows of a segment.

    Attributes
    ----------
    n : int
        How many there are.
    columns : dict
        A `Column` for every field that one of them has.
    """

    n: int
    columns: dict[str, Column]

    @classmethod
    def of(cls, records: Any, n: int) -> Payload | None:
        """Return the payload of n records, or None if no record says anything."""
        if records is None:
            return None
        found = [_checked(one, row) for row, one in enumerate(records)]
        if len(found) != n:
            raise InputError(f"{len(found)} records for {n} items. Pass one record per item.")
        names = dict.fromkeys(name for one in found for name in one)
        missing = object()
        columns = {name: Column.of([one.get(name, missing) for one in found], missing)
                   for name in names}  # fmt: skip
        return cls(n, columns) if columns else None

    def records(self, rows: Ids) -> list[dict[str, Any]]:
        """Return the records of some rows."""
        found: list[dict[str, Any]] = [{} for _ in rows]
        for name, column in self.columns.items():
            for record, (there, value) in zip(found, column.get(rows), strict=True):
                if there:
                    record[name] = value
        return found

    def matching(self, where: Mapping[str, Any]) -> Mask:
        """Return which records fulfil all conditions; one that lacks a field does not."""
        passed = np.ones(self.n, bool)
        for name, condition in where.items():
            column = self.columns.get(name)
            for operator, operand in conditions(name, condition):
                if column is None:
                    return np.zeros(self.n, bool)
                passed &= column.matching(operator, operand)
        return passed

    # ---- keeping

    def pack(self) -> dict[str, Any]:
        """Return plain values and arrays."""
        packed = {}
        for name, column in self.columns.items():
            listed = isinstance(column.values, list)
            values = _as_bytes(column.values) if listed else column.values
            packed[name] = {"places": column.places, "json" if listed else "numbers": values}
        return {"fields": _as_bytes([*packed]), "columns": [*packed.values()]}

    @classmethod
    def unpack(cls, tree: Any, n: int) -> Payload | None:
        """Return what `pack` described; the files may be damaged."""
        if tree is None:
            return None
        try:
            names = json.loads(tree["fields"].tobytes())
            pairs = zip(names, tree["columns"], strict=True)
            return cls(n, {str(name): _unpacked(one, n) for name, one in pairs})
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            told = f"the records of its items are damaged ({error}). {RESTORE}"
            raise StoreError(told) from None


def joined(several: Sequence[tuple[Payload | None, Ids]]) -> Payload | None:
    """Return the records of some rows of several segments, one after the other."""
    if all(payload is None for payload, _ in several):
        return None
    found: list[dict[str, Any]] = []
    for payload, rows in several:
        found += [{} for _ in rows] if payload is None else payload.records(rows)
    return Payload.of(found, len(found))


def conditions(name: str, condition: Any) -> list[tuple[str, Any]]:
    """Return the operators and operands of a condition; a plain value means equality."""
    if not isinstance(condition, Mapping):
        return [("==", condition)]
    for operator, operand in condition.items():
        if operator not in OPERATORS:
            raise InputError(
                f"where: {operator!r} is no operator, for {name!r}. Operators are: "
                f"{', '.join(OPERATORS)}."
            )
        if operator == "in" and not isinstance(operand, (list, tuple, set, np.ndarray)):
            raise InputError(f"where: 'in' takes a list of values, for {name!r}, not {operand!r}.")
    return [*condition.items()]


def _test(values: Any, operator: str, operand: Any) -> Mask:
    """Return which values fulfil a condition; values of another type do not."""
    if operator in ("==", "in"):
        wanted = list(operand) if operator == "in" else [operand]
        return np.asarray(np.any([_none(values), *(_equal(values, x) for x in wanted)], axis=0))
    if operator == "!=":
        return np.logical_not(_equal(values, operand))
    if _is_bool(operand):
        return _none(values)
    if isinstance(values, np.ndarray):
        compared = isinstance(operand, (int, float, np.number)) and values.dtype != bool
        return np.asarray(ORDERS[operator](values, operand)) if compared else _none(values)
    kind = type(operand)
    return np.array([kind in (str, int, float) and type(one) is kind
                     and bool(ORDERS[operator](one, operand)) for one in values], bool)  # fmt: skip


def _equal(values: Any, operand: Any) -> Mask:
    if isinstance(values, np.ndarray):
        wanted = (bool, np.bool_) if values.dtype == bool else (int, float, np.number)
        alike = isinstance(operand, wanted) and (values.dtype == bool or not _is_bool(operand))
        return np.asarray(values == operand) if alike else _none(values)
    plain = operand.item() if isinstance(operand, np.generic) else operand
    return np.array([type(one) is type(plain) and one == plain for one in values], bool)


def _is_bool(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def _none(values: Any) -> Mask:
    return np.zeros(len(values), bool)


def _checked(record: Any, row: int) -> dict[str, Any]:
    """Return a record as it comes back from JSON."""
    if record is None:
        return {}
    try:
        text = json.dumps(record, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"record {row} cannot be written as JSON: {error}.") from None
    found = json.loads(text)
    if not isinstance(found, dict):
        raise InputError(f"record {row} is {record!r:.60}, not a dict of values by name.")
    return found


def _as_bytes(value: Any) -> Array:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


def _unpacked(tree: Any, n: int) -> Column:
    places = tree["places"]
    values = json.loads(tree["json"].tobytes()) if "json" in tree else tree["numbers"]
    typed = isinstance(values, list) or (values.dtype.str in TYPES.values() and values.ndim == 1)
    sound = typed and places.dtype == np.int64 and places.shape == (n,)
    if not sound or (n and not (places.min() >= -1 and places.max() < len(values))):
        raise ValueError("a column does not fit")
    return Column(places, values)
