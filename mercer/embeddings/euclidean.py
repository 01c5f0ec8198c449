"""Vectors whose distances rank as a kernel does, by the cheapest map there is."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mercer import items, kernels
from mercer.embeddings.additive import ADDITIVE, AdditiveMap, SquareRoot
from mercer.embeddings.axes import principal
from mercer.embeddings.base import Embedding
from mercer.embeddings.identity import Identity
from mercer.embeddings.kpca import KernelPCA
from mercer.embeddings.stand_ins import Trial, raw_rows, stand_ins
from mercer.errors import InputError
from mercer.kernels import Kernel, Prepared
from mercer.runtime.arrays import Array
from mercer.runtime.params import check_count, stored

__all__ = ["Euclidean"]

Floats = npt.NDArray[np.float32]
HOW = ("auto", "kpca", "vectors", "square_root", "additive")
WIDEST = 2048  # features up to which a map of each of them is cheaper than landmarks
LANDMARKS = (32, 256)  # a quarter of the items, between these
SAMPLE = 10_000  # items that dimensions are chosen by
BLOCK = 16_384  # items whose maps are held at a time
FEW = 500  # items: up to so many, kernel PCA is taken untried
ENOUGH = 0.97  # of the nearest items of a sample: no better map is looked for
EVEN = 1e-3  # self-similarities that differ by less, relatively, count as equal


@stored
class Euclidean(Embedding):
    """Vectors for searchers by distance: the nearest are those of the largest kernel values.

    Squared distances in the kernel's space are k(q, q) + k(x, x) - 2 k(q, x). Where k(x, x) is
    not the same for all items, one dimension more holds √(M - k(x, x)), with M the largest; it is
    0 for queries, so that distances rank as k(q, x) alone.

    Parameters
    ----------
    kernel : str or Kernel
        The similarity.
    how : {"auto", "kpca", "vectors", "square_root", "additive"}
        "kpca": centred kernel PCA through landmarks, for any kernel. "vectors": the items
        themselves, for linear, cosine and RBF; exact. "square_root": for Hellinger (exact) and
        χ², Jensen–Shannon, intersection and exponential χ² (nearly). "additive": `AdditiveMap`,
        for the last four. "auto": the first of "vectors" and "square_root" that stands for the
        kernel; for all other kernels of dense vectors, a user's own too, what finds most of the
        nearest items of a sample, of "kpca" and of distances of the vectors, of vectors of unit
        length and of square roots; "kpca" for all other items.
    n_components : int, optional
        Dimensions to keep. By default as many as have 99 % of the variance (of "kpca" 94 % of
        what is in the landmarks' span), and at most 128; more, up to 1,024, where 128 dimensions
        of a map without landmarks would leave fewer than 80 % of the ten nearest vectors of a
        sample as they are.
    n_landmarks : int, optional
        How many landmarks "kpca" goes through; a quarter of the items, between 32 and 256, by
        default.
    seed : int
        Chooses landmarks and samples.

    Attributes
    ----------
    map_ : Embedding
        What turns items into vectors.
    mean_, axes_ : ndarray of float32, shape (d,) and (d, E), or None
        What wide vectors are reduced by: their mean and principal axes.
    top_ : float or None
        M, where k(x, x) varies.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.embeddings import Euclidean
    >>> X = np.random.default_rng(0).dirichlet(np.ones(8), size=100)
    >>> Euclidean("chi2").fit(X).map_
    SquareRoot(kernel=Chi2())
    >>> Euclidean("chi2", "kpca", n_components=16).fit_transform(X).shape
    (100, 16)
    """

    learned = ("map_", "mean_", "axes_", "top_")

    map_: Embedding
    mean_: Floats | None
    axes_: Floats | None
    top_: float | None

    def __init__(
        self, kernel: str | Kernel, how: str = "auto", *, n_components: int | None = None,
        n_landmarks: int | None = None, seed: int = 0,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.how = how
        self.n_components = n_components
        self.n_landmarks = n_landmarks
        self.seed = seed
        self._validate()

    def _validate(self) -> None:
        if self.how not in HOW:
            raise InputError(f"Euclidean: how is {self.how!r}. Ways are: {', '.join(HOW)}.")
        for name in ("n_components", "n_landmarks"):
            if getattr(self, name) is not None:
                check_count("Euclidean", name, getattr(self, name))
        check_count("Euclidean", "seed", self.seed, at_least=0)
        if self.how not in ("auto", "kpca", *_cheap_ways(kernels.get(self.kernel))):
            raise InputError(
                f"Euclidean: {self.how!r} does not stand for {self.kernel!r}. Use 'kpca', which "
                "takes any kernel, or 'auto'."
            )

    def serves(self, kernel: Kernel) -> bool:
        """Whether the vectors stand for this kernel."""
        return bool(kernels.get(self.kernel) == kernel)

    @property
    def n_landmarks_(self) -> int:  # type: ignore[override]
        """How many kernel values one item costs."""
        return self.map_.n_landmarks_

    # ---- learning

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the map, the dimensions and whether one more is needed; return self.

        Parameters
        ----------
        X : items
            The data, or a fair sample of it.
        y : None
            Not used; here for scikit-learn's pipelines.
        """
        kernel = kernels.get(self.kernel)
        X = X if isinstance(X, Prepared) else items.rows_of(X, "Euclidean.fit")
        sample = self._sample(kernel, X)
        chosen = self._chosen(kernel, sample)
        if chosen is None:
            self._learn(kernel, sample, self._kpca(kernel, items.length(X)).fit(X))
        else:
            self._learn(kernel, sample, chosen)
        return self

    def _learn(self, kernel: Kernel, sample: Prepared, map_: Embedding) -> None:
        """Take a map; find the dimensions to keep and whether one more is needed."""
        self.map_ = map_
        self.mean_ = self.axes_ = self.top_ = None
        if not isinstance(map_, KernelPCA):
            Z = map_.fit_transform(_rows_for(map_, kernel, sample))
            self.mean_, self.axes_ = principal(Z, self.n_components) or (None, None)
            if _stands_in(map_, kernel):
                return  # it was tried with its own distances
        own = kernel.diag(sample, dtype=np.float64)
        if own.max() - own.min() > EVEN * np.abs(own).max():
            self.top_ = float(self._own(sample).max())

    def _sample(self, kernel: Kernel, X: Any) -> Prepared:
        n = items.length(X)
        rng = np.random.default_rng(self.seed)
        rows = np.sort(rng.choice(n, min(n, SAMPLE), replace=False))
        taken = X.take(rows) if isinstance(X, Prepared) else items.take(X, rows)
        return kernel.prepare(taken, where="Euclidean.fit")

    def _chosen(self, kernel: Kernel, sample: Prepared) -> Embedding | None:
        """Return the map to take; None for kernel PCA, which learns from all items."""
        if self.how != "auto":
            return None if self.how == "kpca" else _feature_map(kernel, self.how)
        kind, width = sample.form or (None, 0)
        if kernel.input != "vectors" or kind != "dense" or width > WIDEST:
            return None
        cheap = _cheap_ways(kernel)
        if cheap:
            return _feature_map(kernel, cheap[0])
        # Python code for every pair is dear, and a few items tell nothing
        return self._tried(kernel, sample) if kernel._threads and len(sample) > FEW else None

    def _tried(self, kernel: Kernel, sample: Prepared) -> Embedding | None:
        """Return the map that finds most on a sample, those without landmarks first."""
        trial, best, most = Trial(kernel, sample, self.seed), None, 0.0
        for map_ in stand_ins(kernel, sample):
            share = trial.share(map_.fit_transform(_rows_for(map_, kernel, trial.items)))
            if share > most:
                best, most = map_, share
        if most >= ENOUGH:
            return best
        tried = Euclidean(kernel, "kpca", n_components=self.n_components, seed=self.seed)
        tried._learn(kernel, sample, self._kpca(kernel, len(sample)).fit(sample))
        share = trial.share(tried.transform(trial.items), tried.query(trial.queries))
        return best if most >= share else None

    def _kpca(self, kernel: Kernel, n: int) -> KernelPCA:
        least, most = LANDMARKS
        n_landmarks = self.n_landmarks or min(most, max(least, n // 4))
        return KernelPCA(
            kernel, self.n_components, n_landmarks=n_landmarks, center=True, seed=self.seed
        )

    # ---- embedding

    def transform(
        self, X: Any, *, n_jobs: int | None = None, show_progress: bool | None = None
    ) -> Floats:
        """Return the vectors of items.

        Parameters
        ----------
        X : items
            Raw or prepared.
        n_jobs : int, optional
            How many threads; see `mercer.runtime.parallel.count`.
        show_progress : bool, optional
            Whether to show a progress bar; by default on terminals, for work of over a second.
        """
        P, Z = self._mapped(X, n_jobs, show_progress)
        if self.top_ is None:
            return Z
        return _widened(Z, np.sqrt(np.maximum(self.top_ - self._own(P), 0)))

    def query(self, X: Any, *, n_jobs: int | None = None) -> Floats:
        """Return the vectors of queries: the dimension for k(x, x) is 0."""
        _, Z = self._mapped(X, n_jobs, False)
        return Z if self.top_ is None else _widened(Z, 0)

    def _own(self, P: Prepared) -> Array:
        """Return k(x, x) of the kernel whose distances are those of the vectors."""
        kernel = kernels.get(self.kernel)
        if isinstance(self.map_, KernelPCA):
            return kernel.diag(P, dtype=np.float64)
        return _mapped_kernel(kernel).diag(_rows_for(self.map_, kernel, P), dtype=np.float64)

    def _mapped(self, X: Any, n_jobs: int | None, show: bool | None) -> tuple[Prepared, Floats]:
        self._require_fitted()
        kernel = kernels.get(self.kernel)
        P = kernel.prepare(X, where="Euclidean.transform")
        if isinstance(self.map_, KernelPCA):
            return P, self.map_.transform(P, n_jobs=n_jobs, show_progress=show)
        rows = _rows_for(self.map_, kernel, P)
        if self.axes_ is None or self.mean_ is None:
            return P, self.map_.transform(rows, n_jobs=n_jobs, show_progress=show)
        out = np.empty((len(P), self.axes_.shape[1]), np.float32)
        for start in range(0, len(P), BLOCK):
            block = slice(start, start + BLOCK)
            Z = self.map_.transform(rows[block], n_jobs=n_jobs, show_progress=False)
            np.matmul(Z - self.mean_, self.axes_, out=out[block])
        return P, out


def _widened(Z: Floats, column: Array | int) -> Floats:
    """Return vectors with one more dimension."""
    wide = np.empty((len(Z), Z.shape[1] + 1), np.float32)
    wide[:, :-1], wide[:, -1] = Z, column
    return wide


# ---- kernels with a map of their own


def _core(kernel: Kernel) -> Kernel:
    """Return the kernel inside of increasing functions, which rank alike."""
    while isinstance(kernel, (kernels.Exp, kernels.Scaled)):
        kernel = kernel.kernel
    return kernel


def _cheap_ways(kernel: Kernel) -> tuple[str, ...]:
    """Return the ways that need no landmarks, the best first."""
    core = _core(kernel)
    if isinstance(core, (kernels.Linear, kernels.Cosine, kernels.RBF)):
        return ("vectors",)
    if isinstance(core, (kernels.ExpChi2, *ADDITIVE)):
        return "square_root", "additive"
    return ("square_root",) if isinstance(core, kernels.Hellinger) else ()


def _mapped_kernel(kernel: Kernel) -> Kernel:
    """Return the kernel whose distances rank as this one."""
    core = _core(kernel)
    if isinstance(core, kernels.ExpChi2):  # exp(-γ d²), d the distance of χ²
        return kernels.Chi2()
    return kernels.Linear() if isinstance(core, kernels.RBF) else core


def _feature_map(kernel: Kernel, how: str) -> Embedding:
    mapped = _mapped_kernel(kernel)
    if how == "vectors":
        return Identity(mapped, unit=isinstance(mapped, kernels.Cosine))
    return SquareRoot(mapped) if how == "square_root" else AdditiveMap(mapped)


def _stands_in(map_: Any, kernel: Kernel) -> bool:
    """Whether a map's distances are of another kernel than the one that ranks as this one."""
    return bool(kernels.get(map_.kernel) != _mapped_kernel(kernel))


def _rows_for(map_: Any, kernel: Kernel, P: Prepared) -> Any:
    """Return prepared items as a map takes them, without another look at them if it can be."""
    if _stands_in(map_, kernel):
        rows, own = raw_rows(P), kernels.get(map_.kernel)
        if isinstance(map_, SquareRoot) and not kernel.nonnegative:
            rows = np.maximum(rows, 0)
        # of these, only directions need more than the rows
        return rows if isinstance(own, kernels.Cosine) else Prepared(own, (rows,), P.form)
    while isinstance(P.parts[0], Prepared):
        P = P.parts[0]
    mapped = _mapped_kernel(kernel)
    return P if P.kernel == mapped else Prepared(mapped, P.parts[:1], P.form)
