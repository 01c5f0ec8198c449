"""Read NumPy's files: arrays, archives of arrays, and sparse matrices; never Python objects."""

import math
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from mercer.errors import InputError
from mercer.runtime.arrays import Array

MAGIC = b"\x93NUMPY"
_DAMAGE = (
    ValueError, EOFError, KeyError, TypeError, OSError, OverflowError, NotImplementedError,
    RuntimeError, MemoryError, SyntaxError, tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
_SPARSE = {"format", "shape", "data"}  # in every file written by scipy.sparse.save_npz


def read_npy(path: Path) -> Array:
    """Map an array."""
    with path.open("rb") as stream:
        dtype, shape = _header(path, stream)
        start = stream.tell()
    _require_plain(path, dtype)
    required = start + dtype.itemsize * math.prod(shape)
    size = path.stat().st_size
    if size < required:
        raise InputError(
            f"{path}: the file has {size} bytes but {required} are required for an array of shape "
            f"{shape} and type {dtype}. It may be cut off: copy it again."
        )
    if 0 in shape:
        return np.empty(shape, dtype)  # an empty array cannot be mapped
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except _DAMAGE as reason:
        raise _damaged(path, reason) from None


def read_stream(path: Path, stream: IO[bytes]) -> Array:
    """Read an array that cannot be mapped."""
    dtype, _ = _header(path, stream)
    _require_plain(path, dtype)
    stream.seek(0)
    try:
        return np.lib.format.read_array(stream, allow_pickle=False)
    except _DAMAGE as reason:
        raise _damaged(path, reason) from None


def names_of(path: Path) -> list[str]:
    """Return the names of the arrays in an archive."""
    with _opened(path) as archive:
        return list(archive.files)


def read_npz(path: Path, key: str | None = None) -> Any:
    """Read one array of an archive: `key`, or by default X or the only one."""
    with _opened(path) as archive:
        return _plain_member(path, archive, _name(path, archive.files, key))


def is_sparse_file(path: Path) -> bool:
    """Whether an archive was written by scipy.sparse.save_npz."""
    return set(names_of(path)) >= _SPARSE


def read_sparse(path: Path) -> Any:
    """Read a sparse matrix as CSR."""
    from scipy import sparse  # type: ignore[import-untyped]

    with _opened(path), path.open("rb") as stream:  # _opened reports damage
        matrix = sparse.load_npz(stream)
        if matrix.format not in ("csr", "csc", "coo"):
            raise InputError(
                f"{path}: the sparse matrix has the format {matrix.format!r}. csr, csc or coo is "
                "required: matrix.tocsr()."
            )
        if matrix.format != "coo":
            matrix.check_format(full_check=True)  # compiled loops trust the indices
        return matrix.tocsr()


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open an archive; raise InputError if it is damaged, also while it is read."""
    if not zipfile.is_zipfile(path):
        size = path.stat().st_size
        raise InputError(
            f"{path}: its {size} bytes are no .npz archive. It may be empty, cut off or of another "
            "type: write it with numpy.savez or scipy.sparse.save_npz."
        )
    try:
        # opened here: NumPy does not close a file that turns out to be damaged
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            yield archive
    except _DAMAGE as reason:
        if isinstance(reason, InputError):
            raise
        raise _damaged(path, reason) from None


def _header(path: Path, stream: IO[bytes]) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Read the type and shape of an array."""
    try:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_2_0
        if version == (1, 0):
            read = np.lib.format.read_array_header_1_0
        shape, _, dtype = read(stream)
    except _DAMAGE as reason:
        raise _damaged(path, reason) from None
    return dtype, shape


def _require_plain(where: str | Path, dtype: np.dtype[Any]) -> None:
    if dtype.hasobject:
        raise InputError(
            f"{where}: the array holds Python objects, which could run code and are not read. "
            "Save numbers: numpy.save(path, numpy.array(rows, dtype='float32'))."
        )


def _name(path: Path, names: list[str], key: str | None) -> str:
    if key is None and len(names) == 1:
        return names[0]
    if (key or "X") not in names:
        wanted = f"no array {key!r}" if key else "several arrays, none of them X"
        raise InputError(f"{path}: has {wanted}. Pass --key with one of: {', '.join(names)}.")
    return key or "X"


def _plain_member(path: Path, archive: Any, name: str) -> Array:
    try:
        return np.asarray(archive[name])
    except ValueError as reason:
        if "allow_pickle" not in str(reason):
            raise
        _require_plain(f"{path} ({name})", np.dtype(object))
        raise


def _damaged(path: Path, reason: BaseException) -> InputError:
    kind = path.suffix or ".npy"
    return InputError(f"{path}: cannot be read as {kind} ({_one_line(reason)}). Write it again.")


def _one_line(reason: BaseException) -> str:
    return str(reason).strip().partition("\n")[0].rstrip(".") or type(reason).__name__
