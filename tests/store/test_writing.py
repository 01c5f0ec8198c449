"""A save cut off anywhere leaves the old index or the new one, and nothing else is touched."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import zoo

import mercer
from mercer.store import Origins, Part, Writer, disk, reading

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

    def flush_half(file, flush=disk.flush):
        try:
            dying(flush)(file)
        except Killed:
            file.truncate(file.tell() // 2)
            raise

    monkeypatch.setattr(disk, "flush", flush_half)
    for name in ("create", "sync", "_make", "publish", "remove", "remove_unpinned"):
        monkeypatch.setattr(disk, name, dying(getattr(disk, name)))
    monkeypatch.setattr(disk.WriterLock, "release", lambda lock, clean=True: os.close(lock._handle))


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
        assert len(names) == 3, "the next save clears up what was left"
        mercer.verify(folder)
    assert len(sizes) > 12
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
        if not (folder / "manifest-1.json").exists():
            require_refused(folder, "cut off|does not exist|is not an index|leads nowhere")
        index.save(folder)
        assert len(mercer.load(folder)) == 40
    assert step > 12


def test_everything_is_on_disk_before_the_manifest_has_its_name(folder, monkeypatch):
    events = []

    def sync(handle):
        events.append(os.fstat(handle).st_ino)

    def link(source, target, link=os.link):
        events.append("named")
        link(source, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "link", link)
    index_of(NEW).save(folder)
    before, after = events[: events.index("named")], events[events.index("named") :]
    written = [folder / "manifest-2.json", folder / "parts", *(folder / "parts").iterdir()]
    assert {path.stat().st_ino for path in written} <= set(before)
    assert folder.stat().st_ino in after


def cut_off(folder):
    """Leave a folder as a writer that died at work does."""
    (folder / "lock").write_text("at work")


def test_after_an_unclean_stop_the_hashes_of_the_last_change_are_checked(folder):
    first = sorted((folder / "parts").iterdir())[0]
    mercer.load(folder).remove([0]).save(folder)
    [last] = set((folder / "parts").iterdir()) - {first, *disk_parts(folder, since=1)}
    for path, noticed in ((first, False), (last, True)):
        good = path.read_bytes()
        path.write_bytes(good[:64] + bytes([good[64] ^ 1]) + good[65:])
        assert len(mercer.load(folder)) == 39  # opening does not read the values
        cut_off(folder)
        if noticed:
            require_refused(folder, f"{last.name} is not as it was saved")
            with pytest.raises(mercer.StoreError, match=f"open: .*{last.name} is not as it was"):
                mercer.open(folder)
        else:
            assert len(mercer.load(folder)) == 39
        (folder / "lock").write_text("")
        path.write_bytes(good)


def disk_parts(folder, since):
    index = reading.read(folder, lambda opened: opened.index)
    named = [index["base"], index["segments"][0]["content"], index["segments"][0]["removed"]]
    return [folder / "parts" / one["part"] for one in named if one["since"] == since]


def test_an_error_while_saving_clears_up(folder, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    before = names(folder)
    for name in ("create", "flush", "publish"):
        with monkeypatch.context() as patch:
            patch.setattr(disk, name, full)
            with pytest.raises(mercer.StoreError, match=r"save: cannot write .*No space left"):
                index_of(NEW).save(folder)
        assert names(folder) == before
    assert len(mercer.load(folder)) == 40


def names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_loading_leaves_a_save_in_another_process_alone(folder):
    """The other process is a lock held here: the system cannot tell."""
    with disk.WriterLock(folder) as lock:
        assert lock.held
        (folder / "parts" / f"{'0' * 32}.part").touch()
        before = names(folder)
        assert len(mercer.load(folder)) == 40
        with pytest.raises(mercer.StoreError, match="another process is saving"):
            index_of(NEW).save(folder)
        assert names(folder) == before  # a reader changes nothing
    index_of(NEW).save(folder)
    assert len(names(folder)) == 5


def test_a_save_during_a_load_is_followed(folder, monkeypatch):
    """Or not: what is being loaded stays until it is."""
    index, part, calls = index_of(NEW), reading.Opened.part, []

    def save_first(*args):
        if len(calls) < 3:
            calls.append(1)
            index.save(folder)
        return part(*args)

    monkeypatch.setattr(reading.Opened, "part", save_first)
    assert len(mercer.load(folder)) == 40
    assert calls


def test_a_file_system_without_links(folder, monkeypatch):
    def refuse(*args):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    index_of(NEW).save(folder)
    assert len(mercer.load(folder)) == 60
    (folder / "draft").touch()
    with pytest.raises(FileExistsError):
        disk.publish(folder / "draft", folder / "manifest-2.json")


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
        index.remove([0]).save(tmp_path / "index")
        cut_off(tmp_path / "index")
        assert len(mercer.load(tmp_path / "index")) == 39
    mercer.verify(tmp_path / "index")


def test_what_is_no_plain_value_is_refused_and_cleared_up(folder):
    before = names(folder)
    for odd in ({1, 2}, b"bytes", np.float32(1), object()):
        part = Part(lambda odd=odd: {"a": [odd]})
        with (
            pytest.raises(mercer.StoreError, match=f"cannot store a/0, a {type(odd).__name__}"),
            Writer(folder, "save") as writer,
        ):
            writer.commit({"one": part}, Origins())
    assert names(folder) == before
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
    (tmp_path / "parts" / "parts").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    for name in ("file", "photos", "app", "torn", "generations", "parts"):
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


def test_parts_elsewhere_are_not_written_to(folder):
    elsewhere = folder.parent / "elsewhere"
    (folder / "parts").rename(elsewhere)
    (folder / "parts").symlink_to(elsewhere)
    before = names(elsewhere)
    with pytest.raises(mercer.StoreError, match="parts is a link"):
        index_of(NEW).save(folder)
    assert names(elsewhere) == before


def test_a_folder_that_can_only_be_read(folder, monkeypatch):
    cut_off(folder)

    def refuse(*args, **kwargs):
        raise PermissionError(13, "read-only")

    monkeypatch.setattr(Path, "unlink", refuse)
    monkeypatch.setattr(os, "write", refuse)
    assert len(mercer.load(folder)) == 40
