"""Sets of vectors, of different sizes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.errors import InputError
from mercer.items.files import archive
from mercer.items.kind import FileType, Items, Kind, Mask, register
from mercer.items.ragged import Ragged
from mercer.items.vectors import VECTORS
from mercer.runtime.arrays import Array, Ids


class Sets(Kind):
    """`Ragged`, or lists of arrays (size, d), kept as `Ragged`."""

    name = "sets"
    files = (
        FileType(("/",), lambda path, _: Items(*archive.read_folder(path))),
        FileType(
            (".npz",),
            lambda path, _: Items(archive.read_sets(path)),
            lambda path, options: options.key is None and archive.are_sets(path),
        ),
    )

    def check(self, X: Any, first_row: int = 0) -> Ragged:
        """Return sets of float32 or uint8 vectors, with positions in float32."""
        sets = X if isinstance(X, Ragged) else Ragged.from_list(X)
        if sets.values.dtype.kind not in "biuf":
            raise InputError(f"the vectors are of type {sets.values.dtype}. Pass numbers.")
        places = None if sets.positions is None else _places(sets, first_row)
        kept = sets.values.dtype if sets.values.dtype == np.uint8 else np.float32
        with np.errstate(over="ignore"):  # values too large for float32 are reported as infinity
            values = sets.values.astype(kept, copy=False)
        return Ragged(np.ascontiguousarray(values), sets.offsets, places)

    def holds(self, X: Any) -> bool:
        """Whether X is `Ragged`."""
        return isinstance(X, Ragged)

    def take(self, X: Any, rows: Ids) -> Ragged:
        """Return some sets."""
        found: Ragged = X.take(rows)
        return found

    def join(self, several: Sequence[Any]) -> Ragged:
        """Return all sets."""
        return Ragged.join(several)

    def form(self, X: Any) -> tuple[str, int] | None:
        """Return the width of the vectors; None if all sets are empty, which match any width."""
        width = int(X.values.shape[1])
        return ("sets", width) if width else None

    def values(self, X: Any) -> Array:
        """Return all vectors."""
        return np.asarray(X.values)

    def rows_with(self, X: Any, odd: Mask) -> Mask:
        """Return which sets have a vector with a marked value."""
        found = np.zeros(len(X), bool)
        found[np.repeat(np.arange(len(X)), np.diff(X.offsets))[odd.any(axis=1)]] = True
        return found

    def pack(self, X: Any) -> Any:
        """Return the arrays."""
        values = VECTORS.pack(X.values)
        return {"values": values, "offsets": X.offsets, "positions": X.positions}

    def unpack(self, tree: Any) -> Ragged:
        """Return the sets."""
        return Ragged(tree["values"], tree["offsets"], tree["positions"])


def _places(sets: Ragged, first_row: int) -> Array:
    """Return the positions of vectors as float32, or raise InputError."""
    given = np.asarray(sets.positions)
    if given.ndim != 2 or given.dtype.kind not in "biuf":
        raise InputError(
            f"positions have shape {given.shape} and type {given.dtype}. Pass numbers, one row "
            "per vector: (n_vectors, n_coordinates)."
        )
    with np.errstate(over="ignore"):
        places = np.ascontiguousarray(given, dtype=np.float32)
    bad = np.flatnonzero(~np.isfinite(places).all(axis=1))
    if len(bad):
        row = first_row + int(np.searchsorted(sets.offsets, bad[0], "right")) - 1
        raise InputError(
            f"{len(bad)} of {len(places)} positions contain NaN or infinity (first: row {row}). "
            "Leave these vectors out."
        )
    return places


register(Sets())
