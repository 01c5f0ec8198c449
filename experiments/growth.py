"""What product codes of kernel PCA find as the base grows (E Fig. 3).

16 bytes of 64 components through 1,024 landmarks, χ² on SIFT. Beyond the 748,242 descriptors there
are, the base grows by copies of them with every value disturbed, so that a copy is about as near
to its original as the nearest other descriptor: they are not new photos. Landmarks and centroids
are learned once, from the first rows. Run it with: scripts/experiment growth --output out
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from experiments import curves, report
from experiments.real_data import DataSet, l1_normalised, sift
from mercer import evaluate, kernels
from mercer.codes import Product
from mercer.embeddings import KernelPCA
from mercer.runtime import parallel
from mercer.search import Scan
from mercer.search.scan import CodeRows

BYTES, COMPONENTS, LANDMARKS = 16, 64, 1024
LEARN = 100_000  # rows that landmarks and centroids are learned from
BLOCK = 50_000  # rows made, encoded and forgotten together
DEPTHS = (1, 10, 100, 1000)
SIZES = (50_000, 100_000, 200_000, 400_000, 748_242, 1_500_000, 3_000_000, 6_000_000, 10_000_000)
SAMPLE = 2000  # rows whose neighbours say how far copies may be


@dataclass(frozen=True)
class Measurement:
    """Recall@`at` in a base of `rows`, of which `copies` are disturbed copies."""

    rows: int
    copies: int
    queries: int
    bytes: int
    at: int
    recall: float


def spread(X: Any) -> float:
    """Return how far to disturb values: a copy is then as near as the nearest neighbour is."""
    some = X[:SAMPLE]
    near = 1 - np.median(evaluate.ground_truth("chi2", X, some, 2).scores[:, 1])
    sigma = float(2 * np.sqrt(near))  # with x' = x exp(σ g), 1 - k(x, x') is nearly σ²/4
    pairs = np.arange(len(some))[:, None]
    copied = 1 - np.median(kernels.Chi2().score(disturbed(some, sigma, 0), some, pairs))
    return sigma * float(np.sqrt(near / copied))


def disturbed(X: Any, sigma: float, seed: int) -> Any:
    """Return x exp(σ g) of every row with Gaussian g, summing to 1 again."""
    noise = np.random.default_rng(seed).standard_normal(X.shape, np.float32)
    return l1_normalised(X * np.exp(np.float32(sigma) * noise))


def blocks(X: Any, sizes: Sequence[int], sigma: float) -> Iterator[tuple[int, Any]]:
    """Yield rows in blocks that end at all sizes, each block with the number of its first row.

    They are X, and then disturbed copies of it.
    """
    edges = sorted({*range(0, max(sizes), BLOCK), *sizes})
    for start, stop in pairwise(edges):
        rows = np.arange(start, stop)
        some = X[rows % len(X)]
        copied = rows >= len(X)
        if copied.any():
            some = np.where(copied[:, None], disturbed(some, sigma, start), some)
        yield start, some


class Base:
    """Codes of all rows so far, and the nearest row of each query."""

    def __init__(self, data: DataSet, n_learn: int, n_landmarks: int) -> None:
        learned = data.X[:n_learn]
        self.data = data
        self.embedding = KernelPCA("chi2", COMPONENTS, n_landmarks=n_landmarks, center=True)
        self.scan = Scan(Product(BYTES, "permute")).fit(self.embedding.fit_transform(learned))
        self.codes: list[Any] = []
        self.nearest = np.full(len(data.Q), -1)
        self.best = np.full(len(data.Q), -np.inf)

    def add(self, first: int, rows: Any) -> None:
        """Encode a block of rows, the first of which has this number, and forget them."""
        self.codes.append(self.scan.build(self.embedding.transform(rows)).codes)
        found = evaluate.ground_truth("chi2", rows, self.data.Q, 1)
        nearer = found.scores[:, 0] > self.best
        self.best[nearer] = found.scores[nearer, 0]
        self.nearest[nearer] = first + found.ids[nearer, 0]

    def recalls(self, depths: Sequence[int]) -> list[float]:
        """Return how often the nearest row is among the first R by the codes."""
        self.codes = [np.concatenate(self.codes)]
        rows = CodeRows(self.codes[0])
        Zq = self.embedding.transform(self.data.Q)
        spans = [(span,) for span in parallel.spans(len(Zq), 64)]
        found = parallel.run(
            lambda span: self.scan.candidates(rows, Zq[span], max(depths)).rows, spans
        )
        hits = np.concatenate(found) == self.nearest[:, None]
        return [float(hits[:, :depth].any(axis=1).mean()) for depth in depths]


def measure(
    data: DataSet, sizes: Sequence[int], n_learn: int = LEARN, n_landmarks: int = LANDMARKS
) -> Iterator[Measurement]:
    """Yield the recalls at each size, as the base grows."""
    base = Base(data, n_learn, n_landmarks)
    for first, rows in blocks(data.X, sizes, spread(data.X)):
        base.add(first, rows)
        n = first + len(rows)
        if n in sizes:
            for at, recall in zip(DEPTHS, base.recalls(DEPTHS), strict=True):
                copies = max(0, n - len(data.X))
                yield Measurement(n, copies, len(data.Q), BYTES, at, recall)


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw recall@R against the size of the base."""
    colours = (curves.GREY, curves.ORANGE, curves.GREEN, curves.BLUE)
    drawn = []
    for at, colour in zip(DEPTHS, colours, strict=True):
        line = [row for row in rows if row.at == at]
        xs, ys = [row.rows for row in line], [row.recall for row in line]
        drawn.append(curves.Curve(f"recall@{at:,}", xs, ys, colour))
    real = max((row.rows for row in rows if not row.copies), default=0)
    ticks = {x: f"{x / 1e6:.2g}" for x in drawn[0].xs}
    panel = curves.Panel(
        f"SIFT, χ², {BYTES} bytes", "million rows", "recall@R", drawn, True, ticks, limits=(0, 1.02)
    )
    curves.draw([[panel]], path, f"beyond {real:,} rows: disturbed copies")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on SIFT, then on disturbed copies of it."""
    options = report.options(__doc__, arguments)
    n_rows, n_queries = (2000, 50) if options.quick else (748_242, 200)
    sizes = (1000, 2000, 3500) if options.quick else SIZES
    p = 256 if options.quick else LANDMARKS
    data = sift(n_rows, n_queries)
    report.publish(
        "growth", lambda: list(measure(data, sizes, n_landmarks=p)), draw, options.output,
        across=("at", "recall"),
    )  # fmt: skip


if __name__ == "__main__":
    main()
