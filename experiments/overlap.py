"""How many pairs with nearly the same code are true neighbours: KLSH and Fourier codes (K Fig. 8).

The kernel is RBF. A pair is near if its distance is at most the mean distance of base rows to their
50th neighbour; the overlap score is the share of near ones among the pairs with a Hamming distance
of at most 3. Run it with: scripts/experiment overlap --output out
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments import curves, report
from experiments.real_data import SEED, data_folder, gist
from mercer import kernels
from mercer.embeddings import Embedding, FourierDirections, KLSHDirections

BITS = (10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300)
RADIUS = 3
NEIGHBOUR = 50
KLSH, CENTRED, FOURIER = "KLSH, paper", "KLSH, centred", "Fourier"
METHODS = (KLSH, FOURIER, CENTRED)


@dataclass(frozen=True)
class Measurement:
    """What codes of one length say about all pairs of queries and base rows, over all runs."""

    data: str
    method: str
    bits: int
    runs: int
    pairs: float  # mean number of pairs within the radius
    overlap: float  # share of them that are near; not a number where there are none
    found: float  # share of the near pairs that are within the radius
    even: float  # share near among the closest pairs by codes, as many as there are near ones


def measure(name: str, X: Any, Q: Any, bits: Sequence[int], n_runs: int) -> Iterator[Measurement]:
    """Yield one measurement after the other."""
    kernel = kernels.RBF.for_data(X)
    near = near_pairs(kernel, X, Q)
    for method in METHODS:
        runs = []
        for seed in range(n_runs):
            directions = _directions(method, kernel, max(bits), len(X), seed).fit(X)
            runs.append((directions.transform(X), directions.transform(Q)))
        for b in bits:
            counts = sum(distance_counts(Z[:, :b], Zq[:, :b], near) for Z, Zq in runs)
            yield _summary(name, method, b, n_runs, counts)


def near_pairs(kernel: kernels.Kernel, X: Any, Q: Any) -> Any:
    """Return which pairs of queries and base rows are true neighbours."""
    own = np.sort(_distances(kernel, X, X), axis=1)
    threshold = own[:, min(NEIGHBOUR, len(X) - 1)].mean()  # the nearest is the row itself
    return _distances(kernel, Q, X) <= threshold


def _distances(kernel: kernels.Kernel, X: Any, Y: Any) -> Any:
    return np.sqrt(np.maximum(2 - 2 * kernel(X, Y, dtype=np.float64), 0))


def _directions(
    method: str, kernel: kernels.Kernel, n_bits: int, n_rows: int, seed: int
) -> Embedding:
    if method == FOURIER:
        return FourierDirections(kernel, n_bits, seed=seed)
    center = "both" if method == CENTRED else "landmarks"
    return KLSHDirections(
        kernel, n_bits, n_landmarks=min(300, n_rows), subset=30, center=center, seed=seed
    )


def distance_counts(Z: Any, Zq: Any, near: Any) -> Any:
    """Count pairs by Hamming distance, shape (2, b + 1): those not near, and those that are."""
    signs, asked = (np.where(vectors >= 0, 1, -1).astype(np.float32) for vectors in (Z, Zq))
    b = signs.shape[1]
    distances = ((b - asked @ signs.T) / 2).astype(np.int64)
    return np.stack([np.bincount(distances[which], minlength=b + 1) for which in (~near, near)])


def _summary(name: str, method: str, bits: int, n_runs: int, counts: Any) -> Measurement:
    far, near = np.cumsum(counts, axis=1)
    within = far[min(RADIUS, bits)], near[min(RADIUS, bits)]
    return Measurement(
        name, method, bits, n_runs, float(sum(within) / n_runs),
        float(within[1] / sum(within)) if sum(within) else float("nan"),
        float(within[1] / near[-1]),
        # pairs of one distance are taken in no order, so their share counts
        float(np.interp(near[-1], [0, *(far + near)], [0, *near]) / near[-1]),
    )  # fmt: skip


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw the overlap score, what it leaves out, and the score without a radius."""
    names = list(dict.fromkeys(row.data for row in rows))
    measures = {
        "overlap": "near, of pairs within 3",
        "found": "within 3, of near pairs",
        "even": "near, of as many pairs",
    }
    curves.draw([[_panel(rows, name, *pair) for name in names] for pair in measures.items()], path)


def _panel(rows: Sequence[Measurement], name: str, measure: str, label: str) -> curves.Panel:
    drawn = []
    for method, colour in zip(METHODS, curves.COLOURS, strict=True):
        line = [row for row in rows if (row.data, row.method) == (name, method)]
        values = [getattr(row, measure) for row in line]
        drawn.append(curves.Curve(method, [row.bits for row in line], values, colour))
    ticks = {b: str(b) for b in (10, 30, 100, 300)}
    return curves.Panel(name, "bits", label, drawn, True, ticks, limits=(0, 1.02))


def tables(n_rows: int, n_queries: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, base rows and queries of each data set, drawn at random."""
    for name in ("pendigits", "nursery"):
        X = np.load(data_folder() / "tables" / f"{name}.npz")["X"].astype(np.float32)
        order = np.random.default_rng(SEED).permutation(len(X))
        yield name.capitalize(), X[order[:n_rows]], X[order[n_rows : n_rows + n_queries]]
    photos = gist(n_rows, n_queries)
    yield photos.name, photos.X, photos.Q


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on Pendigits, Nursery and GIST."""
    options = report.options(__doc__, arguments)
    n_queries, n_runs, bits = (300, 2, BITS[::2]) if options.quick else (3000, 5, BITS)
    data = list(tables(1000, n_queries))
    report.publish(
        "overlap",
        lambda: [row for one in data for row in measure(*one, bits, n_runs)], draw, options.output,
    )  # fmt: skip


if __name__ == "__main__":
    main()
