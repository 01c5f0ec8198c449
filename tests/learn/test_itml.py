"""Metric learning: constraints, projections against plain formulas, and what is reported."""

from __future__ import annotations

import numpy as np
import pytest
import reference
import scipy.optimize
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier
from zoo import two_classes

import mercer
from mercer import kernels, learn
from mercer.learn.itml import PRICE
from mercer.learn.projections import Problem
from mercer.runtime.border import asked

NOTHING = np.empty(0)


def problem(seed, n=12, d=4, m=20, slack=1.0):
    """Return random pairs of random vectors, with bounds that some of them break."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d))
    i = rng.integers(0, n, m)
    pairs = np.column_stack([i, (i + rng.integers(1, n, m)) % n])
    similar = rng.random(m) < 0.5
    asked = learn.from_pairs(pairs[similar], pairs[~similar])
    bounds = np.where(asked.similar, 1.0, 12.0) * rng.uniform(0.5, 2, m)
    return Problem(Z, asked, bounds, np.zeros(m), NOTHING, slack)


def nearest_accuracy(Z, y):
    D = ((Z[:, None].astype(float) - Z[None]) ** 2).sum(axis=-1)
    np.fill_diagonal(D, np.inf)
    return (y[D.argmin(axis=1)] == y).mean()


# ---- projections


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), slack=st.sampled_from([0.01, 1.0, 50.0]))
def test_projections_are_the_printed_ones(seed, slack):
    one = problem(seed, slack=slack)
    G = np.eye(4)
    one.solve(G, 3, 0.0, np.random.default_rng(1))
    rng = np.random.default_rng(1)
    signs = np.where(one.constraints.similar, 1, -1)
    orders = []
    for _ in range(3):
        orders.append(rng.permutation(len(one.bounds)))
        rng.permutation(0)  # of the triples
    A = reference.itml(one.Z, one.constraints.pairs, signs, one.bounds, slack, orders)[0]
    np.testing.assert_allclose(G.T @ G, A, rtol=1e-9, atol=1e-10 * np.abs(A).max())


def test_solution_is_the_optimum():
    """Another solver, on the problem as it is written, finds the same metric."""
    one = problem(3, n=6, d=2, m=5)
    G = np.eye(2)
    outcome = one.solve(G, 20_000, 1e-9, np.random.default_rng(0))
    assert outcome.gap <= 1e-9
    V = one.Z[one.constraints.pairs[:, 0]] - one.Z[one.constraints.pairs[:, 1]]
    signs = np.where(one.constraints.similar, 1, -1)

    def metric(x):
        L = np.array([[np.exp(x[0]), 0], [x[1], np.exp(x[2])]])
        return L @ L.T

    def cost(x):
        A, ratio = metric(x), np.exp(x[3:]) / one.bounds
        return np.trace(A) - np.log(np.linalg.det(A)) - 2 + (ratio - np.log(ratio) - 1).sum()

    def room(x):
        return signs * (np.exp(x[3:]) - np.einsum("ij,jk,ik->i", V, metric(x), V))

    found = scipy.optimize.minimize(
        cost, np.concatenate([np.zeros(3), np.log(one.bounds)]), method="SLSQP",
        constraints={"type": "ineq", "fun": room}, options={"ftol": 1e-14, "maxiter": 1000},
    )  # fmt: skip
    np.testing.assert_allclose(G.T @ G, metric(found.x), atol=1e-5)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), slack=st.sampled_from([1e-3, 1.0, 1e6]))
def test_metric_stays_positive_definite(seed, slack):
    one = problem(seed, n=5, d=6, m=60, slack=slack)  # pairs that contradict each other
    G = np.eye(6)
    outcome = one.solve(G, 30, 0.0, np.random.default_rng(0))
    assert np.isfinite(G).all()
    assert np.isfinite(outcome.gap)
    assert np.linalg.svd(G, compute_uv=False).min() > 0


def test_a_pair_with_a_high_price_reaches_its_bound():
    X = np.array([[0.0, 0.0, 1.0], [3.0, 0.0, 0.0], [0.0, 0.3, 0.9]])
    metric = learn.ITML(slack=1e9, upper=0.5, lower=4.0, tol=1e-7)
    metric.fit(X, learn.from_pairs([(0, 1)], [(0, 2)]))
    d = np.diff(metric.transform(X)[[0, 1]], axis=0), np.diff(metric.transform(X)[[0, 2]], axis=0)
    assert float((d[0] ** 2).sum()) == pytest.approx(0.5, rel=1e-5)
    assert float((d[1] ** 2).sum()) == pytest.approx(4.0, rel=1e-5)
    assert metric.satisfied_ == 1


# ---- triples (theory: triples)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), margin=st.sampled_from([0.0, 0.1, 3.0, -1.0]))
def test_triple_reaches_its_target(seed, margin):
    Z = np.random.default_rng(seed).normal(size=(3, 5))
    u, v = Z[0] - Z[1], Z[0] - Z[2]
    asked = learn.from_triples([(0, 1, 2)])
    for slack in (1e15, 0.5):
        G = np.eye(5)
        one = Problem(Z, asked, NOTHING, NOTHING, np.array([margin]), slack)
        outcome = one.solve(G, 1, 0.0, np.random.default_rng(0))
        A = G.T @ G
        if u @ u + margin <= v @ v:
            np.testing.assert_array_equal(G, np.eye(5))
        else:
            price = slack / ((u @ u + v @ v) / 2) ** 2
            expected = reference.triple_projection(np.eye(5), u, v, margin, price)
            np.testing.assert_allclose(A, expected, atol=1e-8 * np.abs(expected).max())
        if slack > 1:
            assert u @ A @ u + margin <= v @ A @ v + 1e-10 * (1 + v @ A @ v)
        assert outcome.gap < 1e-9
        assert np.linalg.eigvalsh(A).min() > 0


def test_triples_are_released_again():
    """Where other triples do the work, a dual variable falls back: steps of both signs."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(30, 4))
    rows = np.array([rng.choice(30, 3, replace=False) for _ in range(40)])
    near = (Z[rows[:, 0], 0] - Z[rows[:, 1], 0]) ** 2  # a metric of one feature exists
    far = (Z[rows[:, 0], 0] - Z[rows[:, 2], 0]) ** 2
    rows[near > far] = rows[near > far][:, [0, 2, 1]]
    asked = learn.from_triples(rows)
    G = np.eye(4)
    outcome = Problem(Z, asked, NOTHING, NOTHING, asked.margins, 1e6).solve(
        G, 3000, 1e-6, np.random.default_rng(0)
    )
    assert outcome.gap <= 1e-6
    # the optimum: (GᵀG)⁻¹ - I is a sum over violated triples with weights that are not negative
    inverse = np.linalg.inv(G.T @ G) - np.eye(4)
    terms = [np.outer(Z[i] - Z[j], Z[i] - Z[j]) - np.outer(Z[i] - Z[k], Z[i] - Z[k])
             for i, j, k in rows]  # fmt: skip
    rest = scipy.optimize.nnls(np.stack([t.ravel() for t in terms], 1), inverse.ravel())[1]
    assert rest < 1e-4 * np.linalg.norm(inverse)


