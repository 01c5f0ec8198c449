"""Kernels and their algebra: sums, products, scales, exponentials, normalisation.

Each operation keeps a positive semi-definite kernel positive semi-definite, and its tolerance
follows from those of its parts by the Cauchy–Schwarz inequality.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mercer.errors import InputError, KernelError
from mercer.kernels._loops import invert_roots
from mercer.kernels.compound import Changed, Pair, Wrapped, grouped
from mercer.kernels.facts import Facts
from mercer.kernels.prepared import Prepared
from mercer.kernels.sampling import mean_between, sampled
from mercer.kernels.similarity import SMALLEST, require_range, scaled_rows, unit
from mercer.runtime.arrays import Array, DType, Ids
from mercer.runtime.border import border
from mercer.runtime.params import check_number, plain

CHANGES: dict[str, Callable[[Any], Any]] = {}  # what `Kernel.of` takes: see transformed.py


class Kernel(Facts):
    """A similarity that can be added, multiplied and normalised; the base of all kernels.

    Attributes
    ----------
    input : str
        The kind of items it takes; see `mercer.items`.
    psd : bool
        Whether it is known to be positive semi-definite. Certificates rely on it.
    symmetric : bool
        Whether k(x, y) = k(y, x).
    nonnegative : bool
        Whether items must have nonnegative values.
    runs_python : bool
        Whether Python code runs for every pair: then threads do not help, and values are expensive.
    tile_shape : tuple of int
        The largest numbers of rows of X and Y compared at a time.

    Examples
    --------
    >>> from mercer import kernels
    >>> 0.5 * kernels.Chi2() + kernels.RBF(gamma=2.0)
    0.5 * Chi2() + RBF(gamma=2.0)
    >>> kernels.Chi2().normalized().exp(3.0)
    Chi2().normalized().exp(3.0)
    """

    __array_ufunc__ = None  # so that numpy.float64(0.5) * kernel calls the kernel

    def __add__(self, other: object) -> SumKernel:
        return SumKernel(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: object) -> ProductKernel | Scaled:
        if isinstance(other, Kernel):
            return ProductKernel(self, other)
        return Scaled(plain(other), self) if isinstance(other, Real) else NotImplemented

    __rmul__ = __mul__

    def exp(self, s: float = 1.0) -> Exp:
        """Return exp(s (k - 1)), which is sharper and ranks exactly as this kernel does."""
        return Exp(self, s)

    def normalized(self) -> Normalized:
        """Return k(x, y) / √(k(x, x) k(y, y)), and 0 where an item has k(x, x) = 0."""
        return Normalized(self)

    @border
    def of(self, change: str) -> Kernel:
        """Return k(f(x), f(y)): this kernel of items that are changed first, by name.

        An index keeps changed items, and changes queries as well.

        Parameters
        ----------
        change : {"l1", "l2", "sqrt", "standardized"}
            What is done to the items: "l1" divides each row by its sum, "l2" by its length, "sqrt"
            takes the root of each value, and "standardized" subtracts the mean of each feature and
            divides by its standard deviation, both learned from the data.

        Examples
        --------
        >>> from mercer import kernels
        >>> kernels.Chi2().of("l1")([[1.0, 3.0]], [[10.0, 30.0]])
        array([[1.]], dtype=float32)
        """
        if change not in CHANGES:
            raise InputError(f"change is {change!r}. Pass one of: {', '.join(CHANGES)}.")
        made: Kernel = CHANGES[change](self)
        return made

    def radial(self, gamma: float = 1.0) -> Radial:
        """Return exp(-gamma d²), d² = k(x, x) + k(y, y) - 2 k(x, y), which ranks by distance."""
        return Radial(self, gamma)


class SumKernel(Pair, Kernel):
    """k(x, y) = a(x, y) + b(x, y); written ``a + b``."""

    _sign, _binds = "+", 1

    def _join(self, a: Array, b: Array) -> Array:
        a += b
        return a

    def tolerance(self, *prepared: Prepared, dtype: npt.DTypeLike = np.float32) -> float:
        """Bound the error: √(a a) + √(b b) is at most √((a + b) (a + b))."""
        return max(self._both(prepared, dtype)) + unit(dtype)


class ProductKernel(Pair, Kernel):
    """k(x, y) = a(x, y) b(x, y); written ``a * b``."""

    _sign, _binds = "*", 2

    def _join(self, a: Array, b: Array) -> Array:
        a *= b
        return a

    def tolerance(self, *prepared: Prepared, dtype: npt.DTypeLike = np.float32) -> float:
        """Bound the error: relative errors of the factors add."""
        a, b = self._both(prepared, dtype)
        return (1 + a) * (1 + b) * (1 + unit(dtype)) - 1


class Scaled(Changed, Kernel):
    """k(x, y) = factor · a(x, y); written ``0.5 * a``."""

    _binds = 2

    def __init__(self, factor: float, kernel: Kernel) -> None:
        self.factor = factor
        self.kernel = kernel
        self._validate()

    def _validate(self) -> None:
        super()._validate()
        check_number("factor", self.factor, above=0)

    def _change(self, values: Array) -> Array:
        values *= values.dtype.type(self.factor)
        return values

    def tolerance(self, *prepared: Prepared, dtype: npt.DTypeLike = np.float32) -> float:
        """Bound the error: two more roundings, of the factor and of the product."""
        return (1 + self._inner_tolerance(prepared, dtype)) * (1 + 2.01 * unit(dtype)) - 1

    def __repr__(self) -> str:
        return f"{float(self.factor)!r} * {grouped(self.kernel, 3)}"


class Exp(Changed, Kernel):
    """k(x, y) = exp(s (a(x, y) - 1)); written ``a.exp(s)``.

    It ranks exactly as `a` does (Jiang, Que and Kulis 2015, eq. 4). To rank by the normalised
    kernel, normalise first: ``a.normalized().exp(s)``.
    """

    positive = True

    def __init__(self, kernel: Kernel, s: float = 1.0) -> None:
        self.kernel = kernel
        self.s = s
        self._validate()

    def _validate(self) -> None:
        super()._validate()
        check_number("s", self.s, above=0)

    def _change(self, values: Array) -> Array:
        s = values.dtype.type(self.s)
        values -= 1
        values *= s
        with np.errstate(over="ignore"):  # an overflow is reported with the pair that caused it
            return np.exp(values, out=values)

    def tolerance(self, *prepared: Prepared, dtype: npt.DTypeLike = np.float32) -> float:
        """Bound the error: an absolute error e of `a` becomes a factor exp(s e)."""
        largest = max(
            float(self.kernel._diag(P.inside, np.dtype(np.float64)).max()) for P in prepared
        )
        u = unit(dtype)
        absolute = self._inner_tolerance(prepared, dtype) * largest + 3 * u * (1 + largest)
        return math.expm1(min(self.s * absolute, 100.0)) + 6 * u

    def __repr__(self) -> str:
        return f"{grouped(self.kernel, 3)}.exp({float(self.s)!r})"


class Normalized(Wrapped, Kernel):
    """k(x, y) = a(x, y) / √(a(x, x) a(y, y)); written ``a.normalized()``; 0/0 is 0."""

    keeps_angles = True

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._validate()
        self.explicit = kernel.explicit
        self.nearly = None if kernel.nearly is None else kernel.nearly.normalized()

    def features(self, P: Prepared) -> Any:
        """Return φ of the kernel inside, scaled to length 1."""
        return scaled_rows(self.kernel.features(P.inside), P.scales)

    def stretch(self, P: Prepared) -> Any:
        """Return 1 / √a(x, x), times the stretch of the kernel inside."""
        return P.scales * self.kernel.stretch(P.inside)

    def normalized(self) -> Normalized:
        """Return this kernel: every k(x, x) is 1 already, or 0."""
        return self

    def _wrap(self, P: Prepared) -> dict[str, Any]:
        diag = self.kernel._diag(P, np.dtype(np.float64))
        scales = np.empty(len(diag))
        if not invert_roots(diag, SMALLEST, 1 / SMALLEST, scales):
            self._refuse_lengths(diag)
        return {"inside": P, "scales": scales}

    def _refuse_lengths(self, diag: Array) -> None:
        if (diag < 0).any():
            row = int(np.argmax(diag < 0))
            raise KernelError(
                f"{self!r}: k(x, x) = {diag[row]:.3g} for item {row}. A kernel with a negative "
                "self-similarity cannot be normalised."
            )
        require_range(self, "k(x, x)", diag)

    def _tile(self, P: Prepared, R: Prepared, out: Array) -> None:
        self.kernel._tile(P.inside, R.inside, out)
        out *= P.scales.astype(out.dtype)[:, None]
        out *= R.scales.astype(out.dtype)

    def _gather(self, P: Prepared, R: Prepared, ids: Ids, dtype: DType) -> Array:
        values = self.kernel._gather(P.inside, R.inside, ids, dtype)
        values *= P.scales.astype(dtype)[:, None]
        values *= R.scales[ids].astype(dtype)
        return values

    def _diag(self, P: Prepared, dtype: DType) -> Array:
        return np.asarray(P.scales > 0, dtype)

    def tolerance(self, *prepared: Prepared, dtype: npt.DTypeLike = np.float32) -> float:
        """Bound the error: that of `a`, that of its diagonal, and four roundings."""
        double = self._inner_tolerance(prepared, np.float64)
        return (1 + self._inner_tolerance(prepared, dtype)) * (1 + 4.01 * unit(dtype) + double) - 1

    def __repr__(self) -> str:
        return f"{grouped(self.kernel, 3)}.normalized()"


class Radial(Wrapped, Kernel):
    """k(x, y) = exp(-gamma d²), with d the distance in the space of `a`; ``a.radial(gamma)``.

    d² = a(x, x) + a(y, y) - 2 a(x, y) is computed in double precision because its terms cancel.
    Over the linear kernel this is `RBF`; over a learned one, the Gaussian of the learned metric
    (Kulis and Grauman 2012, §6.3).
    """

    by_distance = positive = True

    def __init__(self, kernel: Kernel, gamma: float = 1.0) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self._validate()

    def _validate(self) -> None:
        super()._validate()
        check_number("gamma", self.gamma, above=0)

    @classmethod
    def for_data(cls, kernel: Kernel, X: Any, seed: int = 0) -> Self:
        """Return this kernel with gamma = 1 / mean d² between different items of a sample of X.

        Examples
        --------
        >>> from mercer import kernels
        >>> kernels.Radial.for_data(kernels.Linear(), [[0.0], [1.0], [2.0]])
        Linear().radial(0.5)
        """
        K = kernel(sampled(kernel.prepare(X), seed), dtype=np.float64)
        diag = np.diag(K)
        return cls(kernel, 1 / mean_between(diag[:, None] + diag - 2 * K))

    def _wrap(self, P: Prepared) -> dict[str, Any]:
        return {"inside": P, "own": self.kernel._diag(P, np.dtype(np.float64))}

    def _tile(self, P: Prepared, R: Prepared, out: Array) -> None:
        values = np.empty(out.shape)
        self.kernel._tile(P.inside, R.inside, values)
        out[:] = self._of_distance(values, P.own[:, None], R.own)

    def _gather(self, P: Prepared, R: Prepared, ids: Ids, dtype: DType) -> Array:
        values = self.kernel._gather(P.inside, R.inside, ids, np.dtype(np.float64))
        return self._of_distance(values, P.own[:, None], R.own[ids]).astype(dtype)

    def _of_distance(self, values: Array, diag: Array, other: Array) -> Array:
        return np.asarray(np.exp(-self.gamma * np.maximum(diag + other - 2 * values, 0)))

    def _diag(self, P: Prepared, dtype: DType) -> Array:
        return np.ones(len(P), dtype)

    def tolerance(self, *prepared: Prepared, dtype: npt.DTypeLike = np.float32) -> float:
        """Bound the error: an error e of `a` changes d² by 4 e, and the value by a factor."""
        largest = max(float(np.abs(P.own).max()) for P in prepared)
        absolute = (
            4 * (self._inner_tolerance(prepared, np.float64) + 2 * unit(np.float64)) * largest
        )
        return math.expm1(min(self.gamma * absolute, 100.0)) + 8 * unit(np.float64) + unit(dtype)

    def __repr__(self) -> str:
        return f"{grouped(self.kernel, 3)}.radial({float(self.gamma)!r})"
