"""Read the binary vector files of other libraries: .fvecs and .fbin, and their like."""

from pathlib import Path

import numpy as np

from mercer.errors import InputError
from mercer.runtime.arrays import Array, Ids

# little-endian, as every program writes them
_TYPES = {
    ".fvecs": "<f4",
    ".ivecs": "<i4",
    ".bvecs": "u1",
    ".fbin": "<f4",
    ".u8bin": "u1",
    ".i8bin": "i1",
}


def read_vecs(path: Path) -> Array:
    """Map rows that each begin with their length, and leave the lengths out.

    Parameters
    ----------
    path : Path
        An .fvecs, .ivecs or .bvecs file.

    Returns
    -------
    ndarray of float32, int32 or uint8, shape (n, d)
        A view of the file.
    """
    kind = np.dtype(_TYPES[path.suffix.lower()])
    content = _mapped(path, 4)
    n_values = int(content[:4].view("<i4")[0])
    if n_values < 1:
        raise InputError(
            f"{path}: row 0 begins with the length {n_values}. Every row of "
            f"{_article(path)} file begins with its number of values, a positive int32."
        )
    n_bytes = 4 + n_values * kind.itemsize
    n_rows, rest = divmod(len(content), n_bytes)
    rows = content[: n_rows * n_bytes].reshape(n_rows, n_bytes)
    _require_same_length(path, np.ascontiguousarray(rows[:, :4]).view("<i4")[:, 0], n_values)
    if rest:
        raise InputError(
            f"{path}: row {n_rows} ends after {rest} of its {n_bytes} bytes ({n_values} values). "
            "Whole rows of equal length are required: the file may be cut off; copy it again."
        )
    return rows[:, 4:].view(kind)


def read_bin(path: Path) -> Array:
    """Map a matrix stored after its shape, two uint32.

    Parameters
    ----------
    path : Path
        An .fbin, .u8bin or .i8bin file.

    Returns
    -------
    ndarray of float32, uint8 or int8, shape (n, d)
        A view of the file.
    """
    kind = np.dtype(_TYPES[path.suffix.lower()])
    content = _mapped(path, 8)
    n_rows, n_values = (int(count) for count in content[:8].view("<u4"))
    n_bytes = 8 + n_rows * n_values * kind.itemsize
    if n_rows == 0 or n_values == 0 or n_bytes != len(content):
        raise InputError(
            f"{path}: it begins with the counts {n_rows} and {n_values} (rows, values a row) and "
            f"has {len(content)} bytes. {_article(path).capitalize()} file of this shape has "
            f"{n_bytes}, and at least one row: it may be cut off or of another type."
        )
    return content[8:].view(kind).reshape(n_rows, n_values)


def _mapped(path: Path, least: int) -> Array:
    size = path.stat().st_size
    if size < least:
        raise InputError(
            f"{path}: the file has {size} bytes. {_article(path).capitalize()} file begins with "
            f"{least} bytes that give its shape."
        )
    return np.memmap(path, np.uint8, mode="r")


def _require_same_length(path: Path, lengths: Ids, n_values: int) -> None:
    other = np.flatnonzero(lengths != n_values)
    if len(other):
        raise InputError(
            f"{path}: row {other[0]} begins with the length {lengths[other[0]]} but row 0 with "
            f"{n_values}. Rows of equal length are required."
        )


def _article(path: Path) -> str:
    return f"an {path.suffix}" if path.suffix[1] in "fi" else f"a {path.suffix}"
