"""Maps of additive kernels: sampled spectra, kernel PCA of each feature (theory: additive)."""

from typing import Any

import numpy as np
import numpy.typing as npt

from mercer import items, kernels
from mercer.embeddings.base import Floats
from mercer.embeddings.feature_map import FeatureMap
from mercer.embeddings.subspace import Matrix, Spectrum, basis, rotation
from mercer.errors import InputError
from mercer.kernels import Kernel
from mercer.kernels.facts import Homogeneous
from mercer.kernels.sampling import sampled
from mercer.runtime.params import check_count, check_number, stored

RATIOS = np.linspace(0, 12, 481)  # log y/x: beyond, the smaller value adds nothing
INTERVALS = np.geomspace(0.05, 2, 400)


@stored
class AdditiveMap(FeatureMap):
    """Samples of the kernel's spectrum (Vedaldi and Zisserman): 2 n + 1 numbers per feature.

    With ψ_0 = √(x L κ(0)) and ψ_2j-1, ψ_2j = √(2 x L κ(jL)) (cos, sin)(jL log x), inner products
    approximate χ², intersection or Jensen–Shannon. They may exceed the kernel: they are no bound.

    Parameters
    ----------
    kernel : str or Kernel
        "chi2", "intersection" or "jensen_shannon".
    n_steps : int
        n, how many frequencies are sampled besides 0.
    interval : float, optional
        L, the step between them. By default the one with the smallest error for values up to 1.

    Attributes
    ----------
    interval_ : float
        L.
    error_ : float
        The largest error of one feature, for values up to 1.

    Examples
    --------
    >>> from mercer.embeddings import AdditiveMap
    >>> psi = AdditiveMap("chi2", n_steps=2)
    >>> Z = psi.fit_transform([[0.5, 0.5], [0.2, 0.8]])
    >>> Z.shape, round(float(Z[0] @ Z[1]), 2), round(psi.error_, 3)
    ((2, 10), 0.9, 0.013)
    """

    learned = ("n_features_", "interval_", "error_")

    def __init__(
        self, kernel: str | Kernel = "chi2", n_steps: int = 2, interval: float | None = None
    ) -> None:
        self.kernel = kernel
        self.n_steps = n_steps
        self.interval = interval
        self._validate()

    def _validate(self) -> None:
        if kernels.get(self.kernel).homogeneous is None:
            raise InputError(
                f"the spectrum of {self.kernel!r} is not known. Use chi2, intersection or "
                "jensen_shannon, or KernelPCA, which takes any kernel."
            )
        check_count("n_steps", self.n_steps)
        check_number("interval", self.interval, above=0, optional=True)

    @property
    def _per_feature(self) -> int:
        return 2 * self.n_steps + 1

    def _learn(self, rows: Any) -> None:
        tried = INTERVALS if self.interval is None else [self.interval]
        errors = [self._error(step) for step in tried]
        best = int(np.argmin(errors))
        self.interval_, self.error_ = float(tried[best]), float(errors[best])

    def _error(self, step: float) -> float:
        """Return the largest error of one feature, with max(x, y) = 1 and so √(xy) = e^(-w/2)."""
        expected = self._spectrum.signature(RATIOS)
        found = self._heights(step) @ np.cos(step * np.arange(self.n_steps + 1)[:, None] * RATIOS)
        return float((np.exp(-RATIOS / 2) * np.abs(found - expected)).max())

    @property
    def _spectrum(self) -> Homogeneous:
        found = self.compared.homogeneous
        assert found is not None
        return found

    def _heights(self, step: float) -> Matrix:
        """Return L κ(0) and 2 L κ(jL)."""
        heights = 2 * step * self._spectrum.density(step * np.arange(self.n_steps + 1.0))
        heights[0] /= 2
        return np.asarray(heights)

    def _map(self, X: Floats, out: Floats) -> None:
        parts = out.reshape(len(X), self._per_feature, -1)
        heights = np.sqrt(self._heights(self.interval_)).astype(np.float32)
        roots = np.sqrt(X)
        with np.errstate(divide="ignore"):
            angles = np.float32(self.interval_) * np.log(X)
        angles[X == 0] = 0
        parts[:, 0] = heights[0] * roots
        for j in range(1, self.n_steps + 1):
            parts[:, 2 * j - 1] = heights[j] * roots * np.cos(j * angles)
            parts[:, 2 * j] = heights[j] * roots * np.sin(j * angles)


