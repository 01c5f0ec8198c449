"""Pyramid match hashing: projections of sets on random directions that are never stored (P §3)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mercer import items, kernels
from mercer.embeddings._walk_loops import project
from mercer.embeddings.base import Embedding
from mercer.errors import InputError
from mercer.kernels import Kernel, Prepared
from mercer.kernels.pyramids import Pyramid, as_rows
from mercer.runtime import parallel
from mercer.runtime.params import check_count, stored

__all__ = ["PyramidDirections"]

BLOCK = 64  # sets projected by one task
MODES = ("walk", "paper")


@stored
class PyramidDirections(Embedding):
    """Projections of sets on random directions; their signs are the bits of pyramid match hashing.

    A pyramid is Σ_b c_b min(n_b(Y), n_b(Z)), the inner product of vectors with n_b entries √c_b
    for every bin b. A Gaussian direction through them adds up n_b normal numbers for each bin:
    a random walk of n_b steps. Two sets differ in a sign with probability arccos(P)/π, where P is
    the kernel divided by √(k(Y, Y) k(Z, Z)), exactly, for any weights.

    Nothing is learned and nothing stored: a normal number is computed from the names of function,
    bin and step. The walk is a Brownian motion at whole numbers, and that takes about
    2 log2(n) numbers for n steps, and serves real counts too.

    Parameters
    ----------
    kernel : Kernel
        `PyramidMatch`, `VocabularyPyramid`, `SpatialPyramid`, `ProximityDistribution`, or one of
        them ``.normalized()``.
    n_bits : int
        How many directions. Fewer are the first of more.
    mode : {"walk", "paper"}
        "paper": one normal number times √(c n) instead of the walk, Algorithm 1 as printed. Its
        bits are those of another kernel, Σ_b c_b √(n_b(Y) n_b(Z)), which is never smaller.
    seed : int
        Chooses the directions.

    Attributes
    ----------
    n_features_ : int
        How wide the vectors in the sets are; 0 where all sets were empty.

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
        check_count("PyramidDirections", "n_bits", self.n_bits)
        check_count("PyramidDirections", "seed", self.seed, at_least=0)
        if self.mode not in MODES:
            raise InputError(
                f"PyramidDirections: mode is {self.mode!r}. Pass one of: {', '.join(MODES)}."
            )
        self._pyramid  # noqa: B018 - says what is wrong with the kernel

    @property
    def _pyramid(self) -> Pyramid:
        """The kernel without its normalisation, which no sign depends on."""
        kernel = kernels.get(self.kernel)
        inner = kernel.kernel if isinstance(kernel, kernels.Normalized) else kernel
        if not isinstance(inner, Pyramid):
            raise InputError(
                f"PyramidDirections: {kernel!r} is not a pyramid of sets. Use PyramidMatch, "
                "VocabularyPyramid, SpatialPyramid or ProximityDistribution; mercer.klsh hashes "
                "any kernel."
            )
        if inner.normalize is not None:
            raise InputError(
                f"PyramidDirections: no hashing exists for normalize={inner.normalize!r} (P §3.5). "
                "Use normalize=None and .normalized(), or search by brute force "
                "(mercer.evaluate.ground_truth)."
            )
        return inner

    def serves(self, kernel: Kernel) -> bool:
        """Whether this is the kernel it was made for."""
        return bool(kernels.get(self.kernel) == kernel)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Remember how wide the vectors in the sets are; return self.

        Parameters
        ----------
        X : items
            Sets of vectors.
        y : None
            Not used.
        """
        where = "PyramidDirections.fit"
        if isinstance(X, Prepared):
            form = kernels.get(self.kernel).prepare(X).form
        else:
            form = items.form(items.check(X, "sets", where=where))
        self.n_features_ = 0 if form is None else form[1]
        return self

    def transform(
        self, X: Any, *, n_jobs: int | None = None, show_progress: bool | None = None
    ) -> npt.NDArray[np.float32]:
        """Return the projections of sets, shape (len(X), n_bits); those of an empty set are 0.

        Parameters
        ----------
        X : items
            Raw or prepared.
        n_jobs : int, optional
            How many threads; see `mercer.runtime.parallel.count`.
        show_progress : bool, optional
            Whether to show a progress bar; by default on terminals, for work of over a second.
        """
        self._require_fitted()
        P = self._histograms(X)
        out = np.empty((len(P), self.n_bits), np.float32)
        pyramid, seed = self._pyramid, np.uint64(int(self.seed) % 2**64)

        def fill(span: slice) -> None:
            project(
                as_rows(P[span].parts), pyramid.coefficients, pyramid.coefficient_shift, seed,
                self.mode == "walk", out[span],
            )  # fmt: skip

        tasks = [(span,) for span in parallel.spans(len(P), BLOCK)]
        parallel.run(fill, tasks, n_jobs=n_jobs, label="embedding", show=show_progress)
        return out

    def _histograms(self, X: Any) -> Prepared:
        """Return sets as the pyramid prepares them."""
        kernel, where = kernels.get(self.kernel), "PyramidDirections.transform"
        P = kernel.prepare(X, where=where)
        if P.form is not None and self.n_features_ not in (0, P.form[1]):
            raise InputError(
                f"{where}: vectors have {P.form[1]} features but it was fitted on "
                f"{self.n_features_}. Pass sets from the same source."
            )
        found: Prepared = P.parts[0] if isinstance(kernel, kernels.Normalized) else P
        return found
