"""Vectors and projections that carry a learned metric (M sections 3.4 and 3.5)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mercer import items, kernels
from mercer.embeddings.base import Embedding
from mercer.embeddings.pyramid import PyramidDirections
from mercer.errors import InputError
from mercer.kernels import Kernel, Prepared, Pyramid
from mercer.kernels.learned import unwrapped
from mercer.runtime import parallel
from mercer.runtime.params import check_count, stored

__all__ = ["LearnedDirections", "LearnedMetric"]

BLOCK = 1024  # items projected in one task
Matrix = npt.NDArray[np.float64]


class _OfLearned(Embedding):
    """An embedding for a learned kernel, or for one that `normalized` or `radial` makes of it."""

    kernel: Kernel

    def serves(self, kernel: Kernel) -> bool:
        """Whether this is the kernel it was made for."""
        return bool(self.kernel == kernel)

    @property
    def _inner(self) -> Any:
        """The learned kernel itself."""
        return unwrapped(self.kernel)

    def _prepared(self, X: Any, verb: str) -> Prepared:
        """Return items as the learned kernel itself has them."""
        P = self.kernel.prepare(X, where=f"{type(self).__name__}.{verb}")
        while isinstance(P.kernel, (kernels.Normalized, kernels.Radial)):
            P = P.parts[0]
        return P


@stored
class LearnedMetric(_OfLearned):
    """x → Gx: vectors whose inner products and distances are those of a learned metric A = GᵀG.

    Their hyperplanes are the hash functions sign(rᵀGx) of M eq. 10, which know angles at the
    origin. Where the kernel ranks by the distance (``.radial(gamma)``), the mean of the items is
    subtracted, and one coordinate is appended that is the same for all of them, their root mean
    square length: hyperplanes then lie around the middle of the data, not all through one point,
    and angles grow with distances.

    Parameters
    ----------
    kernel : Kernel
        A `Mahalanobis` kernel, or one that ``.normalized()`` or ``.radial(gamma)`` makes of it.

    Attributes
    ----------
    offsets_ : ndarray of float32, shape (n_features,)
        What is subtracted; 0 where inner products or angles matter.
    height_ : float
        The coordinate that is appended; 0 where nothing is.

    Examples
    --------
    >>> from mercer import kernels
    >>> from mercer.embeddings import LearnedMetric
    >>> LearnedMetric(kernels.Mahalanobis([[4.0, 0.0], [0.0, 1.0]])).fit_transform([[1.0, 2.0]])
    array([[2., 2.]], dtype=float32)
    """

    learned = ("offsets_", "height_")

    offsets_: npt.NDArray[np.float32]

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._validate()

    def _validate(self) -> None:
        if not isinstance(self._inner, kernels.Mahalanobis):
            raise InputError(
                f"LearnedMetric: {self.kernel!r} is not a Mahalanobis kernel. Pass "
                "mercer.learn.ITML().fit(X, y).kernel_, learned without a kernel."
            )

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the middle and the size of the items, where they matter; return self."""
        mapped = self._prepared(X, "fit").parts[0]
        self.offsets_, self.height_ = np.zeros(mapped.shape[1], np.float32), 0.0
        if isinstance(self.kernel, kernels.Radial):
            self.offsets_ = mapped.mean(axis=0, dtype=np.float64).astype(np.float32)
            squares = np.square(mapped - self.offsets_, dtype=np.float64)
            self.height_ = float(np.sqrt(squares.sum() / len(mapped)))
        return self

    def transform(
        self, X: Any, *, n_jobs: int | None = None, show_progress: bool | None = None
    ) -> npt.NDArray[np.float32]:
        """Return the vector of every item, shape (len(X), n_features), or one more."""
        self._require_fitted()
        mapped = self._prepared(X, "transform").parts[0] - self.offsets_
        if not isinstance(self.kernel, kernels.Radial):
            return np.asarray(mapped)
        return np.pad(mapped, ((0, 0), (0, 1)), constant_values=self.height_)


