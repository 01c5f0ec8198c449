"""Classes of photos by their nearest photo, under every kernel of sets, by scan and by hashing.

Pyramids are hashed by random walks (P, M §3.7), all others by Kernelized LSH (K §6.2). Run it with:
scripts/experiment set_accuracy --output out
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import mercer
from experiments import curves, report
from experiments.hashed import n_candidates
from experiments.photos import SIFT_LENGTH, Photos, photos, reduced, with_position
from mercer import Ragged, evaluate, kernels
from mercer.kernels import Kernel, Pyramid

EPSILONS = (1.0, 0.5)
BITS = 256
# the features each kernel compares, and how it is made of the base photos
UNIFORM = "PyramidMatch"
SMALL, WHOLE, WIDE = "components and position", "SIFT and position", "SIFT with its position"
MADE: dict[str, tuple[str, Callable[[Ragged], Kernel]]] = {
    UNIFORM: (SMALL, lambda X: kernels.PyramidMatch.for_data(X).normalized()),
    "PyramidMatch from 64": (SMALL, lambda X: kernels.PyramidMatch(64.0, 4).normalized()),
    "VocabularyPyramid": (WIDE, lambda X: kernels.VocabularyPyramid.for_data(X).normalized()),
    "SpatialPyramid": (WHOLE, lambda X: kernels.SpatialPyramid.for_data(X).normalized()),
    "ProximityDistribution": (
        WHOLE, lambda X: kernels.ProximityDistribution.for_data(X).normalized(),
    ),
    "SumMatch": (WIDE, lambda X: kernels.SumMatch.for_data(X).normalized()),
    "MaxSim": (WIDE, lambda X: kernels.MaxSim(kernels.SumMatch.for_data(X).base)),
    "Corr": (
        WHOLE, lambda X: kernels.Corr.for_data(X, position_weight=0.25 * SIFT_LENGTH**2),
    ),
}  # fmt: skip
WALKS, IMPLICIT = "random walks", "Kernelized LSH"
EXPENSIVE = ("SumMatch", "MaxSim")  # a millisecond a pair: on fewer photos
PALETTE = (curves.BLUE, curves.GREEN, curves.ORANGE, curves.PINK, curves.GREY, "#56b4e9")


@dataclass(frozen=True)
class Measurement:
    """One kernel, by a scan of all photos or of the candidates of 256 bits."""

    kernel: str
    features: str
    hashed_by: str
    search: str
    base: int
    queries: int
    share: float  # of the base that is compared, landmarks not counted
    accuracy: float  # of the class of the nearest photo found
    found: float  # queries whose nearest photo was found
    nearest: float  # median similarity of the nearest photo
    query_ms: float  # all threads, from the features of a query to its answer


def measure(data: Photos, names: Sequence[str], n_landmarks: int) -> Iterator[Measurement]:
    """Yield one measurement after the other, for every kernel and way to search."""
    features = {WHOLE: data, SMALL: reduced(data), WIDE: with_position(data)}
    for name in names:
        kind, make = MADE[name]
        some = features[kind]
        kernel = make(some.base)
        X = kernel.prepare(some.base)
        started = time.perf_counter()
        truth = evaluate.ground_truth(kernel, X, some.queries, 1)
        took = time.perf_counter() - started
        hashed_by, index = _index(kernel, n_landmarks)
        nearest = float(np.median(truth.scores))
        shared = (name, kind, hashed_by, len(X), len(some.queries), nearest)
        yield _summary(shared, "scan", 1.0, data, truth, truth, took)
        index.fit(X).add(X)
        for epsilon in EPSILONS:
            n = n_candidates(len(X), epsilon)
            started = time.perf_counter()
            found = index.search(some.queries, 1, candidates=n)
            took = time.perf_counter() - started
            label = f"{BITS} bits, ε = {epsilon:g}"
            yield _summary(shared, label, n / len(X), data, found, truth, took)


def _index(kernel: Kernel, n_landmarks: int) -> tuple[str, mercer.Index]:
    inner = kernel.kernel if isinstance(kernel, kernels.Normalized) else kernel
    if isinstance(inner, Pyramid):
        return WALKS, mercer.pyramid(kernel, n_bits=BITS)
    return IMPLICIT, mercer.klsh(kernel, n_bits=BITS, n_landmarks=n_landmarks)


def _summary(
    shared: tuple[str, str, str, int, int, float], search: str, share: float, data: Photos,
    found: mercer.Matches, truth: mercer.Matches, seconds: float,
) -> Measurement:  # fmt: skip
    name, kind, hashed_by, n_base, n_queries, nearest = shared
    right = data.y[found.ids[:, 0]] == data.asked
    return Measurement(
        name, kind, hashed_by, search, n_base, n_queries, share, float(right.mean()),
        evaluate.recall(found, truth, 1), nearest, 1000 * seconds / n_queries,
    )  # fmt: skip


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw the accuracy against the share of the base compared, a panel for each base."""
    sizes = dict.fromkeys((row.base, row.queries) for row in rows)
    panels = [_panel([row for row in rows if (row.base, row.queries) == one]) for one in sizes]
    curves.draw([panels], path, f"{BITS} bits and so many candidates; all: a scan")


def _panel(here: Sequence[Measurement]) -> curves.Panel:
    drawn = []
    for name, colour in zip(dict.fromkeys(row.kernel for row in here), PALETTE, strict=False):
        line = sorted((row.share, row.accuracy) for row in here if row.kernel == name)
        drawn.append(curves.Curve(name, *zip(*line, strict=True), colour))
    ticks = {row.share: f"{100 * row.share:.3g}" for row in here}
    return curves.Panel(
        f"{here[0].base:,} photos, {here[0].queries:,} queries", "% of the base compared",
        "1-NN accuracy", drawn, True, ticks, limits=(0, 0.6),
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on photos of Caltech-101."""
    options = report.options(__doc__, arguments)
    cheap = [name for name in MADE if name not in EXPENSIVE]
    runs, p = [(4039, 600, cheap), (1000, 200, [UNIFORM, "Corr", *EXPENSIVE])], 300
    if options.quick:
        runs, p = [(80, 10, [UNIFORM, "Corr"])], 60

    def everything() -> Iterator[Measurement]:
        for n_base, n_queries, names in runs:
            yield from measure(photos(n_base, n_queries), names, p)

    report.publish("set_accuracy", lambda: list(everything()), draw, options.output)


if __name__ == "__main__":
    main()
