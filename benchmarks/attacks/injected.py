"""Faults of the system: the n-th call of write, fsync, rename, ... fails, in a process of its own.

A small library is compiled (with cc) and loaded before the C library's own functions.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import mercer
from benchmarks.attacks.base import Outcome, X, trials

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
        if (!n || access(getenv("FAULT_ARM"), F_OK)) return 0;
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
CHILD = """
import sys
import numpy as np
import mercer
X = np.load(sys.argv[2])
index = mercer.brute("chi2").fit(X).add(X)
open(sys.argv[3], "w").close()
try:
    index.save(sys.argv[1])
    print("saved")
except mercer.StoreError as error:
    print(error)
"""


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
        np.save(home / "items.npy", X[:60])
        mercer.brute("chi2").fit(X[:40]).add(X[:40]).save(home / "old")
        for number, _ in enumerate(trials(seconds)):
            _try(home, 1 + number // len(ERRORS), list(ERRORS)[number % len(ERRORS)], outcome)
    return outcome


def _try(home: Path, at: int, error: str, outcome: Outcome) -> None:
    """Let one call of a save fail, and compare what is there with what is said."""
    folder, armed = home / "index", home / "armed"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(home / "old", folder)
    armed.unlink(missing_ok=True)
    faulty = {"LD_PRELOAD": str(home / "faults.so"), "FAULT_AT": str(at),
              "FAULT_ERROR": str(ERRORS[error]), "FAULT_ARM": str(armed)}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(folder), str(home / "items.npy"), str(armed)],
        env=os.environ | faulty, capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = done.stdout.strip()
    where = f"{error} at call {at}: {said or done.stderr[-200:]}"
    try:
        n = len(mercer.load(folder))
        mercer.verify(folder)
    except mercer.MercerError as reason:
        outcome.count(1, 1, f"{where}: {reason}")
        return
    if said == "saved" or "holds the new index" in said:
        right = n == 60
    else:
        right = n == 40 and "is still there" in said
    outcome.count(1, int(not right), f"{where}: {n} items")
