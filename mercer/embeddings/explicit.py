"""Explicit features of a kernel, or of one that ranks exactly or nearly as it does."""

from typing import Any

import numpy as np
import numpy.typing as npt

from mercer import items, kernels
from mercer.embeddings.base import Embedding, Floats
from mercer.errors import InputError
from mercer.kernels import Alike, Kernel, Prepared
from mercer.runtime.lazy import lazy
from mercer.runtime.params import stored


@stored
class Explicit(Embedding):
    """The features φ(x) of the kernel, or of a kernel that ranks as it does.

    Linear: the vectors themselves; cosine: scaled to length 1; Hellinger: their square roots, also
    for χ², Jensen–Shannon and intersection, which are nearly the same; Mahalanobis: Gx with
    A = GᵀG, so that random hyperplanes give the hash functions sign(rᵀGx) of Kulis, Jain and
    Grauman (2009, eq. 10). RBF and exponential χ² rank by distances of such vectors. A kernel
    declares what it ranks as (`mercer.kernels.Facts`).

    Parameters
    ----------
    kernel : str or Kernel
        The similarity.
    angles : bool
        Whether angles at the origin should rank as a kernel that ranks by distances, as hashing by
        hyperplanes requires. The mean of the items is then subtracted, and their root mean square
        length is appended as a constant coordinate: hyperplanes pass around the middle of the
        data, not all through one point, and angles grow with distances.

    Attributes
    ----------
    offsets_ : ndarray of float32, shape (d,), or None
        The mean that is subtracted.
    height_ : float
        The coordinate that is appended.

    Examples
    --------
    >>> from mercer.embeddings import Explicit
    >>> Explicit("chi2").fit_transform([[0.25, 0.75], [1.0, 0.0]]).round(2)
    array([[0.5 , 0.87],
           [1.  , 0.  ]], dtype=float32)
    >>> Explicit("rbf").fit_transform([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """

    learned = ("n_features_", "offsets_", "height_")

    offsets_: npt.NDArray[np.float32] | None
    height_: float

    def __init__(self, kernel: str | Kernel = "linear", angles: bool = False) -> None:
        self.kernel = kernel
        self.angles = angles
        self._validate()

    def _validate(self) -> None:
        if self.of(kernels.get(self.kernel)) is None:
            raise InputError(
                f"no vectors are known that rank as {self.kernel!r} does. Use KernelPCA, which "
                "takes any kernel, or declare what it ranks as."
            )

    @staticmethod
    def of(kernel: Kernel) -> Alike | None:
        """Return the kernel whose features are used, or None if there is none.

        Examples
        --------
        >>> from mercer import kernels
        >>> from mercer.embeddings import Explicit
        >>> Explicit.of(kernels.RBF())
        Alike(kernel=Linear(), by_distance=True)
        """
        return next((one for one in kernel.alike() if one.kernel.explicit), None)

    def diag(self, P: Prepared) -> npt.NDArray[np.float64]:
        """Return |φ(x)|² of items."""
        known = self._known.kernel
        return np.asarray(known.diag(P.under(known), dtype=np.float64))

    @lazy
    def _known(self) -> Alike:
        found = self.of(self.compared)
        assert found is not None
        return found

    def _fit(self, X: Any) -> None:
        P = self.compared.prepare(X)
        self.n_features_ = P.form[1] if P.form else 0
        self.offsets_, self.height_ = None, 0.0
        if self.angles and self._known.by_distance:
            rows = self.features(P)
            mean = np.asarray(rows.mean(axis=0, dtype=np.float64)).ravel()
            self.offsets_ = mean.astype(np.float32)
            self.height_ = _spread(rows, self.offsets_)

    def features(self, P: Prepared) -> Any:
        """Return φ of prepared items as the kernel gives it, dense or sparse."""
        known = self._known.kernel
        return known.features(P.under(known))

    def _transform(self, P: Prepared) -> Floats:
        rows = items.dense(self.features(P))
        if self.offsets_ is not None:
            rows = np.pad(rows - self.offsets_, ((0, 0), (0, 1)), constant_values=self.height_)
        return np.ascontiguousarray(rows, np.float32)


def _spread(rows: Any, middle: npt.NDArray[np.float32]) -> float:
    """Return the root mean square distance of rows from a vector, without making them dense."""
    if items.is_sparse(rows):
        inside, middle64 = rows.astype(np.float64), middle.astype(np.float64)
        crossed = float((inside @ middle64).sum())
        total = np.square(inside.data).sum() - 2 * crossed + rows.shape[0] * (middle64 @ middle64)
    else:
        total = np.square(rows - middle, dtype=np.float64).sum()
    return float(np.sqrt(max(total, 0.0) / rows.shape[0]))