# ---- kernel PCA of each feature


@stored
class FeatureKPCA(FeatureMap):
    """Kernel PCA of each feature on its own, for kernels that are a sum over features.

    Each feature is projected onto the span of a few of its own values, in the kernel's space.

    Parameters
    ----------
    kernel : str or Kernel
        "chi2", "intersection", "jensen_shannon" or "hellinger".
    n_components : int
        How many numbers a feature becomes; if it has fewer distinct values, the rest are 0.
    n_landmarks : int
        How many values of a feature span the subspace: quantiles of the data.
    n_sample : int
        How many items the landmarks are chosen from.
    seed : int
        Chooses the sample.

    Attributes
    ----------
    landmarks_ : ndarray of float32, shape (d, n_landmarks)
        The landmark values of every feature.
    weights_ : ndarray of float32, shape (d, n_landmarks, n_components)
        The weights of the kernel values with the landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.embeddings import FeatureKPCA
    >>> X = np.random.default_rng(0).dirichlet(np.ones(8), size=100)
    >>> Z = FeatureKPCA("intersection", n_components=3).fit_transform(X)
    >>> Z.shape
    (100, 24)
    """

    learned = ("n_features_", "landmarks_", "weights_")

    def __init__(
        self, kernel: str | Kernel = "chi2", n_components: int = 3, *, n_landmarks: int = 32,
        n_sample: int = 10_000, seed: int = 0,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.n_components = n_components
        self.n_landmarks = n_landmarks
        self.n_sample = n_sample
        self.seed = seed
        self._validate()

    def _validate(self) -> None:
        if not kernels.get(self.kernel).additive:
            raise InputError(
                f"{self.kernel!r} is not known to be a sum over features. Use KernelPCA, which "
                "takes any kernel."
            )
        for name in ("n_components", "n_landmarks", "n_sample"):
            check_count(name, getattr(self, name))
        check_count("seed", self.seed, at_least=0)

    @property
    def _per_feature(self) -> int:
        return self.n_components

    def _learn(self, rows: Any) -> None:
        sample = sampled(rows, self.seed, self.n_sample)
        X = items.dense(sample).astype(np.float64)
        shares = np.linspace(0, 1, self.n_landmarks)
        self.landmarks_ = np.quantile(X, shares, axis=0).T.astype(np.float32)
        self.weights_ = np.zeros((*self.landmarks_.shape, self.n_components), np.float32)
        for feature, column in enumerate(X.T):
            W = self._weights(column, self.landmarks_[feature])
            self.weights_[feature, :, : W.shape[1]] = W

    def _weights(self, column: Matrix, landmarks: npt.NDArray[np.floating]) -> Matrix:
        """Return the weights of one feature: a basis, rotated to the components of the sample."""
        kernel = self.compared.of_kept
        L = landmarks[:, None].astype(np.float64)
        W0 = basis(Spectrum.of(kernel(L, L.copy(), dtype=np.float64)), threshold=1e-6)
        crossed = kernel(column[:, None], L, dtype=np.float64) @ W0
        return np.asarray(W0 @ rotation(crossed.T @ crossed, self.n_components))

    def _map(self, X: Floats, out: Floats) -> None:
        kernel = self.compared.of_kept
        parts = out.reshape(len(X), self.n_components, -1)
        crossed = np.empty((len(X), self.landmarks_.shape[1]), np.float32)
        for feature, landmarks in enumerate(self.landmarks_):
            column = np.ascontiguousarray(X[:, feature : feature + 1])
            kernel.tile(kernel.prepare(column), kernel.prepare(landmarks[:, None]), crossed)
            parts[:, :, feature] = crossed @ self.weights_[feature]
