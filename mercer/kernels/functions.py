"""Kernels of any Python objects: from a pair or batch function, a distance or a matrix."""

import math
import time
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mercer import items
from mercer.errors import KernelError
from mercer.kernels import processes
from mercer.kernels.base import Kernel
from mercer.kernels.callables import (
    check_symmetry,
    function_state,
    name_of,
    require_two_arguments,
    wide,
)
from mercer.kernels.memory import Values, afresh, in_use
from mercer.kernels.prepared import Prepared
from mercer.kernels.processes import short
from mercer.kernels.similarity import unit
from mercer.runtime.arrays import Array, DType, Ids
from mercer.runtime.params import check_number, plain

TRIAL_ITEMS = 3  # items on which a new function is tried before it is used
MANY = 64  # calls whose mean tells what one takes
UNDERFLOW = 87.0  # exp(-87) is the smallest normal float32


class _Called(Kernel):
    """A kernel that calls a Python function, one thread at a time."""

    input = "any"
    runs_python = True
    _maker: ClassVar[str]

    def __init__(self, function: Callable[[Any, Any], Any], psd: bool = False) -> None:
        self.function = function
        self.psd = psd
        self._validate()

    def _validate(self) -> None:
        require_two_arguments(self.function, self._maker)
        self._tried = False
        self._seconds = 0.0

    @property
    def call_seconds(self) -> float:
        """How long a call took lately, in seconds; 0 before the first."""
        return self._seconds

    @property
    def label(self) -> str:
        """The function's name."""
        return name_of(self.function)

    def __getstate__(self) -> dict[str, Any]:
        return function_state(self, super().__getstate__())

    def _prepare(self, X: Any) -> dict[str, Any]:
        if not self._tried:
            sample = X[:TRIAL_ITEMS]
            values = np.empty((items.length(sample), items.length(sample)))
            with afresh():  # both orders of each pair
                self._fill(sample, sample, values)
            check_symmetry(self.label, values)
            self._tried = True
        return {"items": X}

    def _tile(self, P: Prepared, R: Prepared, out: Array) -> None:
        self._fill(P.items, R.items, out)

    @abstractmethod
    def _fill(self, X: Any, Y: Any, out: Array) -> None:
        """Fill `out` with the Gram matrix of raw items."""

    def __repr__(self) -> str:
        shown = [f"{name}={plain(value)!r}" for name, value in self._facts().items()]
        return f"{self._maker}({', '.join([self.label, *shown])})"

    def _facts(self) -> dict[str, Any]:
        """Return the parameters, other than the function, that the repr shows."""
        return {"psd": True} if self.psd else {}


class FunctionKernel(_Called):
    """k(x, y) = function(x, y) for any Python objects; made by `from_function`."""

    tile_shape = (16, 256)
    _maker = "from_function"

    def __init__(
        self, function: Callable[[Any, Any], Any], psd: bool = False, n_processes: int = 1
    ) -> None:
        self.n_processes = n_processes
        super().__init__(function, psd)

    def _validate(self) -> None:
        super()._validate()
        processes.check(self)
        self.tile_shape = type(self).tile_shape if self.n_processes == 1 else processes.TILE

    def _facts(self) -> dict[str, Any]:
        several = {} if self.n_processes == 1 else {"n_processes": self.n_processes}
        return super()._facts() | several

    def tolerance(self, *prepared: Prepared, dtype: npt.DTypeLike = np.float32) -> float:
        """Allow for the function's own roundings in double precision, and for the result's."""
        return unit(dtype) + 2.0**-40

    def similarity(self, number: float) -> float:
        """Return the kernel value for what the function returned."""
        return number

    def number(self, x: Any, y: Any) -> float:
        """Return what the function returns, or raise KernelError naming the items."""
        try:
            return float(self.function(x, y))
        except KernelError:
            raise
        except Exception as error:
            raise KernelError(
                f"{self.label}: fails on the items {short(x)} and {short(y)}: "
                f"{type(error).__name__}: {error}. It must return a number for any two items."
            ) from error

    def _value(self, x: Any, y: Any) -> float:
        return self.similarity(self.number(x, y))

    def _fill(self, X: Any, Y: Any, out: Array) -> None:
        rows, columns = (axis.ravel() for axis in np.indices(out.shape))
        out[:] = self._pairs(X, Y, rows, columns).reshape(out.shape)

    def _gather(self, P: Prepared, R: Prepared, ids: Ids, dtype: DType) -> Array:
        rows, places = np.nonzero(ids >= 0)
        out = np.zeros(ids.shape, dtype)
        out[rows, places] = self._pairs(P.items, R.items, rows, ids[rows, places])
        return out

    def _diag(self, P: Prepared, dtype: DType) -> Array:
        looked = _Looked(P.items, np.arange(len(P)))

        def call(some: Ids) -> Values:
            return self._called(looked.of(some), looked.of(some))

        memory = in_use()
        if memory is None:
            return call(np.arange(len(P))).astype(dtype)
        return looked.own(memory.table(self), call).astype(dtype)

    def _pairs(self, X: Any, Y: Any, rows: Ids, columns: Ids) -> Values:
        """Return the values of pairs X[row], Y[column], from memory where one is open."""
        left, right = _Looked(X, rows), _Looked(Y, columns)

        def call(some: Ids) -> Values:
            return self._called(left.of(some), right.of(some))

        memory = in_use()
        if memory is None or not self.symmetric:
            return call(np.arange(len(rows)))
        table = memory.table(self)
        found, spared = table.values(left.numbers(table), right.numbers(table), call)
        memory.saved += spared * self.call_seconds
        return found

    def _called(self, xs: list[Any], ys: list[Any]) -> Values:
        """Return the values of as many pairs, and note how long a call takes."""
        if processes.are_worth(self, len(xs), self._seconds):
            return processes.values(self, xs, ys)
        values = np.empty(len(xs))
        if self._seconds and len(xs) < MANY:  # too few to tell more than is known
            values[:] = [self._value(x, y) for x, y in zip(xs, ys, strict=True)]
        elif self._seconds:
            started = time.perf_counter()
            values[:] = [self._value(x, y) for x, y in zip(xs, ys, strict=True)]
            self._seconds = (time.perf_counter() - started) / len(xs)
        else:  # the first ones: one of them may load a package, or be disturbed
            times = np.empty(len(xs))
            for place, (x, y) in enumerate(zip(xs, ys, strict=True)):
                started = time.perf_counter()
                values[place] = self._value(x, y)
                times[place] = time.perf_counter() - started
            self._seconds = float(np.median(times)) if len(times) else 0.0
        return values