def test_contradicting_triples_are_reported():
    X = np.random.default_rng(0).normal(size=(3, 3))
    asked = learn.from_triples([(0, 1, 2), (0, 2, 1)], margin=1.0)
    with pytest.warns(mercer.LearningWarning, match="contradict each other"):
        metric = learn.ITML(slack=1e9, upper=0.1, lower=1.0, max_iter=50).fit(X, asked)
    assert np.isfinite(metric.factor_).all()
    assert metric.gap_ > metric.tol
    soft = learn.ITML(upper=0.1, lower=1.0).fit(X, asked)  # at a price they come to terms
    assert soft.gap_ <= soft.tol
    assert soft.satisfied_ < 1


def test_items_in_one_line_are_reported():
    X = np.array([[0.0, 0.0], [2.0, 2.0], [1.0, 1.0], [0.0, 1.0]])
    asked = learn.from_triples([(0, 1, 2), (0, 3, 1)])
    with pytest.warns(mercer.LearningWarning, match="item 0 nearer to 1 than to 2"):
        metric = learn.ITML(upper=0.1, lower=1.0).fit(X, asked)
    assert metric.infeasible_.tolist() == [0]


# ---- what learning is for


@pytest.mark.parametrize("kernel", [None, "linear", kernels.RBF(gamma=0.02)], ids=repr)
def test_learning_helps(kernel):
    X, y = two_classes()
    with np.errstate(all="raise"):
        metric = learn.ITML(kernel, n_basis=120, slack=0.1).fit(X, y)
    assert nearest_accuracy(metric.transform(X), y) > nearest_accuracy(X, y) + 0.1


