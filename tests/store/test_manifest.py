"""What the manifest says of each file is compared with the file."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from mercer import StoreError, store
from mercer.store import manifest as manifests

VALUES = np.arange(6.0).reshape(2, 3)


@pytest.fixture
def folder(tmp_path) -> Path:
    store.write(tmp_path, {"values": VALUES, "name": "six"})
    return tmp_path


def entry_of(folder: Path) -> dict:
    return manifests.read_manifest(folder, "load")["index"]["values"]


def described(path: Path, name: str, **changes) -> dict:
    """Return what the manifest would say of a file."""
    data = path.read_bytes()
    return {
        "npy": name, "shape": [2, 3], "dtype": "<f8", "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(), **changes,
    }  # fmt: skip


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_both_versions_of_headers_are_read(folder, version):
    """NumPy writes the second where a header is long."""
    path = folder / "generation-1" / "other.npy"
    with path.open("wb") as file:
        np.lib.format.write_array(file, VALUES, version=version)
    good = described(path, "generation-1/other.npy")
    manifests.check_file(folder, {"generation": 1}, good)
    for change in ({"shape": [3, 2]}, {"dtype": "<i8"}):
        with pytest.raises(StoreError, match=r"says it holds <f8 of shape \[2, 3\]"):
            manifests.check_file(folder, {"generation": 1}, good | change)


def test_a_file_that_ends_before_its_values_do(folder):
    """The manifest agrees on the number of bytes: the header does not."""
    path = folder / "generation-1" / "values.npy"
    for data in (path.read_bytes()[:-8], path.read_bytes() + bytes(8)):
        path.write_bytes(data)
        with pytest.raises(StoreError, match="says it holds <f8"):
            manifests.check_file(
                folder, {"generation": 1}, described(path, "generation-1/values.npy")
            )


@pytest.mark.parametrize("lacking", ["shape", "dtype", "sha256", "bytes"])
def test_a_file_that_is_not_described(folder, lacking):
    entry = entry_of(folder)
    del entry[lacking]
    with pytest.raises(StoreError, match=r"does not describe generation-1/values\.npy"):
        manifests.check_file(folder, {"generation": 1}, entry)


def test_the_hash_is_that_of_the_whole_file(folder):
    entry = entry_of(folder)
    path = folder / "generation-1" / "values.npy"
    assert entry["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    manifests.check_hash(folder, entry)
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(StoreError, match="is not as it was saved"):
        manifests.check_hash(folder, entry)


def test_a_file_that_vanishes_while_it_is_verified(folder, monkeypatch):
    """Another process may save between the two looks; the generation tells, so it is an error."""
    check = manifests.check_hash

    def vanish(place, entry):
        (place / entry["npy"]).unlink()
        check(place, entry)

    monkeypatch.setattr("mercer.store.reading.check_hash", vanish)
    with pytest.raises(StoreError, match=r"verify: .*No such file.*values\.npy"):
        store.verify(folder)


def test_a_manifest_that_cannot_be_read(folder, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(StoreError, match=r"load: cannot read .*manifest\.json: Permission denied"):
        store.read(folder)


def test_counts():
    assert all(manifests.is_count(value) for value in (0, 1, 2**40))
    assert not any(manifests.is_count(value) for value in (-1, True, False, 1.0, "1", None))
