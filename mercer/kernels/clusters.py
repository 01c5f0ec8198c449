"""Clusters of vectors by k-means, flat or nested."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mercer.kernels import _cluster_loops as _loops
from mercer.runtime import parallel
from mercer.runtime.arrays import Array, Ids

ITERATIONS = 20
FEWEST = 2  # vectors for each new cluster: with fewer, a cluster is not cut


class Tree(NamedTuple):
    """Nested clusters, level by level; the children of a cluster are adjacent.

    Attributes
    ----------
    centers : ndarray of float32, shape (n_nodes, n_features)
        The center of each cluster.
    parents : ndarray of int32, shape (n_nodes,)
        The cluster that contains each, in increasing order; -1 on the first level.
    spreads : ndarray of float64, shape (n_nodes,)
        The root mean square distance of each cluster's vectors from its center.
    sizes : ndarray of int64, shape (n_nodes,)
        How many vectors each cluster was learned from.
    """

    centers: npt.NDArray[np.float32]
    parents: npt.NDArray[np.int32]
    spreads: npt.NDArray[np.float64]
    sizes: Ids


def k_means(vectors: Array, n: int, seed: int) -> npt.NDArray[np.float32]:
    """Return n centers, or the distinct vectors if there are at most n vectors."""
    vectors = np.ascontiguousarray(vectors, np.float32)
    if len(vectors) <= n:
        return np.unique(vectors, axis=0)
    with parallel.one_faiss_thread() as faiss:
        kmeans = faiss.Kmeans(
            vectors.shape[1], n, niter=ITERATIONS, seed=seed % 2**31, min_points_per_centroid=1
        )
        kmeans.train(vectors)
    return np.asarray(kmeans.centroids, np.float32)


def nearest(vectors: Array, centers: npt.NDArray[np.float32]) -> Ids:
    """Return the number of the center nearest to each vector; the first if several are."""
    found = np.empty(len(vectors), np.int64)
    _loops.nearest(np.ascontiguousarray(vectors, np.float32), centers, found)
    return found


def grow(vectors: Array, branching: int, n_levels: int, seed: int) -> Tree:
    """Return a tree of at most `n_levels` levels; clusters are cut into `branching` each."""
    vectors = np.ascontiguousarray(vectors, np.float32)
    centers: list[Array] = []
    parents: list[int] = []
    members: list[Ids] = []
    level = [(-1, np.arange(len(vectors)))]  # the nodes to cut, and the vectors in each
    for _ in range(n_levels):
        first = len(centers)
        for node, rows in level:
            for center, inside in _cut(vectors, rows, branching, seed + 1 + node):
                centers.append(center)
                parents.append(node)
                members.append(inside)
        level = [
            (node, rows)
            for node, rows in enumerate(members[first:], first)
            if len(rows) >= FEWEST * branching and _spread(vectors[rows], centers[node]) > 0
        ]
    spreads = [
        _spread(vectors[rows], center) for rows, center in zip(members, centers, strict=True)
    ]
    return Tree(
        np.array(centers), np.array(parents, np.int32), np.array(spreads),
        np.array([len(rows) for rows in members]),
    )  # fmt: skip


def _cut(vectors: Array, rows: Ids, n: int, seed: int) -> list[tuple[Array, Ids]]:
    """Return the centers of n clusters of some rows, and the rows in each."""
    centers = k_means(vectors[rows], n, seed)
    owners = nearest(vectors[rows], centers)
    return [(center, rows[owners == one]) for one, center in enumerate(centers)]


def _spread(vectors: Array, center: Array) -> float:
    gaps = vectors.astype(np.float64) - center
    return float(np.sqrt((gaps**2).sum(axis=1).mean())) if len(vectors) else 0.0
