"""Projections under a learned metric (Kulis, Jain and Grauman 2009, §3.5)."""

from typing import Any

import numpy as np
import numpy.typing as npt

from mercer import kernels
from mercer.embeddings.base import Embedding, Floats
from mercer.embeddings.directions import are_wide, drawn, projected
from mercer.embeddings.pyramid import PyramidDirections
from mercer.errors import InputError
from mercer.kernels import Kernel, Prepared
from mercer.runtime import parallel
from mercer.runtime.params import check_count, stored

BLOCK = 1024  # items projected in one task
Matrix = npt.NDArray[np.float64]


@stored
class LearnedDirections(Embedding):
    """Projections rᵀGφ(x) on random directions, for a metric learned in the span of basis items.

    φ(x) may be sparse and have any number of dimensions: with r Gaussian and Φ the basis,
    rᵀGφ(x) = rᵀφ(x) + Σ_j γ_j k(x_j, x), γ = Sᵀ (rᵀΦ)ᵀ. Signs of projections are the hash functions
    of Kulis, Jain and Grauman (2009, eq. 11). (The paper prints S for Sᵀ, but S is not symmetric.)
    For pyramids of sets, rᵀφ(x) is a sum of random walks (`PyramidDirections`; §3.7 there).

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
        r, one per column. Not stored, shape (0, n_bits), for pyramids and for sparse vectors of
        more than 10,000 features: then each number is computed when it is needed.
    weights_ : ndarray of float64, shape (d, n_bits)
        What each coordinate of the span adds to rᵀφ(x).
    n_landmarks_ : int
        How many kernel values embedding an item takes: one for each basis item.

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
        if not has_directions(kernels.get(self.kernel)):
            raise InputError(
                f"{self.kernel!r} is not a kernel learned over the linear or "
                "the cosine kernel or a pyramid, so φ(x) is not known. Use mercer.learned, which "
                "finds another way."
            )
        check_count("n_bits", self.n_bits)
        check_count("seed", self.seed, at_least=0)

    def _fit(self, X: Any) -> None:
        """Draw the directions, and compute what the metric adds to them."""
        kernel = self._learned
        P = self.compared.prepare(X).under(kernel).inside
        rows = kernel.over.features(P[:1]) if kernel.over.explicit else None
        width = 0 if rows is None or are_wide(rows) else rows.shape[1]
        self.directions_ = drawn("gaussian", width, self.n_bits, self.seed)
        on_basis = self._projected(kernel.over.prepare(kernel.basis))  # rᵀΦ, (c, n_bits)
        moved = kernel.factor - np.eye(len(kernel.factor))
        # γ = Sᵀ(rᵀΦ)ᵀ = W (G - I)ᵀ Wᵀ (rᵀΦ)ᵀ, and k(Φ, x)ᵀ W are the coordinates
        # (theory: learned-hashing)
        self.weights_ = moved.T @ (kernel.weights.T @ on_basis.astype(np.float64))
        self.n_landmarks_ = len(kernel.weights)

    @property
    def _learned(self) -> Any:
        """The learned kernel itself."""
        return self.compared.angles_of

    @property
    def gamma_(self) -> Matrix:
        """γ of every direction, shape (c, n_bits)."""
        self._require_fitted()
        return np.asarray(self._learned.weights @ self.weights_)

    def _transform(self, P: Prepared) -> Floats:
        """Project items; prepared items need no kernel values."""
        H, weights = P.under(self._learned), self.weights_.astype(np.float32)
        out = np.empty((len(P), self.n_bits), np.float32)

        def fill(span: slice) -> None:
            some = H[span]
            out[span] = self._projected(some.inside)
            out[span] += some.coordinates.astype(np.float32) @ weights

        parallel.over(len(P), BLOCK, fill, "embedding")
        return out

    def _projected(self, P: Prepared) -> Floats:
        """Return rᵀφ(x) of items prepared for the base kernel."""
        if P.kernel.explicit:
            rows = P.kernel.features(P)
            if len(self.directions_):
                return np.asarray(rows @ self.directions_)
            return projected(rows, self.n_bits, self.seed)
        walks = PyramidDirections(P.kernel, self.n_bits, seed=self.seed).fit_transform(P)
        return walks * np.asarray(P.kernel.stretch(P), np.float32).reshape(-1, 1)


def has_directions(kernel: Kernel) -> bool:
    """Whether a kernel was learned over one whose vectors φ(x) are known, and ranks by angles."""
    over = kernel.angles_of.over
    return over is not None and bool(over.explicit or over.angles_of.intersects)
