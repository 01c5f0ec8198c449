"""What every kernel must do."""

from typing import Any

import numpy as np

from mercer import items, kernels
from mercer.errors import InputError, KernelError
from mercer.kernels import Kernel
from mercer.kernels.similarity import TINY, unit
from mercer.runtime.arrays import Array
from mercer.runtime.border import border
from mercer.testing.subject import Subject, run, with_value

SAMPLE = 64  # items looked at; checks compare all pairs of them


@border
def check_kernel(kernel: str | Kernel, X: Any) -> list[str]:
    """Check that a kernel keeps its promises on items like X.

    What was checked is returned in words; `CheckError` says what does not hold.

    Parameters
    ----------
    kernel : str or Kernel
        The kernel to check, built-in or your own.
    X : items
        At least 3 items it should be able to compare; the first 64 are used.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).random((20, 5))
    >>> for line in mercer.testing.check_kernel("rbf", X)[:3]:
    ...     print(line)
    declares its facts
    prepared items give the same values as raw ones
    symmetric, where it says so
    """
    kernel = kernels.get(kernel)
    X = items.rows_of(X)[:SAMPLE]
    if items.length(X) < 3:
        raise InputError(f"{items.length(X)} items are too few. Pass at least 3.")
    return run(_CHECKS, _Sample(kernel, X))


class _Sample(Subject):
    """A kernel with some items, and the Gram matrices all checks look at."""

    check = "check_kernel"

    def __init__(self, kernel: Kernel, X: Any) -> None:
        super().__init__(kernel)
        self.kernel, self.X = kernel, X
        self.P = kernel.prepare(X)
        self.K = kernel(self.P, self.P[:])  # two arguments: nothing is mirrored
        self.K64 = kernel(self.P, self.P[:], dtype=np.float64)
        self.diag = np.diag(self.K64)

    @property
    def slack(self) -> Array:
        """How far a float32 value may be from a float64 one, for every pair."""
        error = self.kernel.tolerance(self.P) + self.kernel.tolerance(self.P, dtype=np.float64)
        lengths = np.sqrt(np.abs(np.outer(self.diag, self.diag)))
        return np.asarray(error * np.maximum(lengths, np.abs(self.K64)) + TINY)

    def require_close(self, found: Any, what: str, slack: Any = None) -> None:
        """Raise CheckError where values differ from the Gram matrix by more than the slack."""
        slack = 2 * self.slack if slack is None else slack
        gap = np.abs(np.asarray(found, np.float64) - self.K) - slack
        if (gap > 0).any() or np.isnan(gap).any():
            i, j = np.unravel_index(np.argmax(gap), gap.shape)
            self.fail(
                f"{what}: {np.asarray(found)[i, j]:.9g} instead of {self.K[i, j]:.9g} "
                f"for items {i} and {j}"
            )


def _facts(sample: _Sample) -> None:
    """declares its facts."""
    kernel = sample.kernel
    for name in ("psd", "symmetric", "nonnegative", "runs_python", "explicit", "additive"):
        if not isinstance(getattr(kernel, name), bool):
            sample.fail(f"`{name}` is {getattr(kernel, name)!r}, not True or False")
    if kernel.input not in (kind.name for kind in items.kinds()):
        sample.fail(f"`input` is {kernel.input!r}, which is no kind of item")
    if not 0 <= kernel.tolerance(sample.P) < 1:
        sample.fail(f"`tolerance` is {kernel.tolerance(sample.P)!r}, not between 0 and 1")


def _prepared(sample: _Sample) -> None:
    """prepared items give the same values as raw ones."""
    again = sample.kernel.prepare(sample.P)
    if again is not sample.P:
        sample.fail("preparing prepared items made new ones")
    sample.require_close(sample.kernel(sample.X, sample.X), "raw items give other values")


def _symmetry(sample: _Sample) -> None:
    """symmetric, where it says so."""
    if sample.kernel.symmetric:
        sample.require_close(sample.K.T, "k(y, x) differs from k(x, y)")


def _diagonal(sample: _Sample) -> None:
    """the diagonal is that of the Gram matrix."""
    K = sample.K.copy()
    np.fill_diagonal(K, sample.kernel.diag(sample.P))
    sample.require_close(K, "`diag` differs from the Gram matrix")


def _scores(sample: _Sample) -> None:
    """`score` gives the values of the Gram matrix, and minus infinity for -1."""
    n = len(sample.P)
    ids = np.tile(np.arange(n), (n, 1))
    sample.require_close(sample.kernel.score(sample.P, sample.P, ids), "`score` differs")
    nothing = sample.kernel.score(sample.P, sample.P, np.full((n, 1), -1))
    if not np.isneginf(nothing).all():
        sample.fail(f"`score` gives {nothing[0, 0]} for id -1 instead of minus infinity")


