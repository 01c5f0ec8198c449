"""Guarantees of low-rank projections (Jiang, Que and Kulis 2015, Theorem 2, corrected)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mercer.runtime.border import border
from mercer.runtime.params import check_count, check_number

EPSILONS = (0.0, 0.5, 1.0)  # for which the data-dependent bound is kept
SAMPLE = 256  # items that it is measured on


@dataclass(frozen=True)
class LowRankBound:
    """Theorem 2 of Jiang, Que and Kulis (2015), corrected, for m landmarks and rank r.

    It is about a normalised kernel, with k(x, x) = 1 and values from 0 to 1, and projections that
    are not centred. Only items that `keeps` accepts are searched, and only queries like them; for
    these, `floor` bounds the similarity of the item that is found (theory: low-rank).

    Attributes
    ----------
    eigenvalue : float
        λ_r of the landmark matrix divided by m.
    gap : float
        δ_r = (λ_r - λ_(r+1)) / 2.
    eta : float
        η = 2 / (δ_r √m) · (1 + √(ξ/2)).
    tau : float
        τ = √λ_r + η: items of which the projection loses more are left out.
    least_norm : float
        √(1 - τ²), the least length of the projections that are kept. The paper prints 1 - τ, for
        which its own bound does not follow.
    vacuous : bool
        Whether τ ≥ 1, so that nothing is guaranteed.

    Examples
    --------
    >>> from mercer.embeddings.theory import LowRankBound
    >>> known = LowRankBound(0.01, 0.01, 0.0, tau=0.1, least_norm=0.995, vacuous=False)
    >>> round(known.floor(1.0), 3), known.keeps([0.99, 0.999])
    (0.88, array([False,  True]))
    """

    eigenvalue: float
    gap: float
    eta: float
    tau: float
    least_norm: float
    vacuous: bool

    def floor(self, similarity: float, epsilon: float = 0.0) -> float:
        """Return the similarity that a (1 + ε)-approximate search finds at least, R eq. 3.

        (1 + ε)(1 - τ) κ* - ε - (2 + ε) τ², or -1 where that says nothing.

        Parameters
        ----------
        similarity : float
            κ*, the largest similarity of the query with an item that is kept.
        epsilon : float
            ε, how approximate the search among the projections is.
        """
        if self.vacuous:
            return -1.0
        reached = (1 + epsilon) * (1 - self.tau) * similarity
        return float(max(-1.0, reached - epsilon - (2 + epsilon) * self.tau**2))

    def keeps(self, norms: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether items may be considered, by the lengths N(x) of their projections."""
        return np.asarray(norms, np.float64) >= self.least_norm


@border
def low_rank_bound(spectrum: npt.ArrayLike, rank: int, xi: float = 1.0) -> LowRankBound:
    """Return what Theorem 2 of Jiang, Que and Kulis (2015) says of a normalised kernel.

    Parameters
    ----------
    spectrum : array_like of float
        Eigenvalues of the landmark matrix, decreasing: all m of them.
    rank : int
        How many are kept.
    xi : float
        ξ: the theorem holds with probability (1 - exp(-ξ)) / 2.

    Examples
    --------
    >>> from mercer.embeddings.theory import low_rank_bound
    >>> low_rank_bound([60.0, 20.0, 10.0, 10.0], rank=1).vacuous
    True
    """
    values = np.maximum(np.asarray(spectrum, np.float64), 0)
    check_count("rank", rank)
    check_number("xi", xi, above=0)
    m = len(values)
    scaled = np.append(values / m, 0.0)
    kept = min(rank, m)
    gap = float(scaled[kept - 1] - scaled[kept]) / 2
    eta = 2 / (gap * np.sqrt(m)) * (1 + np.sqrt(xi / 2)) if gap > 0 else np.inf
    tau = float(np.sqrt(scaled[kept - 1]) + eta)
    return LowRankBound(
        eigenvalue=float(scaled[kept - 1]), gap=gap, eta=float(eta), tau=tau,
        least_norm=float(np.sqrt(max(0.0, 1 - tau**2))), vacuous=bool(tau >= 1),
    )  # fmt: skip


def similarity_floor(
    query_norm: npt.ArrayLike, item_norm: npt.ArrayLike, cosine: npt.ArrayLike, epsilon: float
) -> npt.NDArray[np.float64]:
    """Bound from below the similarity of the item found by hashing, given the projections.

    With N the norms of the projections of query and item, and c* the largest cosine of the
    projected query with any item, a (1 + ε)-approximate search guarantees
    ``k ≥ N_q N_y ((1 + ε) c* - ε) - R_q R_y``, R = √(1 - N²). The bound depends neither on the
    spectrum nor on chance.

    Parameters
    ----------
    query_norm, item_norm : array_like
        Norms of the projections, for a normalised kernel at most 1.
    cosine : array_like
        c* of each query.
    epsilon : float
        ε, how approximate the search is.

    Examples
    --------
    >>> from mercer.embeddings.theory import similarity_floor
    >>> similarity_floor([0.9], [0.9], [1.0], epsilon=0.0).round(2)
    array([0.62])
    """
    Nq, Ny = np.asarray(query_norm, np.float64), np.asarray(item_norm, np.float64)
    lost = np.sqrt(np.maximum(1 - Nq**2, 0) * np.maximum(1 - Ny**2, 0))
    return np.asarray(Nq * Ny * ((1 + epsilon) * np.asarray(cosine) - epsilon) - lost)


def sampled_floors(
    Z: npt.NDArray[np.float64], own: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the median over a sample of the least `similarity_floor`, for each ε of `EPSILONS`.

    Every item is a query among the others. A (1 + ε)-approximate search may return any item with a
    cosine of at least (1 + ε) c* - ε, so the least of their bounds holds. The kernel is the
    projected one, centred if the projection is, and divided by √(k(x, x) k(y, y)).

    Parameters
    ----------
    Z : ndarray of float64, shape (n, rank)
        Projections of the items.
    own : ndarray of float64, shape (n,)
        k(x, x) of each; items where it is 0 are left out.
    """
    squares = np.einsum("ij,ij->i", Z, Z)
    kept = (own > 0) & (squares > 0)
    if kept.sum() < 2:
        return np.full(len(EPSILONS), -1.0)  # nothing is promised
    lengths = np.sqrt(squares[kept])
    norms = np.minimum(lengths / np.sqrt(own[kept]), 1)
    units = Z[kept] / lengths[:, None]
    cosines = np.minimum(units @ units.T, 1)
    np.fill_diagonal(cosines, -np.inf)
    best = cosines.max(axis=1)[:, None]
    floors = []
    for epsilon in EPSILONS:
        bounds = similarity_floor(norms[:, None], norms, best, epsilon)
        # the best itself is admissible, however this is rounded
        admissible = cosines >= np.minimum((1 + epsilon) * best - epsilon, best)
        floors.append(np.median(np.where(admissible, bounds, np.inf).min(axis=1)))
    return np.array(floors)
