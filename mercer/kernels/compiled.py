"""A user's own pair function, compiled into every loop."""

from collections.abc import Callable
from typing import Any, overload

import numpy as np
import numpy.typing as npt
from numba import njit, types

from mercer import items
from mercer.errors import InputError, KernelError
from mercer.kernels._loops import WITH_INFINITY, Loops, user_loops
from mercer.kernels._single import SinglePrecision
from mercer.kernels.base import Kernel
from mercer.kernels.callables import (
    check_symmetry,
    function_state,
    reduced,
    require_two_arguments,
)
from mercer.kernels.prepared import Prepared
from mercer.kernels.registry import get
from mercer.kernels.similarity import unit
from mercer.kernels.sums import is_sound
from mercer.runtime.arrays import Array, DType, Ids
from mercer.runtime.jit import FAST

PairFunction = Callable[[Any, Any], float]
INFINITE_WORDS = {"inf", "nan", "isinf", "isnan", "isfinite", "nanmin", "nanmax", "nansum"}
TRIAL_ROWS = 4  # items on which a new kernel is tried before it is used


class CompiledKernel(Kernel):
    """A kernel compiled from a pair function; made by `mercer.kernel`.

    Parameters
    ----------
    function : callable
        ``function(x, y)`` of two vectors, returning a number. It is compiled by numba at first
        use, so it may use loops, arithmetic, ``math`` and NumPy on one-dimensional arrays.
    psd : bool
        Whether it is positive semi-definite. This cannot be checked for all items, and
        certificates rely on it.
    nonnegative : bool
        Whether items with negative values are refused.
    error : float, optional
        The rounding error of one value relative to √(k(x,x) k(y,y)), in units of 2^-24;
        the number of features plus 16 by default, which holds for sums of nonnegative terms.
    ranks_as, nearly, ceiling : str or Kernel, optional
        A kernel that orders all items as this one does; one that has nearly the same values; one
        that is never below it. See `mercer.kernels.Facts`. The first two tell which vectors rank
        alike, so that no trial is needed; certificates rely on the last.
    """

    def __init__(
        self, function: PairFunction, psd: bool = False, nonnegative: bool = False,
        error: float | None = None, ranks_as: str | Kernel | None = None,
        nearly: str | Kernel | None = None, ceiling: str | Kernel | None = None,
    ) -> None:  # fmt: skip
        self.function = function
        self.psd = psd
        self.nonnegative = nonnegative
        self.error = error
        self.ranks_as = None if ranks_as is None else get(ranks_as)
        self.nearly = None if nearly is None else get(nearly)
        self.ceiling = None if ceiling is None else get(ceiling)
        self._validate()

    def _validate(self) -> None:
        require_two_arguments(self.function, "mercer.kernel")
        self._options = WITH_INFINITY if _handles_infinity(self.function) else FAST
        self._loops: dict[DType, Loops] = {}
        self._tried = False

    @property
    def label(self) -> str:
        """The function's name."""
        return getattr(self.function, "__name__", "kernel")

    def __repr__(self) -> str:
        return self.label

    def __reduce_ex__(self, protocol: Any) -> Any:
        return reduced(self) or super().__reduce_ex__(protocol)

    def __getstate__(self) -> dict[str, Any]:
        return function_state(self, super().__getstate__())

    def tolerance(self, *prepared: Prepared, dtype: npt.DTypeLike = np.float32) -> float:
        """Return the declared error, or that of a sum over the features."""
        form = prepared[0].form  # the same for all
        features = form[1] if form else 0
        return (features + 16 if self.error is None else self.error) * unit(dtype)

    def _prepare(self, X: Any) -> dict[str, Any]:
        self._try(X)
        return {"rows": X}

    def sound(self, P: Prepared) -> bool:
        """Whether the rows have the form recorded for the items."""
        return is_sound(P, P.rows)

    def _tile(self, P: Prepared, R: Prepared, out: Array) -> None:
        self._fill(P.rows, R.rows, out)

    def _fill(self, X: Any, Y: Any, out: Array) -> None:
        self._compiled(out.dtype).tile(_dense(X, out.dtype), _dense(Y, out.dtype), out)

    def _gather(self, P: Prepared, R: Prepared, ids: Ids, dtype: DType) -> Array:
        Q, X = P.rows, R.rows
        out = np.empty(ids.shape, dtype)
        if items.is_sparse(X):
            for i, rows in enumerate(ids):  # a user's function takes whole vectors
                self._fill(Q[i : i + 1], X[rows], out[i : i + 1])
        else:
            self._compiled(dtype).gather(Q, X, ids, out)
        return out

    def _compiled(self, dtype: DType) -> Loops:
        """Return the loops for this type, with the function inlined."""
        if dtype not in self._loops:
            single = {"pipeline_class": SinglePrecision} if dtype == np.float32 else {}
            compiled = njit(**self._options, **single)(self.function)
            number = types.float32 if single else types.float64
            vector = types.Array(number, 1, "C", readonly=True)
            try:
                compiled.compile((vector, vector))
            except Exception as error:  # numba's own errors, and some of its internal ones
                raise KernelError(_explain(self.label, error)) from None
            _require_number(self.label, compiled.nopython_signatures[0].return_type)
            self._loops[dtype] = user_loops(compiled, self._options)
        return self._loops[dtype]

    def _try(self, X: Any) -> None:
        """Check once that the compiled function is symmetric and agrees with the Python one."""
        if self._tried:
            return
        sample = _dense(X[:TRIAL_ROWS], np.dtype(np.float64))
        values = np.empty((len(sample), len(sample)))
        self._fill(sample, sample, values)
        check_symmetry(self.label, values)
        with np.errstate(all="ignore"):
            for i in range(len(sample)):
                self._compare(sample[0], sample[i], values[0, i])
        self._tried = True

    def _compare(self, x: Array, y: Array, found: float) -> None:
        try:
            expected = float(self.function(x, y))
        except Exception as error:
            raise KernelError(
                f"{self.label}: fails on the first items: {type(error).__name__}: {error}. "
                "Compiled code does not check indices, so it must work as plain Python first."
            ) from error
        if not np.isclose(found, expected, rtol=1e-6, atol=1e-9, equal_nan=True):
            raise KernelError(
                f"{self.label}: compiled, it returns {found:.9g} where Python returns "
                f"{expected:.9g}. It must not depend on anything but its two vectors."
            )


