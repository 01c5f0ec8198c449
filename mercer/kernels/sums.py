"""Kernels that are a function of one sum over the features of two vectors."""

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from mercer import items
from mercer.errors import InputError
from mercer.kernels import _loops
from mercer.kernels.base import Kernel
from mercer.kernels.prepared import Prepared
from mercer.kernels.sampling import mean_between, sampled
from mercer.kernels.similarity import unit
from mercer.runtime.arrays import Array, DType, Ids
from mercer.runtime.params import check_number

FEW_ROWS = 4  # with fewer rows than this, packing for BLAS costs more than it saves
FULL = 1 / 32  # share of values set above which dense rows are compared faster than sparse ones:
FULL_PRODUCT = 1 / 10  # by loops, and by products; both measured with 300 and 3,000 features
CELLS = 1 << 24  # values of the dense rows made for one tile, at most


class FeatureSum(Kernel):
    """k(x, y) = finish(Σ_i term(x_i, y_i)), computed by compiled loops, dense or sparse.

    A subclass names its `_term`. It may measure items once in `_measure`, and turn sums into
    values in `_finish` with the measures of both items. `_roundings` bounds the roundings of one
    term and of `_finish` together.
    """

    _term: ClassVar[Any]
    _roundings: ClassVar[int] = 6

    def _measure(self, X: Any) -> npt.NDArray[np.float64] | None:
        """Return one number per item, kept with the item, or None."""
        return None

    def _finish(self, sums: Array, n_features: int, a: Any, b: Any) -> None:
        """Turn sums into kernel values, in place; a and b are the measures of both items."""

    def tolerance(self, *prepared: Prepared, dtype: npt.DTypeLike = np.float32) -> float:
        """Bound the error of a sum of as many terms as there are features, in any order."""
        return (max([_n_terms(P.rows) for P in prepared]) + self._roundings) * unit(dtype)

    def _prepare(self, X: Any) -> dict[str, Any]:
        measures = self._measure(X)
        return {"rows": X} if measures is None else {"rows": X, "measures": measures}

    def sound(self, P: Prepared) -> bool:
        """Whether the rows have the form recorded for the items, and types the loops support."""
        return is_sound(P, P.rows) and P.parts.get("measures", np.empty(0)).dtype == np.float64

    def _tile(self, P: Prepared, R: Prepared, out: Array) -> None:
        P, R = self._in_faster_form(P, R)
        self._fill_sums(P.rows, R.rows, out)
        a, b = _measures(P, out.dtype), _measures(R, out.dtype)
        self._finish(out, P.rows.shape[1], None if a is None else a[:, None], b)

    def _in_faster_form(self, P: Prepared, R: Prepared) -> tuple[Prepared, Prepared]:
        """Return the rows of a tile as they are, or dense: a merge visits every value by itself.

        Zeros add nothing to a sum, so its rounding is bounded as before.
        """
        X, Y = P.rows, R.rows
        if not items.is_sparse(X) or min(len(P), len(R)) < FEW_ROWS:
            return P, R
        n_cells = (len(P) + len(R)) * X.shape[1]
        full = FULL_PRODUCT if isinstance(self._term, _loops.DotTerm) else FULL
        if n_cells > CELLS or X.nnz + Y.nnz < full * n_cells:
            return P, R
        return P.replaced(rows=X.toarray()), R.replaced(rows=Y.toarray())

    def _fill_sums(self, X: Any, Y: Any, out: Array) -> None:
        if items.is_sparse(X):
            _loops.SPARSE_LOOPS.tile(self._term, _triple(X), _triple(Y), out)
        else:
            _loops.LOOPS.tile(self._term, as_type(X, out.dtype), as_type(Y, out.dtype), out)

    def _gather(self, P: Prepared, R: Prepared, ids: Ids, dtype: DType) -> Array:
        Q, X = P.rows, R.rows
        sums = np.empty(ids.shape, dtype)
        if items.is_sparse(X):
            _loops.SPARSE_LOOPS.gather(self._term, _triple(Q), _triple(X), ids, sums)
        else:
            _loops.LOOPS.gather(self._term, Q, X, ids, sums)
        if "measures" in R.parts:
            of_queries = P.measures[:, None].astype(dtype)
            self._finish(sums, Q.shape[1], of_queries, R.measures[ids].astype(dtype))
        else:
            self._finish(sums, Q.shape[1], None, None)
        return sums


