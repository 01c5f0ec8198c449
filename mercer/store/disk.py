"""Write files that survive a power failure, and lock folders for one process."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl

TRIES, PAUSE = 50, 0.02  # attempts of a writer to lock a folder, and seconds between them


def write_new(path: Path, text: str) -> None:
    """Write a new file; fail if the path exists, even as a link."""
    with path.open("xb") as file:
        file.write(text.encode())
        flush(file)


def flush(file: BinaryIO) -> None:
    """Wait until what was written is on disk."""
    file.flush()
    os.fsync(file.fileno())


def sync(folder: Path) -> None:
    """Wait until the names in a folder are on disk."""
    if sys.platform == "win32":  # has no such call for folders
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(folder: Path) -> None:
    """Make a folder and its parents; their names are on disk before anything is put in them."""
    missing = [one for one in (folder.absolute(), *folder.absolute().parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for one in missing:
        sync(one.parent)


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Lock a folder, if no other writer has, and unlock it at the end or when the process dies."""
    if sys.platform == "win32":  # where two writers at once go unnoticed
        yield True
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield _lock_alone(handle)
    finally:
        os.close(handle)


def _lock_alone(handle: int) -> bool:
    """Lock a folder; readers lock it for a moment only, so several attempts are made."""
    for _ in range(TRIES):
        with suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(PAUSE)
    return False


def is_locked(folder: Path) -> bool:
    """Whether a writer holds a folder at this moment."""
    if sys.platform == "win32":
        return False
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