class _Looked:
    """The items of some rows, each looked up once."""

    def __init__(self, X: Any, rows: Ids) -> None:
        some, self._places = np.unique(rows, return_inverse=True)
        self._items = [wide(X[row]) for row in some.tolist()]
        # arrays and other collections may make an object at each look
        self._kept = isinstance(X, (list, tuple)) or getattr(X, "dtype", "") == "O"

    def of(self, pairs: Ids) -> list[Any]:
        """Return the items of some pairs."""
        return [self._items[place] for place in self._places[pairs].tolist()]

    def own(self, table: Any, call: Callable[[Ids], Values]) -> Values:
        """Return the values of all items with themselves, of a memory."""
        return np.asarray(table.own(self._items, self._kept, call))

    def numbers(self, table: Any) -> Ids:
        """Return the numbers that a memory has for the items of all pairs."""
        return np.asarray(table.numbers(self._items, self._kept)[self._places])


class DistanceKernel(FunctionKernel):
    """k(x, y) = exp(-gamma distance(x, y)); made by `from_distance`."""

    _maker = "from_distance"

    def __init__(
        self, function: Callable[[Any, Any], float], gamma: float = 1.0, psd: bool = False,
        n_processes: int = 1,
    ) -> None:  # fmt: skip
        self.gamma = gamma
        super().__init__(function, psd, n_processes)

    def _validate(self) -> None:
        super()._validate()
        check_number("gamma", self.gamma, above=0)

    def _facts(self) -> dict[str, Any]:
        return {"gamma": float(self.gamma)} | super()._facts()

    def similarity(self, number: float) -> float:
        """Return exp(-gamma number), or raise KernelError where it cannot be ranked."""
        distance = number
        if distance < 0:
            raise KernelError(
                f"{self.label}: the distance of two items is {distance:.4g}. Distances are at "
                "least 0; a similarity belongs in mercer.kernels.from_function."
            )
        if self.gamma * distance > UNDERFLOW:
            raise KernelError(
                f"{self.label}: exp(-{self.gamma:.4g} * {distance:.4g}) is 0 in float32, so far "
                f"items could not be ranked. Pass a gamma of about {1 / distance:.2g}."
            )
        return math.exp(-self.gamma * distance)


