"""Pyramid match hashing, by directions that are never stored (Grauman and Darrell 2007, §3)."""

from typing import Any

import numpy as np

from mercer import items, kernels
from mercer.embeddings._walk_loops import project
from mercer.embeddings.base import Embedding, Floats
from mercer.errors import InputError
from mercer.kernels import Kernel, Prepared
from mercer.kernels.pyramids import as_rows
from mercer.runtime import parallel
from mercer.runtime.params import check_count, stored

BLOCK = 64  # sets projected by one task
MODES = ("walk", "paper")


@stored
class PyramidDirections(Embedding):
    """Projections of sets on random directions; their signs are the bits of pyramid match hashing.

    A pyramid is Σ_b c_b min(n_b(Y), n_b(Z)), the inner product of vectors with n_b entries √c_b
    for every bin b. A projection on a Gaussian direction sums n_b normal numbers for each bin: a
    random walk of n_b steps. Two sets differ in a sign with probability exactly arccos(P)/π, where
    P is the kernel divided by √(k(Y, Y) k(Z, Z)), for any weights.

    Nothing is learned or stored: each normal number is computed from its function, bin and step.
    The walk is a Brownian motion at whole numbers, which takes about 2 log2(n) numbers for n steps
    and also works for real counts.

    Parameters
    ----------
    kernel : Kernel
        `PyramidMatch`, `VocabularyPyramid`, `SpatialPyramid`, `ProximityDistribution`, or one of
        them ``.normalized()``.
    n_bits : int
        How many directions. A smaller number gives the first of a larger one.
    mode : {"walk", "paper"}
        "paper": one normal number times √(c n) instead of the walk, as in Algorithm 1 of Grauman
        and Darrell (2007). Its bits are those of another kernel, Σ_b c_b √(n_b(Y) n_b(Z)), which
        is never smaller.
    seed : int
        Chooses the directions.

    Attributes
    ----------
    n_features_ : int
        The width of the vectors in the sets; 0 if all sets were empty.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> from mercer.embeddings import PyramidDirections
    >>> rng = np.random.default_rng(0)
    >>> sets = mercer.Ragged.from_list([rng.random((20, 2)) for _ in range(50)])
    >>> pyramid = mercer.kernels.PyramidMatch.for_data(sets)
    >>> PyramidDirections(pyramid, n_bits=16).fit_transform(sets).shape
    (50, 16)
    """

    learned = ("n_features_",)

    def __init__(
        self, kernel: str | Kernel, n_bits: int = 256, *, mode: str = "walk", seed: int = 0
    ) -> None:
        self.kernel = kernel
        self.n_bits = n_bits
        self.mode = mode
        self.seed = seed
        self._validate()

    def _validate(self) -> None:
        check_count("n_bits", self.n_bits)
        check_count("seed", self.seed, at_least=0)
        if self.mode not in MODES:
            raise InputError(f"mode is {self.mode!r}. Pass one of: {', '.join(MODES)}.")
        if not kernels.get(self.kernel).angles_of.intersects:
            raise InputError(
                f"{self.kernel!r} is not a pyramid of sets that intersects histograms. Use "
                "PyramidMatch, VocabularyPyramid, SpatialPyramid or ProximityDistribution, with "
                "normalize=None (no hashing exists for 'minimum', P §3.5); mercer.klsh hashes any "
                "kernel."
            )

    def _fit(self, X: Any) -> None:
        """Keep the width of the vectors in the sets."""
        form = X.form if hasattr(X, "form") else items.form(items.check(X, "sets"))
        self.n_features_ = 0 if form is None else form[1]

    def _transform(self, P: Prepared) -> Floats:
        """Project sets; the projections of an empty set are 0."""
        pyramid, seed = self.compared.angles_of, np.uint64(int(self.seed) % 2**64)
        H = P.under(pyramid)  # signs do not depend on how sets are scaled
        out = np.empty((len(P), self.n_bits), np.float32)

        def fill(span: slice) -> None:
            project(
                as_rows(H[span]), pyramid.coefficients, pyramid.coefficient_shift, seed,
                self.mode == "walk", out[span],
            )  # fmt: skip

        parallel.over(len(P), BLOCK, fill, "embedding")
        return out
