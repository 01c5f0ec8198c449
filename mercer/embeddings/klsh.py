"""Kernelized LSH (Kulis and Grauman 2012, §4; Jiang, Que and Kulis 2015)."""

from typing import Any

import numpy as np

from mercer import kernels
from mercer.embeddings.landmark_map import LandmarkMap
from mercer.embeddings.subspace import Matrix, Spectrum, centred
from mercer.embeddings.theory import SAMPLE, sampled_floors
from mercer.errors import InputError
from mercer.kernels import Kernel, Prepared
from mercer.runtime.lazy import lazy
from mercer.runtime.params import check_count, check_number, stored

USUAL = 300  # landmarks
SUBSET = 30  # landmarks that a direction draws, if there are twice as many
CENTERS = ("both", "landmarks", "none")
THRESHOLD = 1e-10  # of the largest eigenvalue: smaller ones are rounding


@stored
class KLSHDirections(LandmarkMap):
    """Projections of items on random directions; their signs are the bits of Kernelized LSH.

    A direction is w = K^(-1/2) e_S over p landmarks, with K their centred kernel matrix and e_S
    the indicator of t of them. By the central limit theorem it is nearly Gaussian in the span of
    the landmarks.

    Parameters
    ----------
    kernel : str or Kernel
        The similarity. It need not be positive semi-definite: negative eigenvalues are dropped.
    n_bits : int
        How many directions.
    n_landmarks : int, optional
        p, how many landmarks the directions are sums over. By default 300, or fewer where the
        kernel calls a Python function; see `mercer.embeddings.affordable`.
    subset : int, "auto" or None
        t, how many landmarks each direction draws, at most half of them. "auto": 30, or half of
        the landmarks if that is less. None: Gaussian weights in place of e_S, which makes the
        direction exactly Gaussian.
    rank : int, optional
        How many of the largest eigenvalues are kept, all by default. Fewer leave out noise
        (Jiang, Que and Kulis 2015).
    scale : float, optional
        s of the transformation exp(s (k - 1)), applied after `normalize`, which keeps the ranking
        (Jiang, Que and Kulis 2015, eq. 4).
    center : {"both", "landmarks", "none"}
        "landmarks": K is centred and the items are not, as in the paper. "both": the items are
        too, which balances the bits. "none": nothing is centred (Bourrier et al. 2015, eq. 15).
    normalize : bool
        Whether the kernel is divided by √(k(x, x) k(y, y)) first. Bits depend on angles only.
    seed : int
        Chooses landmarks and directions.

    Attributes
    ----------
    spectrum_ : ndarray of float64
        Eigenvalues of the (centred) landmark matrix, decreasing.
    rank_ : int
        How many of them are kept.
    floors_ : ndarray of float64, shape (3,)
        The similarity that a search among the projections is sure to find, for ε = 0, 0.5 and 1:
        the median of `mercer.embeddings.theory.similarity_floor` over a sample.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.embeddings import KLSHDirections
    >>> X = np.random.default_rng(0).dirichlet(np.ones(8), size=100)
    >>> KLSHDirections("chi2", n_bits=16, n_landmarks=60, subset=10).fit_transform(X).shape
    (100, 16)
    """

    learned = (*LandmarkMap.learned, "rank_", "spectrum_", "floors_")

    def __init__(
        self, kernel: str | Kernel, n_bits: int = 256, *, n_landmarks: int | None = None,
        subset: int | str | None = "auto", rank: int | None = None, scale: float | None = None,
        center: str = "both", normalize: bool = True, seed: int = 0,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.n_bits = n_bits
        self.n_landmarks = n_landmarks
        self.subset = subset
        self.rank = rank
        self.scale = scale
        self.center = center
        self.normalize = normalize
        self.seed = seed
        self._validate()

    def _validate(self) -> None:
        check_count("n_bits", self.n_bits)
        check_count("n_landmarks", self.n_landmarks, optional=True)
        check_count("rank", self.rank, optional=True)
        if self.subset != "auto":
            check_count("subset", self.subset, optional=True)
        check_count("seed", self.seed, at_least=0)
        check_number("scale", self.scale, above=0, optional=True)
        if self.center not in CENTERS:
            raise InputError(f"center is {self.center!r}. Pass one of: {', '.join(CENTERS)}.")
        p = self.n_landmarks or USUAL
        if type(self.subset) is int and self.subset > max(1, p // 2):
            raise InputError(
                f"subset is {self.subset} of {p} landmarks. Pass at "
                "most half of them: a subset and the rest of the landmarks give the same bit."
            )
        super()._validate()

    @lazy
    def compared(self) -> Kernel:
        """The kernel after normalisation and transformation, in this order."""
        kernel = kernels.get(self.kernel)
        kernel = kernel.normalized() if self.normalize else kernel
        return kernel if self.scale is None else kernel.exp(self.scale)

    def _fit(self, X: Any) -> None:
        """Choose landmarks among items and draw the directions."""
        rng = np.random.default_rng(self.seed)
        L = self._landmarks(X, self._n_landmarks(X, USUAL), rng)
        K = self.compared(L, L[:], dtype=np.float64)
        K = (K + K.T) / 2
        spectrum = Spectrum.of(K if self.center == "none" else centred(K))
        basis = self._basis(spectrum)
        self.weights_ = self._weights(basis, self._draws(len(L), rng))
        # E of the projection over the landmarks; the other terms of the centred kernel vanish,
        # because the weights of a direction sum to 0 (theory: centring)
        means = K.mean(axis=0) if self.center == "both" else np.zeros(len(L))
        self.offsets_ = means @ self.weights_
        self.landmarks_, self.n_landmarks_ = L, len(L)
        self.spectrum_ = spectrum.values
        self.floors_ = self._floors(self._drawn(X, SAMPLE, rng), L, K, basis)

    def _draws(self, p: int, rng: np.random.Generator) -> Matrix:
        """Return e_S, or Gaussian weights, one direction per column."""
        if self.subset is None:
            return rng.normal(size=(p, self.n_bits))
        wanted = SUBSET if self.subset == "auto" else int(self.subset)
        size = max(1, min(wanted, p // 2))
        chosen = np.zeros((p, self.n_bits))
        for bit in range(self.n_bits):
            chosen[rng.choice(p, size, replace=False), bit] = 1
        return chosen

    def _basis(self, spectrum: Spectrum) -> tuple[Matrix, Matrix]:
        """Return the eigenvectors that are kept, as columns, and the roots of their eigenvalues."""
        values = spectrum.values
        kept = values > max(THRESHOLD * values[0], np.finfo(np.float64).tiny)
        most = len(values) - (self.center != "none")  # the mean itself is no direction
        self.rank_ = min(int(kept.sum()), most, self.rank or most)
        U, roots = spectrum.vectors[:, : self.rank_], np.sqrt(values[: self.rank_])
        if self.center != "none":  # rounding mixes the mean into vectors of small eigenvalues
            U = U - U.mean(axis=0)
        return U, roots

    def _weights(self, basis: tuple[Matrix, Matrix], draws: Matrix) -> Matrix:
        """Return K^(-1/2) times the draws, with the pseudo-inverse: H K H is singular."""
        U, roots = basis
        return np.ascontiguousarray(U @ ((U.T @ draws) / roots[:, None]))

    def _floors(
        self, sample: Prepared, L: Prepared, K: Matrix, basis: tuple[Matrix, Matrix]
    ) -> Matrix:
        """Return what projecting a sample on the eigenvectors that are kept guarantees."""
        crossed = self.compared(sample, L, dtype=np.float64)
        own = self.compared.diag(sample, dtype=np.float64)
        if self.center == "both":  # otherwise bits are those of items that are not centred
            own = own - 2 * crossed.mean(axis=1) + K.mean()  # theory: centred
            crossed = crossed - K.mean(axis=0)
        return sampled_floors(crossed @ basis[0] / basis[1], own)