@stored
class LearnedDirections(_OfLearned):
    """Projections rᵀGφ(x) on random directions, for a metric learned in the span of basis items.

    φ(x) may be sparse and have any number of dimensions: with r Gaussian and Φ the basis,
    rᵀGφ(x) = rᵀφ(x) + Σ_j γ_j k(x_j, x), γ = Sᵀ (rᵀΦ)ᵀ. (The paper prints S for Sᵀ, which is not
    the same: S is not symmetric.) Signs of projections are the paper's hash functions (M eq. 11).
    For pyramids of sets rᵀφ(x) is a sum of random walks (`PyramidDirections`; M §3.7).

    Parameters
    ----------
    kernel : Kernel
        A `Learned` kernel over the linear or the cosine kernel, over a pyramid of sets or its
        ``.normalized()``; or ``.normalized()`` of the learned kernel.
    n_bits : int
        How many directions.
    seed : int
        Chooses them.

    Attributes
    ----------
    directions_ : ndarray of float32, shape (n_features, n_bits)
        r, one a column: 4 bytes for each feature and bit. For pyramids nothing is kept.
    weights_ : ndarray of float64, shape (d, n_bits)
        What is added to rᵀφ(x), for each coordinate of the span.
    n_landmarks_ : int
        How many kernel values an item costs: one for each basis item.

    Examples
    --------
    >>> import scipy.sparse
    >>> from mercer import learn
    >>> from mercer.embeddings import LearnedDirections
    >>> X = scipy.sparse.random_array((60, 10_000), density=0.01, format="csr", random_state=0)
    >>> metric = learn.ITML("linear", n_basis=60, upper=40.0, lower=90.0)
    >>> kernel = metric.fit(X, learn.from_pairs([(0, 1)], [(2, 3)])).kernel_
    >>> LearnedDirections(kernel, n_bits=16).fit_transform(X).shape
    (60, 16)
    """

    learned = ("directions_", "weights_", "n_landmarks_")

    directions_: npt.NDArray[np.float32]
    weights_: Matrix

    def __init__(self, kernel: Kernel, n_bits: int = 256, *, seed: int = 0) -> None:
        self.kernel = kernel
        self.n_bits = n_bits
        self.seed = seed
        self._validate()

    def _validate(self) -> None:
        if not has_directions(self.kernel):
            raise InputError(
                f"LearnedDirections: {self.kernel!r} is not a kernel learned over the linear or "
                "the cosine kernel or a pyramid, so φ(x) is not known. Use mercer.learned, which "
                "finds another way."
            )
        check_count("LearnedDirections", "n_bits", self.n_bits)
        check_count("LearnedDirections", "seed", self.seed, at_least=0)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the directions, and what the metric adds to them; return self."""
        kernel = self._inner
        P = self._prepared(X, "fit")
        width = 0 if _pyramid(kernel.kernel) else int(P.parts[0].parts[0].shape[1])
        rng = np.random.default_rng(self.seed)
        self.directions_ = rng.normal(size=(width, self.n_bits)).astype(np.float32)
        on_basis = self._projected(kernel.kernel.prepare(kernel.basis))  # rᵀΦ, (c, n_bits)
        moved = kernel.factor - np.eye(len(kernel.factor))
        # γ = Sᵀ(rᵀΦ)ᵀ = W (G - I)ᵀ Wᵀ (rᵀΦ)ᵀ, and k(Φ, x)ᵀ W are the coordinates (PROOFS A1)
        self.weights_ = moved.T @ (kernel.weights.T @ on_basis.astype(np.float64))
        self.n_landmarks_ = len(kernel.weights)
        return self

    @property
    def gamma_(self) -> Matrix:
        """γ of every direction, shape (c, n_bits)."""
        self._require_fitted()
        return np.asarray(self._inner.weights @ self.weights_)

    def transform(
        self, X: Any, *, n_jobs: int | None = None, show_progress: bool | None = None
    ) -> npt.NDArray[np.float32]:
        """Return the projections of items, shape (len(X), n_bits).

        Parameters
        ----------
        X : items
            Raw or prepared. Prepared ones cost no kernel value.
        n_jobs : int, optional
            How many threads; see `mercer.runtime.parallel.count`.
        show_progress : bool, optional
            Whether to show a progress bar; by default on terminals, for work of over a second.
        """
        self._require_fitted()
        P = self._prepared(X, "transform")
        out = np.empty((len(P), self.n_bits), np.float32)
        weights = self.weights_.astype(np.float32)

        def fill(span: slice) -> None:
            base, Z = P[span].parts
            out[span] = self._projected(base) + Z.astype(np.float32) @ weights

        tasks = [(span,) for span in parallel.spans(len(P), BLOCK)]
        parallel.run(fill, tasks, n_jobs=n_jobs, label="embedding", show=show_progress)
        return out

    def _projected(self, P: Prepared) -> npt.NDArray[np.float32]:
        """Return rᵀφ(x) of items as the base kernel has them."""
        if not _pyramid(P.kernel):
            return np.asarray(_vectors(P) @ self.directions_)
        walks = PyramidDirections(P.kernel, self.n_bits, seed=self.seed)
        projected = walks.fit(P).transform(P, n_jobs=1, show_progress=False)
        if isinstance(P.kernel, kernels.Normalized):
            projected *= P.parts[1].astype(np.float32)[:, None]
        return projected


def has_directions(kernel: Kernel) -> bool:
    """Whether a kernel was learned over one whose vectors φ(x) are known, and ranks by angles."""
    inner = kernel.kernel if isinstance(kernel, kernels.Normalized) else kernel
    if not isinstance(inner, kernels.Learned):
        return False
    return isinstance(inner.kernel, (kernels.Linear, kernels.Cosine)) or _pyramid(inner.kernel)


def _pyramid(kernel: Kernel) -> bool:
    """Whether a kernel is a pyramid of sets with an inner product, perhaps normalised."""
    inner = kernel.kernel if isinstance(kernel, kernels.Normalized) else kernel
    return isinstance(inner, Pyramid) and inner.normalize is None


def _vectors(P: Prepared) -> Any:
    """Return φ of prepared items, dense or sparse: the vectors, of unit length for cosines."""
    rows = P.parts[0]
    if not items.is_sparse(rows):
        rows = rows.astype(np.float32, copy=False)
    if isinstance(P.kernel, kernels.Linear):
        return rows
    lengths = P.parts[1].astype(np.float32)[:, None]
    return rows.multiply(lengths).tocsr() if items.is_sparse(rows) else rows * lengths