class DotProduct(FeatureSum):
    """A function of ⟨f(x), f(y)⟩ with a cheap f; BLAS computes many pairs at once."""

    _term: ClassVar[Any] = _loops.DotTerm()
    tile_shape = (512, 4096)
    explicit = True

    def _map(self, P: Prepared, dtype: DType) -> Array:
        """Return f of every row."""
        return as_type(P.rows, dtype)

    def features(self, P: Prepared) -> Any:
        """Return f of every row."""
        return self._map(P, np.dtype(np.float32))

    def _fill_sums(self, X: Any, Y: Any, out: Array) -> None:
        plain = isinstance(self._term, _loops.DotTerm) and items.is_sparse(X)
        if not plain or min(X.shape[0], Y.shape[0]) < FEW_ROWS:
            return super()._fill_sums(X, Y, out)
        # a product of sparse matrices visits common features only, a loop over pairs all of them
        out[:] = (X.astype(out.dtype) @ Y.astype(out.dtype).T).toarray()
        return None

    def _tile(self, P: Prepared, R: Prepared, out: Array) -> None:
        P, R = self._in_faster_form(P, R)
        if items.is_sparse(P.rows) or min(len(P), len(R)) < FEW_ROWS:
            return super()._tile(P, R, out)
        np.matmul(self._map(P, out.dtype), self._map(R, out.dtype).T, out=out)
        return self._finish(out, P.rows.shape[1], None, None)


class ExpDistance(FeatureSum):
    """k(x, y) = exp(-gamma Σ_i term(x_i, y_i)), the sum being a distance."""

    # γS e^(-γS) ≤ 1/e, so the sum's relative error shrinks; NumPy's exp is within 2.6 ulp
    _roundings = 8
    positive = True
    gamma: float | None

    def _validate(self) -> None:
        check_number("gamma", self.gamma, above=0, optional=True)

    def _finish(self, sums: Array, n_features: int, a: Any, b: Any) -> None:
        sums *= sums.dtype.type(-self.rate(n_features))
        np.exp(sums, out=sums)

    def _diag(self, P: Prepared, dtype: DType) -> Array:
        return np.ones(len(P), dtype)  # the distance of an item from itself is 0

    def rate(self, n_features: int) -> float:
        """Return gamma, or its default, 1 / n_features."""
        return 1 / n_features if self.gamma is None else float(self.gamma)

    def suited(self, X: Any) -> Kernel:
        """Return this kernel, with gamma chosen by `for_data` if none was given."""
        return self if self.gamma is not None else self.for_data(X)

    @classmethod
    def for_data(cls, X: Any, seed: int = 0) -> Self:
        """Return this kernel with gamma = 1 / mean distance between different items of X.

        Parameters
        ----------
        X : items
            The data; a random sample of at most 1,000 items is used.
        seed : int
            Chooses the sample.

        Examples
        --------
        >>> from mercer import kernels
        >>> kernels.RBF.for_data([[0.0], [1.0], [2.0]])
        RBF(gamma=0.5)
        """
        probe = cls(gamma=1.0)  # type: ignore[call-arg]
        raw = X.kept if isinstance(X, Prepared) else items.rows_of(X)
        try:
            P = probe.prepare(sampled(raw, seed))
        except InputError:
            probe.prepare(raw)  # numbers the row among all items
            raise
        sample = probe._in_faster_form(P, P)[0].rows
        sums = np.empty(2 * (len(P),))
        probe._fill_sums(sample, sample, sums)
        return cls(gamma=1 / mean_between(sums))  # type: ignore[call-arg]


def is_sound(P: Prepared, rows: Any) -> bool:
    """Whether rows read from a file have the form recorded for the items."""
    plain = items.is_sparse(rows) or rows.flags.c_contiguous  # loops need contiguous rows
    return plain and rows.dtype in (np.float32, np.uint8) and items.form(rows) == P.form


def as_type(X: Array, dtype: DType) -> Array:
    """Return rows as floats of this type, without a copy if they already are."""
    return X.astype(dtype, copy=False)


def row_sums(X: Any, dtype: DType) -> Array:
    """Return the sum of every row, computed in this type."""
    return np.asarray(as_type(X, dtype) @ np.ones(X.shape[1], dtype))


def _measures(P: Prepared, dtype: DType) -> Array | None:
    measures = P.parts.get("measures")
    return None if measures is None else measures.astype(dtype)


def _triple(X: Any) -> tuple[Any, Any, Any]:
    return X.indptr, X.indices, X.data


def _n_terms(X: Any) -> int:
    """Return how many terms other than 0 the sum of two items can have."""
    if items.is_sparse(X):
        return min(int(X.shape[1]), 2 * int(np.diff(X.indptr).max()))
    return int(X.shape[1])
