"""The compiled loops over pairs of rows, and the terms the built-in kernels sum in them.

The first argument of a loop says what to compute: the tag of a built-in term, or a user's own
compiled pair function. Tags are types, so each loop is compiled once for each term and its
machine code is kept on disk. For that, terms and loops must share this one file: numba discards
the stored code when the file of the loop changes, and only then.

Terms are compiled without re-association, so that ``a * (b / (a + b))`` is computed as written
(``a * b`` would underflow); the sums over them may be taken in any order. The kernels' tolerances
rely on both facts.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import overload

from mercer.runtime.jit import FAST, cached_njit
from mercer.runtime.machine import bits_of, borrow, float_of, frozen, prefetch

EXACT_TERMS = FAST | {
    "fastmath": {"nnan", "ninf", "nsz", "arcp", "contract"},
    "forceinline": True,  # left to LLVM, speed differed by a third from one compilation to the next
}
# for functions that handle infinity and NaN themselves; sums under a condition stay scalar
WITH_INFINITY = FAST | {"fastmath": {"reassoc", "nsz", "arcp", "contract"}}
AHEAD = 8  # rows between prefetching and using a row: 1.5 times the speed on random rows


class DotTerm(NamedTuple):
    """a b."""


class SquareRootTerm(NamedTuple):
    """√a √b (Hellinger)."""


class SquaredTerm(NamedTuple):
    """(a - b)²."""


class AbsoluteTerm(NamedTuple):
    """|a - b|."""


class MinimumTerm(NamedTuple):
    """min(a, b)."""


class Chi2Term(NamedTuple):
    """2 a b / (a + b)."""


class Chi2DistanceTerm(NamedTuple):
    """(a - b)² / (a + b)."""


class JensenShannonTerm(NamedTuple):
    """a/2 log2((a + b)/a) + b/2 log2((a + b)/b)."""


def _dot(real: Any) -> Any:
    return lambda a, b: a * b


def _square_root(real: Any) -> Any:
    return lambda a, b: math.sqrt(a) * math.sqrt(b)


def _squared(real: Any) -> Any:
    return lambda a, b: (a - b) * (a - b)


def _absolute(real: Any) -> Any:
    return lambda a, b: abs(a - b)


def _minimum(real: Any) -> Any:
    return lambda a, b: min(a, b)


def _chi2(real: Any) -> Any:
    two, tiny = real(2), np.finfo(real).tiny  # tiny makes 0/0 a 0
    return lambda a, b: two * a * (b / (a + b + tiny))


def _chi2_distance(real: Any) -> Any:
    tiny = np.finfo(real).tiny
    return lambda a, b: (a - b) * ((a - b) / (a + b + tiny))


def _jensen_shannon(real: Any) -> Any:
    """With M ≥ m the two values and r = m/M, the term is ((M + m) log2(1 + r) - m log2(r)) / 2.

    Both parts are sums of nonnegative terms, so nothing cancels. 1 + r is never formed:
    log2(1 + r) = 2/ln 2 artanh(m / (2M + m)) keeps its relative precision for small r.
    """
    half, tiny = real(0.5), np.finfo(real).tiny
    log2_of_one_plus = _artanh_log2(real, n_terms=8 if real is np.float32 else 17)
    log2 = _log2(real)

    def term(a, b):  # type: ignore[no-untyped-def]
        high, low = max(a, b), min(a, b)
        grown = log2_of_one_plus(low / (high + high + low + tiny))
        return half * ((high + low) * grown - low * log2(low / (high + tiny)))

    return term


def _artanh_log2(real: Any, n_terms: int) -> Any:
    """Return t → 2/ln 2 artanh(t) = log2((1 + t)/(1 - t)), by its series up to t^(2 n_terms - 1).

    The rest of the series is below t^(2n) / (2n + 1) / (1 - t²) of the value.
    """
    factor = real(2 / math.log(2))
    series = _polynomial([real(1 / (2 * j + 1)) for j in range(n_terms)])
    return njit(**EXACT_TERMS)(lambda t: factor * t * series(t * t))


def _polynomial(coefficients: list[Any]) -> Any:
    """Return Horner's scheme as nested functions: a loop over many terms would not vectorise."""
    first = coefficients[0]
    if len(coefficients) == 1:
        return njit(**EXACT_TERMS)(lambda x: first)
    rest = _polynomial(coefficients[1:])
    return njit(**EXACT_TERMS)(lambda x: first + x * rest(x))


