"""Faults of the system: the n-th call of write, fsync, rename, ... fails, in a process of its own.

A small library is compiled (with cc) and loaded before the C library's own functions.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import numpy as np

import mercer
from benchmarks.attacks.base import Outcome, X, trials

LEAST, MOST = 40, 400  # calls of a save that are tried; beyond them it does not fail any more
ERRORS = {"ENOSPC": 28, "EIO": 5, "EACCES": 13, "EMFILE": 24}
LIBRARY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
static long count = 0, at = -1;
static int fault = 0, armed = 0;
static int due(void) {
    if (!armed) {
        const char *n = getenv("FAULT_AT"), *e = getenv("FAULT_ERROR");
        if (!n) return 0;
        at = atol(n); fault = atoi(e); armed = 1;
    }
    return ++count == at ? (errno = fault, 1) : 0;
}
#define REAL(name) static __typeof__(&name) real = 0; if (!real) real = dlsym(RTLD_NEXT, #name)
ssize_t write(int fd, const void *b, size_t n) {
    REAL(write); return fd > 2 && due() ? -1 : real(fd, b, n);
}
int fsync(int fd) { REAL(fsync); return due() ? -1 : real(fd); }
int rename(const char *a, const char *b) { REAL(rename); return due() ? -1 : real(a, b); }
int link(const char *a, const char *b) { REAL(link); return due() ? -1 : real(a, b); }
int mkdir(const char *p, mode_t m) { REAL(mkdir); return due() ? -1 : real(p, m); }
int unlink(const char *p) { REAL(unlink); return due() ? -1 : real(p); }
int unlinkat(int d, const char *p, int f) { REAL(unlinkat); return due() ? -1 : real(d, p, f); }
int rmdir(const char *p) { REAL(rmdir); return due() ? -1 : real(p); }
static int opened(const char *p) { return strstr(p, "index") != 0; }
int open(const char *p, int f, ...) {
    REAL(open); va_list v; va_start(v, f); mode_t m = va_arg(v, mode_t); va_end(v);
    return opened(p) && due() ? -1 : real(p, f, m);
}
int open64(const char *p, int f, ...) {
    REAL(open64); va_list v; va_start(v, f); mode_t m = va_arg(v, mode_t); va_end(v);
    return opened(p) && due() ? -1 : real(p, f, m);
}
"""
# loads mercer once, and lets a forked child save for every fault that is asked for
SERVER = """
import os, sys, warnings
import numpy as np
import mercer
warnings.simplefilter("ignore")
X = np.load(sys.argv[1])
few = {"n_landmarks": 20}
made = {
    "brute": mercer.brute("chi2").fit(X).add(X),
    "exact": mercer.exact("chi2", n_components=8, **few).fit(X).add(X[:30]).add(X[30:]),
    "lists": mercer.klsh("chi2", n_bits=40, subset=5, codes="lists", **few).fit(X).add(X),
}
for line in sys.stdin:
    name, folder, at, error = line.rstrip().split("|")
    child = os.fork()
    if child == 0:
        os.environ |= {"FAULT_ERROR": error, "FAULT_AT": at}
        try:
            made[name].save(folder)
            said = "saved"
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.environ["FAULT_AT"] = "0"
        sys.stdout.write(said.replace(chr(10), " ") + chr(10))
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
"""
SAVES = [(name, there) for name in ("brute", "exact", "lists") for there in (True, False)]
OLD, NEW = 40, 60  # items of the index that is there, and of the one that is saved


def attack(seconds: float) -> Outcome:
    """Count saves after which the folder is not what was said."""
    outcome = Outcome("injected faults")
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        outcome.told.append("no C compiler: not tried")
        return outcome
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        (home / "faults.c").write_text(LIBRARY)
        build = [compiler, "-shared", "-fPIC", "-o", "faults.so", "faults.c", "-ldl"]
        subprocess.run(build, cwd=home, check=True)
        np.save(home / "items.npy", X[:NEW])
        mercer.brute("chi2").fit(X[:OLD]).add(X[:OLD]).save(home / "old")
        with Saver(home) as saver:
            faults = _faults(saver)
            for _ in trials(seconds):
                if not _look(*next(faults), outcome):
                    break
    return outcome


class Saver:
    """A process that saves indexes, in which calls of the system fail."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(home / "items.npy")],
            env=os.environ | {"LD_PRELOAD": str(home / "faults.so")},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()

    def save(self, name: str, there: bool, at: int, error: str) -> str:
        """Save where there is an index, or nothing; return what was said."""
        folder = self.folder
        shutil.rmtree(folder, ignore_errors=True)
        if there:
            shutil.copytree(self.home / "old", folder)
        print(name, folder, at, ERRORS[error], sep="|", file=self.process.stdin, flush=True)
        return str(self.process.stdout.readline()).strip()

    @property
    def folder(self) -> Path:
        """Where it saves."""
        return self.home / "index"


def _faults(saver: Saver) -> Iterator[tuple[Path, bool, str, str]]:
    """Let every call of every save fail with every error, again and again."""
    for name, there in itertools.cycle(SAVES):
        for at in itertools.count(1):
            said = []
            for error in ERRORS:
                said.append(saver.save(name, there, at, error))
                where = f"{name}, {'again' if there else 'first'}, {error} at call {at}: {said[-1]}"
                yield saver.folder, there, said[-1], where
            if at > MOST or (at > LEAST and set(said) == {"saved"}):
                break


def _look(folder: Path, there: bool, said: str, where: str, outcome: Outcome) -> bool:
    """Compare what is there with what was said; return whether anything was said."""
    try:
        n: int | None = len(mercer.load(folder))
        mercer.verify(folder)
    except mercer.StoreError as reason:
        n, where = None, f"{where}: {reason}"
    if said == "saved" or "holds the new index" in said:
        right = n == NEW
    else:
        right = said.startswith("StoreError") and n == (OLD if there else None)
    outcome.count(1, int(not right), f"{where}: {n} items")
    return bool(said)
