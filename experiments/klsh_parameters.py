"""Kernelized LSH as its parameters vary: ε, bits b, subset t and landmarks p (K Fig. 1).

One parameter varies, the others are K's: ε = 0.5, b = 300, t = 30, p = 300. A query takes the class
of the best of its candidates. Run it with: scripts/experiment klsh_parameters --output out
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments import curves, report
from experiments.hashed import CENTER, OURS, PAPER, Hashed, n_candidates, nearest, recall
from experiments.labelled import Labelled, accuracy, words
from mercer import kernels
from mercer.embeddings import KLSHDirections

SETTING = {"epsilon": 0.5, "bits": 300, "subset": 30, "landmarks": 300}
VARIED: dict[str, Sequence[float]] = {
    "epsilon": (0.2, 0.5, 1.0, 1.5, 2.0),
    "bits": (25, 50, 100, 200, 300, 500),
    "subset": (2, 5, 10, 30, 75, 150),
    "landmarks": (60, 100, 200, 300, 600, 1000),
}
LISTS, SCAN = "sorted lists", "scan"
LABELS = {"epsilon": "ε", "bits": "bits b", "subset": "subset t", "landmarks": "landmarks p"}


@dataclass(frozen=True)
class Measurement:
    """One setting, averaged over runs that differ in landmarks, directions and permutations."""

    parameter: str
    value: float
    variant: str
    searcher: str
    rows: int
    queries: int
    runs: int
    share: float  # of the rows that are compared by the kernel
    accuracy: float
    accuracy_sd: float
    recall: float  # share of queries whose true nearest row is compared
    linear_scan: float  # accuracy where all rows are


def measure(
    data: Labelled, varied: dict[str, Sequence[float]], n_runs: int
) -> Iterator[Measurement]:
    """Yield one measurement after the other."""
    kernel = kernels.Chi2()
    scores = kernel(data.Q, data.X)
    everyone = accuracy(scores.argmax(axis=1)[:, None], data)
    for parameter, values in varied.items():
        for variant in (PAPER, OURS):
            found: dict[tuple[float, str], list[tuple[float, float]]] = {}
            for run in range(n_runs):
                for value, searcher, rows in _candidates(data, parameter, values, variant, run):
                    pair = accuracy(nearest(rows, scores, 1), data), recall(rows, scores)
                    found.setdefault((value, searcher), []).append(pair)
            for (value, searcher), pairs in found.items():
                epsilon = value if parameter == "epsilon" else SETTING["epsilon"]
                (mean, met), (sd, _) = np.mean(pairs, axis=0), np.std(pairs, axis=0)
                yield Measurement(
                    parameter, value, variant, searcher, len(data.X), len(data.Q), n_runs,
                    n_candidates(len(data.X), epsilon) / len(data.X), float(mean), float(sd),
                    float(met), everyone,
                )  # fmt: skip


def _candidates(
    data: Labelled, parameter: str, values: Sequence[float], variant: str, run: int
) -> Iterator[tuple[float, str, Any]]:
    """Yield a value, the searcher, and the candidates of all queries."""
    if parameter in ("epsilon", "bits"):  # the same projections serve all values
        most = max(values) if parameter == "bits" else SETTING["bits"]
        hashed = _hashed(data, variant, run, bits=most)
        for value in values:
            epsilon = value if parameter == "epsilon" else SETTING["epsilon"]
            bits = int(value if parameter == "bits" else SETTING["bits"])
            yield value, LISTS, hashed.first_bits(bits).lists(epsilon, run)
            if parameter == "epsilon":
                yield value, SCAN, hashed.scan(n_candidates(len(data.X), epsilon))
    else:
        for value in values:
            hashed = _hashed(data, variant, run, **{parameter: value})
            yield value, LISTS, hashed.lists(SETTING["epsilon"], run)


def _hashed(data: Labelled, variant: str, run: int, **changed: float) -> Hashed:
    setting = SETTING | changed
    p = int(min(setting["landmarks"], len(data.X)))
    directions = KLSHDirections(
        "chi2", int(setting["bits"]), n_landmarks=p, subset=int(min(setting["subset"], p // 2)),
        center=CENTER[variant], seed=run,
    )  # fmt: skip
    return Hashed.by(directions, data.X, data.Q, variant)


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw accuracy against each parameter."""
    panels = [_panel(rows, parameter) for parameter in dict.fromkeys(r.parameter for r in rows)]
    lines = [panels[start : start + 2] for start in range(0, len(panels), 2)]
    curves.draw(lines, path, "full lines: Charikar's sorted lists; dashed: scan of all codes")


def _panel(rows: Sequence[Measurement], parameter: str) -> curves.Panel:
    drawn = []
    for variant, colour in ((PAPER, curves.ORANGE), (OURS, curves.BLUE)):
        for searcher in (LISTS, SCAN):
            key = parameter, variant, searcher
            line = [row for row in rows if (row.parameter, row.variant, row.searcher) == key]
            if line:
                drawn.append(curves.Curve(
                    variant if searcher == LISTS else "", [row.value for row in line],
                    [row.accuracy for row in line], colour, searcher == SCAN,
                ))  # fmt: skip
    level, limits = rows[0].linear_scan, _limits(rows)
    return curves.Panel(
        LABELS[parameter], LABELS[parameter], "1-NN accuracy", drawn, parameter != "epsilon",
        level=("linear scan", level), limits=limits,
    )  # fmt: skip


def _limits(rows: Sequence[Measurement]) -> tuple[float, float]:
    """Return a range that all panels share."""
    seen = [row.accuracy for row in rows] + [rows[0].linear_scan]
    return min(seen) - 0.02, max(seen) + 0.02


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on histograms of 1,000 visual words."""
    options = report.options(__doc__, arguments)
    n_rows, n_queries, n_runs = (800, 200, 1) if options.quick else (5000, 900, 3)
    varied = {name: v[1:4] if options.quick else v for name, v in VARIED.items()}
    data = words(1000, n_rows, n_queries)
    report.publish(
        "klsh_parameters", lambda: list(measure(data, varied, n_runs)), draw, options.output
    )


if __name__ == "__main__":
    main()
