"""How far bounds may be relaxed so that the nearest item is kept with a stated probability."""

import numpy as np
import numpy.typing as npt

from mercer.embeddings import Embedding
from mercer.errors import InputError, NotFittedError
from mercer.index.matches import Matches
from mercer.index.segments import Segments
from mercer.kernels import Prepared


def learned(
    embedding: Embedding, P: Prepared, nearest: Matches, segments: Segments, probability: float
) -> float:
    """Return how far bounds may be relaxed, from queries whose true nearest items are known."""
    items = segments.items(nearest.ids[:, 0])
    cosines = residual_cosines(
        nearest.scores[:, 0], embedding.transform(P), embedding.transform(items)
    )
    return relaxation(cosines, probability)


def residual_cosines(
    scores: npt.ArrayLike, Zq: npt.ArrayLike, Zx: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Return (k(q, x) - z_q·z_x) / (R_q R_x) for pairs of vectors with their residuals last.

    Relaxed bounds with a share β of R_q R_x keep exactly the pairs up to β (E eq. 28).
    """
    left, right = np.asarray(Zq, np.float64), np.asarray(Zx, np.float64)
    products = np.einsum("ij,ij->i", left[:, :-1], right[:, :-1])
    return np.asarray((np.asarray(scores) - products) / (left[:, -1] * right[:, -1]))


def relaxation(cosines: npt.NDArray[np.float64], probability: float) -> float:
    """Return the share β that a new pair exceeds with probability at most 1 - `probability`.

    The conformal choice (theory: probability): the ⌈probability (m + 1)⌉-th smallest of m.
    """
    if not 0 < probability < 1:
        raise InputError(f"probability is {probability!r}. Pass a number between 0 and 1.")
    m = len(cosines)
    rank = int(np.ceil(probability * (m + 1)))
    if rank > m:
        raise InputError(
            f"{m} queries cannot promise a probability of {probability}. That "
            f"needs at least {least_queries(probability)}: pass more, or ask for less."
        )
    return float(np.clip(np.sort(cosines)[rank - 1], 0, 1))


def usable(relaxation: float | None, limited: bool) -> float:
    """Return the share that was learned, or raise an error if a search cannot use it.

    `limited` says whether a filter or a number of candidates may leave out items.
    """
    if relaxation is None:
        raise NotFittedError(
            "Index.search: relaxed bounds are not calibrated for the current items. Call "
            "index.calibrate(Q, probability=0.95) with queries like those to come."
        )
    if limited:
        raise InputError(
            "the calibrated probability holds for all items and as many "
            "candidates as it takes. Leave out `candidates` and `where`, or `relaxed`."
        )
    return relaxation


def least_queries(probability: float) -> int:
    """Return how many queries a probability below 1 needs."""
    n = max(1, int(probability / (1 - probability)) - 1)
    while np.ceil(probability * (n + 1)) > n:
        n += 1
    return n
