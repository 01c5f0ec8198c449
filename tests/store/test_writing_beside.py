"""Several writers, readers beside writers, links, and faults at every step: nothing is lost."""

from __future__ import annotations

import errno
import fcntl
import gc
import os
import pickle
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import zoo

import mercer
from mercer.store import disk, parts

OLD, NEW = zoo.HISTOGRAMS[:40], zoo.HISTOGRAMS[:60]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Do not wait for the disk, nor long for a lock."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    monkeypatch.setattr(disk, "TRIES", 2)


@pytest.fixture
def folder(tmp_path) -> Path:
    index_of(OLD).save(tmp_path / "index")
    return tmp_path / "index"


def index_of(X):
    return mercer.brute("chi2").fit(X).add(X)


# ---- two writers


def test_the_second_of_two_writers_is_refused(folder):
    a, b = mercer.load(folder), mercer.load(folder)
    a.add(NEW[40:50]).save(folder)
    with pytest.raises(mercer.StoreError, match=r"somebody else saved.*generation 2.*Load it"):
        b.add(NEW[50:60]).save(folder)
    assert len(mercer.load(folder)) == 50
    assert len(b) == 50  # nothing is lost on this side either
    b.save(folder.parent / "another")
    a.add(NEW[50:60]).save(folder)  # whoever saved last goes on
    assert len(mercer.load(folder)) == 60


def test_who_made_a_folder_is_refused_as_well(folder):
    mine = index_of(NEW)
    mine.save(folder)  # in place of another one, on purpose
    mine.save(folder.parent / "copy")
    mercer.load(folder).remove([0]).save(folder)
    with pytest.raises(mercer.StoreError, match="somebody else saved"):
        mine.save(folder)
    assert len(mercer.load(folder)) == 59


def test_a_link_to_the_folder_is_the_same_folder(folder):
    link = folder.parent / "link"
    link.symlink_to(folder)
    a, b = mercer.load(folder), mercer.load(link)
    a.remove([0]).save(folder)
    with pytest.raises(mercer.StoreError, match="somebody else saved"):
        b.save(link)


def test_an_index_sent_to_another_process_remembers(folder):
    sent = pickle.loads(pickle.dumps(mercer.load(folder)))
    mercer.load(folder).remove([0]).save(folder)
    with pytest.raises(mercer.StoreError, match="somebody else saved"):
        sent.save(folder)


def test_a_folder_that_is_gone_is_written_anew(folder):
    index = mercer.load(folder)
    index.search(OLD[:1], 1)
    kept = mercer.brute("chi2").fit(OLD).add(OLD)
    kept.save(folder)
    shutil.rmtree(folder)
    kept.save(folder)
    assert len(mercer.load(folder)) == 40


def test_commands_beside_each_other_lose_nothing(tmp_path):
    """Each of several `mercer add` succeeds, or says that it did not."""
    np.save(tmp_path / "base.npy", OLD)
    run = [sys.executable, "-m", "mercer"]
    build = ["build", "base.npy", "my.index", "--kernel", "chi2", "--method", "brute"]
    subprocess.run([*run, *build], cwd=tmp_path, check=True, capture_output=True)
    jobs = []
    for i in range(4):
        np.save(tmp_path / f"{i}.npy", NEW[40 + i : 41 + i])
        (tmp_path / f"{i}.txt").write_text(f"{100 + i}\n")
        add = [*run, "add", "my.index", f"{i}.npy", "--ids", f"{i}.txt"]
        jobs.append(subprocess.Popen(add, cwd=tmp_path, stderr=subprocess.PIPE,
                                     stdout=subprocess.DEVNULL, text=True))  # fmt: skip
    told = [job.communicate()[1] for job in jobs]
    added = {100 + i for i, job in enumerate(jobs) if job.returncode == 0}
    assert added
    assert set(mercer.load(tmp_path / "my.index").ids.tolist()) == {*range(40), *added}
    for job, text in zip(jobs, told, strict=True):
        assert job.returncode == 0 or "somebody else saved" in text or "is saving" in text


# ---- links in a folder that somebody sent


@pytest.mark.parametrize(
    "name", ["manifest.json", "saving", "0123456789abcdef.draft", "manifest-2.json"]
)
@pytest.mark.parametrize("there", [True, False])
def test_saving_never_follows_a_link(folder, name, there):
    mine = folder.parent / "mine.txt"
    if there:
        mine.write_text("mine")
    (folder / name).symlink_to(mine)
    if name == "manifest-2.json":  # what is newest there is not an index
        with pytest.raises(mercer.StoreError):
            mercer.load(folder)
    index_of(NEW).save(folder)
    assert len(mercer.load(folder)) == 60
    assert mine.read_text() == "mine" if there else not mine.exists()


def test_a_link_in_place_of_the_lock_is_refused(folder):
    mine = folder.parent / "mine.txt"
    mine.write_text("mine")
    (folder / "lock").unlink()
    (folder / "lock").symlink_to(mine)
    with pytest.raises(mercer.StoreError, match="cannot write"):
        index_of(NEW).save(folder)
    assert mine.read_text() == "mine"


def test_links_in_place_of_generations_are_left_alone(folder):
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "photo.png").write_text("mine")
    (folder / "generation-7").symlink_to(outside)
    index_of(NEW).save(folder)
    assert (outside / "photo.png").read_text() == "mine"
    assert len(mercer.load(folder)) == 60


