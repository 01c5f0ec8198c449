"""Charikar's hashing: vectors that a kernel knows by itself, on random directions."""

from typing import Any

import numpy as np
import numpy.typing as npt

from mercer.embeddings.base import Embedding, Floats
from mercer.embeddings.directions import DRAWS, are_wide, drawn, projected
from mercer.embeddings.explicit import Explicit
from mercer.errors import InputError
from mercer.kernels import Kernel, Prepared
from mercer.runtime import parallel
from mercer.runtime.params import check_count, stored

BLOCK = 1024  # items projected by one task


@stored
class Hyperplanes(Embedding):
    """Projections of explicit vectors on random directions; their signs are the bits of LSH.

    Two vectors at an angle θ differ in a sign with probability θ/π (Charikar). Angles are those of
    ``Explicit(kernel, angles=True)``.

    Sparse vectors of more than 10,000 features are neither made dense, nor are their directions
    stored: those are Gaussian, and each entry is computed from its feature and direction when a
    vector needs it.

    Parameters
    ----------
    kernel : str or Kernel
        A kernel with known vectors, see `Explicit`.
    n_bits : int
        How many directions.
    hyperplanes : {"orthogonal", "gaussian"}
        How stored directions are drawn. "orthogonal": in blocks of as many as there are
        dimensions, each a random rotation, so that no bit is wasted on nearly the same direction
        as another.
    seed : int
        Chooses the directions.

    Attributes
    ----------
    map_ : Explicit
        The vectors.
    directions_ : ndarray of float32, shape (d, n_bits)
        The directions, one per column; (0, n_bits) if they are not stored.
    offsets_ : ndarray of float32, shape (n_bits,)
        If they are not: the projections of what the map subtracts from vectors.

    Examples
    --------
    >>> import scipy.sparse
    >>> from mercer.embeddings import Hyperplanes
    >>> X = scipy.sparse.random_array((20, 10**6), density=1e-5, format="csr", random_state=0)
    >>> planes = Hyperplanes("cosine", n_bits=64).fit(X)
    >>> planes.transform(X).shape, planes.directions_.shape
    ((20, 64), (0, 64))
    """

    learned = ("map_", "directions_", "offsets_")

    map_: Explicit
    directions_: Floats
    offsets_: Floats

    def __init__(
        self, kernel: str | Kernel = "cosine", n_bits: int = 256, *,
        hyperplanes: str = "orthogonal", seed: int = 0,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.n_bits = n_bits
        self.hyperplanes = hyperplanes
        self.seed = seed
        self._validate()

    def _validate(self) -> None:
        check_count("n_bits", self.n_bits)
        check_count("seed", self.seed, at_least=0)
        if self.hyperplanes not in DRAWS:
            raise InputError(
                f"hyperplanes is {self.hyperplanes!r}. Pass one of: {', '.join(DRAWS)}."
            )
        Explicit(self.kernel)  # refuses a kernel without vectors

    @property
    def n_features_(self) -> int:  # type: ignore[override]
        """The required width of items."""
        return self.map_.n_features_

    def diag(self, P: Prepared) -> npt.NDArray[np.float64]:
        """Return |φ(x)|² of items."""
        return self.map_.diag(P)

    def _fit(self, X: Any) -> None:
        """Learn what to subtract from the vectors, and draw the directions."""
        P = self.compared.prepare(X)
        self.map_ = Explicit(self.kernel, angles=True).fit(P)
        rows = self.map_.features(P[:1])
        self.offsets_ = np.zeros(self.n_bits, np.float32)
        if are_wide(rows):
            self.directions_ = np.empty((0, self.n_bits), np.float32)
            self._project_offsets()
        else:
            width = rows.shape[1] + (self.map_.offsets_ is not None)
            self.directions_ = drawn(self.hyperplanes, width, self.n_bits, self.seed)

    def _project_offsets(self) -> None:
        """Project the mean of the vectors; what the map appends to each is subtracted from it."""
        from scipy import sparse  # type: ignore[import-untyped]

        if self.map_.offsets_ is None:
            return
        middle = np.append(self.map_.offsets_, np.float32(-self.map_.height_))
        self.offsets_ = projected(sparse.csr_array(middle[None]), self.n_bits, self.seed)[0]

    def _transform(self, P: Prepared) -> Floats:
        rows = P.under(self.map_.compared)
        out = np.empty((len(P), self.n_bits), np.float32)

        def fill(span: slice) -> None:
            some = rows[span]
            if len(self.directions_):
                np.matmul(self.map_._transform(some), self.directions_, out=out[span])
            else:
                found = projected(self.map_.features(some), self.n_bits, self.seed)
                np.subtract(found, self.offsets_, out=out[span])

        parallel.over(len(P), BLOCK, fill, "embedding")
        return out
