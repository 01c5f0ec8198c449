"""Processes that are killed while they change a store: what they acknowledged is there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from benchmarks.attacks import power
from benchmarks.attacks.base import Outcome, X

ROUND = 100  # kills of one store
LONGEST = 0.15  # seconds before a kill
# forks a child for every line, which tells what it is about to do, and when it is done
CHANGER = """
import json, os, sys
import numpy as np
import mercer
from benchmarks.attacks.base import X

def say(*words):
    os.write(1, (json.dumps(words) + "\\n").encode())  # at once, or not at all

def change(store, rng):
    ids, how = store.ids.tolist(), rng.integers(10)
    if how < 5 or len(ids) < 30:
        first = store.segments_.next_id
        rows = rng.integers(0, len(X), rng.integers(1, 8)).tolist()
        say("add", {str(first + i): row for i, row in enumerate(rows)})
        store.add(X[rows], n_jobs=1)
    elif how < 8:
        gone = rng.choice(ids, rng.integers(1, 8), replace=False).tolist()
        say("remove", gone)
        store.remove(gone)
    elif how == 8:
        some = rng.choice(ids, 3, replace=False).tolist()
        rows = rng.integers(0, len(X), 3).tolist()
        say("update", dict(zip(map(str, some), rows)))
        store.update(X[rows], some)
    else:
        say("compact", None)
        store.compact()
    say("done", None)

for line in sys.stdin:
    folder, seed = line.rstrip().split("|")
    child = os.fork()
    if child == 0:
        say("pid", os.getpid())
        rng = np.random.default_rng(int(seed))
        while True:
            with mercer.open(folder) as store:
                for _ in range(20):
                    change(store, rng)
    say("ended", os.waitpid(child, 0)[1])
"""


def attack(seconds: float) -> Outcome:
    """Kill processes for a while."""
    outcome = Outcome("killed")
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        with tempfile.TemporaryDirectory() as place:
            kill(Path(place), ROUND, outcome, until)
    return outcome


def kill(place: Path, n: int, outcome: Outcome, until: float = float("inf")) -> None:
    """Kill a process that changes a store, n times; count what is wrong then."""
    folder, rng = place / "store", np.random.default_rng(0)
    mercer.exact("chi2", n_landmarks=20, n_components=8).fit(X).save(folder)
    items: power.Items = {}
    with subprocess.Popen(
        [sys.executable, "-c", CHANGER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as changer:
        for number in range(n):
            if time.perf_counter() > until:
                break
            wait = float(rng.random() * LONGEST)
            acknowledged, under_way = _killed(changer, f"{folder}|{number}", items, wait)
            told, items = _told(folder, acknowledged, under_way)
            outcome.count(1, int(bool(told)), f"kill {number}: {told}")
        changer.communicate()


def _told(folder: Path, *allowed: power.Items) -> tuple[str, power.Items]:
    """Return what is wrong with a store, and what is in it."""
    try:
        with mercer.load(folder) as index:
            mercer.verify(folder)
            return power.compared(index, [*allowed]), power.items_of(index)
    except Exception as error:
        return f"{type(error).__name__}: {error}", allowed[0]


def _killed(changer: Any, task: str, items: power.Items, wait: float) -> Any:
    """Return what a killed process had acknowledged, and what it was about to do."""
    print(task, file=changer.stdin, flush=True)
    _, pid = json.loads(changer.stdout.readline())
    timer = threading.Timer(wait, os.kill, [pid, signal.SIGKILL])
    timer.start()
    now = wanted = items
    for line in changer.stdout:
        verb, change = json.loads(line)
        if verb == "ended":
            timer.cancel()
            assert change == signal.SIGKILL, "it ended by itself"
            break
        if verb == "done":
            now = wanted
        elif verb == "remove":
            wanted = {name: row for name, row in now.items() if name not in change}
        elif verb in ("add", "update"):
            wanted = now | {int(name): row for name, row in change.items()}
    return now, wanted
