"""Classes of table rows by the votes of four neighbours under a learned metric (M Fig. 2).

Features are standardised. The slack of ITML is chosen by three splits of the base rows. Tables of
more than 100 features are learned in the span of 200 rows. Hashed search compares at most 5 % of
the base rows. Run it with: scripts/experiment learned_tables --output out
"""

from __future__ import annotations

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

TABLES = (
    *("wine", "iris", "balance_scale", "ionosphere", "soybean"),
    *("coil20", "isolet1560", "segment", "optdigits", "pendigits"),
)
VOTES, SHARE, BITS = 4, 0.05, 256
SLACKS = (1e-3, 1e-2, 0.1, 1.0, 10.0)
INNER_SPLITS = 3
WIDE, BASIS = (
    100,
    200,
)  # from so many features on, the metric is learned over a basis of so many rows
EUCLIDEAN, SCANNED, HASHED = "Euclidean", "learned, scanned", "learned, hashed"
METHODS = (EUCLIDEAN, SCANNED, HASHED)


@dataclass(frozen=True)
class Measurement:
    """One method on one table, over the splits."""

    table: str
    rows: int
    features: int
    method: str
    splits: int
    share: float  # of the base rows that are compared
    accuracy: float
    accuracy_sd: float
    gain: float  # over Euclidean distances; of hashed search, over the scan
    p_value: float  # of a paired t-test that this gain is 0
    slack: float  # median over the splits
    seconds: float  # of learning once


@dataclass(frozen=True)
class Result:
    """One split: the accuracy of every method."""

    accuracies: tuple[float, float, float]
    share: float
    slack: float
    seconds: float


def measure(tables: Sequence[str], n_splits: int) -> Iterator[Measurement]:
    """Yield the measurements of one table after the other."""
    for table in tables:
        stored = np.load(data_folder() / "tables" / f"{table}.npz")
        X, y = np.asarray(stored["X"], np.float64), np.asarray(stored["y"], np.int64)
        splits = stratified(y, n_splits)
        results = [compare(standardised(X, y, base, asked), i) for i, (base, asked) in splits]
        yield from summary(table, X.shape, results)


def stratified(y: Any, n_splits: int) -> list[tuple[int, tuple[Any, Any]]]:
    """Return numbered splits into 70 % base rows and 30 % queries, the same for each class."""
    from sklearn.model_selection import StratifiedShuffleSplit

    splitter = StratifiedShuffleSplit(n_splits, test_size=0.3, random_state=SEED)
    return list(enumerate(splitter.split(y, y)))


def standardised(X: Any, y: Any, base: Any, asked: Any) -> Labelled:
    """Return base rows and queries with features of mean 0 and variance 1 on the base."""
    mean, spread = X[base].mean(axis=0), X[base].std(axis=0)
    Z = ((X - mean) / np.where(spread > 0, spread, 1)).astype(np.float32)
    return Labelled(Z[base], y[base], Z[asked], y[asked])


def compare(data: Labelled, seed: int) -> Result:
    """Return the accuracy of neighbours by Euclidean and learned distances, and by bits."""
    slack = best_slack(data, seed)
    metric, seconds = report.timed(lambda: learned(data.X, data.y, slack, seed))
    plain = kernels.RBF.for_data(data.X)
    kernel = kernels.Radial.for_data(metric.kernel_, data.X)
    scans = [evaluate.ground_truth(one, data.X, data.Q, VOTES).ids for one in (plain, kernel)]
    index = mercer.learned(kernel, n_bits=BITS, n_landmarks=300, seed=seed).fit(data.X).add(data.X)
    found = index.search(data.Q, VOTES, candidates=max(VOTES, int(SHARE * len(data.X))))
    rates = tuple(accuracy(ids, data) for ids in (*scans, found.ids))
    share = float(found.evaluations.mean() / len(data.X))
    return Result(rates, share, slack, seconds)  # type: ignore[arg-type]


def learned(X: Any, y: Any, slack: float, seed: int) -> learn.ITML:
    """Return a metric learned from labels."""
    kernel = "linear" if X.shape[1] > WIDE else None
    metric = learn.ITML(kernel, slack, n_basis=BASIS, max_iter=10, tol=0.05, seed=seed)
    with report.quiet():  # a basis may be too small for some pairs
        return metric.fit(X, y)


def best_slack(data: Labelled, seed: int) -> float:
    """Return the slack with the most right votes in splits of the base rows alone."""
    rates = np.zeros(len(SLACKS))
    for _, (base, asked) in stratified(data.y, INNER_SPLITS):
        inner = Labelled(data.X[base], data.y[base], data.X[asked], data.y[asked])
        for place, slack in enumerate(SLACKS):
            metric = learned(inner.X, inner.y, slack, seed)
            kernel = kernels.Radial.for_data(metric.kernel_, inner.X)
            ids = evaluate.ground_truth(kernel, inner.X, inner.Q, VOTES).ids
            rates[place] += accuracy(ids, inner)
    return SLACKS[int(np.argmax(rates))]


def summary(table: str, shape: tuple[int, ...], results: list[Result]) -> Iterator[Measurement]:
    """Yield one line for each method."""
    from scipy.stats import ttest_rel

    rates = np.array([result.accuracies for result in results])
    for column, method in enumerate(METHODS):
        other = max(0, column - 1)
        gains = rates[:, column] - rates[:, other]
        p_value = float(ttest_rel(rates[:, column], rates[:, other]).pvalue) if gains.any() else 1.0
        yield Measurement(
            table, *shape, method, len(results),
            float(np.mean([r.share for r in results])) if method == HASHED else 1.0,
            float(rates[:, column].mean()), float(rates[:, column].std(ddof=1)),
            float(gains.mean()), p_value, float(np.median([r.slack for r in results])),
            float(np.mean([r.seconds for r in results])),
        )  # fmt: skip


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw the accuracy of every method, table by table."""
    tables = list(dict.fromkeys(row.table for row in rows))
    drawn = []
    for method, colour in zip(METHODS, (curves.GREY, curves.BLUE, curves.ORANGE), strict=True):
        line = [row for row in rows if row.method == method]
        means = np.array([row.accuracy for row in line])
        spread = np.array([row.accuracy_sd for row in line])
        drawn.append(curves.Curve(
            method, range(len(tables)), means, colour, method == EUCLIDEAN, means - spread,
            means + spread,
        ))  # fmt: skip
    ticks = {float(place): table[:5] for place, table in enumerate(tables)}
    panel = curves.Panel("tables", "", f"{VOTES}-NN accuracy", drawn, ticks=ticks)
    curves.draw([[panel]], path, f"bands: standard deviation over {rows[0].splits} splits")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on tables of 150 to 10,992 rows."""
    options = report.options(__doc__, arguments)
    tables, n_splits = (TABLES[:3], 3) if options.quick else (TABLES, 10)
    report.publish("learned_tables", lambda: list(measure(tables, n_splits)), draw, options.output)


if __name__ == "__main__":
    main()
