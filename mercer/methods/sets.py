"""Hash functions for sets of vectors."""

from mercer.codes import Sign
from mercer.embeddings import PyramidDirections
from mercer.index import Index
from mercer.kernels import Kernel
from mercer.methods.coded import over_codes
from mercer.search import Searcher


def pyramid(
    kernel: str | Kernel, *, n_bits: int = 256, mode: str = "walk",
    codes: str | Searcher = "asymmetric", seed: int = 0,
) -> Index:  # fmt: skip
    """Return an index of sets with pyramid match hashing (Grauman and Darrell 2007).

    It needs no landmarks and learns nothing.

    Parameters
    ----------
    kernel : Kernel
        A pyramid: `mercer.kernels.PyramidMatch`, `VocabularyPyramid`, `SpatialPyramid` or
        `ProximityDistribution`, or one of them ``.normalized()``. Bits depend on angles, which are
        those of the normalised kernel.
    n_bits : int
        Bits per code.
    mode : {"walk", "paper"}
        How bits are drawn; see `mercer.embeddings.PyramidDirections`.
    codes : {"asymmetric", "hamming", "lists"} or Searcher
        How codes are searched; see `mercer.methods.coded`.
    seed : int
        Chooses the directions.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> rng = np.random.default_rng(0)
    >>> sets = mercer.Ragged.from_list([rng.random((20, 2)) for _ in range(500)])
    >>> kernel = mercer.kernels.PyramidMatch.for_data(sets).normalized()
    >>> index = mercer.pyramid(kernel, n_bits=64).fit(sets).add(sets)
    >>> index.search(sets[:3], k=1, candidates=50).ids.ravel()
    array([0, 1, 2])
    """
    directions = PyramidDirections(kernel, n_bits, mode=mode, seed=seed)
    return Index(kernel, directions, over_codes(Sign(None), codes))
