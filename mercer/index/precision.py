"""Warn where float32 cannot tell items, or their scores, apart."""

import warnings
from typing import Any

import numpy as np

from mercer import items
from mercer.errors import PrecisionWarning
from mercer.kernels import Kernel, Prepared
from mercer.kernels.similarity import TINY

SAMPLE = 64  # items examined
LOST = 0.01  # share of the spread of items that float32 may lose without a warning


def warn_of_rounding(kernel: Kernel, X: Any) -> None:
    """Warn where items lose their differences in float32, or all scores count as 0."""
    n = items.length(X)
    rows = np.unique(np.linspace(0, n - 1, SAMPLE).astype(int))
    if isinstance(X, Prepared):
        _warn_of_small_scores(kernel, X.take(rows))
        return
    sample = items.take(items.rows_of(X), rows)
    _warn_of_lost_differences(sample)
    _warn_of_small_scores(kernel, kernel.prepare(sample))


def _warn_of_lost_differences(sample: Any) -> None:
    """Warn if numbers in double precision lose their differences when kept in float32."""
    if not isinstance(sample, np.ndarray) or sample.dtype != np.float64 or sample.ndim != 2:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        lost = np.linalg.norm(sample - sample.astype(np.float32))
        spread = np.linalg.norm(sample - sample.mean(axis=0))
    if LOST * spread < lost < np.inf:
        warnings.warn(
            f"float32, which items are kept in, moves them by {lost / max(spread, lost):.0%} of "
            "what is between them: neighbours may be lost. Subtract the mean of each feature "
            "first, X - X.mean(axis=0).",
            PrecisionWarning,
            stacklevel=6,
        )


def _warn_of_small_scores(kernel: Kernel, P: Prepared) -> None:
    """Warn if k(x, x) or, for kernels that are never 0, values of different items count as 0."""
    diag = kernel.diag(P, dtype=np.float64)
    if 0 < np.abs(diag).max() < TINY:
        _warn_of_zeros(f"k(x, x) is at most {np.abs(diag).max():.1g}", "Scale the items up.")
    if not kernel.positive or len(P) < 2:
        return
    values = kernel(P, dtype=np.float64)
    np.fill_diagonal(values, -np.inf)
    if np.median(values.max(axis=1)) < TINY:
        _warn_of_zeros(
            f"most of {len(P)} items score below {TINY:.0e} with all the others",
            "Make the kernel less sharp: RBF.for_data(X) and its like choose a gamma that suits.",
        )


def _warn_of_zeros(found: str, cure: str) -> None:
    warnings.warn(
        f"{found}. Such scores count as 0, so that answers rank nothing. {cure}",
        PrecisionWarning,
        stacklevel=7,
    )
