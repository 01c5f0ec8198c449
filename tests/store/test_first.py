"""Folders of the first format are read, checked and never written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer.store import first
from mercer.store.values import sealed

GOLDEN = Path(__file__).parents[1] / "golden" / "format-1" / "exact"


@pytest.fixture
def folder(tmp_path) -> Path:
    return Path(shutil.copytree(GOLDEN, tmp_path / "index"))


def own(folder: Path) -> Path:
    [path] = folder.glob("generation-*/segments/0/own.npy")
    return path


def change(folder: Path, edit) -> None:
    """Change the manifest, as somebody would who knows how it vouches for itself."""
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest.pop("sha256")
    edit(manifest)
    (folder / "manifest.json").write_text(json.dumps(sealed(manifest)))


def require_refused(folder: Path, told: str) -> None:
    with pytest.raises(mercer.StoreError, match=told):
        mercer.load(folder)


def test_verify_names_all_files(folder):
    found = {str(path.relative_to(folder)) for path in folder.rglob("*.*") if path.is_file()}
    assert set(mercer.verify(folder)) == found


def test_a_flipped_bit_is_found_in_every_file(folder):
    for path in folder.rglob("*.npy"):
        good = path.read_bytes()
        for place in (len(good) - 1, 80):  # in the values, or in the header
            path.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
            with pytest.raises(mercer.StoreError, match=path.name):
                mercer.verify(folder)
        path.write_bytes(good)


def test_truncated_and_missing_files_are_found_on_opening(folder):
    for path in folder.rglob("*.npy"):
        good = path.read_bytes()
        path.write_bytes(good[:-1])
        require_refused(folder, f"{path.name} has .* bytes instead of {len(good)}")
        path.unlink()
        require_refused(folder, f"{path.name} is missing")
        path.write_bytes(good)


def test_a_save_that_was_cut_off_is_verified(folder):
    path = own(folder)
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert len(mercer.load(folder)) == 22
    (folder / "saving").touch()
    require_refused(folder, "own.npy is not as it was saved")


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_both_versions_of_headers_are_read(folder, version):
    values = np.load(own(folder))
    with own(folder).open("wb") as file:
        np.lib.format.write_array(file, values, version=version)
    manifest = json.loads((folder / "manifest.json").read_text())
    entry = manifest["index"]["segments"][0]["own"] | {"bytes": own(folder).stat().st_size}
    first.check_file(folder, manifest, entry)
    for wrong in ({"shape": [3, 2]}, {"dtype": "<i8"}):
        with pytest.raises(mercer.StoreError, match="says it holds <f8"):
            first.check_file(folder, manifest, entry | wrong)


def test_python_objects_are_refused(folder):
    """Not even if the manifest asks for them: they would be unpickled."""
    np.save(own(folder), np.array([Trap()] * 24, object), allow_pickle=True)

    def ask(manifest):
        entry = manifest["index"]["segments"][0]["own"]
        entry["dtype"], entry["bytes"] = "|O", own(folder).stat().st_size

    change(folder, ask)
    require_refused(folder, "own.npy holds object")


class Trap:
    def __reduce__(self):
        return pytest.fail, ("code from the file was run",)


@pytest.mark.parametrize(
    "name",
    ["../x.npy", "generation-1/../../x.npy", "/tmp/x.npy", "generation-7/own.npy", "C:\\x.npy",
     "generation-1\\..\\x.npy", "generation-1/x", "", None, 3, ["x"], "generation-1/\0.npy"],
)  # fmt: skip
def test_names_that_leave_the_folder_are_refused(folder, name):
    change(folder, lambda m: m["index"]["segments"][0]["own"].update(npy=name))
    require_refused(folder, "is not the name of an array file")


@pytest.mark.parametrize("lacking", ["shape", "dtype", "sha256", "bytes"])
def test_a_file_that_is_not_described(folder, lacking):
    change(folder, lambda m: m["index"]["segments"][0]["own"].pop(lacking))
    require_refused(folder, "does not describe .*own.npy")


def test_other_types_are_refused(folder):
    entry = {"shape": [24], "dtype": "|u1"}
    [path] = folder.glob("generation-*/segments/0/removed.npy")
    np.save(path, np.load(path).astype(np.uint8))
    change(folder, lambda m: m["index"]["segments"][0]["removed"].update(entry))
    require_refused(folder, "its mask as uint8")


def test_large_arrays_are_mapped(folder, monkeypatch):
    monkeypatch.setattr(first, "SMALL", -1)
    assert not mercer.load(folder).segments_.members[0].diag.flags.writeable
    monkeypatch.setattr(first, "MAPPED", 0)
    assert mercer.load(folder).segments_.members[0].diag.flags.writeable