def test_satisfied_constraints_rise():
    X, y = two_classes()
    shares = [learn.ITML(slack=slack, max_iter=2000).fit(X, y).satisfied_
              for slack in (1e-9, 0.1, 10.0)]  # fmt: skip
    assert shares[0] < shares[1] < shares[2]


def test_one_constraint_after_the_other():
    X, y = two_classes()
    asked = learn.from_labels(y, 300, seed=1)
    metric = learn.ITML(slack=0.05, upper=4.0, lower=30.0, tol=1e-12)
    for (i, j), similar in zip(asked.pairs, asked.similar, strict=True):
        pair = [[(0, 1)], []] if similar else [[], [(0, 1)]]
        before = metric.factor_.copy() if hasattr(metric, "factor_") else np.eye(6)
        metric.partial_fit(X[[i, j]], learn.from_pairs(*pair))
        v = X[i].astype(float) - X[j]
        p, target = ((before @ v) ** 2).sum(), 4.0 if similar else 30.0
        broken = p > target if similar else p < target
        # one projection ends where distance and moved bound meet
        expected = 1.05 / (1 / p + 0.05 / target) if broken else p
        assert ((metric.factor_ @ v) ** 2).sum() == pytest.approx(expected, rel=1e-9)
    assert nearest_accuracy(metric.transform(X), y) > nearest_accuracy(X, y) + 0.1


def test_partial_fit_starts_from_the_present_metric():
    X, y = two_classes()
    metric = learn.ITML(slack=0.1).fit(X, y)
    G, bounds = metric.factor_.copy(), (metric.upper_, metric.lower_)
    metric.partial_fit(X[:2], learn.from_pairs(dissimilar=[(0, 1)]))
    assert (metric.upper_, metric.lower_) == bounds
    assert np.linalg.matrix_rank(metric.factor_ - G, tol=1e-9) == 1


# ---- bounds


def test_bounds_are_percentiles_and_above_zero():
    X = np.repeat(np.arange(5.0)[:, None], 20, axis=0)  # one in five distances is 0
    metric = learn.ITML().fit(X, np.repeat(np.arange(5), 20))
    assert (metric.upper_, metric.lower_) == (1.0, 16.0)
    X, y = two_classes(100)
    metric = learn.ITML().fit(X, y)
    D = ((X[:, None].astype(float) - X[None]) ** 2).sum(axis=-1)[np.triu_indices(100, 1)]
    np.testing.assert_allclose((metric.upper_, metric.lower_), np.percentile(D, (1, 99)))


def test_swapped_bounds_are_noticed():
    with pytest.raises(mercer.InputError, match="upper is 9 and lower is 1, the wrong way round"):
        learn.ITML(upper=9.0, lower=1.0)
    X, y = two_classes()
    with pytest.raises(mercer.InputError, match=r"ITML.fit: upper is 1e\+06 .* wrong way round"):
        learn.ITML(upper=1e6).fit(X, y)


def test_the_same_items_cannot_be_far():
    X = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 0.0]])
    with pytest.warns(mercer.LearningWarning, match=r"1 of 2 .*items 0 and 1 far.*are the same"):
        metric = learn.ITML(upper=0.1, lower=5.0).fit(X, learn.from_pairs([(0, 2)], [(0, 1)]))
    assert metric.infeasible_.tolist() == [1]
    assert np.isfinite(metric.factor_).all()


# ---- constraints


def test_labels_make_pairs():
    y = np.array(list("aabbbcd"))
    asked = learn.from_labels(y, 2000)
    same = y[asked.pairs[:, 0]] == y[asked.pairs[:, 1]]
    np.testing.assert_array_equal(same, asked.similar)
    assert asked.similar.sum() == 1 + 3
    assert len(asked) == 21  # all pairs, each once
    few = learn.from_labels(np.arange(1000) % 10, 100, seed=3)
    assert 90 <= len(few) <= 100
    assert (learn.from_labels(y, 10).pairs == learn.from_labels(y, 10).pairs).all()


