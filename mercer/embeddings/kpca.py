"""Kernel PCA through landmarks (Bourrier et al. 2015, §2.2; Jiang, Que and Kulis 2015)."""

from typing import Any

import numpy as np
import numpy.typing as npt

from mercer import kernels
from mercer.embeddings import landmarks as choice
from mercer.embeddings.landmark_map import LandmarkMap
from mercer.embeddings.subspace import (
    THRESHOLDS,
    Matrix,
    Spectrum,
    basis,
    centred,
    departure,
    exact_weights,
    rotation,
)
from mercer.embeddings.theory import SAMPLE, sampled_floors
from mercer.errors import InputError, KernelError
from mercer.kernels import Kernel, Prepared
from mercer.kernels.memory import afresh
from mercer.kernels.similarity import TINY, unit
from mercer.runtime.lazy import lazy
from mercer.runtime.params import check_count, stored

ASKED = 16  # landmarks that a Python function compares in both orders, to see whether it may
USUAL, SAMPLED = 1024, 4  # landmarks; items in the sample for each, where Python code runs
LONGEST = 4096  # reach at which float32 changes a vector by a thousandth of its length
LARGEST = 2.0**120  # self-similarity whose inner products float32 can still hold


@stored
class KernelPCA(LandmarkMap):
    """The orthogonal projection of items, in the kernel's space, onto the span of landmarks.

    Fitting has two stages: a basis of the span of all landmarks, then the principal components of
    a sample of the data in it. These span the best subspace of their dimension for the sample, so
    the landmarks need not be representative. Everything is computed in float64.

    Parameters
    ----------
    kernel : str or Kernel
        The similarity.
    n_components : int, optional
        Dimensions to keep; fewer if the landmarks span fewer. None: as many as hold 94 % of the
        sample's energy in the landmarks' span, and at most 128.
    n_landmarks : int, optional
        How many landmarks; embedding an item takes as many kernel values. By default 1024, or fewer
        where the kernel calls a Python function; see `mercer.embeddings.affordable`.
    landmarks : {"random", "kmeans++", "farthest"}
        How the landmarks are chosen among the items given to `fit`.
    n_sample : int
        How many items the second stage uses; "kmeans++" and "farthest" choose among them.
    center : bool
        Whether the landmarks' mean is subtracted, as in PCA. Inner products then stand for the
        centred kernel ``k(x, y) - m(x) - m(y) + c``, with m(x) the mean of k(x, landmark) and c
        that of m, and do not rank as k does.
    residual : bool
        Whether the norm of what the projection loses is appended as an extra dimension. The
        inner product of two vectors is then never below the kernel (without `center` and
        `normalize`).
    normalize : bool
        Whether the kernel is divided by √(k(x, x) k(y, y)) first, as hashing by angles needs.
    seed : int
        Chooses landmarks and sample. The same seed gives the same vectors.

    Attributes
    ----------
    landmarks_, weights_, offsets_
        As in `LandmarkMap`; the offsets are what `center` subtracts, otherwise 0.
    n_landmarks_, n_components_ : int
        p and E: how many landmarks and components there are.
    spectrum_ : ndarray of float64
        Eigenvalues of the landmark matrix, decreasing.
    energies_ : ndarray of float64, shape (E,)
        The mean square of every component over the sample, decreasing.
    floors_ : ndarray of float64, shape (3,)
        The similarity that a search among the projections is sure to find, for ε = 0, 0.5 and 1:
        the median of `mercer.embeddings.theory.similarity_floor` over a sample.
    mean_ : float
        The mean of the landmark matrix.
    departure_ : float
        A bound on how far the basis is from orthonormal.
    reach_ : float
        How much an error of the kernel, relative to √(k(x, x) k(y, y)), can grow in a vector.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.embeddings import KernelPCA
    >>> X = np.random.default_rng(0).dirichlet(np.ones(8), size=100)
    >>> Z = KernelPCA("chi2", n_components=4, n_landmarks=50).fit_transform(X)
    >>> Z.shape, Z.dtype
    ((100, 4), dtype('float32'))
    """

    learned = (
        *LandmarkMap.learned,
        "n_components_",
        "spectrum_",
        "energies_",
        "floors_",
        "mean_",
        "departure_",
        "reach_",
        "rounding_",
    )

    def __init__(
        self, kernel: str | Kernel, n_components: int | None = 128, *,
        n_landmarks: int | None = None, landmarks: str = "random", n_sample: int = 10_000,
        center: bool = False, residual: bool = False, normalize: bool = False, seed: int = 0,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.n_components = n_components
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.n_sample = n_sample
        self.center = center
        self.residual = residual
        self.normalize = normalize
        self.seed = seed
        self._validate()

    def _validate(self) -> None:
        check_count("n_landmarks", self.n_landmarks, optional=True)
        check_count("n_sample", self.n_sample)
        check_count("n_components", self.n_components, optional=True)
        check_count("seed", self.seed, at_least=0)
        if self.landmarks not in choice.WAYS:
            raise InputError(
                f"landmarks is {self.landmarks!r}. Ways are: {', '.join(choice.WAYS)}."
            )
        super()._validate()

    @lazy
    def compared(self) -> Kernel:
        """The kernel, normalised if `normalize` is set."""
        kernel = kernels.get(self.kernel)
        return kernel.normalized() if self.normalize else kernel

    @property
    def upper_bound(self) -> bool:  # type: ignore[override]
        """Whether inner products of the vectors are never below the kernel."""
        return self.residual and not self.center and not self.normalize

    def _fit(self, X: Any) -> None:
        """Choose landmarks among items and learn the projection."""
        kernel = self.compared
        rng = np.random.default_rng(self.seed)
        n = self._n_landmarks(X, USUAL)
        few = SAMPLED * n if kernel.runs_python else self.n_sample
        sample = self._drawn(X, min(few, self.n_sample), rng)
        L = self._choose(kernel, X, sample, n, rng)
        K = kernel(L, L[:], dtype=np.float64)  # two arguments: nothing is mirrored
        spectrum = Spectrum.of(centred(K) if self.center else K)
        self._require_definite(kernel, L, K, spectrum)
        crossed = kernel(sample, L, dtype=np.float64)
        diag = kernel.diag(sample[:SAMPLE], dtype=np.float64)
        if self.center:
            diag = diag - 2 * crossed[:SAMPLE].mean(axis=1) + K.mean()  # theory: centred
            crossed -= K.mean(axis=0)
        moment = crossed.T @ crossed / len(sample)
        error = kernel.tolerance(L, dtype=np.float64)
        self.weights_ = self._weights(spectrum, moment, K, error)
        self._measure(L, K, moment, error)
        self.floors_ = sampled_floors(crossed[:SAMPLE] @ self.weights_, diag)
        self.landmarks_, self.spectrum_ = L, spectrum.values

    # ---- fitting

    def _choose(
        self, kernel: Kernel, X: Any, sample: Prepared, n: int, rng: np.random.Generator
    ) -> Prepared:
        if self.landmarks == "random":
            return self._landmarks(X, n, rng)
        return sample.take(choice.choose(kernel, sample, n, self.landmarks, rng))

    def _require_definite(self, kernel: Kernel, L: Prepared, K: Matrix, found: Spectrum) -> None:
        """Refuse residuals of a kernel not declared PSD, or shown not to be (theory: pairs)."""
        if not self.residual:
            return
        if kernel.runs_python and len(K) > 1:  # asked for one order of each pair only
            rows = np.random.default_rng(0).permutation(len(K))[:ASKED]
            before = np.maximum(rows, 1) - 1
            with afresh():
                K[rows, before] = kernel.score(L.take(rows), L, before[:, None], dtype=np.float64)[
                    :, 0
                ]
        least, largest = found.values[-1], found.values[0]
        error = kernel.tolerance(L, dtype=np.float64)
        lengths = np.sqrt(np.abs(np.diag(K)))
        uneven = np.abs(K - K.T) > 2 * error * np.outer(lengths, lengths) + TINY
        if not kernel.symmetric or uneven.any():
            i, j = np.argwhere(uneven)[0] if uneven.any() else (0, 1)
            raise KernelError(
                f"exact: {kernel!r} is not symmetric (k(x, y) = {K[i, j % len(K)]:.6g}, "
                f"k(y, x) = {K[j % len(K), i]:.6g}), so no certificate holds. {_ELSEWHERE}"
            )
        if least < -4 * (error + len(K) * unit(np.float64)) * np.trace(np.abs(K)):
            raise KernelError(
                f"exact: the landmark matrix has eigenvalue {least:.3g} (largest {largest:.3g}): "
                f"the kernel is not positive semi-definite, so no certificate holds. {_ELSEWHERE}"
            )
        if not kernel.psd:
            raise KernelError(
                f"exact: {kernel!r} is not declared positive semi-definite, so no certificate "
                f"holds, though its landmark matrix has no negative eigenvalue (least "
                f"{least:.3g}, largest {largest:.3g}). If you know that it is, declare psd=True. "
                f"{_ELSEWHERE}"
            )

    def _weights(
        self, spectrum: Spectrum, moment: Matrix, K: Matrix, error: float
    ) -> npt.NDArray[np.float64]:
        """Return the weights of the leading components, from the finest basis that is exact."""

        def turned(W0: Matrix) -> Matrix:
            if self.center:  # rounding mixes the mean into directions of small eigenvalues
                W0 = W0 - W0.mean(axis=0)
            return np.asarray(W0 @ rotation(W0.T @ moment @ W0, self.n_components))

        if self.center:
            return np.ascontiguousarray(turned(basis(spectrum, THRESHOLDS[0])))
        return np.ascontiguousarray(exact_weights(spectrum, K, error, turned))

    def _measure(self, L: Prepared, K: Matrix, moment: Matrix, error: float) -> None:
        """Set what follows from the weights: offsets, energies, errors (theory: rounding)."""
        W = self.weights_
        E = W.shape[1]
        self.n_landmarks_, self.n_components_ = len(L), E
        self.offsets_ = K.mean(axis=0) @ W if self.center else np.zeros(E)
        self.energies_ = np.einsum("ij,ij->j", W, moment @ W)
        self.departure_ = departure(W, K, error)
        self.mean_ = float(K.mean())
        one_norms = float(np.sqrt((np.abs(W).sum(axis=0) ** 2).sum()))
        self.reach_ = one_norms * float(np.sqrt(np.abs(np.diag(K)).max()))
        # theory: rounding. A float32 product of E + 1 terms in any order, in two parts that are
        # added, rounding of both vectors, and the basis; 1.001 for the squares of these
        u = unit(np.float32)
        terms = (E + 8) * u / (1 - (E + 8) * u)
        self.rounding_ = 1.001 * (terms + 3 * u + 1.01 * self.departure_)

    # ---- embedding

    @property
    def _precision(self) -> type[np.floating]:
        # residuals are small differences of large numbers, and large weights amplify errors
        return np.float64 if self.residual or self.reach_ > LONGEST else np.float32

    @property
    def _width(self) -> int:
        return super()._width + self.residual

    def _finished(self, Z: Matrix, crossed: Matrix, P: Prepared, first_row: int) -> Matrix:
        if not self.residual:
            return Z
        diag = self.compared.diag(P, dtype=np.float64)
        if self.center:
            diag = diag - 2 * crossed.mean(axis=1) + self.mean_  # theory: centred
        error = self.compared.tolerance(P, self.landmarks_, dtype=np.float64)
        return np.column_stack([Z, self._residuals(Z, diag, first_row, error)])

    def _residuals(self, Z: Matrix, diag: Matrix, first_row: int, error: float) -> Matrix:
        """Return R with ẑ·ẑ + R R ≥ k even after rounding, rounded up (theory: rounding).

        `error` bounds the rounding of kernel values with the landmarks.
        The slack S of the inner product is folded into the residuals. With the vectors' errors
        δ and δ' it is (ρ + δ + δ')|a||b|, and by Cauchy–Schwarz the product of
        √(R² + (ρ + δ)²/ρ |a|²) and its counterpart is at least R R' + (ρ + δ)(ρ + δ')/ρ |a||b|.
        """
        squares = np.einsum("ij,ij->i", Z, Z)
        norms = np.sqrt(squares)
        shift = (error + (self.n_landmarks_ + 2) * unit(np.float64)) * self.reach_
        moved = shift * np.sqrt(np.maximum(diag, 0))
        slack = (
            error * np.abs(diag) + 2 * norms * moved + moved**2
            + (Z.shape[1] + 4) * unit(np.float64) * squares
        )  # fmt: skip
        lost = diag - squares / (1 + self.departure_)
        self._require_projection(lost + slack + TINY, diag, squares, first_row)
        square = np.maximum(lost, 0) + slack
        folded = (self.rounding_ + 1.06 * shift) ** 2 / self.rounding_
        square += folded * (squares + square) + (Z.shape[1] + 2) * 2.0**-125
        self._require_range(square, diag, first_row)
        up: Matrix = np.nextafter(np.sqrt(square).astype(np.float32), np.float32(np.inf))
        return up

    def _require_projection(self, left: Matrix, diag: Matrix, squares: Matrix, first: int) -> None:
        """Raise KernelError if a projection is longer than its item: the kernel is not PSD."""
        if (left < 0).any() and not self.center:
            row = int(np.argmax(left < 0))
            raise KernelError(
                f"exact: item {first + row} has k(x, x) = {diag[row]:.6g}, less than the square "
                f"{squares[row]:.6g} of its projection: the kernel is not positive semi-definite "
                f"(or not the same at every call), so no certificate holds. {_ELSEWHERE}"
            )

    def _require_range(self, squares: Matrix, diag: Matrix, first: int) -> None:
        """Raise KernelError for infinite bounds, which would cancel to NaN and lose the item."""
        if (squares > LARGEST).any():
            row = int(np.argmax(squares > LARGEST))
            raise KernelError(
                f"exact: item {first + row} has k(x, x) = {diag[row]:.3g}, with rounding bounded "
                f"by {squares[row]:.3g}, too large for float32 bounds. Scale the items, or "
                "normalise the kernel: kernel.normalized()."
            )


_ELSEWHERE = "Use mercer.brute, which is exact for any kernel, or mercer.auto."
