"""What every embedding must do."""

from typing import Any

import numpy as np
import numpy.typing as npt

from mercer import items, kernels
from mercer.embeddings import Embedding
from mercer.embeddings.landmark_map import LandmarkMap
from mercer.errors import InputError, NotFittedError
from mercer.kernels import Kernel
from mercer.kernels.similarity import TINY
from mercer.runtime.arrays import Array
from mercer.runtime.border import border
from mercer.testing.subject import Subject, run, with_value

SAMPLE = 200  # items looked at
CLOSE = 1e-5  # of the largest terms of a vector: what other sums in float32 may change


@border
def check_embedding(embedding: Embedding, X: Any) -> list[str]:
    """Check that an embedding keeps its promises on items like X.

    What was checked is returned in words; `CheckError` says what does not hold.

    Parameters
    ----------
    embedding : Embedding
        The embedding to check; copies of it are fitted, it stays as it is.
    X : items
        At least 3 items; the first 200 are used.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).random((30, 5))
    >>> pca = mercer.embeddings.KernelPCA("rbf", n_components=4, residual=True)
    >>> for line in mercer.testing.check_embedding(pca, X)[-2:]:
    ...     print(line)
    refuses no items, NaN and another width
    inner products are never below the kernel, where it says so
    """
    X = items.rows_of(X)[:SAMPLE]
    if items.length(X) < 3:
        raise InputError(f"{items.length(X)} items are too few. Pass at least 3.")
    return run(_CHECKS, _Embedded(embedding, X))


class _Embedded(Subject):
    """An embedding with a copy of some items; fitted when a check first asks for vectors."""

    check = "check_embedding"

    def __init__(self, embedding: Embedding, X: Any) -> None:
        super().__init__(embedding)
        self.given = X
        self.X = X.copy() if isinstance(X, np.ndarray) else X
        self._fitted: Embedding | None = None

    @property
    def kernel(self) -> Kernel | None:
        """The kernel the vectors stand for, where there is one."""
        given = getattr(self.part, "kernel", None)
        return None if given is None else kernels.get(given)

    @property
    def fitted(self) -> Embedding:
        """A copy that was fitted on the items."""
        if self._fitted is None:
            self._fitted = self.fresh().fit(self.X)
        return self._fitted

    @property
    def terms(self) -> float:
        """How large the terms are that cancel in vectors, at most: those of landmarks do."""
        fitted = self.fitted
        if not isinstance(fitted, LandmarkMap) or not fitted.witnesses:
            return 0.0
        crossed = fitted.compared(self.X, fitted.witnesses)
        return float((np.abs(crossed) @ np.abs(fitted.weights_)).max())

    def fresh(self) -> Embedding:
        """Return a copy that was not fitted."""
        new: Embedding = self.part.fresh()
        return new

    def require_close(self, found: Array, expected: Array, what: str) -> None:
        """Raise CheckError where vectors differ by more than rounding."""
        if found.shape != expected.shape:
            self.fail(f"{what}: shape {found.shape} instead of {expected.shape}")
        lengths = np.linalg.norm(expected.astype(np.float64), axis=1).max(initial=0)
        gaps = np.abs(found.astype(np.float64) - expected).max(axis=1, initial=0)
        if not (gaps <= CLOSE * max(lengths, self.terms) + TINY).all():
            row = int(np.argmax(gaps))
            self.fail(f"{what}: the vector of item {row} is off by {gaps[row]:.3g}")


def _parameters(subject: _Embedded) -> None:
    """parameters can be read, set and printed."""
    subject.require_params()
    if not isinstance(subject.part.upper_bound, bool):
        subject.fail(f"`upper_bound` is {subject.part.upper_bound!r}, not True or False")


def _unfitted(subject: _Embedded) -> None:
    """says NotFittedError before `fit`."""
    new = subject.fresh()
    subject.require_error("`transform` before `fit`", lambda: new.transform(subject.X),
                          NotFittedError)  # fmt: skip


def _learning(subject: _Embedded) -> None:
    """`fit` returns self, changes no parameter, and what it learns ends in _."""
    new = subject.fresh()
    before = set(vars(new))
    if new.fit(subject.X) is not new:
        subject.fail("`fit` does not return self")
    if new != subject.part:
        subject.fail(f"`fit` changed the parameters: {new!r}")
    odd = [name for name in set(vars(new)) - before if not name.endswith("_")]
    if odd:
        subject.fail(f"`fit` learned {sorted(odd)}; learned names end in _")