def _log2(real: Any) -> Any:
    """Return a base-2 logarithm of positive numbers that compilers can vectorise.

    x = 2^e m with m in [√½, √2), so that |t| = |m - 1|/(m + 1) < 0.172. For 0 it returns a
    finite number, which its caller multiplies by 0.
    """
    whole = np.int32 if real is np.float32 else np.int64
    mantissa = whole(np.finfo(real).nmant)
    root_half = whole(real(math.sqrt(0.5)).view(whole))
    one = real(1)
    log2_of_ratio = _artanh_log2(real, n_terms=5 if real is np.float32 else 11)

    @njit(**EXACT_TERMS)
    def log2(x):  # type: ignore[no-untyped-def]
        bits = bits_of(x)
        exponent = whole(whole(bits - root_half) >> mantissa)
        m = float_of(whole(bits - whole(exponent << mantissa)))
        return real(exponent) + log2_of_ratio((m - one) / (m + one))

    return log2


_TERMS: dict[type, Any] = {
    DotTerm: _dot,
    SquareRootTerm: _square_root,
    SquaredTerm: _squared,
    AbsoluteTerm: _absolute,
    MinimumTerm: _minimum,
    Chi2Term: _chi2,
    Chi2DistanceTerm: _chi2_distance,
    JensenShannonTerm: _jensen_shannon,
}


def term(tag: Any, a: Any, b: Any) -> Any:
    """Return what one feature adds to the sum of a built-in kernel (compiled code only)."""


@overload(term, jit_options=EXACT_TERMS)
def _term(tag, a, b):  # type: ignore[no-untyped-def]
    real = np.dtype(a.name).type  # np.float32 or np.float64
    function = njit(**EXACT_TERMS)(_TERMS[tag.instance_class](real))
    return lambda tag, a, b: function(a, b)


def pair(what: Any, x: Any, y: Any) -> Any:
    """Return the value of two rows (compiled code only)."""


@overload(pair, jit_options=FAST)
def _pair(what, x, y):  # type: ignore[no-untyped-def]
    if isinstance(what, types.Dispatcher):
        return lambda what, x, y: what(frozen(x), frozen(y))  # the rows are the user's own data

    def summed(what, x, y):  # type: ignore[no-untyped-def]
        total = x.dtype.type(0)
        for i in range(x.shape[0]):
            total += term(what, x[i], y[i])
        return total

    return summed


def load(matrix: Any, i: Any, scratch: Any) -> Any:
    """Return row i in the type of `scratch`, which is used only where the types differ."""


@overload(load, jit_options=FAST)
def _load(matrix, i, scratch):  # type: ignore[no-untyped-def]
    if matrix.dtype == scratch.dtype:
        return lambda matrix, i, scratch: borrow(matrix, i)

    def converted(matrix, i, scratch):  # type: ignore[no-untyped-def]
        source, target = borrow(matrix, i), borrow(scratch, 0)
        for j in range(source.shape[0]):
            target[j] = source[j]
        return target

    return converted


def tile(what, X, Y, out):  # type: ignore[no-untyped-def]
    """Fill out[i, j] with the value of X[i] and Y[j]; all three of one float type."""
    for i in range(X.shape[0]):
        for j in range(Y.shape[0]):
            out[i, j] = pair(what, borrow(X, i), borrow(Y, j))


def gather(what, Q, X, ids, out):  # type: ignore[no-untyped-def]
    """Fill out[i, j] with the value of Q[i] and X[ids[i, j]]; ids of -1 give 0."""
    query = np.empty((1, Q.shape[1]), out.dtype)
    item = np.empty((1, X.shape[1]), out.dtype)
    n_ids = ids.shape[1]
    for i in range(Q.shape[0]):
        x = load(Q, i, query)
        for j in range(n_ids):
            if j + AHEAD < n_ids and ids[i, j + AHEAD] >= 0:
                prefetch(X, ids[i, j + AHEAD])
            if ids[i, j] >= 0:
                out[i, j] = pair(what, x, load(X, ids[i, j], item))
            else:
                out[i, j] = 0


