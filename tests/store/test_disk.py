"""Locks end with their process, and pins keep what they pin."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from mercer.store import disk

HOLDER = """
import sys
from pathlib import Path
from mercer.store import disk
lock = disk.WriterLock(Path(sys.argv[1]))
print(lock.held, flush=True)
sys.stdin.read()
"""


def holder(folder):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert process.stdout.readline().strip() == "True"
    return process


def test_a_dead_process_holds_no_lock(tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "TRIES", 2)
    process = holder(tmp_path)
    assert not disk.WriterLock(tmp_path).held
    assert not disk.was_cut_off(tmp_path)
    process.kill()
    process.communicate()
    assert disk.was_cut_off(tmp_path)
    with disk.WriterLock(tmp_path) as lock:
        assert lock.held
        assert lock.unclean
    with disk.WriterLock(tmp_path) as lock:
        assert not lock.unclean


def test_a_forked_child_does_not_hold_the_lock_of_its_parent(tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "TRIES", 2)
    lock = disk.WriterLock(tmp_path)
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(there, b"1" if lock.held else b"0")
        os._exit(0)
    assert os.read(here, 1) == b"0"
    os.waitpid(child, 0)
    assert lock.held
    assert not disk.WriterLock(tmp_path).held  # the parent still has it
    lock.release()
    assert disk.WriterLock(tmp_path).held


def test_a_lock_that_nobody_refers_to_is_free(tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "TRIES", 2)
    lock = disk.WriterLock(tmp_path)
    del lock
    assert disk.was_cut_off(tmp_path)
    assert disk.WriterLock(tmp_path).held


def test_pins_keep_manifests_until_they_are_released(tmp_path):
    path = tmp_path / "manifest-1.json"
    path.touch()
    pins = [disk.Pin.of(path), disk.Pin.of(path)]
    for pin in pins:
        assert not disk.remove_unpinned(path)
        pin.release()
        pin.release()
    assert disk.remove_unpinned(path)
    assert not path.exists()
    assert disk.Pin.of(path) is None


def test_a_pin_is_of_what_the_name_stands_for(tmp_path, monkeypatch):
    """A manifest that was replaced between opening and locking is not pinned."""
    path = tmp_path / "manifest-1.json"
    path.touch()
    shares = disk._shares

    def replace_first(handle):
        (tmp_path / "other").touch()
        (tmp_path / "other").replace(path)
        return shares(handle)

    monkeypatch.setattr(disk, "_shares", replace_first)
    assert disk.Pin.of(path) is None


def test_file_systems_without_locks(tmp_path, monkeypatch):
    def refuse(*args):
        raise OSError(37, "No locks available")

    path = tmp_path / "manifest-1.json"
    path.touch()
    monkeypatch.setattr("fcntl.flock", refuse)
    assert disk.Pin.of(path) is not None
    assert disk.remove_unpinned(path)
    with pytest.raises(OSError, match="No locks"):  # a writer must be alone
        disk.WriterLock(tmp_path)


def test_new_files_are_new(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        disk.create(tmp_path / "link")
    assert not (tmp_path / "elsewhere").exists()


def test_only_one_of_many_gives_a_file_a_name(tmp_path):
    done = []

    def publish(i):
        draft = tmp_path / f"{i}.draft"
        draft.write_text(str(i))
        try:
            disk.publish(draft, tmp_path / "name")
            done.append(i)
        except FileExistsError:
            pass

    threads = [threading.Thread(target=publish, args=(i,)) for i in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [first] = done
    assert (tmp_path / "name").read_text() == str(first)