def _slices(sample: _Sample) -> None:
    """a value does not depend on the other items in the block."""
    kernel, P = sample.kernel, sample.P
    parts = [kernel(P[i : i + 1], P) for i in range(len(P))]
    sample.require_close(np.concatenate(parts), "row by row the values differ")
    order = np.arange(len(P))[::-1]
    turned = kernel(P.take(order), P.take(order))[::-1, ::-1]
    sample.require_close(turned, "in another order the values differ")


def _features(sample: _Sample) -> None:
    """inner products of its features are its values, where it says so."""
    if sample.kernel.explicit:
        rows = sample.kernel.features(sample.P)
        Z = items.dense(rows).astype(np.float64)
        sample.require_close(Z @ Z.T, "⟨φ(x), φ(y)⟩ differs from k(x, y)")


def _ceiling(sample: _Sample) -> None:
    """never above its ceiling, where it has one."""
    ceiling = sample.kernel.ceiling
    if ceiling is not None:
        P = sample.P.under(ceiling)
        tops = ceiling(P, P[:], dtype=np.float64)
        if (tops + 2 * sample.slack < sample.K64).any():
            sample.fail(f"is above its ceiling {ceiling!r}")


def _ranks(sample: _Sample) -> None:
    """orders items as the kernel that it says it ranks as."""
    other = sample.kernel.ranks_as
    if other is None:
        return
    P = sample.P.under(other)
    theirs = other(P, P[:], dtype=np.float64)
    slack = 2 * other.tolerance(P, dtype=np.float64) * np.abs(theirs).max() + TINY
    for i, (row, other_row) in enumerate(zip(sample.K64, theirs, strict=True)):
        clearly = row[:, None] > row + 2 * sample.slack[i].max()
        if (clearly & (other_row[:, None] < other_row - slack)).any():
            sample.fail(f"orders the items for item {i} otherwise than {other!r}")


def _precision(sample: _Sample) -> None:
    """float32 is within the tolerance of float64."""
    sample.require_close(sample.K64, "float32 and float64 differ beyond `tolerance`", sample.slack)


def _definite(sample: _Sample) -> None:
    """positive semi-definite on these items, where it says so."""
    if not sample.kernel.psd:
        return
    K = (sample.K64 + sample.K64.T) / 2
    values = np.linalg.eigvalsh(K)
    error = sample.kernel.tolerance(sample.P, dtype=np.float64) + len(K) * unit(np.float64)
    if values[0] < -4 * error * max(float(np.trace(K)), 0.0):
        sample.fail(f"declares psd but has eigenvalue {values[0]:.3g} (largest {values[-1]:.3g})")


def _threads(sample: _Sample) -> None:
    """the same on one thread and on two, up to rounding."""
    one, two = (sample.kernel(sample.P, sample.P[:], n_jobs=n) for n in (1, 2))
    if not (np.abs(one - two) <= 2 * sample.slack).all():  # sums of blocks of other sizes
        sample.fail("one and two threads give different values")


def _stored(sample: _Sample) -> None:
    """comes back from its stored form."""
    try:
        spec = kernels.to_spec(sample.kernel)
    except KernelError:
        return  # a user's function that is not registered
    back = kernels.from_spec(spec)
    if back != sample.kernel:
        sample.fail(f"comes back as {back!r} from {spec}")


def _bad_items(sample: _Sample) -> None:
    """refuses no items, NaN, another width, and negative values where it must."""
    kernel, X = sample.kernel, sample.X
    sample.require_error("no items", lambda: kernel([]))
    if kernel.input != "vectors" or (items.form(X) or ("",))[0] == "sparse":
        return
    A = np.array(X, np.float32)
    sample.require_error("NaN", lambda: kernel(with_value(A, np.nan)))
    sample.require_error("infinity", lambda: kernel(with_value(A, np.inf)))
    sample.require_error("another width", lambda: kernel(A, np.hstack([A, A])))
    if kernel.nonnegative:
        sample.require_error("a negative value", lambda: kernel(with_value(A, -1.0)))


_CHECKS = (
    _facts,
    _prepared,
    _symmetry,
    _diagonal,
    _scores,
    _slices,
    _definite,
    _features,
    _ceiling,
    _ranks,
    _precision,
    _threads,
    _stored,
    _bad_items,
)
