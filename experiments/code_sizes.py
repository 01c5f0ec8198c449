"""KLSH, RMMH, kernel PCA with hyperplanes and with product codes, at 32 to 256 bits (E Fig. 4, 5).

χ² on SIFT and on bag of words, 1,024 landmarks; each code as E has it and as mercer has it by
default. Run it with: scripts/experiment code_sizes --output out
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from experiments import curves, report
from experiments.found import Found
from experiments.real_data import DataSet, bag_of_words, sift
from mercer import kernels
from mercer.codes import Product, Sign
from mercer.embeddings import Embedding, KernelPCA, KLSHDirections, MaxMarginDirections
from mercer.search import Scan

LANDMARKS, SUBSET, PQ_COMPONENTS = 1024, 30, 128
BITS = (32, 64, 128, 256)
DEPTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
DEPTH = {"SIFT": 100, "bag of words": 10}  # at which sizes are compared: the bases differ in size
PRINTED, KLSH, RMMH, KPCA_LSH, KPCA_PQ = "KLSH, E eq. 15", "KLSH", "RMMH", "KPCA+LSH", "KPCA+PQ"
CODES = {
    PRINTED: "#bbbbbb", KLSH: curves.GREY, RMMH: curves.ORANGE, KPCA_LSH: curves.GREEN,
    KPCA_PQ: curves.BLUE,
}  # fmt: skip
PAPER, OURS = "as E", "as mercer"


@dataclass(frozen=True)
class Measurement:
    """Recall@`at` of one code of one size: mean and standard deviation over runs."""

    data: str
    rows: int
    queries: int
    runs: int
    variant: str
    code: str
    bits: int
    at: int
    recall: float
    sd: float


def run(found: Found, seed: int, p: int) -> Iterator[tuple[str, str, int, list[float]]]:
    """Yield variant, code, bits and recalls of one draw of everything that is random."""
    for code, variants, directions in implicit(seed, p):
        Z, Zq = found.vectors(directions)
        for variant, bits in product(variants, BITS):  # directions are drawn one after the other
            scan = Scan(Sign(None), asymmetric=variant == OURS)
            yield variant, code, bits, found.recalls(scan, *_first(bits, Z, Zq))
    for variant in (PAPER, OURS):
        kpca = KernelPCA("chi2", max(BITS), n_landmarks=p, center=variant == OURS, seed=seed)
        Z, Zq = found.vectors(kpca)
        for bits in BITS:
            sign = Sign("gaussian" if variant == PAPER else "orthogonal", bits, seed)
            scan = Scan(sign, asymmetric=variant == OURS)
            yield variant, KPCA_LSH, bits, found.recalls(scan, *_first(bits, Z, Zq))
            scan = Scan(Product(bits // 8, "permute", seed=seed))
            yield variant, KPCA_PQ, bits, found.recalls(scan, *_first(PQ_COMPONENTS, Z, Zq))


def implicit(seed: int, p: int) -> list[tuple[str, tuple[str, ...], Embedding]]:
    """Return the hash functions that are sums over landmarks, and whose they are.

    E prints KLSH without centring, which leaves no bit that differs; K centres the landmarks.
    """
    klsh = {
        center: KLSHDirections(
            "chi2", max(BITS), n_landmarks=p, subset=min(SUBSET, p // 2), center=center, seed=seed
        )
        for center in ("none", "landmarks", "both")
    }
    return [
        (PRINTED, (PAPER,), klsh["none"]),
        (KLSH, (PAPER,), klsh["landmarks"]),
        (KLSH, (OURS,), klsh["both"]),
        (RMMH, (PAPER, OURS), MaxMarginDirections("chi2", max(BITS), n_landmarks=p, seed=seed)),
    ]


def _first(n: int, *vectors: Any) -> list[Any]:
    return [np.ascontiguousarray(Z[:, :n]) for Z in vectors]


def measure(data: DataSet, n_runs: int, p: int = LANDMARKS) -> Iterator[Measurement]:
    """Yield one measurement after the other."""
    found = Found(replace(data, kernel=kernels.Chi2()), DEPTHS)
    runs: dict[tuple[str, str, int], list[list[float]]] = {}
    for seed in range(n_runs):
        for *key, recalls in run(found, seed, p):
            runs.setdefault(tuple(key), []).append(recalls)
    for (variant, code, bits), recalls in runs.items():
        means, sds = np.mean(recalls, axis=0), np.std(recalls, axis=0)
        for at, mean, sd in zip(found.depths, means, sds, strict=True):
            yield Measurement(
                data.name, len(data.X), len(data.Q), n_runs, variant, code, bits, at, float(mean),
                float(sd),
            )  # fmt: skip


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw recall@R of the longest codes, and how recall grows with the size."""
    lines = []
    for name in dict.fromkeys(row.data for row in rows):
        here = [row for row in rows if row.data == name]
        lines += [[_deep(here, variant) for variant in (PAPER, OURS)]]
        lines += [[_wide(here, variant) for variant in (PAPER, OURS)]]
    curves.draw(lines, path, "mean and standard deviation over the runs")


def _deep(rows: Sequence[Measurement], variant: str) -> curves.Panel:
    longest = [row for row in rows if (row.variant, row.bits) == (variant, max(BITS))]
    drawn = _curves(longest, "at")
    ticks = {x: f"{x:,}" for x in (1, 10, 100, 1000) if x <= max(drawn[0].xs)}
    title = f"{rows[0].data}, {max(BITS)} bits, {variant}"
    return curves.Panel(title, "R", "recall@R", drawn, True, ticks, limits=(0, 1.02))


def _wide(rows: Sequence[Measurement], variant: str) -> curves.Panel:
    depth = DEPTH.get(rows[0].data, min(DEPTHS))
    drawn = _curves([r for r in rows if (r.variant, r.at) == (variant, depth)], "bits")
    title = f"{rows[0].data}, {variant}"
    return curves.Panel(title, "bits", f"recall@{depth}", drawn, True, limits=(0, 1.02))


def _curves(rows: Sequence[Measurement], across: str) -> list[curves.Curve]:
    drawn = []
    for code, colour in CODES.items():
        line = [row for row in rows if row.code == code]
        low, high = ([row.recall + sign * row.sd for row in line] for sign in (-1, 1))
        xs, ys = [getattr(row, across) for row in line], [row.recall for row in line]
        if line:
            drawn.append(curves.Curve(code, xs, ys, colour, low=low, high=high))
    return drawn


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on SIFT and bag of words."""
    options = report.options(__doc__, arguments)
    n_rows, n_queries, n_runs, p = (
        (1000, 50, 1, 128) if options.quick else (30_000, 500, 10, LANDMARKS)
    )
    data = [load(n_rows, n_queries) for load in (sift, bag_of_words)]
    report.publish(
        "code_sizes", lambda: [row for one in data for row in measure(one, n_runs, p)], draw,
        options.output, across=("at", "recall", "sd"),
    )  # fmt: skip


if __name__ == "__main__":
    main()
