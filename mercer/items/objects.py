"""Any Python objects: items of no other kind, for kernels that call functions."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from mercer.errors import StoreError
from mercer.items.kind import Kind, register
from mercer.runtime.arrays import Array, Ids


class Objects(Kind):
    """Lists, arrays of objects, and collections with methods of their own, kept as they are.

    Such a collection has a length, can be sliced, and has `take`, `join` and optionally `form`.
    """

    name = "any"

    def check(self, X: Any, first_row: int = 0) -> Any:
        """Return the items as they are."""
        return X

    def holds(self, X: Any) -> bool:
        """Whether X is a list; any collection that no other kind holds belongs here as well."""
        return isinstance(X, list)

    def take(self, X: Any, rows: Ids) -> Any:
        """Return the objects with these row numbers; collections use their own `take`."""
        if isinstance(X, (list, tuple)):
            return [X[row] for row in rows]
        return X[rows] if isinstance(X, np.ndarray) else X.take(rows)

    def join(self, several: Sequence[Any]) -> Any:
        """Return all objects."""
        if isinstance(several[0], np.ndarray):
            return np.concatenate(several)
        if isinstance(several[0], list):
            return [item for one in several for item in one]
        return several[0].join(several)

    def form(self, X: Any) -> tuple[str, int] | None:
        """Return the collection's own form, if it has one."""
        found: tuple[str, int] | None = getattr(X, "form", None)
        return found

    def same(self, X: Any, Y: Any) -> bool:
        """Whether two collections have equal objects; arrays among them are compared whole."""
        return len(X) == len(Y) and all(np.array_equal(x, y) for x, y in zip(X, Y, strict=True))

    def pack(self, X: Any) -> Any:
        """Return strings as bytes, and other values as JSON, if JSON preserves them."""
        is_array = isinstance(X, np.ndarray) and X.ndim == 1
        if not is_array and not isinstance(X, list):
            raise StoreError(
                f"save: cannot store items in a {type(X).__name__}. Pass them as an array, a "
                "sparse matrix, mercer.Ragged, or a list of strings."
            )
        values: list[Any] = X.tolist() if is_array else X
        if all(type(value) is str for value in values):
            return {"array": is_array, "strings": _pack_strings(values)}
        for row, value in enumerate(values):
            _require_json(value, row)
        return {"array": is_array, "json": _as_bytes(json.dumps(values).encode())}

    def unpack(self, tree: Any) -> Any:
        """Return the objects, in a list or in an array."""
        if "strings" in tree:
            values: list[Any] = _unpack_strings(tree["strings"])
        else:
            values = list(json.loads(tree["json"].tobytes()))
        if not tree["array"]:
            return values
        found = np.empty(len(values), object)
        found[:] = values
        return found


def _pack_strings(values: list[str]) -> dict[str, Array]:
    encoded = [value.encode("utf-8", "surrogatepass") for value in values]
    offsets = np.cumsum([0] + [len(one) for one in encoded], dtype=np.int64)
    return {"letters": _as_bytes(b"".join(encoded)), "offsets": offsets}


def _unpack_strings(tree: dict[str, Any]) -> list[str]:
    letters, offsets = tree["letters"].tobytes(), tree["offsets"].tolist()
    if offsets[0] != 0 or offsets[-1] != len(letters):
        raise StoreError("its strings do not end where their letters do.")
    return [letters[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(offsets)]


def _require_json(value: Any, row: int) -> None:
    """Raise StoreError for a value that JSON does not preserve."""
    try:
        same = bool(json.loads(json.dumps(value)) == value)
    except (TypeError, ValueError, RecursionError):
        same = False
    if not same:
        raise StoreError(
            f"save: cannot store item {row}, a {type(value).__name__}: JSON does not give it back "
            "as it is. Items can be arrays, mercer.Ragged (for arrays of different sizes), or "
            "lists of strings, numbers, lists and dicts. Describe each item by such values, and "
            "build what the kernel needs inside the kernel."
        )


def _as_bytes(text: bytes) -> Array:
    return np.frombuffer(text, np.uint8)


register(Objects())
