"""Files that are on disk for sure, and locks that end with their process.

Everything that a store does to the disk goes through this module: tests record it and rebuild the
folder as a power failure may leave it.
"""

import errno
import os
import sys
import time
import weakref
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Self

if sys.platform != "win32":
    import fcntl

TRIES, PAUSE = 50, 0.02  # attempts of a writer to lock a folder, and seconds between them
LOCK = "lock"  # not empty while a writer is at work, or after one that died
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)  # file systems without links

# ---- files and folders


def create(path: Path) -> BinaryIO:
    """Open a new file for writing; fail if the path exists, even as a link."""
    return path.open("xb")


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
    for one in reversed(missing):
        _make(one)
    for one in missing:
        sync(one.parent)


def _make(folder: Path) -> None:
    folder.mkdir(exist_ok=True)


def publish(draft: Path, name: Path) -> None:
    """Give a file that is on disk its name, unless something has that name already."""
    try:
        os.link(draft, name)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        if name.exists():  # the lock keeps other writers away in between
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(name)) from None
        draft.rename(name)


def remove(path: Path) -> None:
    """Remove the name of a file; a link is removed, not followed."""
    path.unlink(missing_ok=True)


# ---- locks


class WriterLock:
    """The right to write to a folder: held by one process, until it lets go or dies.

    Attributes
    ----------
    unclean : bool
        Whether the last writer died at work.
    """

    def __init__(self, folder: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        self._handle = os.open(folder / LOCK, flags, 0o666)
        self.held = True
        try:
            self.held = _lock_alone(self._handle)
            if self.held:
                self.unclean = os.fstat(self._handle).st_size > 0
                self._mark()
        except BaseException:
            self.held = False
            os.close(self._handle)
            raise
        if not self.held:
            os.close(self._handle)
        else:
            _held.add(self)

    def _mark(self) -> None:
        """Leave a sign that a writer is at work, which outlives it if it dies."""
        if not self.unclean:
            os.write(self._handle, b"A writer is at work, or was cut off.\n")
            os.fsync(self._handle)

    def release(self, clean: bool = True) -> None:
        """Let go; a second time does nothing."""
        if self.held:
            self.held = False
            try:
                if clean:
                    os.ftruncate(self._handle, 0)
            finally:
                os.close(self._handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __del__(self) -> None:
        with suppress(Exception):  # the process may be ending
            self.release(clean=False)


_held: "weakref.WeakSet[WriterLock]" = weakref.WeakSet()


def _forget_all() -> None:
    """Let a forked child hold no lock: it would hold it on after the death of its parent."""
    for lock in list(_held):
        lock.release(clean=False)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


def _lock_alone(handle: int) -> bool:
    """Lock a file; readers lock it for a moment only, so several attempts are made."""
    if sys.platform == "win32":  # two writers at once are noticed when the second one commits
        return True
    for _ in range(TRIES):
        with suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(PAUSE)
    return False


def was_cut_off(folder: Path) -> bool:
    """Whether the last writer of a folder died at work, and no other is at work now."""
    try:
        handle = os.open(folder / LOCK, os.O_RDONLY)
    except OSError:
        return False
    try:
        return os.fstat(handle).st_size > 0 and _shares(handle)
    finally:
        os.close(handle)


def is_locked(path: Path) -> bool:
    """Whether a writer holds a file or folder at this moment."""
    handle = os.open(path, os.O_RDONLY)
    try:
        return not _shares(handle)
    finally:
        os.close(handle)


def _shares(handle: int) -> bool:
    """Lock a file beside other readers, if no writer has it; unlocked when it is closed."""
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


class Pin:
    """A generation that a reader needs: kept while the pin, and the process, lives."""

    def __init__(self, handle: int) -> None:
        self._handle: int | None = handle

    @classmethod
    def of(cls, path: Path) -> "Pin | None":
        """Pin the generation of a manifest; None if a writer is removing it."""
        try:
            handle = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return None
        if _shares(handle) and _is_still(handle, path):
            return cls(handle)
        os.close(handle)
        return None

    def release(self) -> None:
        """Let go; a second time does nothing."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def __del__(self) -> None:
        with suppress(Exception):  # the process may be ending
            self.release()


def _is_still(handle: int, path: Path) -> bool:
    """Whether a path is that of an open file."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def remove_unpinned(path: Path) -> bool:
    """Remove a manifest that no reader has pinned; return whether it is gone."""
    if path.is_symlink() or sys.platform == "win32":  # which does not remove what is open
        remove(path)
        return True
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return False
    except OSError:  # a file system without locks
        pass
    try:
        remove(path)
    finally:
        os.close(handle)
    return True


def names_in(folder: Path) -> Iterator[str]:
    """Yield the names in a folder; none if it does not exist."""
    with suppress(FileNotFoundError), os.scandir(folder) as found:
        yield from [entry.name for entry in found]
