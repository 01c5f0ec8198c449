"""The default slack of ITML, chosen on five tables and tried on five others.

Classes of table rows by the votes of four neighbours under the learned metric, with everything but
the slack left at its default. The slack that is taken removes the largest share of the errors of
Euclidean distances on the table where it removes least: it should hurt nowhere. Tables are
standardised; those of more than 100 features are learned under the linear kernel.
Run it with: scripts/experiment learned_defaults --output out
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments import curves, report
from experiments.labelled import Labelled, accuracy
from experiments.learned_tables import TABLES, VOTES, WIDE, standardised, stratified
from experiments.real_data import data_folder
from mercer import evaluate, kernels, learn

SLACKS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
CHOOSING, REPORTING = "choosing", "reporting"
PARTS = {CHOOSING: TABLES[::2], REPORTING: TABLES[1::2]}
COLOURS = curves.BLUE, curves.ORANGE, curves.GREEN, curves.PINK, curves.GREY


@dataclass(frozen=True)
class Measurement:
    """One slack on one table, over the splits."""

    part: str
    table: str
    rows: int
    features: int
    slack: float
    splits: int
    euclidean: float  # accuracy without learning
    accuracy: float
    accuracy_sd: float
    removed: float  # share of the errors of Euclidean distances that learning removes
    p_value: float  # of a paired t-test that nothing is gained
    seconds: float  # of learning once


def measure(tables: Sequence[str], n_splits: int) -> Iterator[Measurement]:
    """Yield the measurements of one table after the other."""
    for table in tables:
        stored = np.load(data_folder() / "tables" / f"{table}.npz")
        X, y = np.asarray(stored["X"], np.float64), np.asarray(stored["y"], np.int64)
        splits = [standardised(X, y, *split) for _, split in stratified(y, n_splits)]
        yield from compare(table, splits)


def compare(table: str, splits: Sequence[Labelled]) -> Iterator[Measurement]:
    """Yield one line for each slack."""
    from scipy.stats import ttest_rel

    part = CHOOSING if table in PARTS[CHOOSING] else REPORTING
    shape = len(splits[0].X) + len(splits[0].Q), splits[0].X.shape[1]
    plain = np.array([voted(kernels.RBF.for_data(data.X), data) for data in splits])
    for slack in SLACKS:
        results = [learned(data, slack, seed) for seed, data in enumerate(splits)]
        rates, seconds = np.array(results).T
        gains = rates - plain
        yield Measurement(
            part, table, *shape, slack, len(splits), float(plain.mean()), float(rates.mean()),
            float(rates.std(ddof=1)), float(gains.mean() / (1 - plain).mean()),
            float(ttest_rel(rates, plain).pvalue) if gains.any() else 1.0, float(seconds.mean()),
        )  # fmt: skip


def learned(data: Labelled, slack: float, seed: int) -> tuple[float, float]:
    """Return the accuracy under a metric learned with this slack, and the seconds it took."""
    kernel = "linear" if data.X.shape[1] > WIDE else None
    metric = learn.ITML(kernel, slack, seed=seed)
    with report.quiet():  # a basis may be too small for some pairs
        _, seconds = report.timed(lambda: metric.fit(data.X, data.y))
    return voted(kernels.Radial.for_data(metric.kernel_, data.X), data), seconds


def voted(kernel: Any, data: Labelled) -> float:
    """Return the accuracy of the votes of the nearest rows under a kernel."""
    return accuracy(evaluate.ground_truth(kernel, data.X, data.Q, VOTES).ids, data)


def best(rows: Sequence[Measurement]) -> float:
    """Return the slack whose worst table, of those for choosing, is the best."""
    worst = {
        slack: min(row.removed for row in rows if (row.part, row.slack) == (CHOOSING, slack))
        for slack in SLACKS
    }
    return max(worst, key=worst.__getitem__)


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw the share of errors removed against slack, table by table."""
    panels = [
        curves.Panel(
            f"tables for {part}", "slack", "errors removed", list(_lines(rows, part)), log=True,
            ticks={slack: f"{slack:g}" for slack in SLACKS}, level=("Euclidean", 0.0),
        )
        for part in dict.fromkeys(row.part for row in rows)
    ]  # fmt: skip
    curves.draw([panels], path, f"{VOTES}-NN, means over {rows[0].splits} splits")


def _lines(rows: Sequence[Measurement], part: str) -> Iterator[curves.Curve]:
    tables = dict.fromkeys(row.table for row in rows if row.part == part)
    for table, colour in zip(tables, COLOURS, strict=False):
        removed = [row.removed for row in rows if row.table == table]
        yield curves.Curve(table, SLACKS, removed, colour)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on tables of 150 to 10,992 rows."""
    options = report.options(__doc__, arguments)
    tables, n_splits = (TABLES[:2], 3) if options.quick else (TABLES, 10)
    rows = report.publish(
        "learned_defaults", lambda: list(measure(tables, n_splits)), draw, options.output
    )
    print(f"taken: slack={best(rows):g}")


if __name__ == "__main__":
    main()
