"""How much the codes find: recall@R on SIFT under χ², every binary code of the papers.

scripts/bench codes
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from experiments import curves, report
from experiments.real_data import DataSet, sift
from mercer import evaluate

DEPTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
HAMMING, ASYMMETRIC = "Hamming", "asymmetric"
GAUSSIAN = "kpca_lsh, Gaussian"


@dataclass(frozen=True)
class Measurement:
    """recall@R of one code, the mean over seeds."""

    code: str
    bits: int
    ranking: str
    R: int
    recall: float


def contenders(seed: int) -> dict[tuple[str, int], mercer.Index]:
    """Return an index for each code."""
    paper: dict[str, Any] = {"n_bits": 256, "n_landmarks": 1000, "subset": 30, "seed": seed}
    made = {
        ("klsh as the paper", 256): mercer.klsh("chi2", center="landmarks", **paper),
        ("klsh, centred", 256): mercer.klsh("chi2", **paper),
        ("klsh, rank 64", 256): mercer.klsh("chi2", rank=64, **paper),
        ("rmmh", 256): mercer.rmmh("chi2", n_bits=256, seed=seed),
        ("fourier", 256): mercer.fourier("chi2", n_bits=256, n_landmarks=1000, seed=seed),
    }
    for n_bits in (64, 128, 256):
        settings: dict[str, Any] = {"n_bits": n_bits, "n_components": 64, "seed": seed}
        made["kpca_lsh", n_bits] = mercer.kpca_lsh("chi2", **settings)
        made[GAUSSIAN, n_bits] = mercer.kpca_lsh("chi2", hyperplanes="gaussian", **settings)
    return made


def measure(data: DataSet, n_seeds: int) -> list[Measurement]:
    """Return the recalls of every code, by Hamming distance and asymmetrically."""
    truth = evaluate.ground_truth("chi2", data.X, data.Q, 1)
    floor = truth.scores[:, :1] - truth.tolerance[:, None]
    runs: dict[tuple[str, int, str], list[Any]] = {}
    for seed in range(n_seeds):
        for name, index in contenders(seed).items():
            index.fit(data.X).add(data.X)
            for ranking in (HAMMING, ASYMMETRIC):
                best = best_so_far(index, data.Q, ranking == ASYMMETRIC)
                found = (best[:, np.array(DEPTHS) - 1] >= floor).mean(axis=0)
                runs.setdefault((*name, ranking), []).append(found)
    return [
        Measurement(*name, R, float(recall))
        for name, found in runs.items()
        for R, recall in zip(DEPTHS, np.mean(found, axis=0), strict=True)
    ]


def best_so_far(index: mercer.Index, Q: Any, asymmetric: bool) -> Any:
    """Return the best true score among the first 1, 2, ... candidates of every query."""
    (segment,) = index.segments_.members
    searcher = index.searcher_.set_params(asymmetric=asymmetric)
    Zq = index.embedding_.transform(Q)
    rows = searcher.candidates(segment.rows, Zq, max(DEPTHS)).rows
    return np.maximum.accumulate(index.kernel.score(Q, segment.items, rows), axis=1)


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw recall@R of all codes of 256 bits, and of hyperplanes of all lengths."""
    colours = (curves.ORANGE, curves.GREEN, curves.BLUE, curves.PINK, curves.GREY, "#7a8490")
    long = list(dict.fromkeys(row.code for row in rows if row.bits == 256))
    long = [code for code in long if code != GAUSSIAN]
    panels = []
    for ranking in (HAMMING, ASYMMETRIC):
        drawn = [
            _curve(rows, code, 256, ranking, colour, code)
            for code, colour in zip(long, colours, strict=True)
        ]
        panels.append(_panel(f"256 bits, {ranking}", drawn))
    kinds = ((GAUSSIAN, True), ("kpca_lsh", False))
    hyperplanes = [
        _panel(f"kpca_lsh, {ranking}", [
            _curve(rows, code, bits, ranking, colour, "" if dashed else f"{bits} bits", dashed)
            for code, dashed in kinds
            for bits, colour in zip((64, 128, 256), curves.COLOURS, strict=True)
        ])
        for ranking in (HAMMING, ASYMMETRIC)
    ]  # fmt: skip
    curves.draw([panels, hyperplanes], path, "dashed: Gaussian hyperplanes; full: orthogonal ones")


def _curve(
    rows: Sequence[Measurement], code: str, bits: int, ranking: str, colour: str, name: str,
    dashed: bool = False,
) -> curves.Curve:  # fmt: skip
    line = [row for row in rows if (row.code, row.bits, row.ranking) == (code, bits, ranking)]
    return curves.Curve(name, [row.R for row in line], [row.recall for row in line], colour, dashed)


def _panel(title: str, drawn: list[curves.Curve]) -> curves.Panel:
    ticks = {R: f"{R:,}" for R in (1, 10, 100, 1000)}
    return curves.Panel(title, "R", "recall@R", drawn, True, ticks, limits=(0, 1.02))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args()
    data = sift(options.rows, options.queries, in_order=True)
    print(f"{len(data.X)} SIFT rows, chi2, {len(data.Q)} queries, mean of {options.seeds} seeds")
    report.publish(
        "codes", lambda: measure(data, options.seeds), draw, options.output, ("R", "recall")
    )


if __name__ == "__main__":
    main()
