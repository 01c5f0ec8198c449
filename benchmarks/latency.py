"""One query at a time, or few: what a question costs beyond its own work.

χ² as a user's function on SIFT. The efforts are the least that find .95 in `peers` with 200,000
rows; exact and klsh are there for what a call costs. What is not installed is left out.

scripts/bench latency
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

from benchmarks.measure import compare, table
from benchmarks.rivals.base import Effort, Rival
from benchmarks.rivals.registry import RIVALS
from benchmarks.rivals.task import TASKS, Task
from mercer.runtime import parallel

BATCHES = (1, 10, 100, 1000)
EFFORTS: dict[str, Effort] = {
    "inverted-own": {"effort": 24, "candidates": 60},
    "inverted": {"effort": 24, "candidates": 60},
    "graph-own": {"effort": 60, "candidates": 40},
    "exact": {},
    "klsh": {"candidates": 100},
    "root-ivf": {"n_probe": 24, "candidates": 60},
    "usearch": {"ef": 48},
}


def built(task: Task, threads: int) -> dict[str, Rival]:
    """Return those that are installed, by name, with all items."""
    rivals = {}
    for name in EFFORTS:
        if not RIVALS[name].missing:
            rivals[name] = RIVALS[name](task, threads)
            rivals[name].build()
    return rivals


def asking(rival: Rival, Q: Any, batch: int, k: int, effort: Effort) -> Callable[[], Any]:
    """Return a search of the next queries, so many at each call."""
    blocks = cycle([Q[span] for span in parallel.spans(len(Q), batch)])
    return lambda: rival.search(next(blocks), k, **effort)


def measure(task: Task, threads: int, k: int, rounds: int) -> list[list[Any]]:
    """Return rows of the table: microseconds of a query, of each rival and batch.

    The last column is what a query costs alone beyond its share in the largest batch.
    """
    rivals = built(task, threads)
    rows: list[list[Any]] = [[rival.name, rival.threads] for rival in rivals.values()]
    for batch in BATCHES:
        calls = [asking(r, task.Q, batch, k, EFFORTS[name]) for name, r in rivals.items()]
        for row, seconds in zip(rows, compare(*calls, rounds=rounds, at_least=0.2), strict=True):
            row.append(round(1e6 * seconds / batch))
    for row in rows:
        row.append(row[2] - row[1 + len(BATCHES)])
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", choices=list(TASKS), default="chi2")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args(arguments)
    task = TASKS[asked.task](asked.rows, BATCHES[-1])
    print(f"{task.name}, {len(task.X)} rows, k=10: microseconds a query, asked so many at a time")
    head = ["", "threads", *map(str, BATCHES), "alone - share"]
    table(head, measure(task, asked.threads, 10, asked.rounds))


if __name__ == "__main__":
    main()
