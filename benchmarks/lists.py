"""Sorted lists against a scan of all codes, as ε and the neighbours vary, on SIFT under χ².

scripts/bench lists
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import compare
from experiments import curves, report
from experiments.real_data import sift
from mercer import evaluate
from mercer.codes import Sign
from mercer.embeddings import KernelPCA
from mercer.search import Candidates, Rows, Scan, Searcher, SortedLists

EPSILONS = (1.0, 1.5, 2.0, 3.0)
NEIGHBOURS = (0, 2, 5, 10, 20)
SHORTLIST = 100  # rows that the kernel would be asked for
MEMORY = 8 << 30


@dataclass(frozen=True)
class Measurement:
    """One searcher: what it finds, and how fast beside the scan of all codes."""

    rows: int
    epsilon: float  # 0: the scan of all codes
    neighbours: int
    lists: int
    gigabytes: float
    share: float  # of the rows that the papers would compare by the kernel: 2M (1 + B)
    recall_all: float  # of the nearest row, if all of these are
    recall: float  # if only the shortlist is, ranked by whole codes
    speed: float  # queries a second, one thread, up to the shortlist
    ratio: float  # of it to that of the scan


@dataclass(frozen=True)
class Codes:
    """Vectors of rows and queries, and the true nearest row of each query."""

    Z: Any
    Zq: Any
    truth: Any

    def recall(self, built: Built, n: int) -> float:
        """Return how often the nearest row is among n candidates."""
        return evaluate.recall(built.candidates(self.Zq, n).rows, self.truth, 1)


@dataclass(frozen=True)
class Built:
    """A searcher and the rows it built."""

    searcher: Searcher
    rows: Rows

    @classmethod
    def over(cls, Z: Any, searcher: Searcher) -> Built:
        """Let a searcher learn from vectors and build rows over them."""
        return cls(searcher.fit(Z), searcher.build(Z))

    def candidates(self, Zq: Any, n: int) -> Candidates:
        """Return n promising rows of each query."""
        return self.searcher.candidates(self.rows, Zq, n)


def codes(n_rows: int, n_queries: int) -> Codes:
    """Embed SIFT by kernel PCA, 64 components."""
    data = sift(n_rows, n_queries, in_order=True)
    embedding = KernelPCA("chi2", 64, center=True, normalize=True).fit(data.X)
    truth = evaluate.ground_truth("chi2", data.X, data.Q, 1)
    return Codes(embedding.transform(data.X), embedding.transform(data.Q), truth)


def measure(data: Codes, n_bits: int, rounds: int) -> Iterator[Measurement]:
    """Yield the scan, then every setting of the lists; each is timed in turns with the scan."""
    sign = Sign("orthogonal", n_bits)
    scan = Built.over(data.Z, Scan(sign))
    found, n = data.recall(scan, SHORTLIST), len(data.Z)
    time = compare(lambda: scan.candidates(data.Zq, SHORTLIST), rounds=rounds)[0]
    speed = len(data.Zq) / time
    size = scan.rows.codes.nbytes / 1e9
    yield Measurement(n, 0.0, 0, 0, size, 1.0, 1.0, found, speed, 1.0)
    for epsilon in EPSILONS:
        lists = Built.over(data.Z, SortedLists(sign, epsilon=epsilon, memory_limit=MEMORY))
        yield from _settings(lists, epsilon, scan, data, rounds)
        del lists
        gc.collect()  # gigabytes


def _settings(
    lists: Built, epsilon: float, scan: Built, data: Codes, rounds: int
) -> Iterator[Measurement]:
    n, n_lists = len(data.Z), len(lists.rows.lists)
    size = (lists.rows.lists.nbytes + lists.rows.directories.nbytes) / 1e9
    for neighbours in NEIGHBOURS:
        lists.searcher.set_params(neighbours=neighbours)
        compared = min(n, 2 * n_lists * (1 + neighbours))
        whole, own = compare(
            lambda: scan.candidates(data.Zq, SHORTLIST),
            lambda: lists.candidates(data.Zq, SHORTLIST), rounds=rounds,
        )  # fmt: skip
        yield Measurement(
            n, epsilon, neighbours, n_lists, size, compared / n,
            data.recall(lists, compared), data.recall(lists, SHORTLIST), len(data.Zq) / own,
            whole / own,
        )  # fmt: skip


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw recall against the speed beside the scan, one line for each ε."""
    panels = []
    colours = (curves.ORANGE, curves.GREEN, curves.BLUE, curves.PINK)
    for n in dict.fromkeys(row.rows for row in rows):
        drawn = []
        for epsilon, colour in zip(EPSILONS, colours, strict=True):
            line = [row for row in rows if (row.rows, row.epsilon) == (n, epsilon)]
            xs, ys = [row.ratio for row in line], [row.recall for row in line]
            drawn.append(curves.Curve(f"ε = {epsilon:g}", xs, ys, colour))
        scan = next(row for row in rows if (row.rows, row.epsilon) == (n, 0.0))
        panels.append(curves.Panel(
            f"{n:,} rows", "times the scan's speed", f"recall@{SHORTLIST}", drawn, True,
            {x: f"{x:g}" for x in (0.1, 0.3, 1, 3, 10, 30, 100)}, ("scan", scan.recall), (0, 1.02),
        ))  # fmt: skip
    curves.draw([panels], path, "a point for each B, from right to left: 0, 2, 5, 10, 20")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[200_000, 748_242])
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--bits", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args()
    report.publish(
        "lists",
        lambda: [
            row
            for n_rows in options.rows
            for row in measure(codes(n_rows, options.queries), options.bits, options.rounds)
        ],
        draw, options.output,
    )  # fmt: skip


if __name__ == "__main__":
    main()
