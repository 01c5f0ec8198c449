"""Read sets of vectors from an archive of all sets, or from a folder with one file per set."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from mercer.errors import InputError
from mercer.items.files import npy, text
from mercer.items.ragged import Ragged
from mercer.runtime.arrays import Array

VALUES, POSITIONS = ("values", "desc"), ("positions", "xy")  # names that archives use


def are_sets(path: Path) -> bool:
    """Whether an archive has the arrays of sets."""
    names = npy.names_of(path)
    return "offsets" in names and _first(VALUES, names) is not None


def read_sets(path: Path) -> Ragged:
    """Read the vectors of all sets, where each set begins, and positions if there are any."""
    names = npy.names_of(path)
    values, positions = (_first(known, names) for known in (VALUES, POSITIONS))
    read = {name: npy.read_npz(path, name) for name in (values, "offsets", positions) if name}
    vectors = read[str(values)]
    _require_numbers(path, vectors)
    return _joined(path, vectors, read["offsets"], read[positions] if positions else None)


def read_folder(path: Path) -> tuple[Ragged, Array]:
    """Read a set from every .npy file of a folder, and their names without .npy as ids."""
    paths = sorted(one for one in path.iterdir() if one.suffix.lower() == ".npy")
    if not paths:
        raise InputError(
            f"{path}: is a folder without .npy files. One for each set is required, of shape "
            "(size, n_features)."
        )
    arrays = [npy.read_npy(one) for one in paths]
    for one, array in zip(paths, arrays, strict=True):
        _require_numbers(one, array)
        if array.shape[1] != arrays[0].shape[1]:
            raise InputError(
                f"{one}: has vectors of {array.shape[1]} features but {paths[0].name} of "
                f"{arrays[0].shape[1]}. Sets of equal width are required."
            )
    offsets = np.cumsum([0] + [len(array) for array in arrays])
    return _joined(path, np.concatenate(arrays), offsets, None), text.as_ids(
        one.stem for one in paths
    )


def _first(known: Collection[str], names: Collection[str]) -> str | None:
    return next((name for name in known if name in names), None)


def _require_numbers(path: Path, vectors: Array) -> None:
    if vectors.dtype.kind not in "biuf":
        raise InputError(f"{path}: the values are of type {vectors.dtype}. Numbers are required.")
    if vectors.ndim != 2 or vectors.shape[1] == 0:
        raise InputError(
            f"{path}: the vectors have shape {vectors.shape}. One row per vector is required: "
            "(size, n_features)."
        )


def _joined(path: Path, values: Array, offsets: Any, positions: Any) -> Ragged:
    try:
        sets = Ragged(values, offsets, positions)
    except InputError as reason:
        raise InputError(f"{path}: {str(reason).removeprefix('Ragged: ')}") from None
    if len(sets) == 0:
        raise InputError(f"{path}: has no sets. At least one is required.")
    return sets