@overload
def kernel(function: PairFunction) -> CompiledKernel: ...
@overload
def kernel(
    *, psd: bool = False, nonnegative: bool = False, error: float | None = None,
    ranks_as: str | Kernel | None = None, nearly: str | Kernel | None = None,
    ceiling: str | Kernel | None = None,
) -> Callable[[PairFunction], CompiledKernel]: ...  # fmt: skip
def kernel(function: PairFunction | None = None, **facts: Any) -> Any:
    """Make a kernel from a pair function; usable as a decorator.

    The function is compiled into every loop of the package and runs at the speed of a built-in
    kernel; literals take the precision of the items. For full speed, write a loop over the
    features; expressions on whole arrays work too but allocate temporary arrays.

    Parameters
    ----------
    function : callable
        ``function(x, y)`` of two one-dimensional float arrays, returning a number.
    **facts
        ``psd``, ``nonnegative``, ``error``, ``ranks_as``, ``nearly`` and ``ceiling``; see
        `CompiledKernel`.

    Returns
    -------
    CompiledKernel
        A kernel like any other.

    Examples
    --------
    >>> import mercer
    >>> @mercer.kernel(psd=True, nonnegative=True)
    ... def overlap(x, y):
    ...     total = 0.0
    ...     for i in range(len(x)):
    ...         total += min(x[i], y[i])
    ...     return total
    >>> overlap([[1.0, 2.0]], [[2.0, 1.0]])
    array([[2.]], dtype=float32)
    >>> overlap.normalized() + mercer.kernels.Chi2()
    overlap.normalized() + Chi2()
    """
    if function is None:
        return lambda f: CompiledKernel(f, **facts)
    if not callable(function):
        raise InputError(f"mercer.kernel: got {function!r}. Pass a function of two vectors.")
    return CompiledKernel(function, **facts)


def _handles_infinity(function: Any) -> bool:
    """Whether a function mentions infinity or NaN, which fast arithmetic assumes never occur."""
    code = getattr(function, "__code__", None)
    if code is None:
        return True
    known = function.__globals__
    values = [known.get(name) for name in code.co_names] + list(code.co_consts)
    values += [cell.cell_contents for cell in function.__closure__ or ()]
    odd = any(isinstance(value, float) and not np.isfinite(value) for value in values)
    return odd or bool(INFINITE_WORDS & set(code.co_names))


def _dense(X: Any, dtype: DType) -> Array:
    found = X.toarray() if items.is_sparse(X) else X
    return np.ascontiguousarray(found, dtype=dtype)


def _require_number(label: str, returned: Any) -> None:
    if not isinstance(returned, (types.Float, types.Integer, types.Boolean)):
        raise KernelError(
            f"{label}: returns {returned}, not a number. Return one real number for two vectors."
        )


def _explain(label: str, error: Exception) -> str:
    """Return numba's reason on one line, with the place in the user's file."""
    lines = [line.strip() for line in str(error).splitlines()]
    said = [line for line in lines if line and not line.startswith(("Failed", "During", "-"))]
    where = next((line for line in reversed(lines) if line.startswith('File "')), "")
    place = f" ({where.rstrip(':')})" if where else ""
    # `x -= 1` on a read-only array ends in an internal error of numba
    if "setitem" in str(error) or isinstance(error, AttributeError):
        said = ["it seems to change its vectors, which are your data: work on a copy"]
    return (
        f"{label}: does not compile{place}: {said[0] if said else error}. Compiled kernels use "
        "loops, arithmetic, math and NumPy on one-dimensional arrays; for any other Python use "
        "mercer.kernels.from_function."
    )
