"""What changes of a store cost: milliseconds, and bytes written, on SIFT under χ².

scripts/bench store
scripts/bench store --stream 20000000 --memory 1000000000

With --stream, rows (SIFT, and jittered copies of it) are added from one file that is larger than
what may be in memory; the process that does it is killed in the middle, and started again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from benchmarks.measure import table
from experiments.real_data import sift

SAMPLE = 50_000  # rows that the index learns from
OPENING = """
import sys, time, mercer, numpy as np
Q = np.load(sys.argv[2])
mercer.brute("chi2").fit(Q).add(Q).search(Q[:1], 1)  # imports, and loads compiled loops
start = time.perf_counter()
index = mercer.load(sys.argv[1])
index.search(Q[:1], 10)
print(1e3 * (time.perf_counter() - start))
"""
FILLING = """
import sys, mercer
with mercer.open(sys.argv[1]) as store:
    store.add(sys.argv[2], memory=int(sys.argv[3]))
"""


def written() -> int:
    """Return how many bytes this process has written so far."""
    told = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(told["wchar"])


def timed(call: Callable[[], Any]) -> tuple[float, float]:
    """Return milliseconds and megabytes written of a call."""
    before, start = written(), time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - start), (written() - before) / 1e6


def costs(X: Any, Q: Any, new: Any, folder: Path, method: str) -> list[list[Any]]:
    """Return a row for each change of a store of the rows X."""
    row, rows = X[0].nbytes, []

    def measure(name: str, calls: Sequence[Callable[[], Any]], n: int = 0) -> None:
        ms, mb = np.median([timed(call) for call in calls], axis=0)
        rows.append([name, ms, mb, mb * 1e6 / (n * row) if n else ""])

    getattr(mercer, method)("chi2").fit(X[:SAMPLE]).save(folder)
    np.save(folder.parent / "Q.npy", Q)
    with mercer.open(folder) as store:
        measure(f"add all {len(X)}", [lambda: store.add(X)], len(X))
        store.search(Q[:1], 10)
        search = [lambda: store.search(Q[:1], 10)] * 200
        measure("search", search)
        reader = mercer.load(folder)
        blocks = iter(range(0, len(new), 1))
        for n, times in ((1, 100), (1000, 20), (100_000, 1)):

            def add(n: int = n) -> None:
                first = next(blocks)
                store.add(new[first : first + n])

            if n <= len(new):
                measure(f"add {n}", [add] * times, n)
            if n == 1:
                measure("search after 100 adds", search)
                measure("reload", [reader.reload])
        ids = store.ids
        measure("remove 1", [lambda i=i: store.remove(ids[i : i + 1]) for i in range(20)])
        measure("remove 1000", [lambda: store.remove(ids[1000:2000])])
        run = [sys.executable, "-c", OPENING, str(folder), str(folder.parent / "Q.npy")]
        opening = [float(subprocess.check_output(run)) for _ in range(5)]
        rows.append(["open, first search", float(np.median(opening)), "", ""])
        measure("compact", [store.compact])
        measure("search after compact", search)
    return rows


# ---- beyond memory


def stream(X: Any, Q: Any, n: int, memory: int, folder: Path, method: str) -> list[list[Any]]:
    """Add n rows from a file in a process that is killed in the middle; return what that took."""
    path = folder.parent / "rows.npy"
    _write(path, X, n)
    getattr(mercer, method)("chi2").fit(X[:SAMPLE]).save(folder)
    run = [sys.executable, "-c", FILLING, str(folder), str(path), str(memory)]
    start, peaks = time.perf_counter(), []
    peaks.append(_peak(subprocess.Popen(run), lambda: len(mercer.load(folder)) > n // 2))
    killed_at = len(mercer.load(folder))
    peaks.append(_peak(subprocess.Popen(run), lambda: False))
    seconds = time.perf_counter() - start
    index = mercer.load(folder)
    found = index.search(Q, 10)
    truth = mercer.evaluate.ground_truth("chi2", np.load(path, mmap_mode="r"), Q, 10)
    recall = mercer.evaluate.recall(found, truth, 10)
    return [
        ["rows", len(index)], ["rows when killed", killed_at], ["rows/s", n / seconds],
        ["GB of the file", path.stat().st_size / 1e9], ["peak RssAnon, GB", max(peaks) / 1e9],
        ["segments", len(index.segments_.members)], ["recall@10", float(np.mean(recall))],
    ]  # fmt: skip


def _write(path: Path, X: Any, n: int) -> None:
    """Write n rows: X, and copies of it with noise."""
    rng = np.random.default_rng(0)
    rows = np.lib.format.open_memmap(path, "w+", np.float32, (n, X.shape[1]))
    for start in range(0, n, len(X)):
        part = rows[start : start + len(X)]
        noise = rng.random(part.shape, np.float32) if start else 0
        part[:] = X[: len(part)] * (1 + 0.1 * noise)
        part /= part.sum(axis=1, keepdims=True)


def _peak(process: Any, stop: Callable[[], bool]) -> int:
    """Return the most anonymous memory of a process, which is killed when `stop` says so."""
    peak = 0
    while process.poll() is None:
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        found = [int(line.split()[1]) for line in lines if line.startswith("RssAnon")]
        peak = max([peak, *(1024 * one for one in found)])
        if stop():
            process.kill()
        time.sleep(0.2)
    return peak


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=748_242)
    parser.add_argument("--method", default="inverted")
    parser.add_argument("--stream", type=int, default=0)
    parser.add_argument("--memory", type=int, default=1 << 30)
    asked = parser.parse_args(arguments)
    data = sift(asked.rows, 100)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "index"
        if asked.stream:
            told = stream(data.X, data.Q, asked.stream, asked.memory, folder, asked.method)
            table([f"{asked.method}, streamed", ""], told)
            return
        n = min(100_000, len(data.X) // 2)
        new = data.X[-n:] * np.float32(1.01)  # the last rows once more, a little longer
        head = ["change", "ms", "MB written", "times the items"]
        table(head, costs(data.X, data.Q, new, folder, asked.method))


if __name__ == "__main__":
    main()
