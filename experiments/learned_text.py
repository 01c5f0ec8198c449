"""A metric over 20,000 words, learned in the span of few texts: accuracy, seconds and memory.

Texts are counts of words, compared by the cosine. Classes are those of four neighbours under the
normalised learned kernel, scanned and hashed with 5 % of the base compared. The time of learning
and the most memory it adds are told for bases of 50 to 500 texts and up to 10^6 constraints, and
what one more constraint costs an index that is there. M reports c = 50 and 10^6 constraints.
Run it with: scripts/experiment learned_text --output out
"""

from __future__ import annotations

import csv
import gzip
import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from experiments import curves, report
from experiments.labelled import Labelled, accuracy
from experiments.real_data import SEED, data_folder
from mercer import evaluate, kernels, learn

VOTES, SHARE, BITS = 4, 0.05, 256
SLACK = 10.0
BASES = (50, 200, 500)
CONSTRAINTS = (1_000, 10_000, 100_000, 1_000_000)
MOST = 2e9  # constraints times basis squared times sweeps: more would take minutes
SWEEPS = 5


@dataclass(frozen=True)
class Measurement:
    """One basis and number of constraints; 0 of both: the cosine as it is."""

    texts: int
    words: int
    basis: int
    constraints: int
    satisfied: float
    seconds: float  # of learning, items prepared and kernel values included
    megabytes: float  # the most that learning added
    scanned: float  # accuracy
    hashed: float
    build: float  # seconds of a new index
    update: float  # seconds of one more constraint and of an index that has learned it


def texts(n_rows: int, n_queries: int) -> Labelled:
    """Return news as counts of words, sparse, with one of four classes each."""
    from sklearn.feature_extraction.text import CountVectorizer

    with gzip.open(data_folder() / "text" / "ag_news_test.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    order = np.random.default_rng(SEED).permutation(len(rows))[: n_rows + n_queries]
    X = CountVectorizer().fit_transform([rows[i]["text"] for i in order]).astype(np.float32)
    y = np.array([int(rows[i]["label"]) for i in order])
    return Labelled(X[n_queries:], y[n_queries:], X[:n_queries], y[:n_queries])


def measure(
    data: Labelled, bases: Sequence[int], constraints: Sequence[int]
) -> Iterator[Measurement]:
    """Yield the cosine first, then a line for each basis and number of constraints."""
    plain = evaluate.ground_truth("cosine", data.X, data.Q, VOTES).ids
    shape = data.X.shape
    rate = accuracy(plain, data)
    yield Measurement(*shape, 0, 0, 0.0, 0.0, 0.0, rate, rate, 0.0, 0.0)
    for basis in bases:
        for n in constraints:
            if n * basis**2 <= MOST * SWEEPS:
                yield learned(data, basis, n)


def learned(data: Labelled, basis: int, n: int) -> Measurement:
    """Return what a metric of this size costs, and what it is worth."""
    pairs = learn.from_labels(data.y, n, SEED)
    metric = learn.ITML("cosine", SLACK, n_basis=basis, max_iter=SWEEPS, tol=0.05, seed=SEED)
    with report.quiet():
        tracemalloc.start()
        _, seconds = report.timed(lambda: metric.fit(data.X, pairs))
        megabytes, held = tracemalloc.get_traced_memory()[1] / 1e6, metric.satisfied_
        tracemalloc.stop()
        kernel = metric.kernel_.normalized()
        scanned = evaluate.ground_truth(kernel, data.X, data.Q, VOTES).ids
        index, build = report.timed(lambda: indexed(kernel, data.X))
        found = index.search(data.Q, VOTES, candidates=int(SHARE * len(data.y)))
        _, update = report.timed(lambda: updated(metric, index, data.X))
    return Measurement(
        *data.X.shape, basis, len(pairs), held, seconds, megabytes,
        accuracy(scanned, data), accuracy(found.ids, data), build, update,
    )  # fmt: skip


def indexed(kernel: kernels.Kernel, X: Any) -> mercer.Index:
    """Return a new index."""
    return mercer.learned(kernel, n_bits=BITS, seed=SEED).fit(X).add(X)


def updated(metric: learn.ITML, index: mercer.Index, X: Any) -> mercer.Index:
    """Return the index after one more constraint."""
    metric.partial_fit(X[:2], learn.from_pairs(similar=[(0, 1)]))
    return mercer.relearn(index, metric.kernel_.normalized())


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw seconds and accuracy against the number of constraints."""
    bases = sorted({row.basis for row in rows} - {0})
    panels = []
    for title, field in (("learning", "seconds"), ("accuracy, scanned", "scanned")):
        drawn = []
        for basis, colour in zip(bases, curves.COLOURS, strict=False):
            line = [row for row in rows if row.basis == basis]
            ys = [getattr(row, field) for row in line]
            drawn.append(
                curves.Curve(f"{basis} texts", [row.constraints for row in line], ys, colour)
            )
        level = ("cosine", rows[0].scanned) if field == "scanned" else None
        ticks = {float(10**power): f"10^{power}" for power in range(3, 7)}
        panels.append(curves.Panel(title, "constraints", field, drawn, True, ticks, level))
    curves.draw([panels], path, f"{rows[0].texts} texts, {rows[0].words} words")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on news."""
    options = report.options(__doc__, arguments)
    n_rows, n_queries = (800, 200) if options.quick else (5000, 2000)
    bases, constraints = (BASES[:1], CONSTRAINTS[:2]) if options.quick else (BASES, CONSTRAINTS)
    data = texts(n_rows, n_queries)
    report.publish(
        "learned_text", lambda: list(measure(data, bases, constraints)), draw, options.output
    )


if __name__ == "__main__":
    main()
