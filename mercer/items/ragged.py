"""Sets of vectors of different sizes, stored one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self, overload

import numpy as np
import numpy.typing as npt

from mercer.errors import InputError
from mercer.runtime.arrays import Array, Ids


class Ragged:
    """Sets of vectors: set ``i`` is ``values[offsets[i]:offsets[i + 1]]``.

    Parameters
    ----------
    values : array_like, shape (n_vectors, n_features)
        The vectors of all sets, set after set.
    offsets : array_like of int, shape (n_sets + 1,)
        Where each set begins; the first is 0 and the last ``len(values)``.
    positions : array_like, shape (n_vectors, n_coordinates), optional
        Where each vector was found, such as a pixel of a photo.

    Examples
    --------
    >>> import mercer
    >>> sets = mercer.Ragged.from_list([[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]])
    >>> len(sets), sets[1].shape
    (2, (2, 2))
    >>> sets[1:]
    Ragged(1 set of 2 features, 2 vectors)
    """

    def __init__(
        self, values: npt.ArrayLike, offsets: npt.ArrayLike, positions: npt.ArrayLike | None = None
    ) -> None:
        self.values = np.asarray(values)
        self.offsets = np.asarray(offsets)
        self.positions = None if positions is None else np.asarray(positions)
        self._validate()
        self.offsets = self.offsets.astype(np.int64, copy=False)

    def _validate(self) -> None:
        if self.values.ndim != 2:
            raise InputError(
                f"Ragged: values have {self.values.ndim} dimensions. "
                "Pass one row per vector: shape (n_vectors, n_features)."
            )
        _check_offsets(self.offsets, len(self.values))
        if self.positions is not None and len(self.positions) != len(self.values):
            raise InputError(
                f"Ragged: {len(self.positions)} positions for {len(self.values)} vectors. "
                "Pass one position per vector."
            )

    @classmethod
    def from_list(cls, sets: Sequence[Any]) -> Self:
        """Join a list of arrays, each of shape (size, n_features); empty sets are allowed."""
        arrays = [np.asarray(one) for one in sets]
        widths = {a.shape[1] for a in arrays if a.ndim == 2 and len(a)}
        if len(widths) > 1:
            raise InputError(f"Ragged: sets have {sorted(widths)} features. All need the same.")
        width = widths.pop() if widths else 0
        for row, a in enumerate(arrays):
            if a.size and a.ndim != 2:
                raise InputError(
                    f"Ragged: set {row} has shape {a.shape}. Pass (size, n_features) each."
                )
        rows = [a.reshape(len(a), width) if a.size else np.empty((0, width)) for a in arrays]
        filled = [a for a in rows if len(a)]
        values = np.concatenate(filled) if filled else np.empty((0, width), np.float32)
        return cls(values, np.cumsum([0] + [len(a) for a in rows]))

    @classmethod
    def join(cls, several: Sequence[Ragged]) -> Ragged:
        """Return the sets of several collections, one after the other."""
        starts = np.cumsum([0] + [len(one.values) for one in several])
        offsets = [one.offsets[1:] + start for one, start in zip(several, starts, strict=False)]
        places = [one.positions for one in several if one.positions is not None]
        return cls(
            np.concatenate([one.values for one in several]),
            np.concatenate([[0], *offsets]),
            np.concatenate(places) if len(places) == len(several) else None,
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ragged):
            return NotImplemented
        return all(
            np.array_equal(getattr(self, part), getattr(other, part))
            for part in ("values", "offsets", "positions")
        )

    __hash__ = None  # type: ignore[assignment]

    @overload
    def __getitem__(self, key: int) -> Array: ...
    @overload
    def __getitem__(self, key: slice) -> Ragged: ...
    def __getitem__(self, key: int | slice) -> Array | Ragged:
        """Return one set as an array, or a slice of sets that shares the memory."""
        if isinstance(key, slice):
            return self._slice(*key.indices(len(self)))
        row = range(len(self))[key]
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def _slice(self, start: int, stop: int, step: int) -> Ragged:
        if step != 1:
            return self.take(np.arange(start, stop, step))
        bounds = self.offsets[start : max(start, stop) + 1]
        span = slice(bounds[0], bounds[-1])
        places = None if self.positions is None else self.positions[span]
        return Ragged(self.values[span], bounds - bounds[0], places)

    def __iter__(self) -> Iterator[Array]:
        return (self[row] for row in range(len(self)))

    def take(self, rows: Ids) -> Ragged:
        """Return the sets with these numbers, in this order, as a copy."""
        sizes = np.diff(self.offsets)[rows]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        # vector j of the result comes from its set's old start plus its place in the set
        picked = np.repeat(self.offsets[:-1][rows] - offsets[:-1], sizes) + np.arange(offsets[-1])
        places = None if self.positions is None else self.positions[picked]
        return Ragged(self.values[picked], offsets, places)

    def __repr__(self) -> str:
        sets = "1 set" if len(self) == 1 else f"{len(self)} sets"
        return f"Ragged({sets} of {self.values.shape[1]} features, {len(self.values)} vectors)"


def _check_offsets(offsets: Array, n_vectors: int) -> None:
    if offsets.ndim != 1 or len(offsets) == 0 or offsets.dtype.kind not in "iu":
        raise InputError(
            f"Ragged: offsets have shape {offsets.shape} and type {offsets.dtype}. "
            "Pass n_sets + 1 integers, where each set begins and the last one ends."
        )
    if offsets[0] != 0 or offsets[-1] != n_vectors:
        raise InputError(
            f"Ragged: offsets go from {offsets[0]} to {offsets[-1]}, "
            f"but there are {n_vectors} vectors. They must go from 0 to {n_vectors}."
        )
    falls = np.flatnonzero(offsets[1:] < offsets[:-1])
    if len(falls):
        raise InputError(
            f"Ragged: offsets fall after set {falls[0]} "
            f"({offsets[falls[0]]} to {offsets[falls[0] + 1]}). Each must be at least the last."
        )
