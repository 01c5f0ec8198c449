"""Kernels of sets of vectors that compare every vector of one set with every one of the other."""

from abc import abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from mercer.errors import InputError
from mercer.items.ragged import Ragged
from mercer.kernels import _set_loops
from mercer.kernels._loops import all_finite
from mercer.kernels.base import Kernel
from mercer.kernels.prepared import Prepared
from mercer.kernels.sampling import sampled
from mercer.kernels.similarity import unit
from mercer.kernels.vectors import RBF, Cosine
from mercer.runtime import parallel
from mercer.runtime.arrays import Array, DType, Ids

ROWS, COLUMNS = 256, 2048  # vectors compared in one block, which stays in the cache
DOUBLE = np.dtype(np.float64)


class Block(NamedTuple):
    """Similarities of vectors of one set, its rows, with vectors of others, its columns."""

    values: Array
    rows: slice  # of the first set's vectors
    columns: slice  # of all vectors on the other side
    sets: slice  # which sets those belong to, at least in part
    starts: Ids  # where each of them begins in the block, and where the last one ends


class SetKernel(Kernel):
    """A kernel of two sets, computed from the similarities of all pairs of their vectors.

    A subclass keeps the sets in the prepared part `sets`, compares their vectors (`_vectors`,
    `_fill`) and computes kernel values from the similarities (`_compare`). A pair with an empty
    set has the value 0.
    """

    input = "sets"
    tile_shape = (32, 64)

    @abstractmethod
    def _vectors(self, sets: Ragged, dtype: DType) -> Prepared:
        """Return what `_fill` needs of all vectors of some sets."""

    @abstractmethod
    def _fill(self, x: Prepared, y: Prepared, block: Array) -> None:
        """Fill a block with the similarities of vectors."""

    @abstractmethod
    def _compare(self, x: Prepared, y: Prepared, offsets: Ids, dtype: DType) -> Array:
        """Return the kernel values of one set and all sets at `offsets`.

        The first set is not empty. For empty sets at `offsets`, any value will do.
        """

    def _tile(self, P: Prepared, R: Prepared, out: Array) -> None:
        X, Y = P.sets, R.sets
        out[:] = 0
        filled = np.diff(Y.offsets) > 0
        if not filled.any():
            return
        y = self._vectors(Y, out.dtype)
        for i in np.flatnonzero(np.diff(X.offsets)):
            x = self._vectors(X[i : i + 1], out.dtype)
            out[i] = np.where(filled, self._compare(x, y, Y.offsets, out.dtype), 0)

    def _gather(self, P: Prepared, R: Prepared, ids: Ids, dtype: DType) -> Array:
        out = np.zeros(ids.shape, dtype)
        for i, rows in enumerate(ids):
            kept = np.flatnonzero(rows >= 0)
            for span in parallel.spans(len(kept), self.tile_shape[1]):
                some = kept[span]
                values = np.empty((1, len(some)), dtype)
                self._tile(P[i : i + 1], R.take(rows[some]), values)
                out[i, some] = values[0]
        return out

    def _blocks(self, x: Prepared, y: Prepared, offsets: Ids, dtype: DType) -> Any:
        """Yield the similarities of all vectors, block by block."""
        for rows in parallel.spans(len(x), ROWS):
            for columns in parallel.spans(len(y), COLUMNS):
                values = np.empty((rows.stop - rows.start, columns.stop - columns.start), dtype)
                self._fill(x[rows], y[columns], values)
                first = int(np.searchsorted(offsets, columns.start, "right")) - 1
                last = int(np.searchsorted(offsets, columns.stop, "left"))
                starts = np.clip(offsets[first : last + 1], columns.start, columns.stop)
                yield Block(values, rows, columns, slice(first, last), starts - columns.start)


