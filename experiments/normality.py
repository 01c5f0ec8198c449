"""How Gaussian the directions of Kernelized LSH are: Anderson and Darling's test (K Fig. 7).

With the linear kernel a direction is a vector, r = Σ w_i x_i, and its 128 coordinates are tested.
Each trial draws other landmarks. Run it with: scripts/experiment normality --output out
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from experiments import curves, report
from experiments.real_data import data_folder
from mercer.embeddings import KLSHDirections

LANDMARKS = (20, 40, 80, 120, 150, 200, 300)
SHARE = 0.2  # of the landmarks that a direction draws: t = ⌊0.2 p⌋
CRITICAL = 0.752  # of the statistic for a sample's own mean and variance, α = 0.05 (Stephens)
KLSH, GAUSSIAN, WEIGHTS = "KLSH", "true Gaussian", "Gaussian weights"


@dataclass(frozen=True)
class Measurement:
    """The statistics of all trials: lower is more Gaussian."""

    landmarks: int
    subset: int
    directions: str
    trials: int
    success: float  # share of the trials that pass
    median: float
    low: float  # one trial in 20 is below
    high: float  # and one above


def statistics(samples: Any) -> Any:
    """Return Anderson and Darling's statistic of each row, corrected for the size of the sample.

    Mean and variance are the sample's own.
    """
    n = samples.shape[1]
    centred = samples - samples.mean(axis=1, keepdims=True)
    ordered = np.sort(centred / centred.std(axis=1, ddof=1, keepdims=True), axis=1)
    weights = 2 * np.arange(1, n + 1) - 1
    sums = (weights * (log_ndtr(ordered) + log_ndtr(-ordered[:, ::-1]))).sum(axis=1)
    return (-n - sums / n) * (1 + 0.75 / n + 2.25 / n**2)


def measure(X: Any, landmarks: Sequence[int], n_trials: int) -> Iterator[Measurement]:
    """Yield one measurement after the other."""
    for p in landmarks:
        drawn = [_vectors(X, p, trial) for trial in range(n_trials)]
        for directions in (KLSH, GAUSSIAN, WEIGHTS):
            values = statistics(np.stack([vectors[directions] for vectors in drawn]))
            low, median, high = np.quantile(values, (0.05, 0.5, 0.95))
            yield Measurement(
                p, int(SHARE * p), directions, n_trials, float((values < CRITICAL).mean()),
                float(median), float(low), float(high),
            )  # fmt: skip


def _vectors(X: Any, p: int, trial: int) -> dict[str, Any]:
    """Return one direction of each sort, from the same landmarks."""
    rng = np.random.default_rng([p, trial])
    L = X[rng.integers(0, len(X), p)].astype(np.float64)
    klsh = KLSHDirections(
        "linear", 1, n_landmarks=p, subset=int(SHARE * p), center="landmarks", normalize=False,
        seed=int(rng.integers(1 << 31)),
    ).fit(L)  # fmt: skip
    # they are kept in the order of the rows, so the weights belong to L
    return {
        KLSH: klsh.weights_[:, 0] @ L,
        GAUSSIAN: rng.normal(size=L.shape[1]),
        WEIGHTS: rng.normal(size=p) @ L,
    }


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw the success rate, and the statistic with its spread."""
    rates, values = [], []
    for directions, colour in zip((WEIGHTS, GAUSSIAN, KLSH), curves.COLOURS, strict=True):
        line = [row for row in rows if row.directions == directions]
        p = [row.landmarks for row in line]
        rates.append(curves.Curve(directions, p, [row.success for row in line], colour))
        values.append(curves.Curve(
            directions, p, [row.median for row in line], colour,
            low=[row.low for row in line], high=[row.high for row in line],
        ))  # fmt: skip
    panels = [
        curves.Panel("success rate", "landmarks p", "share of trials that pass", rates,
                     limits=(0, 1.02)),
        curves.Panel("statistic", "landmarks p", "median; bands: 5 % to 95 %", values,
                     level=("critical, α = 0.05", CRITICAL), limits=(0, 3)),
    ]  # fmt: skip
    curves.draw([panels], path)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on SIFT descriptors."""
    options = report.options(__doc__, arguments)
    X = np.load(data_folder() / "sift" / "sift_base_0.npz")["X"][:90_000]
    landmarks, n_trials = (LANDMARKS[1:6:2], 100) if options.quick else (LANDMARKS, 1000)
    report.publish("normality", lambda: list(measure(X, landmarks, n_trials)), draw, options.output)


if __name__ == "__main__":
    main()
