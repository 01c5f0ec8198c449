"""Everyone who searches by a user's kernel, and the recipes of experts, in one run.

Each rival builds one index in a process of its own; then all search in turns, with efforts from
the least to the most. The scores of every answer are computed here, and kernel values counted
apart from the timing. What is not installed is skipped: pip install mercer[peers].

scripts/bench peers --task chi2 --rivals usearch,pynndescent,exact
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rivals import picture
from benchmarks.rivals.process import Worker
from benchmarks.rivals.registry import FOR_TASK, RIVALS
from benchmarks.rivals.results import Measurement, best, recall
from benchmarks.rivals.task import TASKS, Task
from experiments import report
from mercer import evaluate

WANTED = (0.95, 0.99)
ENOUGH = 0.999  # more effort is not tried


def start(names: Sequence[str], task: Task, threads: int, k: int) -> list[Worker]:
    """Build one rival after the other; say which ones cannot run."""
    workers = []
    for name in names:
        entry = RIVALS[name]
        if entry.missing:
            print(f"{name} is skipped: it needs {entry.package} (pip install mercer[peers])")
            continue
        worker = Worker(entry, task, threads, k)
        print(f"{worker.built.name}: built in {worker.built.seconds:.1f} s", flush=True)
        workers.append(worker)
    return workers


@dataclass
class Turn:
    """One rival with one effort: what it finds, and how long it took each time."""

    worker: Worker
    effort: Any
    recall: float
    times: list[float]


def first_turns(worker: Worker, task: Task, truth: Any, k: int, at_least: float) -> list[Turn]:
    """Search with more and more effort until nearly all is found, and with none said."""
    turns: list[Turn] = []
    for effort in worker.built.efforts:
        if effort and any(turn.recall >= ENOUGH for turn in turns):
            continue
        seconds, rows = worker.search(effort, at_least)
        turns.append(Turn(worker, effort, recall(task, rows, truth, k), list(seconds)))
    return turns


def measure(workers: Sequence[Worker], task: Task, k: int, rounds: int, at_least: float) -> Any:
    """Return the points of all workers; they search in turns, so that slow drifts hit all alike."""
    truth = evaluate.ground_truth(task.kernel, task.X, task.Q, k)
    turns = [turn for worker in workers for turn in first_turns(worker, task, truth, k, at_least)]
    for _ in range(rounds - 1):
        for turn in turns:
            turn.times += turn.worker.search(turn.effort, at_least)[0]
    return [_point(task, turn) for turn in turns]


def _point(task: Task, turn: Turn) -> Measurement:
    built, effort, seconds = turn.worker.built, turn.effort, float(np.median(turn.times))
    told = ", ".join(f"{name} {value}" for name, value in effort.items())
    return Measurement(
        task.name, len(task.X), built.name, built.own, built.threads, told, round(turn.recall, 4),
        round(1 / seconds), round(1 / seconds / built.threads),
        round(turn.worker.evaluations(effort)), built.seconds, built.first_use,
        round(built.bytes_per_item), round(built.peak),
    )  # fmt: skip


def publish(points: Sequence[Measurement], folder: Path, name: str) -> None:
    """Print all points and the best ones; write NAME.csv and NAME.svg."""
    print(report.table(points))
    for wanted in WANTED:
        reached = best(points, wanted)
        print(f"\nthe fastest with recall of at least {wanted}, and its fewest evaluations")
        print(report.table(reached) if reached else "none")
    report.keep(name, points, picture.draw, folder)


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", choices=list(TASKS), default="chi2")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--rivals", help=f"some of {', '.join(RIVALS)}, with commas")
    parser.add_argument("--threads", type=int, default=2, help="for those who can use them")
    parser.add_argument("--rounds", type=int, default=5, help="turns each contender gets")
    parser.add_argument("--seconds", type=float, default=0.3, help="of each turn, at least")
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder for the results")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    asked = options(arguments)
    task = TASKS[asked.task](asked.rows, asked.queries)
    names = asked.rivals.split(",") if asked.rivals else FOR_TASK[task.name]
    print(
        f"{task.name}: {len(task.X)} rows, {len(task.Q)} queries, k={asked.k}, "
        f"{asked.threads} threads, {asked.rounds} rounds"
    )
    workers = start(names, task, asked.threads, asked.k)
    points = measure(workers, task, asked.k, asked.rounds, asked.seconds)
    for worker in workers:
        worker.close()
    publish(points, asked.output, f"peers_{task.name}")


if __name__ == "__main__":
    main()
