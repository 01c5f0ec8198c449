"""The vocabulary-guided pyramid match (Grauman and Darrell 2007, §3.1, note 1)."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mercer import items
from mercer.errors import InputError
from mercer.items.ragged import Ragged
from mercer.kernels import _cluster_loops
from mercer.kernels.clusters import Tree, grow
from mercer.kernels.pyramids import Pyramid, histograms, shares
from mercer.kernels.sampling import sampled
from mercer.runtime.arrays import Array, Ids
from mercer.runtime.border import border
from mercer.runtime.params import check_count

VECTORS = 100_000  # vectors to learn clusters from, at most
NEIGHBOURS_SHARE = 0.1  # of the points, matched with the nearest set: required on every level
TIGHTEST = 0.01  # share of clusters whose spread is raised to that of the next
RULES = ("mass", "diameter")


class VocabularyPyramid(Pyramid):
    """k(Y, Z) = Σ_b (w_b - w_parent(b)) min(n_b(Y), n_b(Z)) over nested clusters b.

    The pyramid match for high-dimensional vectors, with bins that follow the data. A pair of
    points counts with the weight of the smallest cluster that contains both.

    Parameters
    ----------
    centers : array_like of float, shape (n_bins, n_features)
        The centers of the clusters. A point belongs to the nearest cluster of the first level, to
        the nearest of those inside it, and so on.
    parents : array_like of int, shape (n_bins,)
        The cluster that contains each, in increasing order; -1 on the first level.
    weights : array_like of float, shape (n_bins,)
        w_b ≥ 0, never below that of the parent: otherwise the kernel is not positive
        semi-definite.
    normalize : {None, "minimum"}
        As in `PyramidMatch`.

    Examples
    --------
    >>> import mercer
    >>> from mercer import kernels
    >>> sets = mercer.Ragged.from_list([[[1.0], [9.0]], [[1.5], [4.0], [12.5]]])
    >>> pyramid = kernels.VocabularyPyramid(
    ...     centers=[[2.0], [10.0], [1.0], [5.0]], parents=[-1, -1, 0, 0], weights=[1, 1, 2, 2]
    ... )
    >>> pyramid(sets)
    array([[3., 3.],
           [3., 5.]], dtype=float32)
    """

    def __init__(
        self, centers: npt.ArrayLike, parents: npt.ArrayLike, weights: npt.ArrayLike,
        normalize: str | None = None,
    ) -> None:  # fmt: skip
        self.centers = np.ascontiguousarray(centers, np.float32)
        self.parents = np.asarray(parents)
        self.weights = np.asarray(weights, np.float64)
        self.normalize = normalize
        self._validate()

    def _validate(self) -> None:
        super()._validate()
        n = len(self.centers)
        if self.centers.ndim != 2 or n == 0 or not np.isfinite(self.centers).all():
            raise InputError(
                f"centers have shape {self.centers.shape}. Pass finite numbers, one row a cluster."
            )
        _check_parents(self.parents, n)
        if self.weights.shape != (n,) or not (self.coefficients >= 0).all():
            raise InputError(
                "weights must be one number of at least 0 for each of the "
                f"{n} clusters, and none below that of the cluster it lies in."
            )

    @property
    def coefficients(self) -> npt.NDArray[np.float64]:
        """w_b - w_parent(b) of every cluster, and w_b on the first level."""
        above = np.where(self.parents >= 0, self.weights[self.parents], 0.0)
        return np.asarray(self.weights - above)

    @property
    def coefficient_shift(self) -> int:
        """Every cluster has its own coefficient."""
        return 0

    @property
    def levels(self) -> Ids:
        """The level of every cluster, counted from 0."""
        found = np.zeros(len(self.parents), np.int64)
        for node in np.flatnonzero(self.parents >= 0):  # parents come before their children
            found[node] = found[self.parents[node]] + 1
        return found

    @property
    def _n_features(self) -> int:
        return int(self.centers.shape[1])

    def _histograms(self, X: Ragged) -> tuple[Ragged, Ragged]:
        vectors = np.ascontiguousarray(X.values, np.float32)
        n_features = self.centers.shape[1]
        if len(vectors) and vectors.shape[1] != n_features:
            raise InputError(
                f"vectors have {vectors.shape[1]} features but the clusters "
                f"{n_features}. Pass sets from the source that the clusters were learned from."
            )
        nodes = np.empty((len(vectors), int(self.levels.max()) + 1), np.int64)
        children = np.searchsorted(self.parents, np.arange(-1, len(self.parents) + 1))
        _cluster_loops.descend(vectors, self.centers, children, nodes)
        return histograms(nodes, X.offsets)

    @classmethod
    @border
    def for_data(
        cls, X: Any, seed: int = 0, *, branching: int = 10, n_levels: int = 5,
        weights: str = "mass", normalize: str | None = None,
    ) -> Self:  # fmt: skip
        """Return this kernel with clusters and weights learned from the data.

        Clusters are found by k-means, and cut again by k-means. Levels so fine that a typical set
        shares less than a tenth of its points with the nearest other set are left out.

        Parameters
        ----------
        X : items
            Sets of vectors; at most 100,000 vectors and 1,000 sets are used.
        seed : int
            Chooses samples and clusters.
        branching : int
            How many clusters each is cut into, at least 2.
        n_levels : int
            How many levels there are at most.
        weights : {"mass", "diameter"}
            "mass": a cluster with 1/branching of the points of another counts twice as much, so
            clusters of equal size have 2^level. "diameter": 1 / the spread of a cluster, as in the
            paper; in many dimensions the spread hardly changes from level to level.
        normalize : {None, "minimum"}
            As in the class.

        Examples
        --------
        >>> import numpy as np
        >>> import mercer
        >>> from mercer import kernels
        >>> rng = np.random.default_rng(0)
        >>> sets = mercer.Ragged.from_list([rng.random((20, 16)) for _ in range(50)])
        >>> kernels.VocabularyPyramid.for_data(sets, n_levels=2)
        VocabularyPyramid(<110 clusters of 16 features>)
        """
        sets = items.check(X, "sets")
        check_count("branching", branching, at_least=2)
        check_count("n_levels", n_levels)
        if weights not in RULES:
            raise InputError(f"weights is {weights!r}. Pass one of: {', '.join(RULES)}.")
        if not len(sets.values):
            raise InputError("all sets are empty. Pass sets of vectors.")
        tree = grow(sampled(sets.values, seed, VECTORS), branching, n_levels, seed)
        by_rule = _masses(tree, branching) if weights == "mass" else _tightness(tree)
        kernel = cls(tree.centers, tree.parents, _nested(by_rule, tree.parents), normalize)
        return kernel._cut_at(_useful_levels(kernel, sampled(sets, seed)))

    def _cut_at(self, n_levels: int) -> Self:
        """Return this kernel with the first levels only."""
        n = int(np.searchsorted(self.levels, n_levels))
        return type(self)(self.centers[:n], self.parents[:n], self.weights[:n], self.normalize)

    def __repr__(self) -> str:
        n, n_features = self.centers.shape
        more = "" if self.normalize is None else f", normalize={self.normalize!r}"
        return f"VocabularyPyramid(<{n} clusters of {n_features} features>{more})"


def _check_parents(parents: Array, n: int) -> None:
    whole = parents.shape == (n,) and parents.dtype.kind in "iu"
    if not whole or parents[0] != -1 or (np.diff(parents) < 0).any():
        raise InputError(f"parents must be {n} integers that do not decrease, from -1 on.")
    if (parents >= np.arange(n)).any():
        node = int(np.argmax(parents >= np.arange(n)))
        raise InputError(f"cluster {node} lies in {parents[node]}, which does not stand before it.")


def _masses(tree: Tree, branching: int) -> npt.NDArray[np.float64]:
    """Return 2^level if clusters share the vectors evenly, and more for emptier clusters."""
    shares = np.maximum(tree.sizes, 1) / tree.sizes[tree.parents < 0].sum()
    return np.asarray(shares ** -(np.log(2) / np.log(branching)))


def _tightness(tree: Tree) -> npt.NDArray[np.float64]:
    """Return 1 / spread; a cluster of one vector has no spread and counts as a tight one."""
    spread = tree.spreads[tree.spreads > 0]
    floor = np.quantile(spread, TIGHTEST) if len(spread) else 1.0
    return np.asarray(1 / np.maximum(tree.spreads, floor))


def _nested(weights: npt.NDArray[np.float64], parents: Array) -> npt.NDArray[np.float64]:
    """Raise each weight to at least that of the parent cluster (theory: pyramids)."""
    weights = weights.copy()
    for node in np.flatnonzero(parents >= 0):
        weights[node] = max(weights[node], weights[parents[node]])
    return weights


def _useful_levels(kernel: VocabularyPyramid, sets: Ragged) -> int:
    """Return the number of levels on which sets share enough points with the nearest set."""
    levels = kernel.levels
    n_levels = int(levels.max()) + 1
    for level in range(1, n_levels if len(sets) > 1 else 0):
        # a weight of 1 from this level on and 0 above counts this level only
        only = VocabularyPyramid(kernel.centers, kernel.parents, levels >= level)
        if shares(only, sets)[0] < NEIGHBOURS_SHARE:
            return level
    return n_levels