def _vectors(subject: _Embedded) -> None:
    """vectors are float32, one row an item, C-contiguous and finite."""
    Z = subject.fitted.transform(subject.X)
    if Z.dtype != np.float32 or Z.ndim != 2 or len(Z) != items.length(subject.X):
        subject.fail(f"`transform` gives shape {Z.shape} of {Z.dtype}, not float32 (n, d)")
    if not Z.flags.c_contiguous:
        subject.fail("the vectors are not C-contiguous")
    if not np.isfinite(Z).all():
        subject.fail(f"the vector of item {int(np.argwhere(~np.isfinite(Z))[0, 0])} is not finite")


def _prepared(subject: _Embedded) -> None:
    """prepared items have the same vectors as raw ones."""
    if subject.kernel is None:
        return
    Z = subject.fitted.transform(subject.X)
    P = subject.kernel.prepare(subject.X)
    subject.require_close(subject.fitted.transform(P), Z, "prepared items")


def _blocks(subject: _Embedded) -> None:
    """a vector does not depend on the other items in the block."""
    pca, X = subject.fitted, subject.X
    Z = pca.transform(X)
    pieces = [pca.transform(block) for _, block in items.blocks(X, 7)]
    subject.require_close(np.concatenate(pieces), Z, "block by block")
    order = np.arange(len(Z))[::-1]
    turned = pca.transform(items.take(X, order))[::-1]
    subject.require_close(turned, Z, "in another order")


def _threads(subject: _Embedded) -> None:
    """the same on one thread and on two."""
    one, two = (subject.fitted.transform(subject.X, n_jobs=n) for n in (1, 2))
    if not np.array_equal(one, two):
        subject.fail("one and two threads give different vectors")


def _seeds(subject: _Embedded) -> None:
    """the same parameters give the same vectors, bit by bit."""
    again = subject.fresh().fit(subject.X).transform(subject.X)
    if not np.array_equal(again, subject.fitted.transform(subject.X)):
        subject.fail("fitted once more on the same items, it gives other vectors")


def _untouched(subject: _Embedded) -> None:
    """does not change its input."""
    if isinstance(subject.X, np.ndarray) and not np.array_equal(subject.X, subject.given):
        subject.fail("the items were changed")


def _bad_items(subject: _Embedded) -> None:
    """refuses no items, NaN and another width."""
    pca, X = subject.fitted, subject.X
    subject.require_error("no items in `fit`", lambda: subject.fresh().fit([]))
    subject.require_error("no items in `transform`", lambda: pca.transform([]))
    kind = None if subject.kernel is None else subject.kernel.input
    if kind not in (None, "vectors") or not isinstance(X, np.ndarray):
        return
    bad = with_value(X, np.nan)
    subject.require_error("NaN in `fit`", lambda: subject.fresh().fit(bad))
    subject.require_error("NaN in `transform`", lambda: pca.transform(bad))
    subject.require_error("another width", lambda: pca.transform(np.hstack([X, X])))


def _bounds(subject: _Embedded) -> None:
    """inner products are never below the kernel, where it says so."""
    if not subject.part.upper_bound:
        return
    kernel = subject.kernel
    if kernel is None or not subject.fitted.serves(kernel):
        subject.fail("has `upper_bound` but serves no kernel")
    P = kernel.prepare(subject.X)
    K = kernel(P, P[:], dtype=np.float64)
    lengths = np.sqrt(np.abs(np.diag(K)))
    floor = K - kernel.tolerance(P, dtype=np.float64) * np.outer(lengths, lengths) - TINY
    Z = subject.fitted.transform(P)
    for how, bounds in _products(Z).items():
        if not (bounds >= floor).all():
            i, j = np.argwhere(~(bounds >= floor))[0]
            subject.fail(
                f"the inner product of items {i} and {j} ({how}) is {bounds[i, j]:.9g}, below "
                f"the kernel's {K[i, j]:.9g}"
            )


def _products(Z: npt.NDArray[np.float32]) -> dict[str, Array]:
    """Return all inner products, summed in several orders."""
    turned = np.ascontiguousarray(Z[:, ::-1])
    summed = np.zeros((len(Z), len(Z)), np.float32)
    for column in Z.T:
        summed += np.outer(column, column)
    double = Z.astype(np.float64)
    return {
        "float32": Z @ Z.T,
        "float32, columns reversed": turned @ turned.T,
        "float32, column by column": summed,
        "float64": double @ double.T,
    }


_CHECKS = (
    _parameters,
    _unfitted,
    _learning,
    _vectors,
    _prepared,
    _blocks,
    _threads,
    _seeds,
    _untouched,
    _bad_items,
    _bounds,
)
