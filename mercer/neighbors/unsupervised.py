"""The neighbours of items, as scikit-learn's NearestNeighbors returns them."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from mercer.errors import InputError
from mercer.index import Index, Matches
from mercer.kernels import Kernel
from mercer.methods import auto
from mercer.neighbors.base import KernelEstimator
from mercer.runtime.arrays import Array, Ids
from mercer.runtime.border import border
from mercer.runtime.params import check_count

MODES = ("connectivity", "distance", "score")


class Neighbors(KernelEstimator):
    """Items in an index that is asked for neighbours; the base of the estimators that need them.

    Attributes
    ----------
    index_ : Index
        What holds and searches the items; its ids are their row numbers.
    """

    index_: Index
    n_neighbors: int
    recall: float
    n_jobs: int | None

    def _fill(self, X: Any) -> None:
        """Keep the items in an index that reaches the recall."""
        check_count("n_neighbors", self.n_neighbors)
        index = auto(self.kernel, recall=self.recall, k=self.n_neighbors, seed=self._seed())
        self.index_ = index.fit(X).add(X, n_jobs=self.n_jobs)
        self.n_samples_fit_ = len(index)

    @property
    def kernel_(self) -> Kernel:
        """The kernel of the scores: `kernel`, with what it leaves open chosen by `fit`."""
        check_is_fitted(self)
        return self.index_.kernel_

    # ---- questions

    @border
    def matches(self, X: Any = None, n_neighbors: int | None = None) -> Matches:
        """Find the most similar items, with their scores and the proofs of the answers.

        Parameters
        ----------
        X : items, optional
            The queries. By default the items given to `fit`, each without itself.
        n_neighbors : int, optional
            How many items to find for each query, instead of `n_neighbors`.

        Returns
        -------
        Matches
            Best first; `ids` are row numbers of the items given to `fit`.
        """
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        self._require_enough(k, of_others=X is None)
        if X is None:
            return _of_others(self._searched(self._own, k + 1))
        return self._searched(self._taken(X), k)

    @border
    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Return distances and row numbers of the most similar items; see `matches` for scores.

        Parameters
        ----------
        X : items, optional
            The queries. By default the items given to `fit`, each without itself.
        n_neighbors : int, optional
            How many items to find for each query, instead of `n_neighbors`.
        return_distance : bool
            Whether to return the distances as well.

        Returns
        -------
        ndarray of float32, shape (n_queries, n_neighbors)
            The distances in the kernel's space, √(k(q, q) + k(x, x) - 2 k(q, x)).
        ndarray of int64, shape (n_queries, n_neighbors)
            The row numbers, the most similar item first.
        """
        found = self.matches(X, n_neighbors)
        return (found.distances, found.ids) if return_distance else found.ids

    @border
    def radius_neighbors(
        self, X: Any = None, *, score: float, return_distance: bool = True
    ) -> Any:  # fmt: skip
        """Return distances and row numbers of all items that score at least `score`.

        Parameters
        ----------
        X : items, optional
            The queries. By default the items given to `fit`, each without itself.
        score : float
            The least kernel value, in place of scikit-learn's radius.
        return_distance : bool
            Whether to return the distances as well.

        Returns
        -------
        ndarray of object, shape (n_queries,)
            An array of distances for each query.
        ndarray of object, shape (n_queries,)
            An array of row numbers for each query, the most similar item first.
        """
        check_is_fitted(self)
        Q = self._own if X is None else self._taken(X)
        lists = self.index_.within(Q, score, n_jobs=self.n_jobs)
        keep = [one.ids[0] != (-1 if X is not None else i) for i, one in enumerate(lists)]
        ids = _ragged([one.ids[0][some] for one, some in zip(lists, keep, strict=True)])
        if not return_distance:
            return ids
        return _ragged([m.distances[0][some] for m, some in zip(lists, keep, strict=True)]), ids

    @border
    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity"
    ) -> Any:
        """Return the neighbours as a sparse matrix.

        Parameters
        ----------
        X : items, optional
            The queries. By default the items given to `fit`, each without itself.
        n_neighbors : int, optional
            How many items to find for each query, instead of `n_neighbors`.
        mode : {"connectivity", "distance", "score"}
            What the matrix holds: ones, distances or kernel values.

        Returns
        -------
        csr_matrix of shape (n_queries, n_samples_fit)
            In each row, the most similar item is stored first.
        """
        require_mode(mode)
        found = self.matches(X, n_neighbors)
        values = {
            "connectivity": np.ones(found.ids.shape, np.float32),
            "distance": found.distances,
            "score": found.scores,
        }[mode]
        return self._graph(found.ids, values)

    # ---- steps

    @property
    def _own(self) -> Any:
        """The items given to `fit`, prepared."""
        return self.index_.segments_.items(np.arange(self.n_samples_fit_))

    def _searched(self, Q: Any, k: int) -> Matches:
        """Return k neighbours of every query, by comparing more where a search found fewer."""
        found = self.index_.search(Q, k, n_jobs=self.n_jobs)
        if (found.found < k).any():
            found = self.index_.search(Q, k, recall=1, n_jobs=self.n_jobs)
        return found

    def _require_enough(self, k: int, of_others: bool) -> None:
        check_count("n_neighbors", k)
        there = self.n_samples_fit_ - of_others
        if k > there:
            raise InputError(
                f"n_neighbors is {k}, but there are {there} "
                f"{'other ' if of_others else ''}items. Pass a smaller n_neighbors, or fit more "
                "items."
            )

    def _graph(self, ids: Ids, values: Array) -> Any:
        n, k = ids.shape
        starts = np.arange(0, n * k + 1, k)
        shape = (n, self.n_samples_fit_)
        return csr_matrix((values.ravel(), ids.ravel(), starts), shape=shape)


