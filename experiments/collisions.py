"""How often the bits of two items agree, by how similar they are: every code and its theory.

Handwritten digits of scikit-learn, as histograms. Writes a picture for each code. Run it with:
scripts/experiment collisions --output out
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import mercer
from experiments import curves, report
from experiments.real_data import l1_normalised
from mercer import kernels

COSINE, CENTRED, KERNEL = "cosine", "cosine of centred projections", "kernel value"
BINS = 24  # of pairs, by similarity
LABELS = {
    "lsh": "angles of the vectors",
    "klsh": "χ²",
    "kpca_lsh": "χ², Gaussian hyperplanes",
    "rmmh": "χ²",
    "fourier": "RBF",
}


@dataclass(frozen=True)
class Measurement:
    """The share of equal bits of pairs about as similar."""

    code: str
    measured_by: str
    bits: int
    pairs: int
    similarity: float
    mean: float
    low: float  # one pair in 20 is below
    high: float  # and one above
    expected: float  # by theory; nan where there is none


@dataclass(frozen=True)
class Agreement:
    """One code: its index, how similar all items are to each other, and what theory expects."""

    index: mercer.Index
    similarities: Any
    measured_by: str
    expected: Any


def measure(X: Any, n_bits: int, seed: int = 0) -> Iterator[Measurement]:
    """Yield the bins of every code."""
    for name, one in codes(X, n_bits, seed).items():
        bits = np.unpackbits(one.index.encode(X), axis=1)[:, :n_bits].astype(np.float32)
        equal = (bits @ bits.T + (1 - bits) @ (1 - bits).T) / n_bits
        pairs = np.triu_indices(len(X), 1)
        similar, shares = one.similarities[pairs], equal[pairs]
        edges = np.linspace(*np.quantile(similar, (0.001, 0.9999)), BINS + 1)
        for low, high in pairwise(edges):
            inside = (similar >= low) & (similar < high)
            if inside.sum() < 20:
                continue
            middle = float(similar[inside].mean())
            quantiles = np.quantile(shares[inside], (0.05, 0.95))
            yield Measurement(
                name, one.measured_by, n_bits, int(inside.sum()), middle,
                float(shares[inside].mean()), *map(float, quantiles), float(one.expected(middle)),
            )  # fmt: skip


def codes(X: Any, n_bits: int, seed: int) -> dict[str, Agreement]:
    """Return every code, fitted."""
    chi2 = kernels.Chi2().normalized()(X, dtype=np.float64)
    rbf = kernels.RBF.for_data(X)
    waves = mercer.fourier(rbf, n_bits=n_bits, seed=seed).fit(X)
    hyperplanes = mercer.kpca_lsh(
        "chi2", n_bits=n_bits, n_components=32, hyperplanes="gaussian", seed=seed
    ).fit(X)
    machines = mercer.rmmh("chi2", n_bits=n_bits, seed=seed).fit(X)
    klsh = mercer.klsh("chi2", n_bits=n_bits, seed=seed).fit(X)
    lsh = mercer.lsh("cosine", n_bits=n_bits, hyperplanes="gaussian", seed=seed).fit(X)
    projected = hyperplanes.embedding_.transform(X)
    return {
        "lsh": Agreement(lsh, _cosines(X @ X.T), COSINE, _angle),
        "klsh": Agreement(klsh, _cosines(_centred(chi2)), CENTRED, _angle),
        "kpca_lsh": Agreement(hyperplanes, _cosines(projected @ projected.T), CENTRED, _angle),
        "rmmh": Agreement(machines, chi2, KERNEL, lambda similarity: np.nan),
        "fourier": Agreement(waves, rbf(X, dtype=np.float64), KERNEL, waves.embedding_.agreement),
    }


def _angle(cosine: float) -> float:
    return float(1 - np.arccos(np.clip(cosine, -1, 1)) / np.pi)


def _centred(K: Any) -> Any:
    return K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean()


def _cosines(K: Any) -> Any:
    lengths = np.sqrt(np.diag(K))
    return K / np.outer(lengths, lengths)


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw the codes there are in one row."""
    names = dict.fromkeys(row.code for row in rows)
    curves.draw([[_panel([row for row in rows if row.code == name]) for name in names]], path)


def _panel(rows: Sequence[Measurement]) -> curves.Panel:
    xs, name = [row.similarity for row in rows], rows[0].code
    drawn = [curves.Curve(
        "measured", xs, [row.mean for row in rows], curves.BLUE,
        low=[row.low for row in rows], high=[row.high for row in rows],
    )]  # fmt: skip
    if not np.isnan(rows[0].expected):
        expected = [row.expected for row in rows]
        drawn.append(curves.Curve("theory", xs, expected, curves.ORANGE, True))
    ticks = {x / 5: f"{x / 5:.1f}" for x in range(-2, 6) if min(xs) <= x / 5 <= max(xs)}
    return curves.Panel(
        f"{name}, {LABELS[name]}", rows[0].measured_by, "share of equal bits", drawn, False, ticks,
        limits=(0.2, 1.02),
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on all pairs of digits."""
    options = report.options(__doc__, arguments)
    n_items, n_bits = (400, 128) if options.quick else (1797, 1024)
    X = l1_normalised(load_digits().data[:n_items])
    rows = report.publish("collisions", lambda: list(measure(X, n_bits)), draw, options.output)
    for name in LABELS:
        report.keep(name, [row for row in rows if row.code == name], draw, options.output)


if __name__ == "__main__":
    main()
