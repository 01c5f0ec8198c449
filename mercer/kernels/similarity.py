"""A similarity of two items, larger for nearer, evaluated many pairs at a time.

A new kernel declares what it takes (`input`, `nonnegative`) and what is true of it (`psd`,
`symmetric`), and defines four methods: `_prepare`, `_tile`, `_gather` and `tolerance`. Everything
else is here (blocks, threads, checks) or in `mercer.kernels.base` (algebra, further facts).
"""

from abc import abstractmethod
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from mercer import items
from mercer.errors import InputError, KernelError
from mercer.items.verbs import share_memory
from mercer.kernels._loops import all_finite, mark_missing
from mercer.kernels.announcing import announce
from mercer.kernels.prepared import Prepared, same
from mercer.runtime import parallel
from mercer.runtime.arrays import Array, DType, Ids
from mercer.runtime.border import border
from mercer.runtime.params import Params

First = tuple[int | Ids, int]
GATHER_ROWS = 64  # queries scored by one task
DIAG_ROWS = 4096  # items compared with themselves by one task
SMALLEST = 2.0**-100  # of the divisors: their products still fit in float32
TINY = 1e-33  # kernel values below count as 0: float32 runs out of digits in their terms


def unit(dtype: npt.DTypeLike) -> float:
    """Return the unit roundoff: 2^-24 for float32, 2^-53 for float64."""
    return 2.0**-24 if np.dtype(dtype) == np.float32 else 2.0**-53


def require_range(who: object, what: str, sizes: Array) -> None:
    """Raise KernelError if a size is too small or too large to divide by in float32."""
    odd = (sizes > 0) & ((sizes < SMALLEST) | (sizes > 1 / SMALLEST))
    if odd.any():
        row = int(np.argmax(odd))
        raise KernelError(
            f"{who}: {what} of item {row} is {sizes[row]:.3g}, outside of what float32 can "
            f"divide by ({SMALLEST:.0e} to {1 / SMALLEST:.0e}). Scale the items."
        )


