"""Items as graphs of neighbours, and as vectors."""

from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin as _Named  # type: ignore[import-untyped]
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from mercer.embeddings import Embedding, KernelPCA
from mercer.index import Matches
from mercer.kernels import Kernel
from mercer.neighbors.base import KernelEstimator
from mercer.neighbors.unsupervised import Neighbors, require_mode
from mercer.runtime.border import border


class KernelNeighborsTransformer(_Named, TransformerMixin, Neighbors):  # type: ignore[misc]
    """Items to the sparse graph of their most similar items, under any kernel.

    What takes ``metric="precomputed"`` takes this graph: TSNE, DBSCAN, Isomap and others.

    Parameters
    ----------
    kernel, recall, random_state, n_jobs
        As in `KernelNeighbors`.
    n_neighbors : int
        How many neighbours each row has. With ``mode="distance"`` there is one more, as in
        scikit-learn, because an item of `fit` finds itself.
    mode : {"distance", "connectivity", "score"}
        What the graph holds.

    Attributes
    ----------
    index_, kernel_, n_samples_fit_, n_features_in_, feature_names_in_
        As in `KernelNeighbors`.

    Examples
    --------
    >>> from mercer.neighbors import KernelNeighborsTransformer
    >>> X = [[0.5, 0.5], [1.0, 0.0], [0.4, 0.6], [0.9, 0.1]]
    >>> KernelNeighborsTransformer("chi2", n_neighbors=1).fit_transform(X).toarray().round(2)
    array([[0.  , 0.  , 0.14, 0.  ],
           [0.  , 0.  , 0.  , 0.32],
           [0.14, 0.  , 0.  , 0.  ],
           [0.  , 0.32, 0.  , 0.  ]], dtype=float32)
    """

    def __init__(
        self, kernel: str | Kernel = "rbf", n_neighbors: int = 5, *, mode: str = "distance",
        recall: float = 1.0, random_state: Any = None, n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.mode = mode
        self.recall = recall
        self.random_state = random_state
        self.n_jobs = n_jobs

    @border
    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the items and return self.

        Parameters
        ----------
        X : items
            Whatever the kernel takes.
        y : None
            Not used.
        """
        require_mode(self.mode)
        self._fill(self._taken(X, reset=True))
        self._n_features_out = self.n_samples_fit_
        return self

    @border
    def transform(self, X: Any) -> Any:
        """Return the graph of the neighbours among the items given to `fit`.

        Parameters
        ----------
        X : items
            The queries.

        Returns
        -------
        csr_matrix of shape (len(X), n_samples_fit)
            Each row is sorted by distance.
        """
        check_is_fitted(self)
        found: Matches = self.matches(X, self.n_neighbors + (self.mode == "distance"))
        order = np.argsort(found.distances, axis=1, kind="stable")
        values = {
            "connectivity": np.ones_like(found.distances),
            "distance": found.distances,
            "score": found.scores,
        }[self.mode]
        return self._graph(*(np.take_along_axis(one, order, 1) for one in (found.ids, values)))

    def __sklearn_tags__(self) -> Any:
        return _keeping_float32(super().__sklearn_tags__())


class KernelEmbedding(_Named, TransformerMixin, KernelEstimator):  # type: ignore[misc]
    """Items to the vectors of an embedding, such as kernel PCA.

    Parameters
    ----------
    embedding : Embedding, optional
        What turns items into vectors, with its kernel; ``KernelPCA("rbf")`` by default. What its
        kernel leaves open, such as the gamma of "rbf", is chosen by `fit`.
    random_state : int, RandomState or None
        Takes the place of the embedding's `seed`, if given.
    n_jobs : int, optional
        The number of threads, as in `mercer.Index`.

    Attributes
    ----------
    embedding_ : Embedding
        The embedding, fitted.
    n_features_in_, feature_names_in_
        As in scikit-learn, for items with columns.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from mercer.embeddings import KernelPCA
    >>> from mercer.neighbors import KernelEmbedding
    >>> X = load_digits().data
    >>> KernelEmbedding(KernelPCA("exp_chi2", n_components=16)).fit_transform(X).shape
    (1797, 16)
    """

    def __init__(
        self, embedding: Embedding | None = None, *, random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        self.embedding = embedding
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def _recipe(self) -> Embedding:
        return KernelPCA("rbf") if self.embedding is None else self.embedding

    @property
    def _compared(self) -> Kernel:
        return self._recipe.compared

    @border
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the embedding from items and return self.

        Parameters
        ----------
        X : items
            Whatever the kernel takes.
        y : None
            Not used.
        """
        X = self._taken(X, reset=True)
        chosen: dict[str, Any] = {"kernel": self._compared.suited(X)}
        if self.random_state is not None and "seed" in self._recipe.get_params(deep=False):
            chosen["seed"] = self._seed()
        self.embedding_ = self._recipe.fresh().set_params(**chosen).fit(X)
        self._n_features_out = self.embedding_.transform(X[:1]).shape[1]
        return self

    @border
    def transform(self, X: Any) -> Any:
        """Return one vector for each item, shape (len(X), d), float32.

        Parameters
        ----------
        X : items
            Items like those given to `fit`.
        """
        check_is_fitted(self)
        return self.embedding_.transform(self._taken(X), n_jobs=self.n_jobs)

    def __sklearn_tags__(self) -> Any:
        return _keeping_float32(super().__sklearn_tags__())


def _keeping_float32(tags: Any) -> Any:
    """Say that float32 items stay float32."""
    tags.transformer_tags.preserves_dtype = ["float32"]
    return tags