class _OfVectors(SetKernel):
    """A kernel of two sets that compares their vectors with another kernel."""

    base: Kernel

    def _validate(self) -> None:
        if not isinstance(self.base, Kernel) or self.base.input != "vectors":
            raise InputError(
                f"base is {self.base!r}. Pass a kernel of vectors, such as kernels.RBF(gamma=0.5)."
            )
        self.symmetric, self.nonnegative = self.base.symmetric, self.base.nonnegative
        self.runs_python = self.base.runs_python

    def _vectors(self, sets: Ragged, dtype: DType) -> Prepared:
        return self.base.prepared(sets.values)

    def _fill(self, x: Prepared, y: Prepared, block: Array) -> None:
        self.base._tile(x, y, block)

    def _sizes(self, sets: Ragged) -> Array:
        """Return √b(v, v) of every vector."""
        if not len(sets.values):
            return np.empty(0)
        diag = self.base._diag(self._vectors(sets, DOUBLE), DOUBLE)
        return np.asarray(np.sqrt(np.abs(diag)))

    def _base_tolerance(self, prepared: tuple[Prepared, ...], dtype: npt.DTypeLike) -> float:
        filled = [P.sets for P in prepared if len(P.sets.values)]
        if not filled:
            return 0.0
        return self.base.tolerance(*(self._vectors(X, DOUBLE) for X in filled), dtype=dtype)


class SumMatch(_OfVectors):
    """k(Y, Z) = mean of base(y, z) over all pairs of vectors; 0 where a set is empty.

    It is the inner product of the two sets' means in the space of the base kernel, so it is
    positive semi-definite wherever the base is.

    Parameters
    ----------
    base : Kernel, optional
        The similarity of two vectors; ``RBF()`` by default. `SumMatch.for_data` chooses its
        gamma from the mean squared distance of the data.

    Examples
    --------
    >>> from mercer import kernels
    >>> sets = [[[0.0]], [[0.0], [1.0]]]
    >>> kernels.SumMatch(kernels.RBF(gamma=1.0))(sets).round(3)
    array([[1.   , 0.684],
           [0.684, 0.684]], dtype=float32)
    """

    def __init__(self, base: Kernel | None = None) -> None:
        self.base = RBF() if base is None else base
        self._validate()

    def _validate(self) -> None:
        super()._validate()
        self.psd = self.base.psd

    @classmethod
    def for_data(cls, X: Any, seed: int = 0) -> Self:
        """Return this kernel over `RBF.for_data` of a sample of the vectors.

        Parameters
        ----------
        X : sets
            The data.
        seed : int
            Chooses the sample.

        Examples
        --------
        >>> from mercer import kernels
        >>> kernels.SumMatch.for_data([[[0.0], [1.0]], [[2.0]]])
        SumMatch(base=RBF(gamma=0.5))
        """
        values = cls().prepare(X).sets.values
        return cls(RBF.for_data(sampled(values, seed), seed)) if len(values) else cls()

    def _prepare(self, X: Ragged) -> dict[str, Any]:
        """Return the sets, k(Y, Y), and how much larger the vectors are than their mean."""
        diag = np.zeros(len(X))
        for i in np.flatnonzero(np.diff(X.offsets)):
            one = X[i : i + 1]
            x = self._vectors(one, DOUBLE)
            diag[i] = self._compare(x, x, one.offsets, DOUBLE)[0]
        largest = run_means(self._sizes(X), X.offsets) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            risen = np.where(largest > 0, largest / np.maximum(diag, 0), 1.0)
        return {"sets": X, "own": diag, "risen": risen}

    def _compare(self, x: Prepared, y: Prepared, offsets: Ids, dtype: DType) -> Array:
        sums = np.zeros(len(offsets) - 1)
        for block in self._blocks(x, y, offsets, dtype):
            _set_loops.add_sums(block.values, block.starts, sums[block.sets])
        return np.asarray(sums / (len(x) * np.maximum(np.diff(offsets), 1)))

    def _diag(self, P: Prepared, dtype: DType) -> Array:
        return np.asarray(P.own, dtype)

    def tolerance(self, *prepared: Prepared, dtype: npt.DTypeLike = np.float32) -> float:
        """Bound the error: the base's, relative to the vectors, grows relative to their mean.

        The errors of all pairs are at most tolerance · √b(y, y) · √b(z, z), whose mean is
        (mean √b(y, y)) (mean √b(z, z)). Where vectors cancel, as they can under kernels with
        negative values, k(Y, Y) is far below that, and the tolerance rises up to 1.
        """
        longest = max((int(np.diff(P.sets.offsets).max()) for P in prepared), default=0)
        summing = (longest + COLUMNS) * unit(np.float64)  # rows of a block, then all rows
        risen = max(float(P.risen.max()) for P in prepared)
        base = self._base_tolerance(prepared, dtype) + summing
        return min(1.0, base * risen + 3 * unit(dtype))


