"""Vectors whose distances rank as a kernel does, by the cheapest map that suits it."""

from typing import Any

import numpy as np

from mercer import items
from mercer.embeddings.additive import AdditiveMap
from mercer.embeddings.affordable import n_affordable
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
BLOCK = 16_384  # items mapped, or looked at for their lengths, at a time
FEW = 500  # items: for at most this many, kernel PCA is used without a trial
ENOUGH = 0.97  # of the nearest items of a sample: a map that finds this share ends the search
EVEN = 1e-3  # self-similarities that differ by less, relatively, count as equal


@stored
class Euclidean(Embedding):
    """Vectors for search by distance: the nearest have the largest kernel values.

    Squared distances in the kernel's space are k(q, q) + k(x, x) - 2 k(q, x). If k(x, x) is not
    the same for all items, an extra dimension holds √(M - k(x, x)), with M the largest of all items
    given to `fit`; it is 0 for queries, so that distances rank as k(q, x) alone. Longer items that
    come later have a 0 there, too: their squared distances are too large by k(x, x) - M, so they
    are ranked too low. In an `Index` they are not: it keeps lengths apart and has the directions
    compared alone (`mercer.search.ByLength`).

    Parameters
    ----------
    kernel : str or Kernel
        The similarity.
    how : {"auto", "kpca", "explicit", "additive"}
        "kpca": centred kernel PCA through landmarks, for any kernel. "explicit": the features of
        the kernel, or of one that it declares to rank as (`Explicit`). "additive": `AdditiveMap`,
        for χ², Jensen–Shannon, intersection and exponential χ². "auto": "explicit" if there are
        such features; for other kernels of dense vectors, including your own, whichever finds
        most of the nearest items of a sample: "kpca", or distances of the vectors, of the vectors
        scaled to unit length, or of their square roots; "kpca" for all other items.
    n_components : int, optional
        Dimensions to keep. By default as many as hold 99 % of the variance (for "kpca", 94 % of
        that in the landmarks' span), and at most 128; up to 1,024 for a map without landmarks, if
        128 dimensions would keep fewer than 80 % of the ten nearest vectors of a sample.
    n_landmarks : int, optional
        How many landmarks "kpca" goes through; a quarter of the items, between 32 and 256, by
        default.
    seed : int
        Chooses landmarks and samples.

    Attributes
    ----------
    map_ : Embedding
        The embedding that turns items into vectors.
    mean_, axes_ : ndarray of float32, shape (d,) and (d, E), or None
        The mean and principal axes by which wide vectors are reduced.
    top_ : float or None
        M, if k(x, x) varies among the items given to `fit`.

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
    by_value = True

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
        """How many kernel values embedding one item takes."""
        return self.map_.n_landmarks_

    @property
    def n_features_(self) -> int:  # type: ignore[override]
        """The required width of items; 0 if the map checks it."""
        return self.map_.n_features_

    # ---- learning

    def _fit(self, X: Any) -> None:
        """Choose the map, the dimensions and whether an extra one is needed."""
        kernel = self.compared
        sample = kernel.prepare(sampled(X, self.seed, SAMPLE))
        chosen = self._chosen(kernel, sample)
        if chosen is None:
            self._learn_kpca(X, self._kpca(kernel, X).fit(X))
        else:
            self._learn(X, sample, *chosen)

    def _learn(self, X: Any, sample: Prepared, map_: Embedding, by_value: bool) -> None:
        """Fit a map; find the dimensions to keep and, to rank by value, whether to add one."""
        self.map_ = map_
        Z = map_.fit_transform(sample.under(map_.compared))
        self.mean_, self.axes_ = principal(Z, self.n_components) or (None, None)
        self.top_ = self._top(X) if by_value else None

    def _learn_kpca(self, X: Any, map_: KernelPCA) -> None:
        self.map_ = map_
        self.mean_ = self.axes_ = None
        self.top_ = self._top(X)

    def _top(self, X: Any) -> float | None:
        """Return the largest k(x, x), or None where all are the same.

        All items are looked at, block by block: a sample may lack the longest.
        """
        least, largest = np.inf, -np.inf
        for first_row, block in items.blocks(X, BLOCK):
            diag = self.map_.diag(self.compared.prepare(block, first_row=first_row))
            least, largest = min(least, diag.min()), max(largest, diag.max())
        varies = largest - least > EVEN * max(abs(least), abs(largest))
        return float(largest) if varies else None

    def _declared(self, how: str) -> tuple[Embedding, bool] | None:
        """Return the map that the kernel's facts declare, and whether values rank, or None."""
        for kernel, by_distance in self.compared.alike():
            if how == "explicit" and kernel.explicit:
                return Explicit(kernel), not by_distance
            if how == "additive" and kernel.homogeneous is not None:
                return AdditiveMap(kernel), not by_distance
        return None

    def _chosen(self, kernel: Kernel, sample: Prepared) -> tuple[Embedding, bool] | None:
        """Return the map to use; None for kernel PCA, which learns from all items."""
        if self.how != "auto":
            return None if self.how == "kpca" else self._declared(self.how)
        kind, width = sample.form or (None, 0)
        if kernel.input != "vectors" or kind != "dense" or width > WIDEST:
            return None
        declared = self._declared("explicit")
        # Python code for every pair is expensive, and few items tell too little
        if declared is not None or kernel.runs_python or len(sample) <= FEW:
            return declared
        return self._tried(kernel, sample)

    def _tried(self, kernel: Kernel, sample: Prepared) -> tuple[Embedding, bool] | None:
        """Return the map that finds most nearest items of a sample; None for kernel PCA."""
        best: tuple[Embedding, bool] | None = None
        trial, most = Trial(kernel, sample, self.seed), 0.0
        for map_ in stand_ins(kernel, sample):
            share = trial.share(map_.fit_transform(trial.items.under(map_.compared)))
            if share > most:
                best, most = (map_, False), share
        if most >= ENOUGH:
            return best
        tried = Euclidean(kernel, "kpca", n_components=self.n_components, seed=self.seed)
        tried._learn_kpca(sample, self._kpca(kernel, sample).fit(sample))
        share = trial.share(tried.transform(trial.items), tried.query(trial.queries))
        return best if most >= share else None

    def _kpca(self, kernel: Kernel, X: Any) -> KernelPCA:
        least, most = LANDMARKS
        usual = min(most, max(least, items.length(X) // 4))
        n_landmarks = n_affordable(kernel, X, self.n_landmarks, usual)
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
        """Return the vectors of queries: the extra dimension is 0."""
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


def _widened(Z: Floats, column: Array | int) -> Floats:
    """Return vectors with one more dimension."""
    wide = np.empty((len(Z), Z.shape[1] + 1), np.float32)
    wide[:, :-1], wide[:, -1] = Z, column
    return wide
