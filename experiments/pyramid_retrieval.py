"""Pyramid match hashing of photos against a linear scan, for 20 to 256 bits (P §4, Fig. 3).

ε = 1 and the five nearest photos, by Charikar's sorted lists and by a scan of all codes with as
many candidates, for pyramids that start where the data says and at fixed sides. Run it with:
scripts/experiment pyramid_retrieval --output out
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from experiments import curves, report
from experiments.hashed import OURS, PAPER, Hashed, n_candidates, nearest
from experiments.photos import Photos, photos, reduced
from mercer import evaluate, kernels
from mercer.embeddings import PyramidDirections
from mercer.search import SortedLists

BITS = (20, 40, 60, 80, 100, 256)
EPSILON, WANTED = 1.0, 5
LARGEST = 512  # pixels: no photo has a wider bin
BY_DATA = "by the data"
STARTS = (BY_DATA, 4, 16, 32, 64)
LISTS, SCAN = "sorted lists", "scan"


@dataclass(frozen=True)
class Measurement:
    """One number of bits, averaged over runs that differ in directions and permutations."""

    start: str  # how the side of the smallest bins was chosen
    finest: float
    levels: int
    searcher: str
    bits: int
    base: int
    queries: int
    runs: int
    nearest: float  # median similarity of the nearest photo
    share: float  # of the base that is compared by the kernel
    guarantee: float  # queries with a candidate within (1 + ε) of the nearest, by angles
    guarantee_1p: float  # the same by 1 - similarity
    vacuous: float  # queries whose farthest photo keeps the guarantee too
    within_tenth: float  # queries with a candidate within 1.1 of the nearest, by angles
    found: float  # queries whose nearest photo is a candidate
    percentile: float  # median rank of the best photo found, in % of the base behind it
    percentile_of_5: float  # mean rank of the five best found
    relevance: float  # photos of the right class among five, against those of the scan
    query_ms: float  # one thread, from the features of a query to its answer
    scan_ms: float  # the same by a linear scan


def pyramid(start: str | int, data: Photos) -> kernels.PyramidMatch:
    """Return the pyramid that starts where the data says, or at a fixed side."""
    if isinstance(start, str):
        return kernels.PyramidMatch.for_data(data.base)
    return kernels.PyramidMatch(float(start), 1 + int(np.log2(LARGEST / start)))


def measure(
    data: Photos, starts: Sequence[str | int], bits: Sequence[int], n_runs: int
) -> Iterator[Measurement]:
    """Yield one measurement after the other, for every start, searcher and number of bits."""
    for start in starts:
        levels = pyramid(start, data)
        kernel = levels.normalized()
        X, Q = kernel.prepare(data.base), kernel.prepare(data.queries)
        truth = Truth.of(kernel(Q, X), data)
        scan_ms = _milliseconds(
            lambda some, kernel=kernel, X=X: evaluate.ground_truth(kernel, X, some, WANTED,
                                                                   n_jobs=1),
            data.queries,
        )  # fmt: skip
        runs = [_hashed(kernel, X, Q, max(bits), seed) for seed in range(n_runs)]
        for searcher in (LISTS, SCAN):
            for n_bits in bits:
                found = [_rows(run, searcher, n_bits, seed) for seed, run in enumerate(runs)]
                scores = np.mean([truth.judge(rows) for rows in found], axis=0)
                codes = SortedLists(epsilon=EPSILON) if searcher == LISTS else "asymmetric"
                index = mercer.pyramid(kernel, n_bits=n_bits, codes=codes).fit(X).add(X)
                query_ms = _milliseconds(
                    lambda some, index=index: index.search(
                        some, WANTED, candidates=n_candidates(len(index), EPSILON), n_jobs=1
                    ),
                    data.queries,
                )  # fmt: skip
                yield Measurement(
                    str(start), float(levels.finest), levels.n_levels, searcher, n_bits, len(X),
                    len(Q), n_runs, truth.median, *map(float, scores), query_ms, scan_ms,
                )  # fmt: skip


@dataclass(frozen=True)
class Truth:
    """All similarities, one query a row, and what follows from them."""

    scores: Any
    behind: Any  # how many photos score less, in %
    relevant: Any  # whether a photo has the class of the query

    @classmethod
    def of(cls, scores: Any, data: Photos) -> Truth:
        """Rank all photos of all queries."""
        ordered = np.sort(scores, axis=1)
        behind = [np.searchsorted(*pair) for pair in zip(ordered, scores, strict=True)]
        return cls(
            scores, 100 * np.array(behind) / (scores.shape[1] - 1), data.asked[:, None] == data.y
        )

    @property
    def median(self) -> float:
        """The median similarity of the nearest photo."""
        return float(np.median(self.scores.max(axis=1)))

    def judge(self, rows: Any) -> tuple[float, ...]:
        """Return what `Measurement` has from `share` to `relevance`, of candidates."""
        best = self.scores.max(axis=1)
        values = np.where(rows < 0, -np.inf, np.take_along_axis(self.scores, rows, 1))
        top = values.max(axis=1)
        angle, least, most = (
            np.arccos(np.clip(s, -1, 1)) for s in (top, best, self.scores.min(axis=1))
        )
        five = nearest(rows, self.scores, WANTED)
        behind = np.take_along_axis(self.behind, five, 1)
        return (
            (rows >= 0).sum(axis=1).mean() / self.scores.shape[1],
            (angle <= (1 + EPSILON) * least).mean(),
            (1 - top <= (1 + EPSILON) * (1 - best)).mean(),
            (most <= (1 + EPSILON) * least).mean(),
            (angle <= 1.1 * least).mean(),
            (top >= best).mean(),
            np.median(behind[:, 0]),
            behind.mean(),
            self._relevance(five),
        )

    def _relevance(self, five: Any) -> float:
        """Return the mean ratio of relevant photos, at most 1, where the scan has any."""
        scanned = np.argsort(-self.scores, axis=1, kind="stable")[:, :WANTED]
        found, possible = (
            np.take_along_axis(self.relevant, rows, 1).sum(axis=1) for rows in (five, scanned)
        )
        some = possible > 0
        return float(np.minimum(found[some] / possible[some], 1).mean()) if some.any() else 1.0


def _hashed(kernel: kernels.Kernel, X: Any, Q: Any, n_bits: int, seed: int) -> Hashed:
    return Hashed.by(PyramidDirections(kernel, n_bits, seed=seed), X, Q, OURS)


def _rows(run: Hashed, searcher: str, n_bits: int, seed: int) -> Any:
    """Return the candidates; lists compare bits, and a scan keeps the query's projections."""
    some = run.first_bits(n_bits)
    if searcher == SCAN:
        return some.scan(n_candidates(len(run.X), EPSILON))
    return Hashed(some.X, some.Q, PAPER).lists(EPSILON, seed)