class KernelNeighbors(Neighbors):
    """The most similar items under any kernel, as scikit-learn's NearestNeighbors finds nearest.

    Neighbours are those with the largest kernel values, and are returned with their distances in
    the kernel's space. Where k(x, x) is the same for all items, as for "rbf", "exp_chi2", "cosine",
    or "chi2" of normalised histograms, these are the nearest ones too; for other kernels,
    ``kernel.radial()`` ranks by distance and ``kernel.normalized()`` by angle.

    Parameters
    ----------
    kernel : str or Kernel
        The similarity. What it leaves open, such as the gamma of "rbf", is chosen by `fit`.
    n_neighbors : int
        How many items to find for each query.
    recall : float
        The share of the true items to find, on average; 1, the default, for a proof of every
        answer. With less, `fit` chooses among the methods of `mercer.auto` by measuring their
        speed, so that answers may differ from one run to the next.
    random_state : int, RandomState or None
        Chooses whatever methods draw at random.
    n_jobs : int, optional
        The number of threads, as in `mercer.Index`.

    Attributes
    ----------
    index_ : Index
        What holds and searches the items; its ids are their row numbers.
    kernel_ : Kernel
        The kernel of the scores: `kernel`, with what it leaves open chosen by `fit`.
    n_samples_fit_ : int
        How many items there are.
    n_features_in_, feature_names_in_
        As in scikit-learn, for items with columns.

    Examples
    --------
    >>> from mercer.neighbors import KernelNeighbors
    >>> X = [[0.5, 0.5], [1.0, 0.0], [0.4, 0.6], [0.9, 0.1]]
    >>> neighbors = KernelNeighbors("chi2", n_neighbors=1).fit(X)
    >>> neighbors.kneighbors(return_distance=False).ravel()
    array([2, 3, 0, 1])
    >>> neighbors.matches([[0.45, 0.55]]).scores.round(3)
    array([[0.997]], dtype=float32)
    """

    def __init__(
        self, kernel: str | Kernel = "rbf", n_neighbors: int = 5, *, recall: float = 1.0,
        random_state: Any = None, n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.recall = recall
        self.random_state = random_state
        self.n_jobs = n_jobs

    @border
    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the items and return self.

        Parameters
        ----------
        X : items
            Whatever the kernel takes: vectors, sparse matrices, bits, `mercer.Ragged`, lists.
        y : None
            Not used.
        """
        self._fill(self._taken(X, reset=True))
        return self


def require_mode(mode: str) -> None:
    """Raise InputError for an unknown mode of a graph."""
    if mode not in MODES:
        raise InputError(f"mode is {mode!r}. Pass one of: {', '.join(MODES)}.")


def _of_others(found: Matches) -> Matches:
    """Return answers to the items themselves, each without the item, or else without the last."""
    others = found.ids != np.arange(len(found))[:, None]
    others[others.all(axis=1), -1] = False
    parts = {
        name: getattr(found, name)[others].reshape(len(found), -1)
        for name in ("ids", "scores", "distances")
    }
    return replace(found, **parts)


def _ragged(arrays: list[Array]) -> Array:
    """Return arrays of different lengths in one array of objects."""
    found = np.empty(len(arrays), object)
    found[:] = arrays
    return found