class GramKernel(_Called):
    """A kernel whose function computes whole Gram matrices; made by `from_gram`."""

    _maker = "from_gram"

    def tolerance(self, *prepared: Prepared, dtype: npt.DTypeLike = np.float32) -> float:
        """Allow for the rounding of a matrix product in the precision that the function returns.

        Whole numbers count as double precision. Before any value was computed, single precision is
        assumed.
        """
        features = max((P.form[1] for P in prepared if P.form), default=0)
        computed = max(self._roundings, default=unit(np.float32))
        return (features + 16) * computed + unit(dtype)

    def _validate(self) -> None:
        super()._validate()
        self._roundings: set[float] = set()  # of all numbers that the function returned so far

    def _fill(self, X: Any, Y: Any, out: Array) -> None:
        started = time.perf_counter()
        try:
            values = np.asarray(self.function(wide(X), wide(Y)))
        except Exception as error:
            raise KernelError(
                f"{self.label}: fails on {type(X).__name__}s of {items.length(X)} and "
                f"{items.length(Y)} items: {type(error).__name__}: {error}. It is given slices of "
                "the items as they were passed, short numbers as int64 or float64."
            ) from error
        if values.shape != out.shape or values.dtype.kind not in "biuf":
            raise KernelError(
                f"{self.label}: returned shape {values.shape} of type {values.dtype} for "
                f"{out.shape[0]} and {out.shape[1]} items. Return real numbers of shape "
                f"{out.shape}."
            )
        self._roundings.add(_rounding(values.dtype))
        if values.size >= MANY:
            self._seconds = (time.perf_counter() - started) / values.size
        out[:] = values

    def _gather(self, P: Prepared, R: Prepared, ids: Ids, dtype: DType) -> Array:
        out = np.zeros(ids.shape, dtype)
        for i, rows in enumerate(ids):
            kept = np.flatnonzero(rows >= 0)
            values = np.empty((1, len(kept)), dtype)
            if len(kept):
                self._fill(P.items[i : i + 1], items.take(R.items, rows[kept]), values)
            out[i, kept] = values[0]
        return out


def from_function(
    function: Callable[[Any, Any], float], psd: bool = False, *, n_processes: int = 1
) -> FunctionKernel:
    """Make a kernel from a Python function of two objects of any type.

    The function is called once for every pair, at Python's speed. For functions of two float
    vectors, `mercer.kernel` is much faster.

    Parameters
    ----------
    function : callable
        ``function(x, y)`` returning a number, larger for more similar items. Short NumPy numbers
        arrive as int64 or float64, so that products of bytes do not overflow.
    psd : bool
        Whether it is positive semi-definite; certificates rely on it.
    n_processes : int
        How many processes call it, where that takes over a second; -1 for as many as there are
        cores. Other processes import its module anew and do not see what was changed in it since;
        a few pairs of each batch are compared to notice that.

    Examples
    --------
    >>> from mercer import kernels
    >>> def shared_letters(x, y):
    ...     return len(set(x) & set(y))
    >>> kernels.from_function(shared_letters, psd=True)(["cat", "dog"], ["act", "god"])
    array([[3., 0.],
           [0., 3.]], dtype=float32)
    """
    return FunctionKernel(function, psd, n_processes)


def from_gram(function: Callable[[Any, Any], npt.ArrayLike], psd: bool = False) -> GramKernel:
    """Make a kernel from a function that compares many items at once.

    Parameters
    ----------
    function : callable
        ``function(X, Y)`` returning an array of shape (len(X), len(Y)), for slices of the items
        as passed. Arrays of short numbers arrive as int64 or float64.
    psd : bool
        Whether it is positive semi-definite; certificates rely on it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import kernels
    >>> cubes = kernels.from_gram(lambda X, Y: (X @ Y.T) ** 3, psd=True)
    >>> cubes(np.array([[1.0], [2.0]]))
    array([[ 1.,  8.],
           [ 8., 64.]], dtype=float32)
    """
    return GramKernel(function, psd)


def from_distance(
    function: Callable[[Any, Any], float], gamma: float = 1.0, psd: bool = False, *,
    n_processes: int = 1,
) -> DistanceKernel:  # fmt: skip
    """Make the kernel exp(-gamma d(x, y)) from a distance between two objects.

    Parameters
    ----------
    function : callable
        ``function(x, y)`` returning a distance of at least 0.
    gamma : float
        The sharpness. It does not change the ranking.
    psd : bool
        Whether the kernel is positive semi-definite, as it is for squared Euclidean, city-block
        and other negative definite distances.
    n_processes : int
        As in `from_function`.

    Examples
    --------
    >>> from mercer import kernels
    >>> def differences(x, y):
    ...     return sum(a != b for a, b in zip(x, y))
    >>> kernels.from_distance(differences)(["cat"], ["cat", "car"]).round(3)
    array([[1.   , 0.368]], dtype=float32)
    """
    return DistanceKernel(function, gamma, psd, n_processes)


def _rounding(dtype: DType) -> float:
    """Return the unit roundoff of numbers that a function returned, once they are in float64."""
    floats = np.finfo(dtype).eps / 2 if dtype.kind == "f" else 0.0
    return max(float(floats), unit(np.float64))