def _milliseconds(search: Callable[[Any], Any], queries: Any) -> float:
    """Return the time of one query among many."""
    search(queries[:2])
    started = time.perf_counter()
    search(queries)
    return 1000 * (time.perf_counter() - started) / len(queries)


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw what was found, and its relevance, against the bits."""
    shown = {
        "within_tenth": "within 1.1 of the nearest",
        "found": "nearest photo found",
        "relevance": "relevance ratio",
    }
    lines = [
        [_panel(rows, searcher, name, label) for name, label in shown.items()]
        for searcher in (LISTS, SCAN)
    ]
    share = rows[0].share
    curves.draw(lines, path, f"at most {100 * share:.1f} % of {rows[0].base:,} photos compared")


def _panel(rows: Sequence[Measurement], searcher: str, name: str, label: str) -> curves.Panel:
    starts = list(dict.fromkeys(row.start for row in rows))
    palette = (curves.BLUE, curves.ORANGE, curves.GREEN, curves.PINK, curves.GREY)
    drawn = []
    for start, colour in zip(starts, palette, strict=False):
        line = [row for row in rows if (row.searcher, row.start) == (searcher, start)]
        drawn.append(curves.Curve(
            start if start == BY_DATA else f"side {start}", [row.bits for row in line],
            [getattr(row, name) for row in line], colour, start != BY_DATA,
        ))  # fmt: skip
    return curves.Panel(searcher, "bits", label, drawn, True, limits=(0, 1.02))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on photos of Caltech-101."""
    options = report.options(__doc__, arguments)
    sizes, starts, bits, n_runs = (4039, 600), STARTS, BITS, 5
    if options.quick:
        sizes, starts, bits, n_runs = (300, 60), (BY_DATA, 32), (20, 64), 2
    data = reduced(photos(*sizes))
    report.publish(
        "pyramid_retrieval", lambda: list(measure(data, starts, bits, n_runs)), draw,
        options.output,
    )  # fmt: skip


if __name__ == "__main__":
    main()
