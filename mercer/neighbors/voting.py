"""Classes and values by the votes of neighbours."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin  # type: ignore[import-untyped]
from sklearn.utils import (  # type: ignore[import-untyped]
    assert_all_finite,
    check_array,
    check_consistent_length,
    column_or_1d,
)
from sklearn.utils.multiclass import check_classification_targets  # type: ignore[import-untyped]

from mercer.errors import InputError
from mercer.index import Matches
from mercer.kernels import Kernel
from mercer.neighbors.unsupervised import Neighbors
from mercer.runtime.arrays import Array
from mercer.runtime.border import border

Weights = str | Callable[[Array], Array]


class _Voting(Neighbors):
    """What classifier and regressor share: parameters, and the weights of the votes."""

    def __init__(
        self, kernel: str | Kernel = "rbf", n_neighbors: int = 5, *, weights: Weights = "uniform",
        recall: float = 1.0, random_state: Any = None, n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.recall = recall
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _keep(self, X: Any, y: Any) -> None:
        """Keep the items, of which there is one target each."""
        check_consistent_length(X, y)
        self._weighed(np.ones((1, 1)))  # unknown weights are refused before anything is built
        self._fill(X)

    def _weighed(self, distances: Array) -> Array:
        """Return the weight of each vote, shape (n_queries, n_neighbors)."""
        if callable(self.weights):
            return np.asarray(self.weights(distances))
        if self.weights == "uniform":
            return np.ones(distances.shape)
        if self.weights != "distance":
            raise InputError(
                f"weights are {self.weights!r}. Pass 'uniform', 'distance', or a function of an "
                "array of distances."
            )
        same = distances == 0  # where there are such, they alone vote
        with np.errstate(divide="ignore"):
            return np.where(same.any(axis=1, keepdims=True), same, 1 / distances.astype(float))


class KernelNeighborsClassifier(ClassifierMixin, _Voting):  # type: ignore[misc]
    """Classes by the votes of the most similar items under any kernel.

    Parameters
    ----------
    kernel, n_neighbors, recall, random_state, n_jobs
        As in `KernelNeighbors`.
    weights : {"uniform", "distance"} or callable
        What a vote counts: the same for all, the inverse of the distance, or what a function
        returns for an array of distances.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    index_, kernel_, n_samples_fit_, n_features_in_, feature_names_in_
        As in `KernelNeighbors`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from mercer.neighbors import KernelNeighborsClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> classifier = KernelNeighborsClassifier("exp_chi2").fit(X[:1000], y[:1000])
    >>> classifier.score(X[1000:], y[1000:]) > 0.95
    True
    """

    @border
    def fit(self, X: Any, y: Any) -> Self:
        """Keep the items with their classes and return self.

        Parameters
        ----------
        X : items
            Whatever the kernel takes.
        y : array_like, shape (len(X),)
            The class of each item.
        """
        X = self._taken(X, reset=True)
        _require_targets(self, y)
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        self._keep(X, labels)
        self.classes_, self._labels = np.unique(labels, return_inverse=True)
        return self

    @border
    def predict_proba(self, X: Any) -> Array:
        """Return the share of the votes for every class, shape (n_queries, n_classes).

        Parameters
        ----------
        X : items or None
            The queries. None stands for the items given to `fit`, each without itself.
        """
        found: Matches = self.matches(X)
        weights = self._weighed(found.distances)
        votes = np.zeros((len(found), len(self.classes_)))
        np.add.at(votes, (np.arange(len(found))[:, None], self._labels[found.ids]), weights)
        totals = votes.sum(axis=1, keepdims=True)
        return votes / np.where(totals == 0, 1, totals)

    @border
    def predict(self, X: Any) -> Array:
        """Return the class with most votes; of several, the one that comes first in `classes_`.

        Parameters
        ----------
        X : items or None
            The queries. None stands for the items given to `fit`, each without itself.
        """
        elected = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[elected])


class KernelNeighborsRegressor(RegressorMixin, _Voting):  # type: ignore[misc]
    """Values by the mean of the most similar items under any kernel.

    Parameters
    ----------
    kernel, n_neighbors, recall, random_state, n_jobs
        As in `KernelNeighbors`.
    weights : {"uniform", "distance"} or callable
        As in `KernelNeighborsClassifier`.

    Attributes
    ----------
    index_, kernel_, n_samples_fit_, n_features_in_, feature_names_in_
        As in `KernelNeighbors`.

    Examples
    --------
    >>> from mercer.neighbors import KernelNeighborsRegressor
    >>> regressor = KernelNeighborsRegressor("rbf", n_neighbors=2)
    >>> regressor.fit([[0.0], [1.0], [2.0]], [0.0, 10.0, 20.0]).predict([[0.4], [1.6]])
    array([ 5., 15.])
    """

    @border
    def fit(self, X: Any, y: Any) -> Self:
        """Keep the items with their values and return self.

        Parameters
        ----------
        X : items
            Whatever the kernel takes.
        y : array_like, shape (len(X),) or (len(X), n_outputs)
            The values of each item.
        """
        X = self._taken(X, reset=True)
        _require_targets(self, y)
        values = check_array(y, ensure_2d=False, input_name="y", estimator=self)
        self._keep(X, values)
        self._values = values
        return self

    @border
    def predict(self, X: Any) -> Array:
        """Return the weighted mean of the neighbours' values, shaped as those given to `fit`.

        Parameters
        ----------
        X : items or None
            The queries. None stands for the items given to `fit`, each without itself.
        """
        found: Matches = self.matches(X)
        weights = self._weighed(found.distances)
        sums = np.einsum("ij,ij...->i...", weights, self._values[found.ids])
        totals = weights.sum(axis=1)
        return np.asarray(sums / totals.reshape(-1, *[1] * (sums.ndim - 1)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _require_targets(estimator: object, y: Any) -> None:
    """Raise InputError where scikit-learn passes None for y."""
    if y is None:
        raise InputError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