class MaxSim(_OfVectors):
    """k(Y, Z) = mean over y of max over z of base(y, z), averaged with the same from Z to Y.

    The similarity of late interaction, which scores each vector of a query by its most similar
    vector in a document, made symmetric. It is 0 if a set is empty. A maximum is not an inner
    product: the kernel is not positive semi-definite, so `mercer.exact` cannot use it. Hashing and
    scanning can.

    Parameters
    ----------
    base : Kernel, optional
        The similarity of two vectors; ``Cosine()`` by default.

    Examples
    --------
    >>> from mercer import kernels
    >>> sets = [[[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]]
    >>> kernels.MaxSim()(sets)
    array([[1.  , 0.75],
           [0.75, 1.  ]], dtype=float32)
    """

    psd = False

    def __init__(self, base: Kernel | None = None) -> None:
        self.base = Cosine() if base is None else base
        self._validate()

    def _prepare(self, X: Ragged) -> dict[str, Any]:
        """Return the sets, and the ratio of the longest vector to the root mean square length."""
        sizes = self._sizes(X)
        squares = np.sqrt(run_means(sizes**2, X.offsets))
        peaks = run_maxima(sizes, X.offsets)
        risen = np.divide(peaks, squares, out=np.ones(len(X)), where=squares > 0)
        return {"sets": X, "risen": risen}

    def _compare(self, x: Prepared, y: Prepared, offsets: Ids, dtype: DType) -> Array:
        there, back = best_means(self, x, y, offsets, dtype)
        return (there + back) / 2

    def tolerance(self, *prepared: Prepared, dtype: npt.DTypeLike = np.float32) -> float:
        """Bound the error: a maximum is off by at most the largest error of its terms.

        The mean of maxima is off by at most tolerance · mean √b(y, y) · max √b(z, z), and
        k(Z, Z) is at least the mean of b(z, z), because each vector meets itself.
        """
        risen = max(float(P.risen.max()) for P in prepared)
        return min(1.0, self._base_tolerance(prepared, dtype) * risen + 3 * unit(dtype))


def best_means(
    kernel: SetKernel, x: Prepared, y: Prepared, offsets: Ids, dtype: DType
) -> tuple[Array, Array]:
    """Return the mean best similarity of x's vectors in each set of y, and of theirs in x."""
    n_sets = len(offsets) - 1
    best_of_rows = np.full((len(x), n_sets), -np.inf, dtype)
    best_of_columns = np.full(len(y), -np.inf, dtype)
    for block in kernel._blocks(x, y, offsets, dtype):
        values = block.values
        if not all_finite(values):  # a maximum would hide values that are not finite
            values[~np.isfinite(values)] = np.inf
        _set_loops.keep_best(
            values, block.starts, block.sets.start, best_of_rows[block.rows],
            best_of_columns[block.columns],
        )  # fmt: skip
    there = np.where(np.diff(offsets) > 0, best_of_rows.mean(axis=0, dtype=np.float64), 0)
    return there, run_means(best_of_columns, offsets)


def run_means(values: Array, offsets: Ids) -> npt.NDArray[np.float64]:
    """Return the mean over each set, 0 where it is empty."""
    sizes = np.diff(offsets)
    owners = np.repeat(np.arange(len(sizes)), sizes)
    sums = np.bincount(owners, weights=values, minlength=len(sizes))
    return np.asarray(sums / np.maximum(sizes, 1), np.float64)


def run_maxima(values: Array, offsets: Ids) -> npt.NDArray[np.float64]:
    """Return the largest nonnegative value of each set, 0 where it is empty."""
    found = np.zeros(len(offsets) - 1)
    np.maximum.at(found, np.repeat(np.arange(len(found)), np.diff(offsets)), values)
    return found
