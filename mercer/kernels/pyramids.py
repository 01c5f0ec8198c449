"""The base of kernels that intersect sparse histograms of sets."""

from abc import abstractmethod
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from mercer.errors import InputError
from mercer.items.ragged import Ragged
from mercer.kernels import _pyramid_loops as _loops
from mercer.kernels.base import Kernel
from mercer.kernels.prepared import Prepared
from mercer.kernels.similarity import refuse_to_return, unit
from mercer.runtime import parallel
from mercer.runtime.arrays import Array, DType, Ids

POINTS = 1 << 18  # points binned in one go
PROBES = 64  # sets whose neighbours `for_data` looks for
NORMS = (None, "minimum")


class Pyramid(Kernel):
    """k(Y, Z) = Σ_b c_b min(n_b(Y), n_b(Z)) over bins b: a weighted histogram intersection.

    n_b(Y) is the number of points of set Y in bin b, and c_b ≥ 0 the coefficient of the bin. The
    kernel is positive semi-definite: min(n, m) is the inner product of n and m ones (Grauman and
    Darrell 2007, eq. 11).

    A subclass defines the coefficients and the bins that the points of sets lie in. Prepared
    items are two `Ragged`: the bins of every set, and how many points lie in each.
    """

    input = "sets"
    normalize: str | None = None

    @property
    @abstractmethod
    def coefficients(self) -> npt.NDArray[np.float64]:
        """The different coefficients; that of bin b is ``coefficients[b >> coefficient_shift]``."""

    @property
    @abstractmethod
    def coefficient_shift(self) -> int:
        """How many low bits of a bin's number do not affect its coefficient."""

    @property
    def _n_features(self) -> int | None:
        """How many features the vectors of its sets have; None if any number will do."""
        return None

    @abstractmethod
    def _histograms(self, X: Ragged) -> tuple[Ragged, Ragged]:
        """Return bins and counts of a block of checked sets."""

    def _validate(self) -> None:
        if self.normalize not in NORMS:
            raise InputError(
                f"normalize is {self.normalize!r}. Pass None or 'minimum'; for "
                f"k(x, y) / √(k(x, x) k(y, y)) write {self.label}(...).normalized()."
            )
        self.psd = self.intersects = self.normalize is None

    def _prepare(self, X: Ragged) -> dict[str, Any]:
        blocks = [self._histograms(X[span]) for span in _spans(X)]
        bins, counts = (Ragged.join(parts) for parts in zip(*blocks, strict=True))
        parts: dict[str, Any] = {"bins": _narrow(bins), "counts": counts}
        if self.normalize is not None:
            parts["own"] = self._own(Prepared(self, parts))
        return parts

    def given(self, P: Prepared) -> NoReturn:
        """Raise KernelError: items are not kept."""
        refuse_to_return(self)

    def sound(self, P: Prepared) -> bool:
        """Whether every bin has a coefficient and a count, and the sets suit the kernel."""
        bins, counts = P.bins.values, P.counts.values
        return (
            (P.form is None or self._n_features in (None, P.form[1]))
            and bins.dtype.kind in "iu"
            and counts.dtype.kind in "iuf"
            and bins.shape == counts.shape
            and bins.shape[1] == 1
            and np.array_equal(P.bins.offsets, P.counts.offsets)
            and int(bins.min(initial=0)) >= 0
            and int(bins.max(initial=0)) >> self.coefficient_shift < len(self.coefficients)
        )

    def _own(self, P: Prepared) -> npt.NDArray[np.float64]:
        values = np.empty(len(P))
        _loops.own(as_rows(P), self.coefficients, self.coefficient_shift, values)
        return values

    def _tile(self, P: Prepared, R: Prepared, out: Array) -> None:
        _loops.tile(as_rows(P), as_rows(R), self.coefficients, self.coefficient_shift, out)
        if self.normalize is not None:
            _divide(out, P.own[:, None], R.own)

    def _gather(self, P: Prepared, R: Prepared, ids: Ids, dtype: DType) -> Array:
        out = np.empty(ids.shape, dtype)
        _loops.gather(as_rows(P), as_rows(R), ids, self.coefficients, self.coefficient_shift, out)
        if self.normalize is not None:
            _divide(out, P.own[:, None], R.own[ids])
        return out

    def _diag(self, P: Prepared, dtype: DType) -> Array:
        if self.normalize is not None:
            return np.asarray(P.own > 0, dtype)
        return self._own(P).astype(dtype)

    def tolerance(self, *prepared: Prepared, dtype: npt.DTypeLike = np.float32) -> float:
        """Bound the error: a sum in double precision, and the roundings of the result."""
        longest = max(int(np.diff(P.bins.offsets).max(initial=0)) for P in prepared)
        return 4 * unit(dtype) + (longest + 8) * unit(np.float64)


def histograms(points: npt.NDArray[np.int64], offsets: Ids) -> tuple[Ragged, Ragged]:
    """Return bins and counts of sets whose point i lies in the bins ``points[i]``."""
    bins = np.empty((points.size, 1), np.int64)
    counts = np.empty((points.size, 1), np.int32)
    ends = np.zeros(len(offsets), np.int64)
    n = _loops.count(points, offsets, bins.reshape(-1), counts.reshape(-1), ends)
    return Ragged(bins[:n].copy(), ends), Ragged(counts[:n].copy(), ends)


def level_weights(
    label: str, weights: npt.NDArray[np.float64] | None, n_levels: int
) -> npt.NDArray[np.float64]:
    """Return the weights of all levels, finest first: those given, or 1/2^i (P eq. 3)."""
    if weights is None:
        return np.asarray(0.5 ** np.arange(n_levels))
    fine = weights.shape == (n_levels,) and weights.dtype.kind == "f" and np.isfinite(weights).all()
    if not fine or (np.diff(weights) > 0).any() or weights[-1] < 0 or weights[0] <= 0:
        raise InputError(
            f"{label}: weights are {weights!r}. Pass {n_levels} numbers of at least 0 that do not "
            "increase, one a level, the finest first: otherwise the kernel is not positive "
            "semi-definite."
        )
    return weights


def shares(kernel: Pyramid, sets: Ragged) -> tuple[float, float]:
    """Return the median share of points that a set has in common with the nearest, and with any.

    The kernel counts one level only; there must be at least two sets.
    """
    counting = kernel.normalized()
    P = counting.prepare(sets)
    found: Array = counting(P[:PROBES], P)
    np.fill_diagonal(found, np.nan)
    return float(np.median(np.nanmax(found, axis=1))), float(np.nanmedian(found))


def _narrow(bins: Ragged) -> Ragged:
    """Return numbers of bins in 32 bits where they fit."""
    if bins.values.max(initial=0) > np.iinfo(np.int32).max:
        return bins
    return Ragged(bins.values.astype(np.int32), bins.offsets)


def as_rows(P: Prepared) -> tuple[Array, Array, Array]:
    """Return histograms as compiled loops take them: offsets, bins, counts."""
    return P.bins.offsets, P.bins.values.reshape(-1), P.counts.values.reshape(-1)


def _divide(values: Array, a: Array, b: Array) -> None:
    """Divide by the smaller self-similarity, in place; 0/0 is 0."""
    least = np.minimum(a, b).astype(values.dtype)
    np.divide(values, least, out=values, where=least > 0)


def _spans(X: Ragged) -> list[slice]:
    """Cut sets into runs of about `POINTS` points."""
    step = max(1, POINTS * len(X) // max(1, len(X.values)))
    return parallel.spans(len(X), step)
