"""One bit for each projection: which side of a hyperplane a vector lies on."""

from typing import Self

import numpy as np
import numpy.typing as npt

from mercer.codes.base import Code
from mercer.embeddings.directions import DRAWS, drawn
from mercer.errors import InputError
from mercer.runtime import parallel
from mercer.runtime.params import check_count, stored

BLOCK = 4096  # vectors encoded in one go


@stored
class Sign(Code):
    """The signs of projections, eight to a byte (Charikar's LSH for cosines).

    Two vectors at an angle θ differ in a Gaussian bit with probability θ/π.

    Parameters
    ----------
    hyperplanes : {"gaussian", "orthogonal"} or None
        How the directions are drawn. "orthogonal": in blocks of as many as there are dimensions,
        each a random rotation, so that no bit is wasted on nearly the same direction as another.
        None: the vectors already are projections, one bit each.
    n_bits : int, optional
        How many bits; as many as there are dimensions by default. Not used without hyperplanes.
    seed : int
        Chooses the directions.

    Attributes
    ----------
    directions_ : ndarray of float32, shape (d, n_bits), or None
        The normals of the hyperplanes, one per column.
    n_bits_ : int
        How many bits a code has.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.codes import Sign
    >>> Z = np.array([[1.0, -2.0, 3.0], [-1.0, 2.0, 3.0]], np.float32)
    >>> Sign(None).fit(Z).encode(Z)
    array([[160],
           [ 96]], dtype=uint8)
    """

    learned = ("n_bits_", "directions_")

    def __init__(
        self, hyperplanes: str | None = "orthogonal", n_bits: int | None = None, seed: int = 0
    ) -> None:
        self.hyperplanes = hyperplanes
        self.n_bits = n_bits
        self.seed = seed
        self._validate()

    def _validate(self) -> None:
        if self.hyperplanes not in (None, *DRAWS):
            raise InputError(
                f"hyperplanes is {self.hyperplanes!r}. Pass 'gaussian', 'orthogonal' or None."
            )
        check_count("n_bits", self.n_bits, optional=True)
        check_count("seed", self.seed, at_least=0)

    def fit(self, Z: npt.NDArray[np.float32]) -> Self:
        """Draw the directions for vectors of this width, and return self."""
        d = Z.shape[1]
        self.n_bits_ = d if self.hyperplanes is None else self.n_bits or max(d, 1)
        self.directions_ = None
        if self.hyperplanes is not None:
            self.directions_ = drawn(self.hyperplanes, d, self.n_bits_, self.seed)
        return self

    def query(self, Z: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return the projections themselves, shape (n, n_bits)."""
        self._require_fitted()
        return Z if self.directions_ is None else Z @ self.directions_

    def encode(self, Z: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]:
        """Return the signs, packed as ``numpy.packbits`` does; 0 counts as positive."""
        spans = parallel.spans(len(Z), BLOCK) or [slice(0, 0)]
        parts = [np.packbits(self.query(Z[span]) >= 0, axis=1) for span in spans]
        return np.concatenate(parts)