def test_nearness_makes_pairs():
    P = np.random.default_rng(0).random((80, 3))
    asked = learn.from_nearness(P, n_near=3, n_far=4, threshold=0.6)
    D = np.linalg.norm(P[:, None] - P[None], axis=-1)
    apart = D[asked.pairs[:, 0], asked.pairs[:, 1]]
    assert (apart[~asked.similar] > 0.6).all()
    ranks = D.argsort(axis=1).argsort(axis=1)
    nearer = np.minimum(ranks[tuple(asked.pairs.T)], ranks[tuple(asked.pairs[:, ::-1].T)])
    assert (nearer[asked.similar] <= 3).all()
    assert 80 * 3 / 2 <= asked.similar.sum() <= 80 * 3
    default = learn.from_nearness(P, n_far=1)
    pairs = default.pairs[~default.similar]
    assert (D[pairs[:, 0], pairs[:, 1]] > 0.5).all()  # the median is 0.66


def test_constraints_add_up():
    both = learn.from_pairs([(0, 1)]) + learn.from_triples([(2, 3, 4)], margin=2.0)
    assert len(both) == 2
    assert both.largest == 4
    assert both.describe(0) == "items 0 and 1 near"
    assert both.describe(1) == "item 2 nearer to 3 than to 4"


# ---- scikit-learn


def test_pipeline_and_grid_search():
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    X, y = two_classes()
    pipeline = make_pipeline(learn.ITML(slack=0.1), KNeighborsClassifier(4))
    assert clone(pipeline).fit(X[:60], y[:60]).score(X[60:], y[60:]) > 0.8
    search = GridSearchCV(pipeline, {"itml__slack": [1e-6, 0.1]}, cv=3).fit(X, y)
    assert search.best_params_ == {"itml__slack": 0.1}
    nested = clone(learn.ITML(kernels.RBF(gamma=0.5), upper=0.1))
    assert nested == learn.ITML(kernels.RBF(gamma=0.5), upper=0.1)
    assert nested.set_params(kernel__gamma=2.0).kernel == kernels.RBF(gamma=2.0)


def test_score_is_the_vote_of_others():
    X, y = two_classes(90)
    metric = learn.ITML(slack=0.1).fit(X, y)
    Z, right = metric.transform(X).astype(float), 0
    for row, z in enumerate(Z):
        distances = ((Z - z) ** 2).sum(axis=1)
        distances[row] = np.inf
        votes = y[np.argsort(distances, kind="stable")[:4]].tolist()
        right += max(votes, key=lambda one: (votes.count(one), -votes.index(one))) == y[row]
    assert metric.score(X, y) == pytest.approx(right / 90)
    names = np.array(["far", "near"])[y]
    assert metric.score(X, names) == metric.score(X, y)
    over = learn.ITML("linear", 0.1, n_basis=90).fit(X, y)
    assert abs(over.score(X, y) - metric.score(X, y)) < 0.05
    assert metric.score(X[:2], [0, 0]) == 1  # fewer others than votes
    for wrong in (y[:5], learn.from_labels(y), None):
        with pytest.raises(mercer.InputError, match=r"ITML.score: y has shape"):
            metric.score(X, wrong)


def test_grid_search_by_its_own_score():
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.utils import get_tags

    X, y = two_classes()
    grid = {"slack": [1e-6, 0.1], "kernel": [None, "linear"]}
    search = GridSearchCV(learn.ITML(), grid, cv=StratifiedKFold(3)).fit(X, y)
    assert search.best_params_["slack"] == 0.1
    assert search.best_score_ > learn.ITML(slack=1e-6).fit(X, y).score(X, y)
    assert clone(search.best_estimator_) == search.best_estimator_
    assert not hasattr(clone(search.best_estimator_), "factor_")
    assert get_tags(learn.ITML()).target_tags.required


def test_the_default_price_is_shared_by_all_constraints():
    X, y = two_classes()
    asked = learn.from_labels(y, 60)
    metric = learn.ITML().fit(X, asked)
    assert metric.slack_ == pytest.approx(PRICE * X.shape[1] / len(asked))
    again = learn.ITML(slack=metric.slack_).fit(X, asked)
    np.testing.assert_array_equal(again.factor_, metric.factor_)
    before = metric.slack_
    metric.partial_fit(X[:2], learn.from_pairs(dissimilar=[(0, 1)]))
    assert metric.slack_ == before
    over = learn.ITML("linear", n_basis=40).fit(X, asked)
    assert over.slack_ == pytest.approx(PRICE * len(over.factor_) / len(asked))


