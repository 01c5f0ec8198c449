"""Items of every kind as plain trees of values and arrays, and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from mercer import items
from mercer.errors import StoreError
from mercer.items.ragged import Ragged
from mercer.runtime.arrays import Array
from mercer.store.manifest import KINDS, RESTORE

__all__ = ["pack_part", "unpack_part"]


def pack_part(part: Any) -> dict[str, Any]:
    """Return one part of prepared items as a tree.

    Parameters
    ----------
    part : array, sparse matrix, Ragged or list
        Lists hold strings, or values that JSON gives back as they are.

    Examples
    --------
    >>> from mercer.store.items import pack_part, unpack_part
    >>> sorted(pack_part(["cat", "dog"])["strings"])
    ['letters', 'offsets']
    >>> unpack_part(pack_part(["cat", "dog"]))
    ['cat', 'dog']
    """
    if isinstance(part, Ragged):
        return {"sets": {"values": _plain_array(part.values), "offsets": part.offsets,
                         "positions": part.positions}}  # fmt: skip
    if items.is_sparse(part):
        return {"sparse": _pack_sparse(part)}
    if isinstance(part, np.ndarray) and part.dtype == object and part.ndim == 1:
        return {"objects": _pack_list(part.tolist())}
    if isinstance(part, np.ndarray):
        return {"array": _plain_array(part)}
    if isinstance(part, list):
        return _pack_list(part)
    raise StoreError(
        f"save: cannot store items in a {type(part).__name__}. Pass them as an array, a sparse "
        "matrix, mercer.Ragged, or a list of strings."
    )


def _plain_array(array: Array) -> Array:
    if array.dtype.kind not in KINDS:
        raise StoreError(
            f"save: cannot store items in an array of {array.dtype}. Pass an array of numbers or "
            "strings, or a list."
        )
    return array


def _pack_sparse(C: Any) -> dict[str, Any]:
    import scipy.sparse  # type: ignore[import-untyped]

    return {
        "class": "csr_matrix" if scipy.sparse.isspmatrix(C) else "csr_array",
        "shape": list(C.shape),
        "data": C.data,
        "indices": C.indices,
        "indptr": C.indptr,
    }


def _pack_list(values: list[Any]) -> dict[str, Any]:
    if all(type(value) is str for value in values):
        encoded = [value.encode("utf-8", "surrogatepass") for value in values]
        offsets = np.cumsum([0] + [len(one) for one in encoded], dtype=np.int64)
        return {"strings": {"letters": _as_bytes(b"".join(encoded)), "offsets": offsets}}
    for row, value in enumerate(values):
        _require_json(value, row)
    return {"json": _as_bytes(json.dumps(values).encode())}


def _require_json(value: Any, row: int) -> None:
    """Refuse what JSON would give back as something else."""
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


def unpack_part(tree: dict[str, Any]) -> Any:
    """Return what `pack_part` described; arrays that are mapped from disk stay so."""
    [(kind, value)] = tree.items()
    if kind not in _UNPACK:
        raise StoreError(f"it has items of a kind {kind!r} that is not known here. {RESTORE}")
    return _UNPACK[kind](value)


def _unpack_sparse(tree: dict[str, Any]) -> Any:
    import scipy.sparse

    classes = {"csr_array": scipy.sparse.csr_array, "csr_matrix": scipy.sparse.csr_matrix}
    found = classes[tree["class"]](tuple(tree["shape"]), dtype=tree["data"].dtype)
    # set, not passed: the constructor would read and perhaps convert the indices
    found.data, found.indices, found.indptr = tree["data"], tree["indices"], tree["indptr"]
    found.check_format(full_check=False)
    return found


def _unpack_strings(tree: dict[str, Any]) -> list[str]:
    letters, offsets = tree["letters"].tobytes(), tree["offsets"].tolist()
    if offsets[0] != 0 or offsets[-1] != len(letters):
        raise StoreError(f"its strings do not end where their letters do. {RESTORE}")
    return [letters[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(offsets)]


def _unpack_json(letters: Array) -> list[Any]:
    return list(json.loads(letters.tobytes()))


def _unpack_objects(tree: dict[str, Any]) -> Array:
    values = unpack_part(tree)
    found = np.empty(len(values), object)
    found[:] = values
    return found


def _unpack_array(array: Array) -> Array:
    if not isinstance(array, np.ndarray):
        raise StoreError(f"it has items that should be an array and are not. {RESTORE}")
    return array


_UNPACK: dict[str, Callable[[Any], Any]] = {
    "array": _unpack_array,
    "sparse": _unpack_sparse,
    "sets": lambda tree: Ragged(tree["values"], tree["offsets"], tree["positions"]),
    "strings": _unpack_strings,
    "json": _unpack_json,
    "objects": _unpack_objects,
}
