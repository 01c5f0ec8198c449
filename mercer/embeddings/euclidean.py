"""Vectors whose distances rank as a kernel does, by the cheapest map there is."""

from typing import Any

import numpy as np

from mercer import items
from mercer.embeddings.additive import AdditiveMap
from mercer.embeddings.axes import principal
from mercer.embeddings.base import Embedding, Floats
from mercer.embeddings.explicit import Explicit
from mercer.embeddings.kpca import KernelPCA
from mercer.embeddings.stand_ins import Trial, stand_ins
from mercer.errors import InputError
from mercer.kernels import Kernel, Prepared
from mercer.kernels.sampling import sampled
from mercer.runtime import parallel
from mercer.runtime.arrays import Array
from mercer.runtime.border import border
from mercer.runtime.params import check_count, stored

HOW = ("auto", "kpca", "explicit", "additive")
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
    how : {"auto", "kpca", "explicit", "additive"}
        "kpca": centred kernel PCA through landmarks, for any kernel. "explicit": vectors that the
        kernel, or one that it declares to rank as, knows by itself (`Explicit`). "additive":
        `AdditiveMap`, for χ², Jensen–Shannon, intersection and exponential χ². "auto": "explicit"
        where there are such vectors; for all other kernels of dense vectors, a user's own too,
        what finds most of the nearest items of a sample, of "kpca" and of distances of the
        vectors, of vectors of unit length and of square roots; "kpca" for all other items.
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
    Explicit(kernel=Hellinger())
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
            raise InputError(f"how is {self.how!r}. Ways are: {', '.join(HOW)}.")
        for name in ("n_components", "n_landmarks"):
            check_count(name, getattr(self, name), optional=True)
        check_count("seed", self.seed, at_least=0)
        if self.how in ("explicit", "additive") and self._declared(self.how) is None:
            raise InputError(
                f"{self.how!r} does not stand for {self.kernel!r}. Use 'kpca', which takes any "
                "kernel, or 'auto'."
            )

    @property
    def n_landmarks_(self) -> int:  # type: ignore[override]
        """How many kernel values one item costs."""
        return self.map_.n_landmarks_

    @property
    def n_features_(self) -> int:  # type: ignore[override]
        """How wide items must be; 0 where the map itself looks."""
        return self.map_.n_features_

    # ---- learning

    def _fit(self, X: Any) -> None:
        """Choose the map, the dimensions and whether one more is needed."""
        kernel = self.compared
        sample = kernel.prepare(sampled(X, self.seed, SAMPLE))
        chosen = self._chosen(kernel, sample)
        if chosen is None:
            self._learn_kpca(sample, self._kpca(kernel, items.length(X)).fit(X))
        else:
            self._learn(sample, *chosen)

    def _learn(self, sample: Prepared, map_: Embedding, by_value: bool) -> None:
        """Take a map; find the dimensions to keep and, by value, whether one more is needed."""
        self.map_ = map_
        Z = map_.fit_transform(sample.under(map_.compared))
        self.mean_, self.axes_ = principal(Z, self.n_components) or (None, None)
        self.top_ = _top(map_.diag(sample)) if by_value else None

    def _learn_kpca(self, sample: Prepared, map_: KernelPCA) -> None:
        self.map_ = map_
        self.mean_ = self.axes_ = None
        self.top_ = _top(map_.diag(sample))

    def _declared(self, how: str) -> tuple[Embedding, bool] | None:
        """Return the map that the kernel's own facts name, and whether values rank, or None."""
        for kernel, by_distance in self.compared.alike():
            if how == "explicit" and kernel.explicit:
                return Explicit(kernel), not by_distance
            if how == "additive" and kernel.homogeneous is not None:
                return AdditiveMap(kernel), not by_distance
        return None

    def _chosen(self, kernel: Kernel, sample: Prepared) -> tuple[Embedding, bool] | None:
        """Return the map to take; None for kernel PCA, which learns from all items."""
        if self.how != "auto":
            return None if self.how == "kpca" else self._declared(self.how)
        kind, width = sample.form or (None, 0)
        if kernel.input != "vectors" or kind != "dense" or width > WIDEST:
            return None
        declared = self._declared("explicit")
        # Python code for every pair is expensive, and a few items tell nothing
        if declared is not None or kernel.runs_python or len(sample) <= FEW:
            return declared
        return self._tried(kernel, sample)

    def _tried(self, kernel: Kernel, sample: Prepared) -> tuple[Embedding, bool] | None:
        """Return the map that finds most on a sample, those without landmarks first."""
        best: tuple[Embedding, bool] | None = None
        trial, most = Trial(kernel, sample, self.seed), 0.0
        for map_ in stand_ins(kernel, sample):
            share = trial.share(map_.fit_transform(trial.items.under(map_.compared)))
            if share > most:
                best, most = (map_, False), share
        if most >= ENOUGH:
            return best
        tried = Euclidean(kernel, "kpca", n_components=self.n_components, seed=self.seed)
        tried._learn_kpca(sample, self._kpca(kernel, len(sample)).fit(sample))
        share = trial.share(tried.transform(trial.items), tried.query(trial.queries))
        return best if most >= share else None

    def _kpca(self, kernel: Kernel, n: int) -> KernelPCA:
        least, most = LANDMARKS
        n_landmarks = self.n_landmarks or min(most, max(least, n // 4))
        return KernelPCA(
            kernel, self.n_components, n_landmarks=n_landmarks, center=True, seed=self.seed
        )

    # ---- embedding

    def _transform(self, P: Prepared) -> Floats:
        Z = self._mapped(P)
        if self.top_ is None:
            return Z
        return _widened(Z, np.sqrt(np.maximum(self.top_ - self.map_.diag(P), 0)))

    @border
    def query(self, X: Any, *, n_jobs: int | None = None) -> Floats:
        """Return the vectors of queries: the dimension for k(x, x) is 0."""
        Z = self._mapped(self._prepared(X))
        return Z if self.top_ is None else _widened(Z, 0)

    def _mapped(self, P: Prepared) -> Floats:
        rows = P.under(self.map_.compared)
        if self.axes_ is None or self.mean_ is None:
            return self.map_._transform(rows)
        if len(rows) <= BLOCK:
            return np.asarray((self.map_._transform(rows) - self.mean_) @ self.axes_)
        out = np.empty((len(P), self.axes_.shape[1]), np.float32)
        for span in parallel.spans(len(P), BLOCK):
            np.matmul(self.map_._transform(rows[span]) - self.mean_, self.axes_, out=out[span])
        return out


def _top(diag: Array) -> float | None:
    """Return the largest k(x, x), or None where all are the same."""
    varies = diag.max() - diag.min() > EVEN * np.abs(diag).max()
    return float(diag.max()) if varies else None


def _widened(Z: Floats, column: Array | int) -> Floats:
    """Return vectors with one more dimension."""
    wide = np.empty((len(Z), Z.shape[1] + 1), np.float32)
    wide[:, :-1], wide[:, -1] = Z, column
    return wide