@pytest.mark.parametrize("seed", [0, 3])
def test_the_default_does_not_hurt_neighbours(seed):
    """Classes of many shapes, which a metric that draws them together would mix with others."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
    Z, Q, known, asked = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)

    def voted(transform):
        model = KNeighborsClassifier(4).fit(transform(Z), known)
        return model.score(transform(Q), asked)

    cautious, bold = (learn.ITML(slack=slack).fit(Z, known).transform for slack in (None, 1.0))
    assert voted(cautious) >= voted(np.asarray) > voted(bold)


def test_progress_is_told(monkeypatch):
    told = []

    class Bar:
        def __init__(self, label, total):
            told.append((label, total, asked.show_progress))

        def __enter__(self):
            return told.append

        def __exit__(self, *error):
            pass

    monkeypatch.setattr("mercer.learn.projections.progress.bar", Bar)
    monkeypatch.setattr("mercer.learn.projections.BLOCK", 100)
    X, y = two_classes()
    metric = learn.ITML(n_constraints=250).fit(X, y, show_progress=True)
    (label, total, show), *steps = told
    assert (label, show) == ("learning", True)
    assert max(steps) <= 100
    assert sum(steps) * 200 == total * metric.n_iter_


# ---- what is wrong

X3, SPARSE = np.eye(3), scipy.sparse.csr_array(np.eye(3))
PAIRS = learn.from_pairs([(0, 1)])
BAD = {
    "sparse": (lambda: learn.ITML().fit(SPARSE, PAIRS), "ITML.fit: items are sparse.*kernel='linear'"),
    "no labels": (lambda: learn.ITML().fit(X3, None), r"y has shape \(\) for 3 items.*from_pairs"),
    "few labels": (lambda: learn.ITML().fit(X3, [0, 1]), r"ITML.fit: y has shape \(2,\) for 3 items"),
    "no constraint": (lambda: learn.ITML().fit(X3, learn.from_pairs()), "there are no constraints"),
    "a far row": (lambda: learn.ITML().fit(X3, learn.from_pairs([(0, 7)])), "name row 7, but there are 3 items"),
    "width": (lambda: learn.ITML(upper=.1, lower=9.).fit(X3, PAIRS).transform(np.eye(4)), "ITML.transform: items have 4 features but it was fitted on 3"),
    "width of the basis": (lambda: learn.ITML("linear", upper=.1, lower=9.).fit(X3, PAIRS).transform(np.eye(4)), "the items: 4 features, but the basis: 3"),
    "not fitted": (lambda: learn.ITML().transform(X3), "ITML: not fitted yet"),
    "no kernel yet": (lambda: learn.ITML().kernel_, "ITML: not fitted yet"),
    "no S": (lambda: learn.ITML(upper=.1, lower=9.).fit(X3, PAIRS).coefficients_, "there are none without a kernel"),
    "all the same": (lambda: learn.ITML().fit(np.ones((4, 2)), [0, 1, 0, 1]), "all the same"),
    "zero basis": (lambda: learn.ITML("linear").fit(np.zeros((4, 2)), [0, 1, 0, 1]), "the basis items span nothing under Linear"),
    "slack": (lambda: learn.ITML(slack=0), "ITML: slack is 0"),
    "upper": (lambda: learn.ITML(upper=0.0), "ITML: upper is 0.0. Pass a finite number above 0"),
    "max_iter": (lambda: learn.ITML(max_iter=0), "ITML: max_iter is 0"),
    "a kernel": (lambda: learn.ITML("chi"), "no kernel is called 'chi'"),
    "NaN": (lambda: learn.ITML().fit(X3 * np.nan, PAIRS), "contain NaN"),
    "pairs of three": (lambda: learn.from_pairs([(0, 1, 2)]), r"similar pairs have shape \(1, 3\)"),
    "floats": (lambda: learn.from_pairs([], [(0.5, 1.0)]), "dissimilar pairs have shape .* float64"),
    "negative": (lambda: learn.from_pairs([(0, -1)]), "name row -1"),
    "itself": (lambda: learn.from_triples([(0, 1, 2), (3, 4, 3)]), "triples number 1 names item 3 twice"),
    "margin": (lambda: learn.from_triples([(0, 1, 2)], margin=-1), "margin is -1"),
    "labels of labels": (lambda: learn.from_labels([[0, 1]]), r"y has shape \(1, 2\)"),
    "NaN labels": (lambda: learn.from_labels([0.0, np.nan]), "y contains NaN"),
    "one item": (lambda: learn.from_labels([3]), "no pair can be made"),
    "parameters": (lambda: learn.from_nearness([0.0, 1.0]), r"parameters have shape \(2,\)"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_calls(name):
    call, text = BAD[name]
    with pytest.raises(mercer.MercerError, match=text):
        call()
