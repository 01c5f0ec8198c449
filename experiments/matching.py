"""Optimal matchings of two sets of points: what fast matchings are measured with.

Both are exact and slow: their cost grows with the cube of the sizes, or worse.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mercer import items
from mercer.errors import InputError
from mercer.runtime.arrays import Array, Ids
from mercer.runtime.border import border


class Matching(NamedTuple):
    """Pairs of points of two sets.

    Attributes
    ----------
    rows, columns : ndarray of int64, shape (n_pairs,)
        Which point of the first set is matched with which of the second.
    shares : ndarray of float64, shape (n_pairs,)
        How much of them: 1 each in a partial matching.
    distances : ndarray of float64, shape (n_pairs,)
        Their city-block distances.
    """

    rows: Ids
    columns: Ids
    shares: npt.NDArray[np.float64]
    distances: npt.NDArray[np.float64]

    @property
    def cost(self) -> float:
        """The sum of the distances, each times its share."""
        return float(self.shares @ self.distances)


@border
def partial_matching(Y: npt.ArrayLike, Z: npt.ArrayLike) -> Matching:
    """Match every point of the smaller set with one of the larger, at the least cost (P eq. 1).

    Parameters
    ----------
    Y, Z : array_like, shape (size, n_features)
        Two sets of points, one of which may be empty.

    Returns
    -------
    Matching
        As many pairs as the smaller set has points.

    Examples
    --------
    >>> from experiments.matching import partial_matching
    >>> found = partial_matching([[0.0], [10.0]], [[9.0], [100.0], [1.0]])
    >>> found.columns, found.cost
    (array([2, 0]), 2.0)
    """
    from scipy.optimize import linear_sum_assignment  # type: ignore[import-untyped]

    distances = _distances(Y, Z)
    rows, columns = linear_sum_assignment(distances)
    return Matching(rows, columns, np.ones(len(rows)), distances[rows, columns])


@border
def equal_mass_matching(Y: npt.ArrayLike, Z: npt.ArrayLike) -> Matching:
    """Match all of both sets, whose points weigh 1 together, at the least cost.

    It is the earth mover's distance. In sets of different sizes points are matched in parts.

    Parameters
    ----------
    Y, Z : array_like, shape (size, n_features)
        Two sets of points, none of them empty.

    Returns
    -------
    Matching
        Its shares sum to 1.

    Examples
    --------
    >>> from experiments.matching import equal_mass_matching
    >>> round(equal_mass_matching([[0.0]], [[1.0], [3.0]]).cost, 6)
    2.0
    """
    distances = _distances(Y, Z)
    if 0 in distances.shape:
        raise InputError(
            f"the sets have {distances.shape[0]} and {distances.shape[1]} "
            "points. An empty set has no mass to match: pass at least one point each."
        )
    if distances.shape[0] == distances.shape[1]:  # then a permutation is optimal (Birkhoff)
        whole = partial_matching(Y, Z)
        return whole._replace(shares=whole.shares / len(whole.shares))
    shares = _transported(distances)
    rows, columns = np.nonzero(shares > 0)
    return Matching(rows, columns, shares[rows, columns], distances[rows, columns])


def _transported(distances: Array) -> Array:
    """Return how much of every row goes to every column, by linear programming."""
    from scipy import sparse  # type: ignore[import-untyped]
    from scipy.optimize import linprog

    m, n = distances.shape
    leaving = sparse.kron(sparse.eye_array(m), np.ones((1, n)))
    arriving = sparse.kron(np.ones((1, m)), sparse.eye_array(n))
    masses = np.concatenate([np.full(m, 1 / m), np.full(n, 1 / n)])
    # one of the equations follows from the others
    solved = linprog(
        distances.ravel(), A_eq=sparse.vstack([leaving, arriving]).tocsr()[1:], b_eq=masses[1:],
        method="highs",
    )  # fmt: skip
    return np.asarray(solved.x).reshape(m, n)


def _distances(Y: Any, Z: Any) -> Array:
    """Return the city-block distances of all pairs."""
    from scipy.spatial.distance import cdist  # type: ignore[import-untyped]

    first, second = _points(Y), _points(Z)
    if len(first) and len(second) and first.shape[1] != second.shape[1]:
        raise InputError(
            f"the points have {first.shape[1]} and {second.shape[1]} features. Pass "
            "points from the same source."
        )
    if not len(first) or not len(second):
        return np.empty((len(first), len(second)))
    return np.asarray(cdist(first, second, "cityblock"))


def _points(points: Any) -> Array:
    given = np.asarray(points)
    return given if len(given) == 0 else items.check(given).astype(np.float64)
