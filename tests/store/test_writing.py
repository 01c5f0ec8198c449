"""A save cut off anywhere leaves the old index or the new one, and nothing else is touched."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import zoo

import mercer
from mercer.store import disk, reading, writing

OLD, NEW = zoo.HISTOGRAMS[:40], zoo.HISTOGRAMS[:60]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Do not wait for the disk: no test pulls the plug."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def folder(tmp_path) -> Path:
    index_of(OLD).save(tmp_path / "index")
    return tmp_path / "index"


def index_of(X):
    return mercer.exact("chi2", n_landmarks=20, n_components=8).fit(X).add(X)


def require_refused(folder: Path, told: str) -> None:
    with pytest.raises(mercer.StoreError, match=told):
        mercer.load(folder)


# ---- saves that are cut off


def die_at(step: int, monkeypatch) -> None:
    """Let the process die at the n-th thing a save does to the disk; nothing is cleared up."""
    count = iter(range(10_000))

    def dying(function):
        def call(*args, **kwargs):
            if next(count) >= step:
                raise Killed
            return function(*args, **kwargs)

        return call

    for owner, name in [(os, "fsync"), (os, "replace"), (shutil, "rmtree"), (Path, "unlink"),
                        (Path, "mkdir"), (np.lib.format, "write_array")]:  # fmt: skip
        monkeypatch.setattr(owner, name, dying(getattr(owner, name)))

    def write_half(path, text, write=disk.write_new):
        try:
            dying(write)(path, text)
        except Killed:
            path.write_text(text[: len(text) // 2])
            raise

    monkeypatch.setattr(disk, "write_new", write_half)


def test_a_save_cut_off_anywhere_leaves_the_old_or_the_new(tmp_path, monkeypatch):
    old, new = index_of(OLD), index_of(NEW)
    sizes = []
    for step in range(200):
        folder = tmp_path / str(step)
        old.save(folder)
        with monkeypatch.context() as patch:
            die_at(step, patch)
            try:
                new.save(folder)
                break
            except Killed:
                pass
        again = mercer.load(folder)
        sizes.append(len(again))
        assert again.search(OLD[:3], k=2).scores.tolist() == (
            (old if len(again) == 40 else new).search(OLD[:3], k=2).scores.tolist()
        )
        again.save(folder)
        names = sorted(path.name for path in folder.iterdir())
        assert len(names) == 2, "the next save clears up what was left"
        mercer.verify(folder)
    assert len(sizes) > 30
    assert sizes == sorted(sizes)  # the old index first, the new one from some step on
    assert {40, 60} == set(sizes)


def test_a_first_save_cut_off_can_be_repeated(tmp_path, monkeypatch):
    index = index_of(OLD)
    for step in range(200):
        folder = tmp_path / str(step)
        with monkeypatch.context() as patch:
            die_at(step, patch)
            try:
                index.save(folder)
                break
            except Killed:
                pass
        if not (folder / "manifest.json").exists():
            require_refused(folder, "cut off|does not exist|is not an index")
        index.save(folder)
        assert len(mercer.load(folder)) == 40
    assert step > 30


def test_everything_is_on_disk_before_the_manifest_changes(folder, monkeypatch):
    events = []

    def sync(handle):
        events.append(os.fstat(handle).st_ino)

    def replace(source, target, replace=os.replace):
        events.append("replace")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", replace)
    index_of(NEW).save(folder)
    before, after = events[: events.index("replace")], events[events.index("replace") :]
    written = [folder / "manifest.json", folder / "generation-2"]
    written += (folder / "generation-2").rglob("*")
    assert {path.stat().st_ino for path in written} <= set(before)
    assert folder.stat().st_ino in before
    assert folder.stat().st_ino in after


def test_after_an_unclean_stop_the_hashes_are_checked(folder):
    own = folder / "generation-1/segments/0/own.npy"
    own.write_bytes(own.read_bytes()[:-1] + b"x")
    assert len(mercer.load(folder)) == 40  # opening does not read the values
    (folder / "saving").touch()
    require_refused(folder, "own.npy is not as it was saved")


def test_an_error_while_saving_clears_up(folder, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(np.lib.format, "write_array", full)
        with pytest.raises(mercer.StoreError, match=r"save: cannot write .*No space left"):
            index_of(NEW).save(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["generation-1", "manifest.json"]
    assert len(mercer.load(folder)) == 40


def test_loading_leaves_a_save_in_another_process_alone(folder):
    """The other process is a lock held here: the system cannot tell."""
    (folder / "saving").touch()
    (folder / "generation-2").mkdir()
    with disk.locked(folder) as alone:
        assert alone
        assert len(mercer.load(folder)) == 40
        assert (folder / "generation-2").exists()
        with pytest.raises(mercer.StoreError, match="another process is saving"):
            index_of(NEW).save(folder)
    assert len(mercer.load(folder)) == 40
    assert (folder / "generation-2").exists()  # a reader changes nothing
    index_of(NEW).save(folder)
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["generation-3", "manifest.json"]


def test_a_save_during_a_load_is_followed(folder, monkeypatch):
    index, check, calls = index_of(NEW), reading.check_file, []

    def save_first(*args):
        if len(calls) < 3:  # another one in each look
            calls.append(1)
            index.save(folder)
        check(*args)

    monkeypatch.setattr(reading, "check_file", save_first)
    assert len(mercer.load(folder)) == 60


def test_a_system_that_cannot_open_folders(tmp_path, monkeypatch):
    """Windows has neither locks nor fsync for them: a save does without."""
    open_ = os.open

    def refuse(path, *args, **kwargs):
        if Path(path).is_dir():
            raise PermissionError(13, "Permission denied")
        return open_(path, *args, **kwargs)

    index = index_of(OLD)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        with pytest.raises(mercer.StoreError, match=r"cannot write .*Permission denied"):
            index.save(tmp_path / "index")
        patch.setattr(disk.sys, "platform", "win32")
        index.save(tmp_path / "index")
        (tmp_path / "index" / "saving").touch()
        assert len(mercer.load(tmp_path / "index")) == 40
    mercer.verify(tmp_path / "index")


def test_what_is_no_plain_value_is_refused_and_cleared_up(folder):
    for odd in ({1, 2}, b"bytes", np.float32(1), object()):
        with pytest.raises(mercer.StoreError, match=f"generation-2/a/0, a {type(odd).__name__}"):
            writing.write(folder, {"a": [odd]})
    assert sorted(path.name for path in folder.iterdir()) == ["generation-1", "manifest.json"]
    assert len(mercer.load(folder)) == 40


# ---- places that are not an index


def test_saving_over_something_else_is_refused(tmp_path):
    index = index_of(OLD)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").touch()
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "manifest.json").write_text('{"name": "my app"}')
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "manifest.json").write_text("{")
    (tmp_path / "generations").mkdir()
    (tmp_path / "generations" / "generation-1").mkdir()
    before = sorted(tmp_path.rglob("*"))
    for name in ("file", "photos", "app", "torn", "generations"):
        with pytest.raises(mercer.StoreError, match=r"save: .*(is a file|not an index)"):
            index.save(tmp_path / name)
    assert sorted(tmp_path.rglob("*")) == before


def test_files_of_the_user_in_the_folder_stay(folder):
    (folder / "README.txt").write_text("mine")
    index_of(NEW).save(folder)
    assert (folder / "README.txt").read_text() == "mine"


def test_loading_something_else_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "empty").mkdir()
    for name, told in [("nothing", "does not exist"), ("file", "is not an index"),
                       ("empty", "is not an index")]:  # fmt: skip
        require_refused(tmp_path / name, f"load: .*{told}.*Index.save")


def test_a_folder_that_can_only_be_read(folder, monkeypatch):
    (folder / "saving").touch()

    def refuse(*args, **kwargs):
        raise PermissionError(13, "read-only")

    monkeypatch.setattr(Path, "unlink", refuse)
    assert len(mercer.load(folder)) == 40
