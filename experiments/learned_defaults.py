"""The default slack of ITML, chosen on five tables and tried on seven others.

Classes of table rows by the votes of four neighbours under the learned metric, with everything but
the slack left at its default. Slack is either 1 or a price per dimension, c d / n for n constraints
on a metric of d dimensions. The c that is taken removes the largest share of the errors of
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
from mercer.learn.itml import PRICE

PRICES = (0.3, 1.0, 3.0, 10.0, 30.0)  # c
FIXED = 0.0  # stands for a slack of 1
CHOOSING, REPORTING, FURTHER = "choosing", "reporting", "added later"
PARTS = {CHOOSING: TABLES[::2], REPORTING: TABLES[1::2], FURTHER: ("mushroom", "nursery")}
COLOURS = curves.BLUE, curves.ORANGE, curves.GREEN, curves.PINK, curves.GREY


@dataclass(frozen=True)
class Measurement:
    """One price on one table, over the splits."""

    part: str
    table: str
    rows: int
    features: int
    price: float  # c; 0 for a slack of 1
    slack: float  # mean over the splits
    splits: int
    euclidean: float  # accuracy without learning
    accuracy: float
    accuracy_sd: float
    removed: float  # share of the errors of Euclidean distances that learning removes
    p_value: float  # of a paired t-test that nothing is gained
    seconds: float  # of learning once


def measure(n_tables: int, n_splits: int) -> Iterator[Measurement]:
    """Yield the measurements of one table after the other."""
    for part, table in [(part, one) for part, some in PARTS.items() for one in some[:n_tables]]:
        stored = np.load(data_folder() / "tables" / f"{table}.npz")
        X, y = np.asarray(stored["X"], np.float64), np.asarray(stored["y"], np.int64)
        splits = [standardised(X, y, *split) for _, split in stratified(y, n_splits)]
        yield from compare(part, table, splits)


def compare(part: str, table: str, splits: Sequence[Labelled]) -> Iterator[Measurement]:
    """Yield one line for each price."""
    from scipy.stats import ttest_rel

    shape = len(splits[0].X) + len(splits[0].Q), splits[0].X.shape[1]
    plain = np.array([voted(kernels.RBF.for_data(data.X), data) for data in splits])
    for price in (*PRICES, FIXED):
        results = [learned(data, price, seed) for seed, data in enumerate(splits)]
        rates, slacks, seconds = np.array(results).T
        gains = rates - plain
        yield Measurement(
            part, table, *shape, price, float(slacks.mean()), len(splits),
            float(plain.mean()), float(rates.mean()),
            float(rates.std(ddof=1)), float(gains.mean() / (1 - plain).mean()),
            float(ttest_rel(rates, plain).pvalue) if gains.any() else 1.0, float(seconds.mean()),
        )  # fmt: skip


def learned(data: Labelled, price: float, seed: int) -> tuple[float, float, float]:
    """Return the accuracy of a metric learned at this price, the slack, and the seconds it took."""
    kernel = "linear" if data.X.shape[1] > WIDE else None
    metric = learn.ITML(kernel, seed=seed)
    with report.quiet():  # a basis may be too small for some pairs
        slack = metric.fit(data.X, data.y).slack_ * price / PRICE if price else 1.0
        _, seconds = report.timed(lambda: metric.set_params(slack=slack).fit(data.X, data.y))
    return voted(kernels.Radial.for_data(metric.kernel_, data.X), data), slack, seconds


def voted(kernel: Any, data: Labelled) -> float:
    """Return the accuracy of the votes of the nearest rows under a kernel."""
    return accuracy(evaluate.ground_truth(kernel, data.X, data.Q, VOTES).ids, data)


def best(rows: Sequence[Measurement]) -> float:
    """Return the price whose worst table, of those for choosing, is the best."""
    worst = {
        price: min(row.removed for row in rows if (row.part, row.price) == (CHOOSING, price))
        for price in PRICES
    }
    return max(worst, key=worst.__getitem__)


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw the share of errors removed against slack, table by table."""
    panels = [
        curves.Panel(
            part, "price for each dimension", "errors removed", list(_lines(rows, part)), log=True,
            ticks={price: f"{price:g}" for price in PRICES}, level=("Euclidean", 0.0),
        )
        for part in dict.fromkeys(row.part for row in rows)
    ]  # fmt: skip
    note = f"{VOTES}-NN, means over {rows[0].splits} splits; {best(rows):g} is taken"
    curves.draw([panels], path, note)


def _lines(rows: Sequence[Measurement], part: str) -> Iterator[curves.Curve]:
    tables = dict.fromkeys(row.table for row in rows if row.part == part)
    for table, colour in zip(tables, COLOURS, strict=False):
        removed = [row.removed for row in rows if row.table == table and row.price]
        yield curves.Curve(table, PRICES, removed, colour)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on tables of 150 to 12,960 rows."""
    options = report.options(__doc__, arguments)
    n_tables, n_splits = (1, 3) if options.quick else (len(TABLES), 10)
    report.publish(
        "learned_defaults", lambda: list(measure(n_tables, n_splits)), draw, options.output
    )


if __name__ == "__main__":
    main()
