"""What a run leaves behind: points of effort, recall and speed, their table and their picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.rivals.task import Task
from mercer.index.matches import Matches

TIE = 1e-6  # relative: scores that are closer are equal


@dataclass(frozen=True)
class Measurement:
    """One rival with one effort."""

    task: str
    rows: int
    rival: str
    own: bool
    threads: int
    effort: str
    recall: float
    queries_per_second: int
    per_core: int
    evaluations: int
    build_seconds: float
    first_use_seconds: float
    bytes_per_item: int
    build_peak_mb: int


@dataclass(frozen=True)
class Best:
    """The fastest point of a rival that reaches a recall, and its fewest evaluations there."""

    rival: str
    wanted: float
    effort: str
    recall: float
    queries_per_second: int
    per_core: int
    evaluations: int
    build_seconds: float
    first_use_seconds: float
    bytes_per_item: int
    build_peak_mb: int


def recall(task: Task, rows: Any, truth: Matches, k: int) -> float:
    """Return the share of the true k best found, by scores computed here (theory: ties).

    A row counts once, and if it scores as the k-th true one, up to rounding.
    """
    rows = np.asarray(rows, np.int64)[:, :k]
    queries = task.Q[: len(rows)]
    scores = task.kernel.score(queries, task.X, rows, dtype=np.float64)
    last = truth.scores[: len(rows), k - 1].astype(np.float64)
    # the truth is kept in float32
    floor = last - np.maximum(TIE * np.abs(last), np.spacing(truth.scores[: len(rows), k - 1]))
    good = (scores >= floor[:, None]) & (rows >= 0)
    found = [len(set(line[hit].tolist())) for line, hit in zip(rows, good, strict=True)]
    return float(np.mean(found)) / k


def best(points: Sequence[Measurement], wanted: float) -> list[Best]:
    """Return the fastest point of each rival that finds so much; none for those that do not."""
    chosen = []
    for rival in dict.fromkeys(point.rival for point in points):
        good = [p for p in points if p.rival == rival and p.recall >= wanted]
        if good:
            chosen.append(_best(good, wanted))
    return sorted(chosen, key=lambda one: -one.queries_per_second)


def _best(good: list[Measurement], wanted: float) -> Best:
    p = max(good, key=lambda point: point.queries_per_second)
    return Best(
        p.rival, wanted, p.effort, p.recall, p.queries_per_second, p.per_core,
        min(point.evaluations for point in good), p.build_seconds, p.first_use_seconds,
        p.bytes_per_item, p.build_peak_mb,
    )  # fmt: skip