def test_a_linked_manifest_is_replaced_not_written_through(folder):
    outside = folder.parent / "manifest.json"
    (folder / "manifest-1.json").rename(outside)
    (folder / "manifest-1.json").symlink_to(outside)
    before = outside.read_text()
    index_of(NEW).save(folder)
    assert outside.read_text() == before
    assert len(mercer.load(folder)) == 60
    assert not (folder / "manifest-1.json").is_symlink()


# ---- what is on disk, and what is said


def test_new_folders_are_on_disk_with_their_names(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_ino))
    index_of(OLD).save(tmp_path / "a" / "b" / "index")
    for parent in (tmp_path, tmp_path / "a", tmp_path / "a" / "b"):
        assert parent.stat().st_ino in synced


def full(*args, **kwargs):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_faults_after_the_change_say_that_the_new_index_is_there(folder, monkeypatch):
    count, published = disk.sync, []

    def publish(draft, name, publish=disk.publish):
        published.append(name)
        publish(draft, name)

    def sync(path):
        if published:
            full()
        count(path)

    monkeypatch.setattr(disk, "publish", publish)
    monkeypatch.setattr(disk, "sync", sync)
    with pytest.raises(mercer.StoreError, match="holds the new index, but the disk did not"):
        index_of(NEW).save(folder)
    assert len(mercer.load(folder)) == 60


def test_what_cannot_be_cleared_up_is_no_error(folder, monkeypatch):
    monkeypatch.setattr(disk, "remove", full)
    index_of(NEW).save(folder)
    assert len(mercer.load(folder)) == 60


def test_after_an_interruption_the_same_index_can_be_saved(folder, monkeypatch):
    """Also if the change was made already when it came."""
    index = mercer.load(folder).remove([0])
    for place in ("flush", "create"):
        with monkeypatch.context() as patch:
            patch.setattr(disk, place, interrupt)
            with pytest.raises(KeyboardInterrupt):
                index.save(folder)
        index.save(folder)
    for owner, name in (("_Change", "_finish"), ("_Change", "_link"), ("Writer", "close")):
        with monkeypatch.context() as patch:
            patch.setattr(f"mercer.store.writing.{owner}.{name}", interrupt)
            with pytest.raises(KeyboardInterrupt):
                index.remove([index.ids[0]]).save(folder)
    gc.collect()
    index.save(folder)
    assert len(mercer.load(folder)) == 36


def interrupt(*args, **kwargs):
    raise KeyboardInterrupt


# ---- readers beside a writer


def test_loads_beside_saves_find_an_index(folder):
    done, failures, sizes = threading.Event(), [], set()

    def read():
        try:
            while not done.is_set():
                index = mercer.load(folder)
                sizes.add(len(index))
                index.search(OLD[:2], 1, n_jobs=1)
                mercer.verify(folder)
        except Exception as error:
            failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for _ in range(30):
        index_of(OLD).save(folder)
        index_of(NEW).save(folder)
    done.set()
    for reader in readers:
        reader.join()
    assert failures == []
    assert sizes <= {40, 60}


def test_readers_never_hold_a_folder_alone(folder, monkeypatch):
    (folder / "lock").write_text("at work")  # a save was cut off
    taken = []
    lock = fcntl.flock
    monkeypatch.setattr(fcntl, "flock", lambda h, how: taken.append(how) or lock(h, how))
    mercer.load(folder)
    mercer.verify(folder)
    assert taken
    assert not any(how & fcntl.LOCK_EX for how in taken)
    assert (folder / "lock").read_text() == "at work"  # clearing up is the writer's


def test_a_writer_waits_for_a_reader_that_looks(folder, monkeypatch):
    monkeypatch.setattr(disk, "TRIES", 500)
    handle = os.open(folder / "lock", os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_SH)
    letting_go = threading.Timer(0.1, os.close, [handle])
    letting_go.start()
    index_of(NEW).save(folder)
    letting_go.join()
    assert len(mercer.load(folder)) == 60


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EACCES])
def test_what_the_system_refuses_is_no_damage(folder, monkeypatch, number):
    def refuse(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(parts, "_content", refuse)
    with pytest.raises(mercer.StoreError, match=r"load: cannot read .*That is no damage"):
        mercer.load(folder)
    with pytest.raises(mercer.StoreError, match=r"verify: cannot read .*That is no damage"):
        mercer.verify(folder)


def test_a_bad_sector_is_damage(folder, monkeypatch):
    def fail(*args):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(parts.Part, "check_values", fail)
    with pytest.raises(mercer.StoreError, match=r"verify: .*is damaged: .*Input/output error"):
        mercer.verify(folder)


# ---- folders that somebody made


def test_deep_trees_are_refused(folder):
    path = folder / "manifest-1.json"
    nested = "[" * 200 + "]" * 200
    path.write_text(path.read_text().replace('"index": {', f'"index": {{"deep": {nested},', 1))
    for call in (mercer.load, mercer.verify):
        with pytest.raises(mercer.StoreError, match="is not that of an index"):
            call(folder)
    path.write_text("[" * 100_000)
    with pytest.raises(mercer.StoreError, match="is damaged"):
        mercer.load(folder)
