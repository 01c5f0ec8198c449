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
.csv .tsv                        numbers; perhaps a header, ids, labels   float32
.parquet .feather .arrow         the same; needs pyarrow                  array
``-``                            standard input: .csv or .npy             array
================================ ======================================== =================

Errors name the file and the place in it, and say what is required there.
"""

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mercer.errors import InputError
from mercer.items.files import npy, text
from mercer.items.kind import FileType, Items, Options, kind_of, kinds
from mercer.runtime.arrays import Array

STANDARD_INPUT = Path("-")


def read_items(
    path: str | Path, *, key: str | None = None, id_column: str | None = None,
    label_column: str | None = None, drop: Sequence[str] = (),
) -> Items:  # fmt: skip
    r"""Read items from a file, or from standard input where the path is ``-``.

    Parameters
    ----------
    path : str or Path
        Its extension says what is in it: see the table at the top of this module.
    key : str, optional
        Which array of an .npz file; by default sets, X, or the only one.
    id_column : str, optional
        Which column of a table has the ids: its name in the header, or its number from 1.
    label_column : str, optional
        Which column has labels, which are no part of the items.
    drop : sequence of str
        Columns to leave out.

    Returns
    -------
    Items
        `X`, the items; `ids` and `labels`, integers or strings, or None; and `columns`, the names
        of the features, if the file has them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mercer.items import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "items.csv"
    ...     _ = path.write_text("name,left,right,kind\nann,1,3,old\nbob,2,2,new\n")
    ...     found = files.read_items(path, id_column="name", label_column="kind")
    >>> found.X
    array([[1., 3.], [2., 2.]], dtype=float32)
    >>> found.ids
    array(['ann', 'bob'], dtype='<U3')
    >>> found.labels, found.columns
    (array(['old', 'new'], dtype='<U3'), ['left', 'right'])
    """
    path = Path(path)
    found = _read(path, Options(key, id_column, label_column, tuple(drop)))
    if kind_of(found.X).name in ("vectors", "sparse"):
        _require_matrix(path, found.X)
    return found


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
        return text.read_table(path, content, options)
    extension = "/" if path.is_dir() else path.suffix.lower()
    types = [one for kind in kinds() for one in kind.files]
    found = [one for one in types if extension in one.extensions]
    if not found:
        raise _unknown(path, types)
    if options.asks_for_columns and not any(one.has_columns for one in found):
        raise InputError(
            f"{path}: only tables (.csv, .tsv, .parquet, .feather, .arrow) have columns of ids or "
            "labels, or to drop. Pass ids with --ids FILE."
        )
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
