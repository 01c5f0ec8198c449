"""Read a file of items or of ids by its extension.

================================ ======================================== =================
extension                        content                                  read as
================================ ======================================== =================
.npy                             an array (n, d)                          memory map
.npz                             the array X, or the only one             array
.npz                             what scipy.sparse.save_npz wrote         CSR matrix
.npz                             sets: values (or desc), offsets, and     `Ragged`
                                 perhaps positions (or xy)
a folder                         sets: an array (size, d) in each .npy    `Ragged`
.fvecs .ivecs .bvecs             rows of float32, int32 or uint8, each    memory map
                                 after its length as int32
.fbin .u8bin .i8bin              two uint32, n and d, then the rows       memory map
.csv .tsv                        numbers; perhaps a header, perhaps ids   float32
``-``                            standard input: .csv or .npy             array
================================ ======================================== =================

Errors name the file and the place in it, and say what is required there.
"""

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np

from mercer.errors import InputError
from mercer.items.files import npy, text
from mercer.items.kind import FileType, Items, Options, kind_of, kinds
from mercer.items.ragged import Ragged
from mercer.runtime.arrays import Array, is_sparse

STANDARD_INPUT = Path("-")


def read_items(
    path: str | Path, *, key: str | None = None, id_column: str | None = None, l1: bool = False
) -> Items:
    r"""Read items from a file, or from standard input where the path is ``-``.

    Parameters
    ----------
    path : str or Path
        Its extension says what is in it: see the table at the top of this module.
    key : str, optional
        Which array of an .npz file; by default sets, X, or the only one.
    id_column : str, optional
        Which column of a table has the ids: its name in the header, or its number from 1.
    l1 : bool
        Whether to divide every item by its sum; for sets, every vector.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mercer.items import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "items.csv"
    ...     _ = path.write_text("name,left,right\nann,1,3\nbob,2,2\n")
    ...     found = files.read_items(path, id_column="name", l1=True)
    >>> found.X
    array([[0.25, 0.75], [0.5 , 0.5 ]], dtype=float32)
    >>> found.ids
    array(['ann', 'bob'], dtype='<U3')
    """
    path = Path(path)
    found = _read(path, Options(key, id_column))
    if kind_of(found.X).name in ("vectors", "sparse"):
        _require_matrix(path, found.X)
    return found._replace(X=_as_shares(path, found.X)) if l1 else found


def read_ids(path: str | Path) -> Array:
    r"""Read ids from a .npy file or from text, one per line; ``-`` is standard input.

    Ids are integers if all of them are written as integers, and strings otherwise.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mercer.items import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "ids.txt"
    ...     _ = path.write_text("17\n4\n")
    ...     files.read_ids(path)
    array([17,  4])
    """
    path = Path(path)
    if path.suffix.lower() == ".npy":
        return npy.read_npy(path)
    content = _standard_input() if path == STANDARD_INPUT else path.read_bytes()
    return text.as_ids(
        line.strip() for line in text.decode(path, content).splitlines() if line.strip()
    )


def _read(path: Path, options: Options) -> Items:
    if path == STANDARD_INPUT:
        content = _standard_input()
        if content.startswith(npy.MAGIC):
            return Items(npy.read_stream(path, io.BytesIO(content)))
        return Items(*text.read_table(path, content, ",", options.id_column))
    extension = "/" if path.is_dir() else path.suffix.lower()
    types = [one for kind in kinds() for one in kind.files]
    found = [one for one in types if extension in one.extensions]
    if not found:
        raise _unknown(path, types)
    if options.id_column is not None and not any(one.has_columns for one in found):
        raise InputError(f"{path}: only tables (.csv, .tsv) have a column of ids. Pass --ids FILE.")
    others = [one for one in found if one.fits is None]
    fitting = [one for one in found if one.fits is not None and one.fits(path, options)]
    return (fitting or others)[0].read(path, options)


def _unknown(path: Path, types: list[FileType]) -> InputError:
    known = sorted({extension for one in types for extension in one.extensions} - {"/"})
    return InputError(
        f"{path}: the extension {path.suffix or '(none)'} is unknown. Use one of "
        f"{' '.join(known)}, a folder of sets, or - to read .csv or .npy from standard input."
    )


def _standard_input() -> bytes:
    if sys.stdin is None:  # closed by whoever started this process
        raise InputError("-: standard input is closed. Name a file.")
    return sys.stdin.buffer.read()


def _require_matrix(path: Path, X: Any) -> None:
    if X.dtype.kind not in "biuf":
        raise InputError(f"{path}: the values are of type {X.dtype}. Numbers are required.")
    if X.ndim != 2:
        raise InputError(f"{path}: the array has shape {X.shape}. One row per item is required.")
    if 0 in X.shape:
        raise InputError(f"{path}: the array has shape {X.shape}. At least one item is required.")


def _as_shares(path: Path, X: Any) -> Any:
    """Divide every row by its sum; rows of zeros stay as they are."""
    if isinstance(X, Ragged):
        return Ragged(_as_shares(path, X.values), X.offsets, X.positions)
    sums = np.asarray(X.sum(axis=1), np.float64).reshape(-1)
    bad = ~(np.isfinite(sums) & (sums >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{path}: row {row} sums to {sums[row]:g}, so --l1 cannot divide by it. Counts or "
            "histograms are required."
        )
    shares = 1 / np.where(sums == 0, 1, sums)
    if is_sparse(X):
        return X.multiply(shares[:, None]).tocsr().astype(np.float32)
    return (X * shares[:, None]).astype(np.float32)