class Similarity(Params):
    """The methods of every kernel: prepare items, compare them, bound the rounding."""

    input: str = "vectors"
    psd: bool = True
    symmetric: bool = True
    nonnegative: bool = False
    runs_python: bool = False
    tile_shape: tuple[int, int] = (256, 1024)

    @property
    def n_jobs(self) -> int | None:
        """How many threads to use at most: 1 if Python code runs for every pair, else None."""
        return 1 if self.runs_python else None

    @property
    def call_seconds(self) -> float:
        """How long the Python functions of one pair take, in seconds; 0 if there are none."""
        inside = self.get_params(deep=False).values() if self.runs_python else ()
        return sum(one.call_seconds for one in inside if isinstance(one, Similarity))

    # ---- what users call

    @border
    def prepare(self, X: Any, *, first_row: int = 0, copy: bool = False) -> Prepared:
        """Check items and compute once what every evaluation needs.

        Parameters
        ----------
        X : items
            Raw items, or items prepared by this kernel, which are returned as they are.
        first_row : int
            The number of the first row in errors, if X is a block of a larger collection.
        copy : bool
            Whether to copy items that share memory with X.

        Returns
        -------
        Prepared
            Takes the place of the raw items in every method of this kernel.

        Examples
        --------
        >>> from mercer import kernels
        >>> kernels.Cosine().prepare([[3.0, 4.0]])
        Prepared(1 items for Cosine())
        """
        if isinstance(X, Prepared):
            return self._require_own(X)
        checked = items.check(X, self.input, nonnegative=self.nonnegative, first_row=first_row)
        if copy and share_memory(X, checked):
            checked = items.take(checked, np.arange(items.length(checked)))
        return self.prepared(checked)

    @border
    def __call__(
        self, X: Any, Y: Any = None, *, dtype: npt.DTypeLike = np.float32,
        n_jobs: int | None = None,
    ) -> Array:  # fmt: skip
        """Return the Gram matrix k(X[i], Y[j]), shape (len(X), len(Y)).

        Parameters
        ----------
        X, Y : items
            Raw or prepared. Without Y, X is compared with itself.
        dtype : float32 or float64
            The precision of the loop and of the result.
        n_jobs : int, optional
            As in `mercer.Index`.

        Examples
        --------
        >>> from mercer import kernels
        >>> kernels.Linear()([[1.0, 2.0]], [[3.0, 4.0], [0.0, 1.0]])
        array([[11.,  2.]], dtype=float32)
        """
        P = self.prepare(X)
        R = P if Y is None else self.prepare(Y)
        self.require_alike(P, R)
        out = np.empty((len(P), len(R)), _float(dtype))
        mirrored = R is P and self.symmetric
        n_calls = len(P) * len(R) // (1 + mirrored)
        announce(self, n_calls, f"comparing {len(P):,} with {len(R):,} items")
        height = min(self.tile_shape[0], -(-len(P) // parallel.count(self.n_jobs)))
        tiles = [
            (rows, columns)
            for rows in parallel.spans(len(P), height)
            for columns in parallel.spans(len(R), self.tile_shape[1], rows.start if mirrored else 0)
        ]

        def fill(rows: slice, columns: slice) -> None:
            self.tile(P[rows], R[columns], out[rows, columns], (rows.start, columns.start))

        parallel.run(fill, tiles, self.label, n_jobs=self.n_jobs)
        if mirrored:
            _mirror(out, height)
        return out

    @border
    def diag(self, X: Any, *, dtype: npt.DTypeLike = np.float32) -> Array:
        """Return k(x, x) of every item, shape (len(X),).

        Examples
        --------
        >>> from mercer import kernels
        >>> kernels.Chi2().diag([[0.25, 0.75], [2.0, 0.0]])
        array([1., 2.], dtype=float32)
        """
        return self.diagonal(self.prepare(X), _float(dtype))

    @border
    def score(
        self, Q: Any, X: Any, ids: npt.ArrayLike, *, dtype: npt.DTypeLike = np.float32,
        n_jobs: int | None = None,
    ) -> Array:  # fmt: skip
        """Return the scores k(Q[i], X[ids[i, j]]), as re-ranking needs them.

        Parameters
        ----------
        Q, X : items
            Queries and items; prepared ones are not checked again.
        ids : array_like of int, shape (len(Q), n)
            Rows of X for every query. -1 stands for no item and scores minus infinity.
        dtype : float32 or float64
            The precision of the loop and of the result.
        n_jobs : int, optional
            As in `mercer.Index`.

        Examples
        --------
        >>> from mercer import kernels
        >>> kernels.Linear().score([[2.0]], [[1.0], [5.0]], [[1, -1]])
        array([[ 10., -inf]], dtype=float32)
        """
        P, R = self.prepare(Q), self.prepare(X)
        self.require_alike(P, R)
        rows = _check_ids(ids, len(P), len(R))
        out = np.empty(rows.shape, _float(dtype))

        def fill(span: slice) -> None:
            out[span] = self.gather(P[span], R, rows[span], out.dtype, (span.start, 0))

        parallel.over(len(P), GATHER_ROWS, fill, self.label, n_jobs=self.n_jobs)
        return out

    @abstractmethod
    def tolerance(self, *prepared: Prepared, dtype: npt.DTypeLike = np.float32) -> float:
        """Bound the rounding error of computed values.

        For any two of the prepared items, the computed k(x, y) is off by at most
        ``tolerance * sqrt(k(x, x) * k(y, y))``, or ``tolerance * |k(x, y)|`` if that is larger,
        as it can be for a kernel that is not positive semi-definite. The bound is derived from
        the number of operations, not measured. Values below 1e-33 count as 0.

        Examples
        --------
        >>> from mercer import kernels
        >>> chi2 = kernels.Chi2()
        >>> chi2.tolerance(chi2.prepare([[0.5, 0.5]])) < 1e-6
        True
        """

    @property
    def label(self) -> str:
        """The kernel's short name in messages."""
        return type(self).__name__

    # ---- what a kernel defines

    @abstractmethod
    def _prepare(self, X: Any) -> dict[str, Any]:
        """Return the parts of `Prepared` for checked items, by name; the items first."""

    @abstractmethod
    def _tile(self, P: Prepared, R: Prepared, out: Array) -> None:
        """Fill `out` with a small Gram matrix, serially."""

    @abstractmethod
    def _gather(self, P: Prepared, R: Prepared, ids: Ids, dtype: DType) -> Array:
        """Return the values of each query and its ids, serially; -1 gives any finite number."""

    def _diag(self, P: Prepared, dtype: DType) -> Array:
        """Return k(x, x), serially."""
        return self._gather(P, P, np.arange(len(P))[:, None], dtype)[:, 0]

    def sound(self, P: Prepared) -> bool:
        """Whether prepared items read from a file are safe for the compiled loops."""
        return True

    def given(self, P: Prepared) -> Any:
        """Return the items that were prepared, or KernelError if they are not kept."""
        return P.kept

    # ---- what the rest of the package calls

    def tile(self, P: Prepared, R: Prepared, out: Array, first: First = (0, 0)) -> None:
        """Fill `out` with a small Gram matrix, serially, or raise KernelError for a bad value.

        `first` holds the numbers of the first rows of P and R, or of all rows of P, for the error.
        """
        self._tile(P, R, out)
        self._require_finite(out, lambda i, j: (_number(first[0], i), first[1] + j))

    def gather(
        self, P: Prepared, R: Prepared, ids: Ids, dtype: DType, first: First = (0, 0)
    ) -> Array:
        """Do the work of `score`, serially, with ids known to be rows of R or -1."""
        values = self._gather(P, R, ids, dtype)
        if not mark_missing(values, ids):
            self._refuse(values, lambda i, j: (_number(first[0], i), first[1] + int(ids[i, j])))
        return values

    def diagonal(self, P: Prepared, dtype: DType) -> Array:
        """Do the work of `diag`, with items prepared for this kernel."""
        if len(P) <= DIAG_ROWS:
            values = self._diag(P, dtype)
        else:
            values = np.empty(len(P), dtype)

            def fill(span: slice) -> None:
                values[span] = self._diag(P[span], dtype)

            parallel.over(len(P), DIAG_ROWS, fill, self.label, n_jobs=self.n_jobs)
        self._require_finite(values[:, None], lambda i, j: (i, i))
        return values

    def prepared(self, checked: Any, form: tuple[str, int] | None = None) -> Prepared:
        """Do the work of `prepare`, with checked items and their `form`, if it is known."""
        return Prepared(self, self._prepare(checked), form or items.form(checked))

    def as_kept(self, P: Prepared) -> Prepared:
        """Return items prepared for another kernel, as they are kept, prepared for this one."""
        return self.prepared(P.kept_for(self), P.form)

    def _require_own(self, P: Prepared) -> Prepared:
        if not same(P.kernel, self):
            raise InputError(
                f"these items were prepared for {P.kernel!r}, not for {self!r}. Prepare the raw "
                "items with the kernel that compares them."
            )
        return P

    def require_alike(self, P: Prepared, R: Prepared, names: tuple[str, str] = ("X", "Y")) -> None:
        """Raise InputError if two collections of items cannot be compared."""
        if self.input == "any" or P.form is None or R.form is None or P.form == R.form:
            return
        (a, n), (b, m) = P.form, R.form
        x, y = names
        if a != b:
            raise InputError(
                f"{x}: {a}, but {y}: {b}. Make both the same, by .toarray() or "
                "scipy.sparse.csr_array."
            )
        raise InputError(f"{x}: {n} features, but {y}: {m}. Pass items from the same source.")

    def _require_finite(self, values: Array, name_pair: Any) -> None:
        if not all_finite(values):
            self._refuse(values, name_pair)

    def _refuse(self, values: Array, name_pair: Any) -> None:
        """Raise KernelError with the first pair whose value is not finite."""
        i, j = np.argwhere(~np.isfinite(values))[0]
        x, y = name_pair(int(i), int(j))
        raise KernelError(
            f"{self.label}: k(X[{x}], Y[{y}]) is {values[i, j]}. Kernels return finite "
            f"{values.dtype} numbers: scale the items down, or guard the kernel's formula."
        )


def refuse_to_return(kernel: Similarity) -> NoReturn:
    """Raise KernelError where the items themselves are asked for, and not kept."""
    raise KernelError(
        f"{kernel.label}: keeps what it compares of items, not the items. Keep them beside the "
        "index, under the same ids."
    )


def scaled_rows(rows: Any, scales: Array) -> Any:
    """Return float32 rows, dense or sparse, each times its scale."""
    factors = scales.astype(np.float32)[:, None]
    return rows.multiply(factors).tocsr() if items.is_sparse(rows) else rows * factors


def _number(first: int | Ids, i: int) -> int:
    """Return the number of row i, given that of the first row or those of all rows."""
    return first + i if isinstance(first, int) else int(first[i])


def _float(dtype: npt.DTypeLike) -> DType:
    for known in (np.float32, np.float64):
        if dtype in (known, known.__name__, np.dtype(known)):
            return np.dtype(known)
    if dtype is float:
        return np.dtype(np.float64)
    raise InputError(f"dtype is {dtype!r}. Kernels are computed in float32 or float64.")


def _mirror(out: Array, step: int) -> None:
    """Copy the upper triangle to the lower one."""
    for rows in parallel.spans(len(out), step):
        out[rows.stop :, rows] = out[rows, rows.stop :].T
        corner = out[rows, rows]
        lower = np.tril_indices(len(corner), -1)
        corner[lower] = corner.T[lower]


def _check_ids(ids: npt.ArrayLike, n_queries: int, n_items: int) -> Array:
    rows = np.asarray(ids)
    if rows.ndim != 2 or len(rows) != n_queries or rows.dtype.kind not in "iu":
        raise InputError(
            f"ids have shape {rows.shape} and type {rows.dtype}. "
            f"Pass integers, one row per query: ({n_queries}, n)."
        )
    rows = np.ascontiguousarray(rows, dtype=np.int64)
    if rows.size and (rows.min() < -1 or rows.max() >= n_items):
        worst = rows.max() if rows.max() >= n_items else rows.min()
        raise InputError(
            f"ids contain {worst}, but there are {n_items} items. "
            f"Ids are rows 0 to {n_items - 1}, or -1 for no item."
        )
    return rows
