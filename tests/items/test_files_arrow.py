"""Files of Apache Arrow: what pyarrow writes is read back, and bad tables say where."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from mercer.errors import InputError, MissingPackageError
from mercer.items import files

X = np.random.default_rng(3).normal(size=(6, 3)).astype(np.float32)
NAMES = [f"n{i}" for i in range(6)]
PLAIN = {"name": NAMES, "a": X[:, 0], "b": X[:, 1].astype(float), "kind": [1, 2] * 3, "c": X[:, 2]}


def write(path, columns):
    table = pa.table(columns)
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path, row_group_size=2)  # several chunks
    else:
        pa.feather.write_feather(table, path, chunksize=2)
    return path


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "T.arrow"])
def test_columns(name, tmp_path):
    path = write(tmp_path / name, PLAIN)
    found = files.read_items(path, id_column="name", label_column="4")
    np.testing.assert_array_equal(found.X, X)
    assert found.X.dtype == np.float32
    assert (found.ids.tolist(), found.labels.tolist()) == (NAMES, [1, 2] * 3)
    assert found.columns == ["a", "b", "c"]


@pytest.mark.parametrize("fixed", [True, False])
def test_a_column_of_vectors(fixed, tmp_path):
    kind = pa.list_(pa.float32(), 3 if fixed else -1)
    path = write(tmp_path / "t.parquet", {"id": range(6), "v": pa.array(X.tolist(), kind)})
    found = files.read_items(path, id_column="id")
    np.testing.assert_array_equal(found.X, X)
    assert (found.ids.tolist(), found.columns) == (list(range(6)), None)


def test_bytes_stay_bytes(tmp_path):
    counts = np.arange(6, dtype=np.uint8)
    found = files.read_items(write(tmp_path / "t.feather", {"a": counts, "b": counts}))
    assert found.X.dtype == np.uint8


@pytest.mark.parametrize(
    "columns, text",
    [
        (PLAIN, "column 'name' is of type string"),
        ({"a": [1.0, None]}, "row 1 has nothing in the column 'a'"),
        ({"a": [[1.0], [1.0, 2.0]]}, r"different lengths \(row 1\)"),
    ],
)
def test_bad_tables(columns, text, tmp_path):
    with pytest.raises(InputError, match=text):
        files.read_items(write(tmp_path / "t.parquet", columns))


def test_bad_files(tmp_path):
    for name in ("t.parquet", "t.feather"):
        (tmp_path / name).write_bytes(b"no table at all")
        with pytest.raises(InputError, match=f"{name}: cannot be read as"):
            files.read_items(tmp_path / name)
        with pytest.raises(FileNotFoundError):
            files.read_items(tmp_path / f"missing-{name}")
    path = write(tmp_path / "u.parquet", {"a": X[:, 0]})
    with pytest.raises(InputError, match="no column 'b'"):
        files.read_items(path, drop=["b"])


def test_without_the_package(tmp_path, monkeypatch):
    path = write(tmp_path / "t.parquet", {"a": X[:, 0]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingPackageError, match=r"mercer\[arrow\]"):
        files.read_items(path)
