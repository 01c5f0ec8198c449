"""Binary Fourier codes: signs of random waves (Kulis and Grauman 2012, §6.7)."""

from typing import Any

import numpy as np
import numpy.typing as npt

from mercer import kernels
from mercer.embeddings.affordable import n_affordable
from mercer.embeddings.base import Floats
from mercer.embeddings.kpca import KernelPCA
from mercer.embeddings.landmark_map import BLOCK, LandmarkMap
from mercer.embeddings.subspace import Matrix
from mercer.errors import InputError
from mercer.kernels import Kernel, Prepared
from mercer.runtime import parallel
from mercer.runtime.params import check_count, check_number, stored

USUAL = 300  # landmarks
TERMS = 1000  # of the sum in `agreement`: the rest is below 1 / 4000
FLAT = 1e-10  # a variance of unit vectors below it is mostly rounding


@stored
class FourierDirections(LandmarkMap):
    """Random waves cos(ω·z + b) + t through vectors z; their signs are binary Fourier codes.

    The probability that two items differ in a bit grows with their distance d, as
    ``(8/π²) Σ_m (1 - κ(m d)) / (4m² - 1)``, m = 1, 2, …, where κ is the kernel whose Fourier
    transform is the distribution of ω; it is never above 4/π² = 0.405 (theory: fourier).

    For `RBF` and `Laplacian` kernels of dense vectors, z are the vectors themselves and κ is the
    kernel. For any other kernel, and for sparse vectors, z are kernel PCA vectors of the normalised
    kernel k: since ``s (1 - k)`` is ``(s/2) |z(x) - z(y)|²`` if no component is left out, κ is
    ``exp(s (k - 1))``, which ranks as k does.

    Parameters
    ----------
    kernel : str or Kernel
        The similarity.
    n_bits : int
        How many waves.
    scale : float, optional
        s, how short the waves are: κ is ``exp(s (k - 1))``, or ``k**s`` without kernel PCA. By
        default 1 without kernel PCA, and with it 1 / the total variance of the vectors, which
        makes the mean of ``(s/2) |z(x) - z(y)|²`` over pairs of items 1: much longer waves
        separate too little, and much shorter ones separate all but the nearest items equally.
    n_components, n_landmarks : int
        Parameters of kernel PCA; not used without it. By default there are 300 landmarks, or fewer
        where the kernel calls a Python function; see `mercer.embeddings.affordable`.
    seed : int
        Chooses landmarks and waves.

    Attributes
    ----------
    scale_ : float
        s.
    n_landmarks_ : int
        How many kernel values embedding an item takes: 0 without kernel PCA.
    weights_ : ndarray of float64
        ω, one wave a column, shape (n_features, n_bits); with kernel PCA, its weights times ω,
        shape (p, n_bits) for p landmarks.
    offsets_ : ndarray of float64, shape (n_bits,)
        Subtracted before the cosine: -b, and with kernel PCA also the mean that it subtracts.
    shifts_ : ndarray of float64, shape (n_bits,)
        t, added after the cosine.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.embeddings import FourierDirections
    >>> X = np.random.default_rng(0).dirichlet(np.ones(8), size=100)
    >>> FourierDirections("chi2", n_bits=16, n_landmarks=60).fit_transform(X).shape
    (100, 16)
    >>> FourierDirections("rbf", n_bits=16).fit(X).n_landmarks_
    0
    """

    learned = (*LandmarkMap.learned, "scale_", "shifts_")

    agrees_by = "similarity"
    _precision = np.float64  # small components have large weights; phases need absolute accuracy
    shifts_: npt.NDArray[np.float64]

    def __init__(
        self, kernel: str | Kernel, n_bits: int = 256, *, scale: float | None = None,
        n_components: int = 64, n_landmarks: int | None = None, seed: int = 0,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.n_bits = n_bits
        self.scale = scale
        self.n_components = n_components
        self.n_landmarks = n_landmarks
        self.seed = seed
        self._validate()

    def _validate(self) -> None:
        for name in ("n_bits", "n_components"):
            check_count(name, getattr(self, name))
        check_count("n_landmarks", self.n_landmarks, optional=True)
        check_count("seed", self.seed, at_least=0)
        check_number("scale", self.scale, above=0, optional=True)
        super()._validate()

    @property
    def compared(self) -> Kernel:
        """The kernel, normalised if there are landmarks."""
        kernel = kernels.get(self.kernel)
        return kernel if vars(self).get("n_landmarks_") == 0 else kernel.normalized()

    def _fit(self, X: Any) -> None:
        """Choose landmarks if they are needed, and draw the waves."""
        rng = np.random.default_rng([self.seed, 1])  # independent of the choice of landmarks
        kernel = kernels.get(self.kernel)
        vars(self).pop("n_landmarks_", None)
        form = kernel.prepare(X[:1]).form
        if kernel.power is not None and form is not None and form[0] == "dense":
            kernel.prepare(X)  # raises InputError for bad items
            self._fit_vectors(kernel, form[1], rng)
        else:
            self._fit_landmarks(X, rng)
        self.offsets_ -= rng.uniform(0, 2 * np.pi, self.n_bits)
        self.shifts_ = rng.uniform(-1, 1, self.n_bits)

    def _fit_vectors(self, kernel: Kernel, width: int, rng: np.random.Generator) -> None:
        """Draw waves whose transform is the kernel itself (Bochner)."""
        shape = width, self.n_bits
        self.scale_ = 1.0 if self.scale is None else float(self.scale)
        gamma = self.scale_ * kernel.rate(width)
        if kernel.power == 2:
            self.weights_ = np.sqrt(2 * gamma) * rng.normal(size=shape)
        else:
            self.weights_ = gamma * rng.standard_cauchy(size=shape)
        self.offsets_ = np.zeros(self.n_bits)
        self.landmarks_, self.n_landmarks_ = None, 0  # type: ignore[assignment]

    def _fit_landmarks(self, X: Any, rng: np.random.Generator) -> None:
        """Draw waves through kernel PCA vectors, and fold both linear maps into one.

        Distances do not change with the origin: a centred kernel PCA wastes no component on it.
        """
        n_landmarks = n_affordable(self.compared, X, self.n_landmarks, USUAL)
        pca = KernelPCA(
            self.compared, self.n_components, n_landmarks=n_landmarks, center=True, seed=self.seed
        ).fit(X)
        variance = float(pca.energies_.sum())
        chosen = 1 / variance if variance > FLAT else 1.0
        self.scale_ = chosen if self.scale is None else float(self.scale)
        waves = np.sqrt(self.scale_) * rng.normal(size=(pca.n_components_, self.n_bits))
        self.weights_, self.offsets_ = pca.weights_ @ waves, pca.offsets_ @ waves
        self.landmarks_, self.n_landmarks_ = pca.landmarks_, pca.n_landmarks_

    def _transform(self, P: Prepared) -> Floats:
        if self.n_landmarks_ > 0:
            return super()._transform(P)
        rows = self._own_vectors(P)
        out = np.empty((len(rows), self._width), np.float32)

        def fill(span: slice) -> None:
            out[span] = self._waves(rows[span].astype(np.float64) @ self.weights_ - self.offsets_)

        parallel.over(len(rows), BLOCK, fill, "embedding")
        return out

    def _own_vectors(self, P: Prepared) -> Any:
        """Return the vectors themselves, which must be dense and as wide as those of `fit`."""
        rows = P.kept
        if P.form is not None and P.form[0] == "sparse":
            raise InputError(
                "items are sparse, but it was fitted on dense ones. Pass them as "
                "X.toarray(), or fit on sparse ones."
            )
        if rows.shape[1] != len(self.weights_):
            raise InputError(
                f"items have {rows.shape[1]} features but it was fitted on "
                f"{len(self.weights_)}. Pass items from the same source."
            )
        return rows

    def _finished(self, Z: Matrix, crossed: Matrix, P: Prepared, first_row: int) -> Matrix:
        return self._waves(Z)

    def agreement(self, similarities: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the expected share of equal bits of items this similar (theory: fourier).

        Parameters
        ----------
        similarities : array_like
            Values of the normalised kernel, above 0 for `RBF` and `Laplacian`.

        Examples
        --------
        >>> from mercer.embeddings import FourierDirections
        >>> waves = FourierDirections("rbf").fit([[0.0, 1.0], [1.0, 0.0]])
        >>> waves.agreement([0.1, 1.0]).round(2)
        array([0.62, 1.  ])
        """
        self._require_fitted()
        k = np.asarray(similarities, np.float64)[..., None]
        m = np.arange(1, TERMS + 1)
        power = m if kernels.get(self.kernel).power == 1 else m**2
        sharp = np.exp(k - 1) if self.n_landmarks_ else k
        lost = (1 - sharp ** (self.scale_ * power)) / (4.0 * m**2 - 1)
        return np.asarray(1 - 8 / np.pi**2 * lost.sum(axis=-1))

    def _waves(self, phases: Matrix) -> Matrix:
        return np.asarray(np.cos(phases) + self.shifts_)
