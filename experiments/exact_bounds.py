"""How many kernel values a proof takes, by three rules, as the embedding grows (E appendix A).

Bounds u(q, x) = z·z + R R of every item come from one embedding; the rules differ in what they do
with them. Run it with: scripts/experiment exact_bounds --output out
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from experiments import report
from experiments.plots import draw_shares as draw
from experiments.real_data import DATA, DataSet
from mercer import kernels
from mercer.index import Index

LANDMARKS = (256, 1024)
COMPONENTS = (16, 32, 64, 128, 256)
WANTED = (1, 10)
PROBABILITY = 0.95
PAPER, OURS, RELAXED, HELLINGER = "paper's rule", "ours", "relaxed", "ours + Hellinger"
SEARCH, RELAXED_SEARCH = "Index.search", "Index.search relaxed"  # what the library itself counts
RULES = [PAPER, OURS, HELLINGER, SEARCH, RELAXED, RELAXED_SEARCH]
BELOW_HELLINGER = (kernels.Chi2, kernels.JensenShannon, kernels.Intersection)


@dataclass(frozen=True)
class Measurement:
    """Kernel values beyond the landmarks that one rule needs, over all queries."""

    data: str
    rows: int
    queries: int
    landmarks: int
    components: int
    k: int
    rule: str
    median: float
    mean: float
    share: float  # the median, of the rows
    mean_share: float
    recall: float
    relaxation: float  # E's β, 1 where nothing is relaxed


# ---- the rules, from bounds and true scores of all items, one query a row


def count_paper(u: Any, lower: Any, k: int) -> Any:
    """Count the items whose bound reaches the k-th best lower bound (E eq. 26, for any k).

    E takes the lower bound of the approximate nearest item. The best lower bound of all is at
    least as large, so this flatters E's rule if anything.
    """
    floor = -np.partition(-lower, k - 1, axis=1)[:, k - 1]
    return (u >= floor[:, None]).sum(axis=1)


def count_descent(u: Any, scores: Any, k: int) -> tuple[Any, Any]:
    """Evaluate by decreasing u until u is below the k-th best score; return counts and top k.

    With true bounds this is the least that any rule knowing u alone can do (theory: order).
    """
    order = np.argsort(-u, axis=1, kind="stable")
    bounds, values = (np.take_along_axis(matrix, order, 1) for matrix in (u, scores))
    stops = [_stop(*pair, k) for pair in zip(bounds, values, strict=True)]
    best = [np.sort(row[:stop])[::-1][:k] for row, stop in zip(values, stops, strict=True)]
    return np.array(stops), np.array(best)


def _stop(bounds: Any, values: Any, k: int) -> int:
    """Return how many are evaluated: up to the first bound that k values before it exceed.

    Further down bounds only fall and values are only added, so the place is found by halving.
    """
    low, high = min(k, len(bounds)), len(bounds)
    while low < high:
        middle = (low + high) // 2
        if np.count_nonzero(values[:middle] > bounds[middle]) >= k:
            high = middle
        else:
            low = middle + 1
    return low


# ---- measuring


def measure(
    data: DataSet, landmarks: Sequence[int], components: Sequence[int]
) -> Iterator[Measurement]:
    """Yield one measurement after the other, for every embedding, k and rule."""
    scores = data.kernel(data.Q, data.X)
    hellinger = None
    if isinstance(data.kernel, BELOW_HELLINGER):
        hellinger = kernels.Hellinger()(data.Q, data.X)
    for p in landmarks:
        for E in (size for size in components if size <= p):
            index = mercer.exact(data.kernel, n_landmarks=p, n_components=E)
            index.fit(data.X).add(data.X).calibrate(data.calibration, PROBABILITY)
            yield from _measure_index(data, index, scores, hellinger)


def _measure_index(
    data: DataSet, index: Index, scores: Any, hellinger: Any
) -> Iterator[Measurement]:
    Z, Zq = index.embedding_.transform(data.X), index.embedding_.transform(data.Q)
    products = Zq[:, :-1] @ Z[:, :-1].T
    lost = np.outer(Zq[:, -1], Z[:, -1])
    u = products + lost
    for k in WANTED:
        truth = -np.partition(-scores, range(k), axis=1)[:, :k]
        exact, relaxed = (index.search(data.Q, k, relaxed=relaxed) for relaxed in (False, True))
        counted = {
            PAPER: (count_paper(u, products - lost, k), truth),
            OURS: count_descent(u, scores, k),
            RELAXED: count_descent(products + index.relaxation_ * lost, scores, k),
            SEARCH: (exact.evaluations, exact.scores),
            RELAXED_SEARCH: (relaxed.evaluations, relaxed.scores),
        }
        if hellinger is not None:
            counted[HELLINGER] = count_descent(np.minimum(u, hellinger), scores, k)
        _cross_check(data, exact, counted.get(HELLINGER, counted[OURS])[0], truth)
        for rule, (counts, found) in counted.items():
            yield _summary(data, index, k, rule, counts, _share_found(data, found, truth))


def _cross_check(data: DataSet, exact: mercer.Matches, least: Any, truth: Any) -> None:
    """Stop where Index.search contradicts brute force, or needs less than its bounds allow."""
    slack = exact.tolerance[:, None] + _rounding(data) * np.abs(truth)
    if not exact.exact.all() or (np.abs(exact.scores - truth) > slack).any():
        raise SystemExit("Index.search and brute force disagree")
    # a bound within rounding of the threshold may be evaluated by one and not by the other
    if (exact.evaluations < 0.98 * least - 2).any():
        raise SystemExit("Index.search counted fewer evaluations than a proof needs")


def _share_found(data: DataSet, found: Any, truth: Any) -> float:
    """Return the share of scores that reach the k-th true one, up to rounding."""
    return float((found >= truth[:, -1:] * (1 - _rounding(data))).mean())


def _rounding(data: DataSet) -> float:
    """Return how far two float32 scores may be apart, as a share of them."""
    return 2 * data.kernel.tolerance(data.kernel.prepare(data.X[:1]))


def _summary(
    data: DataSet, index: Index, k: int, rule: str, counts: Any, recall: float
) -> Measurement:
    n, median, mean = len(data.X), float(np.median(counts)), float(counts.mean())
    is_relaxed = rule in (RELAXED, RELAXED_SEARCH) and index.relaxation_ is not None
    return Measurement(
        data=data.name, rows=n, queries=len(data.Q),
        landmarks=index.embedding_.n_landmarks_, components=index.embedding_.n_components_,
        k=k, rule=rule, median=median, mean=mean, share=median / n, mean_share=mean / n,
        recall=recall, relaxation=index.relaxation_ if is_relaxed else 1.0,
    )  # fmt: skip


# ---- output


def table(rows: Sequence[Measurement]) -> str:
    """Return the measurements as text: one line an embedding and k, one column a rule."""
    rules = [rule for rule in RULES if any(row.rule == rule for row in rows)]
    lines = [f"{'data':13}{'p':>5}{'E':>5}{'k':>4}" + "".join(f"{rule:>22}" for rule in rules)]
    places = dict.fromkeys((row.data, row.landmarks, row.components, row.k) for row in rows)
    found = {(row.data, row.landmarks, row.components, row.k, row.rule): row for row in rows}
    for place in places:
        cells = [_cell(found.get((*place, rule))) for rule in rules]
        lines.append("{:13}{:5d}{:5d}{:4d}".format(*place) + "".join(f"{c:>22}" for c in cells))
    return "\n".join(lines)


def _cell(row: Measurement | None) -> str:
    if row is None:
        return ""
    recall = f", {row.recall:.3f}" if row.rule in (RELAXED, RELAXED_SEARCH) else ""
    return f"{row.median:,.0f} {row.mean:,.0f}{recall}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on the data sets asked for and write a table, a csv file and a picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000, help="base rows of each data set")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--landmarks", type=int, nargs="+", default=LANDMARKS)
    parser.add_argument("--components", type=int, nargs="+", default=COMPONENTS)
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    started = time.perf_counter()
    measured: list[Measurement] = []
    for name in options.data:
        data = DATA[name](options.rows, options.queries)
        measured += measure(data, options.landmarks, options.components)
    print(table(measured))
    print("each cell: median and mean evaluations a query; where relaxed, also the recall")
    print(f"{time.perf_counter() - started:.0f} s")
    report.keep("exact_bounds", measured, draw, options.output)


if __name__ == "__main__":
    main()
