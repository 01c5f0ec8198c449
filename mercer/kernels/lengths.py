"""Lengths √k(x, x): whether they vary, and kernels that have none until a constant is added."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mercer.kernels.base import Kernel
from mercer.kernels.compound import Changed
from mercer.kernels.prepared import Prepared
from mercer.kernels.sampling import sampled
from mercer.kernels.similarity import unit
from mercer.runtime.arrays import Array
from mercer.runtime.params import check_number

EVEN = 1e-3  # self-similarities that differ by less, relatively, count as equal
PAIRED = 100  # items whose values tell how large a constant must be
LARGER = 4  # times the largest of these values


class Shifted(Changed, Kernel):
    """k(x, y) = a(x, y) + constant, which ranks exactly as `a` does.

    A similarity such as minus a distance has k(x, x) ≤ 0, and so no angles; with a constant large
    enough it has.

    Parameters
    ----------
    kernel : Kernel
        The kernel a.
    constant : float
        Above 0.

    Examples
    --------
    >>> from mercer import kernels
    >>> kernels.Shifted(kernels.Linear(), 2.0)([[1.0]], [[3.0]])
    array([[5.]], dtype=float32)
    """

    def __init__(self, kernel: Kernel, constant: float) -> None:
        self.kernel = kernel
        self.constant = constant
        self._validate()

    def _validate(self) -> None:
        super()._validate()
        check_number("constant", self.constant, above=0)

    def _change(self, values: Array) -> Array:
        values += values.dtype.type(self.constant)
        return values

    def tolerance(self, *prepared: Prepared, dtype: npt.DTypeLike = np.float32) -> float:
        """Bound the error: that of `a`, as a share of the new lengths, and one more rounding."""
        double = np.dtype(np.float64)
        own = [self.kernel._diag(P.inside, double) for P in prepared if len(P)]
        largest = max((float(np.abs(one).max()) for one in own), default=0.0)
        least = min((float(np.abs(one + self.constant).min()) for one in own), default=1.0)
        grown = 1.0 if self.psd else max(1.0, largest / max(least, 1e-300))
        return grown * (self._inner_tolerance(prepared, dtype) + 3 * unit(dtype))


class Comparable(NamedTuple):
    """A kernel that ranks as another one does and has lengths."""

    kernel: Kernel
    varies: bool  # whether k(x, x) is not the same for all items


def comparable(kernel: Kernel, X: Any, seed: int = 0) -> Comparable:
    """Return a kernel that ranks as the given one and has k(x, x) > 0, judged by a sample.

    Only kernels that are not positive semi-definite are changed, by a constant that is added.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import kernels
    >>> from mercer.kernels.lengths import comparable
    >>> comparable(kernels.Linear(), [[1.0], [2.0]])
    Comparable(kernel=Linear(), varies=True)
    >>> minus = kernels.from_gram(lambda X, Y: -abs(X - Y.T))
    >>> comparable(minus, np.array([[1.0], [2.0]])).kernel.constant
    4.0
    """
    P = kernel.prepare(sampled(X, seed))
    diag = kernel.diag(P, dtype=np.float64)
    if diag.min() <= 0 and not kernel.psd:
        some = P[:PAIRED]
        constant = LARGER * float(np.abs(kernel(some, some[:], dtype=np.float64)).max())
        if constant > 0:
            kernel, diag = Shifted(kernel, constant), diag + constant
    return Comparable(kernel, bool(diag.max() - diag.min() > EVEN * np.abs(diag).max()))
