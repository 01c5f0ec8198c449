"""Kernels of changed items: k(f(x), f(y)), with f a scale of each row, a root, or standard scores.

Items are changed when they are prepared, once. What an index keeps are changed items, in float32,
and the loops are those of the kernel inside.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from mercer import items
from mercer.errors import InputError
from mercer.items.values import require_good
from mercer.kernels.base import CHANGES, Kernel
from mercer.kernels.compound import Wrapped
from mercer.kernels.prepared import Prepared
from mercer.kernels.sampling import sampled
from mercer.kernels.similarity import Similarity
from mercer.runtime import parallel
from mercer.runtime.arrays import Array, DType, Ids
from mercer.runtime.params import is_same

Doubles = npt.NDArray[np.float64]
BLOCK = 4096  # rows changed by one task, in double precision
AS_KEPT = ("additive", "homogeneous", "power", "intersects", "is_learned", "over")
THE_SAME = ("explicit", "by_distance", "positive", "keeps_angles")


class _OnChanged(Wrapped, Kernel):
    """A kernel that compares items after they were changed."""

    kernel: Kernel
    change: str

    def _validate(self) -> None:
        super()._validate()
        if self.input not in ("vectors", "sparse", "sets"):
            raise InputError(
                f"{self.kernel!r} takes items of kind {self.input!r}, which cannot be changed by "
                f"{self.change!r}. Vectors and sets of vectors can."
            )
        for fact in (*AS_KEPT, *THE_SAME):
            setattr(self, fact, getattr(self.kernel, fact))
        for fact in ("ranks_as", "nearly", "ceiling", "wraps"):
            other = getattr(self.kernel, fact)
            setattr(self, fact, None if other is None else self._likewise(other))

    def _likewise(self, other: Kernel) -> Kernel:
        """Return another kernel of items that are changed in the same way."""
        return type(self)(**self.get_params(deep=False) | {"kernel": other})

    # ---- facts

    @property
    def angles_of(self) -> Any:
        """As for the kernel inside, of changed items."""
        return self.kernel.angles_of

    @property
    def innermost(self) -> Any:
        """As for the kernel inside, of changed items."""
        return self.kernel.innermost

    @property
    def of_kept(self) -> Any:
        """The kernel inside, which takes changed items."""
        return self.kernel.of_kept

    @property
    def changes(self) -> tuple[Any, ...]:
        """The change it makes, and those of the kernel inside."""
        return (self, *self.kernel.changes)

    @property
    def anchors(self) -> Prepared | None:
        """The anchors of the kernel inside, which are changed items."""
        inside = self.kernel.anchors
        return None if inside is None else Prepared(self, {"inside": inside}, inside.form)

    def features(self, P: Prepared) -> Any:
        """Return φ of changed items."""
        return self.kernel.features(P.inside)

    def rate(self, n_features: int) -> float:
        """Return γ of the kernel inside."""
        return self.kernel.rate(n_features)

    def stretch(self, P: Prepared) -> Any:
        """Return the stretch of the kernel inside."""
        return self.kernel.stretch(P.inside)

    # ---- preparing

    def suited(self, X: Any) -> Kernel:
        """Return this kernel with the kernel inside suited to changed items."""
        inside = self.kernel.suited(self._sample(X))
        return self if inside is self.kernel else self._likewise(inside)

    def _sample(self, X: Any) -> Any:
        """Return a sample of changed items."""
        if isinstance(X, Prepared):
            return X.kept
        try:
            return self.prepare(sampled(items.rows_of(X), 0)).kept
        except InputError:
            self.prepare(X)  # numbers the row among all items
            raise

    def _require_own(self, P: Prepared) -> Prepared:
        """Refuse items of the kernel inside: nobody knows whether they were changed."""
        return Similarity._require_own(self, P)

    def _prepare(self, X: Any) -> dict[str, Any]:
        return {"inside": self.kernel.prepared(self.changed(X))}

    def as_kept(self, P: Prepared) -> Prepared:
        """Return items, changed in this way already or not yet, prepared for this kernel."""
        if not P.kernel.changes:
            return self.prepared(P.kept, P.form)
        if not any(map(self._changes_like, P.kernel.changes)):
            raise InputError(
                f"items kept for {P.kernel!r} were changed otherwise than {self!r} asks. Pass raw "
                "items."
            )
        return super().as_kept(P)

    def _changes_like(self, other: Any) -> bool:
        mine, theirs = (one.get_params(deep=False) | {"kernel": None} for one in (self, other))
        return type(self) is type(other) and all(is_same(mine[key], theirs[key]) for key in mine)

    def changed(self, X: Any) -> Any:
        """Return checked items, changed."""
        if isinstance(X, items.Ragged):
            return items.Ragged(self._changed_rows(X.values), X.offsets, X.positions)
        return self._changed_sparse(X) if items.is_sparse(X) else self._changed_rows(X)

    def _changed_rows(self, X: Array) -> npt.NDArray[np.float32]:
        """Change rows block by block; what becomes of a row does not depend on others."""
        out = np.empty(X.shape, np.float32)

        def fill(span: slice) -> None:
            with np.errstate(over="ignore"):  # what does not fit in float32 is refused as infinity
                out[span] = self._change_block(X[span].astype(np.float64))

        parallel.over(len(X), BLOCK, fill, "changing items")
        return out

    def _changed_sparse(self, X: Any) -> Any:
        with np.errstate(over="ignore"):
            data = self._change_stored(X, X.data.astype(np.float64)).astype(np.float32)
        return type(X)((data, X.indices, X.indptr), shape=X.shape)

    @abstractmethod
    def _change_block(self, rows: Doubles) -> Doubles:
        """Return changed rows."""

    @abstractmethod
    def _change_stored(self, X: Any, data: Doubles) -> Doubles:
        """Return what the stored numbers of a sparse matrix become."""

    # ---- values

    def _tile(self, P: Prepared, R: Prepared, out: Array) -> None:
        self.kernel._tile(P.inside, R.inside, out)

    def _gather(self, P: Prepared, R: Prepared, ids: Ids, dtype: DType) -> Array:
        return self.kernel._gather(P.inside, R.inside, ids, dtype)

    def _diag(self, P: Prepared, dtype: DType) -> Array:
        return self.kernel._diag(P.inside, dtype)

    def tolerance(self, *prepared: Prepared, dtype: npt.DTypeLike = np.float32) -> float:
        """Bound the error: that of the kernel inside, for changed items as they are in float32."""
        return self._inner_tolerance(prepared, dtype)

    def __repr__(self) -> str:
        inside = repr(self.kernel)
        return f"{inside if self.kernel._binds == 3 else f'({inside})'}.of({self.change!r})"


# ---- changes without parameters


def _sum(rows: Any) -> Doubles:
    """Return the sum of each row; it does not depend on the other rows."""
    if items.is_sparse(rows):
        return np.asarray(rows @ np.ones(rows.shape[1]))
    return np.asarray(rows.sum(axis=1))


def _norm(rows: Any) -> Doubles:
    squares = rows.multiply(rows) if items.is_sparse(rows) else rows * rows
    return np.sqrt(_sum(squares))


DIVISORS: dict[str, Callable[[Any], Doubles]] = {"l1": _sum, "l2": _norm}
NONNEGATIVE = ("l1", "sqrt")


class Transformed(_OnChanged):
    """k(f(x), f(y)), with f(x) = x / Σ x_i, x / ‖x‖ or √x; written ``a.of("l1")``.

    Rows of zeros stay zeros. In sets, every vector is changed.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    change : {"l1", "l2", "sqrt"}
        "l1" divides rows by their sum, "l2" by their length, and "sqrt" takes the root of each
        value. "l1" and "sqrt" take nonnegative items.

    Examples
    --------
    >>> from mercer import kernels
    >>> kernel = kernels.Chi2().of("l1")
    >>> kernel([[1, 1]], [[5, 5], [9, 0]]).round(3)
    array([[1.   , 0.667]], dtype=float32)
    """

    def __init__(self, kernel: Kernel, change: str) -> None:
        self.kernel = kernel
        self.change = change
        self._validate()

    def _validate(self) -> None:
        if self.change not in (*DIVISORS, "sqrt"):
            raise InputError(f"change is {self.change!r}. Pass 'l1', 'l2' or 'sqrt'.")
        super()._validate()
        self.nonnegative = self.nonnegative or self.change in NONNEGATIVE

    def _change_block(self, rows: Doubles) -> Doubles:
        if self.change == "sqrt":
            return np.sqrt(rows, out=rows)
        rows /= _without_zeros(DIVISORS[self.change](rows))[:, None]
        return rows

    def _change_stored(self, X: Any, data: Doubles) -> Doubles:
        if self.change == "sqrt":
            return np.sqrt(data)
        divisors = _without_zeros(DIVISORS[self.change](X.astype(np.float64)))
        return data / np.repeat(divisors, np.diff(X.indptr))


def _without_zeros(divisors: Doubles) -> Doubles:
    return np.where(divisors == 0, 1.0, divisors)


# ---- standard scores


class Standardized(_OnChanged):
    """k(f(x), f(y)), with f(x) = (x - mean) / scale; written ``a.of("standardized")``.

    Sparse items are divided by the scale only: without their zeros they would not be sparse.

    Parameters
    ----------
    kernel : Kernel
        The kernel k, of items that may be negative.
    mean, scale : ndarray of float64, shape (n_features,), optional
        By default an index learns them from its data (`suited`): the mean and the standard
        deviation of each feature, and 1 instead of a deviation of 0.

    Examples
    --------
    >>> from mercer import kernels
    >>> X = [[1.0, 100.0], [3.0, 100.0]]
    >>> kernel = kernels.Linear().of("standardized").suited(X)
    >>> kernel.mean, kernel.scale
    (array([  2., 100.]), array([1., 1.]))
    >>> kernel(X)
    array([[ 1., -1.],
           [-1.,  1.]], dtype=float32)
    """

    change = "standardized"

    def __init__(
        self, kernel: Kernel, mean: npt.ArrayLike | None = None, scale: npt.ArrayLike | None = None
    ) -> None:
        self.kernel = kernel
        self.mean = None if mean is None else np.asarray(mean, np.float64)
        self.scale = None if scale is None else np.asarray(scale, np.float64)
        self._validate()

    def _validate(self) -> None:
        super()._validate()
        if self.kernel.nonnegative:
            raise InputError(
                f"{self.kernel!r} takes no negative values, which standardized items have. Use "
                "of('l1'), or a kernel such as RBF."
            )
        if (self.mean is None) != (self.scale is None):
            raise InputError("pass both mean and scale, or neither.")
        if self.mean is None or self.scale is None:
            return
        finite = np.isfinite(self.mean).all() and np.isfinite(self.scale).all()
        if self.mean.ndim != 1 or self.mean.shape != self.scale.shape or not finite:
            raise InputError(
                f"mean has shape {self.mean.shape} and scale {self.scale.shape}. Pass finite "
                "numbers, one for each feature."
            )
        if (self.scale <= 0).any():
            raise InputError(f"scale has {self.scale.min():g}. Pass numbers above 0.")

    def suited(self, X: Any) -> Kernel:
        """Return this kernel with mean and scale of the items, and what else is open."""
        if self.mean is not None:
            return super().suited(X)
        raw = X.kept if isinstance(X, Prepared) else items.rows_of(X)
        return Standardized(self.kernel, *_moments(raw, self.input)).suited(X)

    def changed(self, X: Any) -> Any:
        """Return checked items, changed, and finite."""
        found = super().changed(X)
        require_good(items.kind_of(found), found)
        return found

    def _known(self, width: int) -> tuple[Doubles, Doubles]:
        """Return mean and scale of items that are as wide as these."""
        if self.mean is None or self.scale is None:
            raise InputError(
                f"mean and scale of {self!r} are not known yet. An index learns them (fit); "
                "elsewhere use kernel.suited(X)."
            )
        if len(self.mean) != width:
            raise InputError(
                f"items have {width} features but mean and scale have {len(self.mean)}. Pass "
                "items from the same source."
            )
        return self.mean, self.scale

    def _change_block(self, rows: Doubles) -> Doubles:
        mean, scale = self._known(rows.shape[1])
        rows -= mean
        rows /= scale
        return rows

    def _change_stored(self, X: Any, data: Doubles) -> Doubles:
        _, scale = self._known(X.shape[1])
        return np.asarray(data / scale[X.indices])


def _moments(X: Any, kind: str) -> tuple[Doubles, Doubles]:
    """Return the mean and the standard deviation of each feature, 1 instead of 0."""
    n, mean, squares = 0, np.zeros(1), np.zeros(1)
    for first_row, block in items.blocks(X, BLOCK):
        checked = items.check(block, kind, first_row=first_row)
        rows = checked.values if isinstance(checked, items.Ragged) else checked
        if m := rows.shape[0]:
            own, around = _block_moments(rows)
            gap, share = own - mean, m / (n + m)
            mean, squares = mean + gap * share, squares + around + gap**2 * n * share
            n += m
    eps = np.finfo(np.float64).eps
    flat = squares / max(n, 1) <= (n * eps * mean) ** 2  # equal values, but for rounding
    return mean, np.where(flat, 1.0, np.sqrt(squares / max(n, 1)))


def _block_moments(rows: Any) -> tuple[Doubles, Doubles]:
    """Return the mean of each feature, and the sum of squared differences from it."""
    if not items.is_sparse(rows):
        mean = rows.mean(axis=0, dtype=np.float64)
        return mean, np.square(rows - mean).sum(axis=0)
    ones, rows = np.ones(rows.shape[0]), rows.astype(np.float64)
    mean = rows.T @ ones / len(ones)
    return mean, np.maximum(rows.multiply(rows).T @ ones - len(ones) * mean**2, 0)


CHANGES |= {name: partial(Transformed, change=name) for name in (*DIVISORS, "sqrt")}
CHANGES["standardized"] = Standardized
