"""Learn a metric of vectors, or in any kernel's space (Kulis, Jain and Grauman 2009)."""

import math
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mercer import items, kernels
from mercer.errors import InputError, NotFittedError
from mercer.kernels import Kernel, Learned, Mahalanobis
from mercer.kernels.learned import symmetric_root
from mercer.kernels.sampling import sampled
from mercer.learn.constraints import Constraints, from_labels
from mercer.learn.projections import Problem
from mercer.learn.shortfalls import warn_of
from mercer.learn.spaces import BasisSpace, Space, VectorSpace
from mercer.learn.votes import are_elected
from mercer.runtime import parallel
from mercer.runtime.border import about, border
from mercer.runtime.params import Params, check_count, check_number

Matrix = npt.NDArray[np.float64]
SAMPLE = 100  # items whose distances tell what is near and what is far
PERCENTILES = 1, 99
PRICE = 3.0  # of moving all bounds, for each dimension of the metric; see docs/learned.md
VOTES = 4  # neighbours that elect a class in `score`


class ITML(Params):
    """The metric nearest to the given one that moves similar items together and others apart.

    Information-theoretic metric learning (Kulis, Jain and Grauman 2009, eq. 3): of all A with
    d_A(x, y) ≤ `upper` for similar pairs and ≥ `lower` for dissimilar ones, the one nearest to
    `prior` by the LogDet divergence, where bounds may be moved at a price. Without a kernel,
    d_A(x, y) = (x - y)ᵀ A (x - y). With one, A acts in the kernel's space on the span of some basis
    items, and only kernel values are needed. All distances are squared.

    Parameters
    ----------
    kernel : str or Kernel, optional
        The similarity to improve; None for dense vectors of few features as they are.
    slack : float, optional
        The price of moving a bound: the larger, the more constraints hold, and the farther the
        metric is from the given one. By default 3 d / n for n constraints on a metric of d
        dimensions, which is cautious; choose it by cross-validation. With ``math.inf`` no bound
        moves, as in eq. 3: constraints that contradict each other are then reported, not met.
    prior : array_like, shape (n_features, n_features), optional
        A₀, a symmetric positive semi-definite matrix; the identity by default. Directions that it
        ignores stay ignored. With a kernel there is none: the kernel is what learning starts from.
    upper, lower : float, optional
        The largest distance of similar pairs, and the smallest of dissimilar pairs. By default the
        1st and the 99th percentile of the squared distances of 100 items under the prior.
    max_iter : int
        How many sweeps over all constraints at most.
    tol : float
        Learning stops when `gap_` is at most this.
    n_basis : int
        With a kernel: how many basis items to draw from those given to `fit`; the metric is
        learned in their span.
    n_constraints : int, optional
        How many pairs to make from labels; see `mercer.learn.from_labels`.
    seed : int
        Chooses basis, pairs and the order of the projections.

    Attributes
    ----------
    factor_ : ndarray of float64, shape (d, d)
        G with A = GᵀG, in the coordinates of the vectors, or of an orthonormal basis of the span.
    upper_, lower_, slack_ : float
        The bounds and the slack that were used.
    gap_ : float
        The largest departure from the conditions of optimality, as a share of a bound.
    n_iter_ : int
        How many sweeps it took.
    satisfied_ : float
        The share of the constraints that hold, without slack.
    infeasible_ : ndarray of int64
        Which constraints no metric of this kind can meet without moving their bounds.
    basis_ : items
        With a kernel: the c basis items.
    weights_ : ndarray of float64, shape (c, d)
        With a kernel: the coordinates of an item are ``k(x, basis_) @ weights_``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import learn
    >>> X, y = load_iris(return_X_y=True)
    >>> metric = learn.ITML().fit(X, y)
    >>> metric.transform(X).shape, metric.gap_ <= metric.tol
    ((150, 4), True)
    >>> metric.kernel_
    Mahalanobis(<4 x 4 matrix>)
    """

    factor_: Matrix

    def __init__(
        self, kernel: str | Kernel | None = None, slack: float | None = None, *,
        prior: npt.ArrayLike | None = None, upper: float | None = None, lower: float | None = None,
        max_iter: int = 200, tol: float = 0.01, n_basis: int = 300,
        n_constraints: int | None = None, seed: int = 0,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.slack = slack
        self.prior = prior
        self.upper = upper
        self.lower = lower
        self.max_iter = max_iter
        self.tol = tol
        self.n_basis = n_basis
        self.n_constraints = n_constraints
        self.seed = seed
        self._validate()

    def _validate(self) -> None:
        if self.kernel is not None:
            kernels.get(self.kernel)
        if self.slack != math.inf:
            check_number("slack", self.slack, above=0, optional=True)
        if self.prior is not None:
            self._require_prior(self.prior)
        check_number("tol", self.tol, at_least=0)
        for name in ("upper", "lower"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), above=0)
        if self.upper is not None and self.lower is not None:
            _require_order(self.upper, self.lower)
        for name, least in {"max_iter": 1, "n_basis": 1, "seed": 0}.items():
            check_count(name, getattr(self, name), at_least=least)
        check_count("n_constraints", self.n_constraints, optional=True)

    def _require_prior(self, prior: npt.ArrayLike) -> None:
        if self.kernel is not None:
            raise InputError(
                "prior is for vectors as they are, without a kernel. Pass the kernel to start "
                "from instead: ITML(mercer.kernels.Mahalanobis(prior))."
            )
        with about("prior"):
            Mahalanobis(prior)

    # ---- learning

    @border
    @parallel.without_blas_threads
    def fit(self, X: Any, y: Any, *, show_progress: bool | None = None) -> Self:
        """Learn from labels or constraints, forgetting what was learned before; return self.

        Parameters
        ----------
        X : items
            The items that constraints name by their rows.
        y : array_like of shape (len(X),), or Constraints
            Labels, from which random pairs are made; or constraints (`mercer.learn.from_pairs`,
            `from_triples`, `from_nearness`).
        show_progress : bool, optional
            Whether to show a progress bar; by default on terminals, for work of over a second.
        """
        X = items.rows_of(X)
        constraints = self._constraints(X, y)
        space = self._new_space(X)
        factor = self._given(space)
        self.upper_, self.lower_ = self._new_bounds(space, X, factor)
        usual = PRICE * len(factor) / len(constraints)
        self.slack_ = usual if self.slack is None else float(self.slack)
        self._keep(space, factor)
        self._learn(space, X, constraints)
        return self

    @border
    @parallel.without_blas_threads
    def partial_fit(self, X: Any, y: Any, *, show_progress: bool | None = None) -> Self:
        """Learn from further constraints, starting from what was learned before; return self.

        The metric becomes the one nearest to the present metric that meets the new constraints.
        Older constraints are not revisited. One pair costs two products of a d x d matrix and a
        vector and, with a kernel, the kernel values of its items with the basis.

        Parameters
        ----------
        X : items
            The items that the new constraints name by their rows.
        y : array_like of shape (len(X),), or Constraints
            As in `fit`.
        show_progress : bool, optional
            As in `fit`.
        """
        if not hasattr(self, "factor_"):
            return self.fit(X, y)
        X = items.rows_of(X)
        constraints = self._constraints(X, y)
        self._learn(self._space, X, constraints)
        return self

    def _constraints(self, X: Any, y: Any) -> Constraints:
        n = items.length(X)
        if not isinstance(y, Constraints):
            if np.shape(y)[:1] != (n,):
                raise InputError(
                    f"y has shape {np.shape(y)} for {n} items. Pass one label per item, "
                    "or constraints such as mercer.learn.from_pairs(similar, dissimilar)."
                )
            return from_labels(y, self.n_constraints, self.seed)
        if not len(y):
            raise InputError("there are no constraints. Pass at least one.")
        if y.largest >= n:
            raise InputError(
                f"constraints name row {y.largest}, but there are {n} items. Rows are "
                f"counted from 0 to {n - 1}."
            )
        return y

    def _new_space(self, X: Any) -> Space:
        if self.kernel is None:
            return VectorSpace.of(X)
        chosen = sampled(X, [self.seed, 1], self.n_basis)
        return BasisSpace.of(kernels.get(self.kernel), chosen)

    def _given(self, space: Space) -> Matrix:
        """Return the factor of the metric as given: the root of the prior, or the identity."""
        if isinstance(space, BasisSpace):
            return np.eye(space.weights.shape[1])
        if self.prior is None:
            return np.eye(space.n_features)
        root = symmetric_root(np.asarray(self.prior, np.float64))
        if len(root) != space.n_features:
            raise InputError(
                f"prior has {len(root)} rows but items have {space.n_features} features. Pass "
                "one row for each feature."
            )
        return root

    def _new_bounds(self, space: Space, X: Any, factor: Matrix) -> tuple[float, float]:
        """Return the given bounds, or percentiles of nonzero distances: no metric reaches 0."""
        if self.upper is not None and self.lower is not None:
            return float(self.upper), float(self.lower)
        sample = sampled(X, [self.seed, 2], SAMPLE)
        pairs = np.column_stack(np.triu_indices(items.length(sample), 1))
        P: Any = space.prepare(sample)
        distances = space.distances(P if self.prior is None else P @ factor.T, pairs)
        distances = distances[distances > 0]
        if not len(distances):
            raise InputError(
                "the items of a sample are all the same, so they tell nothing of "
                "distances. Pass upper and lower, or items that differ."
            )
        low, high = np.percentile(distances, PERCENTILES)
        upper = low if self.upper is None else self.upper
        lower = high if self.lower is None else self.lower
        _require_order(upper, lower)
        return float(upper), float(lower)

    def _keep(self, space: Space, factor: Matrix) -> None:
        """Keep the space, and begin with the metric as given."""
        for name in ("n_features_", "basis_", "weights_"):
            vars(self).pop(name, None)
        if isinstance(space, VectorSpace):
            self.n_features_ = space.n_features
        else:
            self.basis_, self.weights_ = space.basis, space.weights
        self.factor_ = factor

    def _learn(self, space: Space, X: Any, constraints: Constraints) -> None:
        """Learn from the items that the constraints name, and keep the outcome."""
        rows, named = constraints.renumbered()
        P: Any = space.prepare(items.take(X, rows))
        Z = space.coordinates(P)
        i, j, k = named.triples.T
        short, long = (space.rests(P, Z, np.column_stack([i, end])) for end in (j, k))
        bounds = np.where(named.similar, self.upper_, self.lower_)
        problem = Problem(
            Z, named, bounds, space.rests(P, Z, named.pairs), named.margins + short - long,
            self.slack_,
        )  # fmt: skip
        G, rng = self.factor_.copy(), np.random.default_rng([self.seed, 3])
        outcome = problem.solve(G, self.max_iter, self.tol, rng)
        self.factor_, self.gap_, self.n_iter_ = G, outcome.gap, outcome.n_iter
        self.satisfied_, self.infeasible_ = outcome.satisfied, outcome.infeasible
        warn_of(outcome, constraints, self.slack_, self.tol, self.kernel is None)

    # ---- what was learned

    @property
    def _space(self) -> Space:
        if not hasattr(self, "factor_"):
            raise NotFittedError("ITML: not fitted yet. Call ITML.fit(X, y) first.")
        if hasattr(self, "n_features_"):
            return VectorSpace(self.n_features_)
        assert self.kernel is not None
        return BasisSpace(kernels.get(self.kernel), self.basis_, self.weights_)

    @property
    def metric_(self) -> Matrix:
        """A = GᵀG, shape (d, d)."""
        self._space  # noqa: B018  says what is missing before `fit`
        return np.asarray(self.factor_.T @ self.factor_)

    @property
    def coefficients_(self) -> Matrix:
        """With a kernel: S of G = I + Φ S Φᵀ, shape (c, c), not symmetric.

        See Kulis, Jain and Grauman (2009), lemma 2.
        """
        space = self._space
        if isinstance(space, VectorSpace):
            raise InputError(
                "coefficients_: there are none without a kernel. Use factor_, the matrix G."
            )
        moved = self.factor_ - np.eye(len(self.factor_))
        return np.asarray(space.weights @ moved @ space.weights.T)

    @property
    def kernel_(self) -> Kernel:
        """The learned kernel: `Mahalanobis`, or `Learned` over the given one."""
        space = self._space
        if isinstance(space, VectorSpace):
            return Mahalanobis(self.metric_)
        return Learned(space.kernel, space.basis, space.weights, self.factor_)

    @border
    def transform(self, X: Any) -> npt.NDArray[np.float32]:
        """Return vectors whose Euclidean distances are the learned ones, shape (len(X), d).

        With a kernel, they lack what lies outside the span of the basis; `kernel_` includes it.

        Parameters
        ----------
        X : items
            As those given to `fit`.
        """
        space = self._space
        Z = space.coordinates(space.prepare(X))  # type: ignore[arg-type]
        return (Z @ self.factor_.T).astype(np.float32)

    @border
    def score(self, X: Any, y: npt.ArrayLike) -> float:
        """Return how often four neighbours under the learned metric elect the right class.

        Each item is classified by the four other items of X that are nearest to it; of classes
        with as many votes, the one of the nearest item wins. Grid searches maximise this;
        their folds should be stratified, which scikit-learn does by itself for classifiers only.

        Parameters
        ----------
        X : items
            As those given to `fit`.
        y : array_like, shape (len(X),)
            The label of every item.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.model_selection import GridSearchCV, StratifiedKFold
        >>> from mercer import learn
        >>> X, y = load_wine(return_X_y=True)
        >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
        >>> grid = {"slack": [1e-6, 0.1]}
        >>> GridSearchCV(learn.ITML(), grid, cv=StratifiedKFold(3)).fit(X, y).best_params_
        {'slack': 0.1}
        """
        return float(np.mean(are_elected(self.kernel_, items.rows_of(X), y, VOTES)))

    def __sklearn_tags__(self) -> Any:
        """Say to scikit-learn that this transforms items, and learns from labels."""
        from sklearn.utils import (  # type: ignore[import-untyped]
            InputTags,
            Tags,
            TargetTags,
            TransformerTags,
        )

        return Tags(None, TargetTags(required=True), TransformerTags(), input_tags=InputTags())

    def fit_transform(self, X: Any, y: Any) -> npt.NDArray[np.float32]:
        """Learn, and return the vectors of the same items."""
        return self.fit(X, y).transform(X)


def _require_order(upper: float, lower: float) -> None:
    """Raise InputError for swapped bounds, from which nothing would be learned."""
    if upper >= lower:
        raise InputError(
            f"upper is {float(upper):.6g} and lower is {float(lower):.6g}, the wrong way "
            "round: similar items are to be at most `upper` apart, dissimilar ones at least "
            "`lower`. Pass an upper below lower."
        )