@cached_njit(nogil=True, fastmath={"reassoc"})
def all_finite(values):  # type: ignore[no-untyped-def]
    """Whether all values of a matrix are finite: NaN and infinity times 0 are NaN."""
    total = values.dtype.type(0)
    for i in range(values.shape[0]):
        row = borrow(values, i)
        for j in range(row.shape[0]):
            total += row[j] * values.dtype.type(0)
    return total == 0


@cached_njit(nogil=True, error_model="numpy")
def invert_roots(squares, least, most, out):  # type: ignore[no-untyped-def]
    """Fill in 1 / √s, or 0 for 0; return whether every other s is between `least` and `most`."""
    good = True
    for i in range(len(squares)):
        s = squares[i]
        good &= s == 0 or least <= s <= most
        out[i] = 1 / np.sqrt(s) if s > 0 else 0
    return good


@cached_njit(nogil=True, fastmath={"reassoc"})
def mark_missing(values, ids):  # type: ignore[no-untyped-def]
    """Set values to minus infinity where the id is -1; return whether all values were finite.

    If not, nothing is set.
    """
    if not all_finite(values):
        return False
    for i in range(ids.shape[0]):
        for j in range(ids.shape[1]):
            if ids[i, j] < 0:
                values[i, j] = -np.inf
    return True


@njit(**FAST)
def _sparse_pair(what, X, i, Y, j, zero):  # type: ignore[no-untyped-def]
    """Sum the terms over the features that are set in row i of X or row j of Y.

    A sparse matrix is given as (indptr, indices, data); the indices of a row increase.
    """
    a, a_end = X[0][i], X[0][i + 1]
    b, b_end = Y[0][j], Y[0][j + 1]
    total = zero
    while a < a_end and b < b_end:
        left, right = X[1][a], Y[1][b]
        u = zero + X[2][a] if left <= right else zero
        v = zero + Y[2][b] if right <= left else zero
        total += term(what, u, v)
        a += left <= right
        b += right <= left
    for rest in range(a, a_end):
        total += term(what, zero + X[2][rest], zero)
    for rest in range(b, b_end):
        total += term(what, zero, zero + Y[2][rest])
    return total


def sparse_tile(what, X, Y, out):  # type: ignore[no-untyped-def]
    """Do the work of `tile` for two sparse matrices (indptr, indices, data)."""
    zero = out.dtype.type(0)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = _sparse_pair(what, X, i, Y, j, zero)


def sparse_gather(what, Q, X, ids, out):  # type: ignore[no-untyped-def]
    """Do the work of `gather` for two sparse matrices (indptr, indices, data)."""
    zero = out.dtype.type(0)
    for i in range(ids.shape[0]):
        for j in range(ids.shape[1]):
            row = ids[i, j]
            out[i, j] = _sparse_pair(what, Q, i, X, row, zero) if row >= 0 else zero


class Loops(NamedTuple):
    """The loops over dense rows, compiled together."""

    tile: Any
    gather: Any


def user_loops(function: Any, options: dict[str, Any]) -> Loops:
    """Return loops over a user's compiled pair function, whose code cannot be kept on disk.

    The loops do not take the function as an argument: numba would look up its type at every call.
    """
    all_pairs, some_pairs = (njit(**options)(loop) for loop in (tile, gather))
    return Loops(
        njit(**options)(lambda X, Y, out: all_pairs(function, X, Y, out)),
        njit(**options)(lambda Q, X, ids, out: some_pairs(function, Q, X, ids, out)),
    )


LOOPS = Loops(cached_njit(**FAST)(tile), cached_njit(**FAST)(gather))
SPARSE_LOOPS = Loops(cached_njit(**FAST)(sparse_tile), cached_njit(**FAST)(sparse_gather))
