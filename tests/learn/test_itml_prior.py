"""The metric that learning starts from: any positive semi-definite matrix (M eq. 3)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from zoo import two_classes

import mercer
from mercer import kernels, learn
from mercer.embeddings.subspace import Spectrum

X, Y = two_classes()
D = X.shape[1]
ROOT = np.random.default_rng(0).normal(size=(D, D)) / 3 + np.eye(D)
PRIOR = ROOT.T @ ROOT
FLAT = np.diag([1.0, 4.0, *[0.0] * (D - 2)])  # of all but two features nothing is kept
BOUNDS = {"upper": 0.5, "lower": 20.0}


def symmetric_root(A):
    values, vectors = np.linalg.eigh(A)
    return vectors * np.sqrt(np.maximum(values, 0)) @ vectors.T


@pytest.mark.parametrize("slack", [0.1, 1.0])
@pytest.mark.parametrize("prior", [PRIOR, FLAT], ids=["full rank", "singular"])
@pytest.mark.parametrize("bounds", [{}, BOUNDS], ids=["percentiles", "given"])
def test_a_prior_is_the_identity_of_other_coordinates(prior, slack, bounds):
    """With x = root⁻¹ z, D(A, A₀) = D(root⁻¹ A root⁻¹, I), so learning is that on z."""
    root = symmetric_root(prior)
    options = {"slack": slack, "tol": 1e-6, "max_iter": 3000} | bounds
    asked = learn.from_labels(Y, 60)
    found = learn.ITML(prior=prior, **options).fit(X, asked)
    expected = learn.ITML(**options).fit(X @ root, asked)
    assert (found.upper_, found.lower_) == pytest.approx((expected.upper_, expected.lower_), 1e-5)
    metric = root @ expected.metric_ @ root
    np.testing.assert_allclose(found.metric_, metric, atol=2e-4 * np.abs(metric).max())


def test_the_prior_of_a_kernel_is_the_kernel():
    """M eq. 5: K₀ = Xᵀ A₀ X."""
    asked = learn.from_labels(Y, 60)
    options = {"tol": 1e-6, "max_iter": 3000} | BOUNDS
    found = learn.ITML(prior=PRIOR, **options).fit(X, asked)
    kernel = learn.ITML(kernels.Mahalanobis(PRIOR), n_basis=len(X), **options).fit(X, asked)
    expected = kernel.kernel_(X, dtype="float64")
    K = X.astype(np.float64) @ found.metric_ @ X.T
    np.testing.assert_allclose(K, expected, atol=1e-4 * np.abs(expected).max())


def test_with_nothing_to_change_the_prior_stays():
    asked = learn.from_pairs(similar=[(0, 1)])
    metric = learn.ITML(prior=PRIOR, upper=1e6, lower=1e9).fit(X, asked)
    np.testing.assert_allclose(metric.metric_, PRIOR, atol=1e-10)
    assert metric.n_iter_ == 0


def test_what_the_prior_ignores_stays_ignored():
    metric = learn.ITML(prior=FLAT, slack=0.5).fit(X, Y)
    kept = Spectrum.of(metric.metric_).values
    assert (kept[2:] < 1e-10 * kept[0]).all()
    assert np.abs(metric.metric_[2:]).max() < 1e-10 * kept[0]
    assert metric.transform(X).shape == (len(X), D)
    kernel = metric.kernel_
    moved = X + np.where(np.arange(D) < 2, 0, 1).astype(np.float32)
    np.testing.assert_allclose(kernel(moved), kernel(X), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("slack", [1.0, math.inf])
def test_items_that_only_differ_in_what_is_ignored_cannot_be_far(slack):
    items = np.zeros((3, D), np.float32)
    items[1, 4], items[2, 0] = 5.0, 3.0
    metric = learn.ITML(prior=FLAT, slack=slack, tol=1e-6, **BOUNDS)
    with pytest.warns(mercer.LearningWarning, match="items 0 and 1 far.*same, to the prior"):
        metric.fit(items, learn.from_pairs([(0, 2)], [(0, 1)]))
    assert metric.infeasible_.tolist() == [1]
    assert np.isfinite(metric.factor_).all()


def test_partial_fit_goes_on_from_the_metric_not_from_the_prior():
    asked = learn.from_labels(Y, 60)
    metric = learn.ITML(slack=1.0, prior=PRIOR, tol=1e-8, max_iter=3000, **BOUNDS).fit(X, asked)
    before = metric.metric_
    metric.partial_fit(X[:2], learn.from_pairs(dissimilar=[(0, 1)]))
    again = learn.ITML(slack=1.0, prior=before, tol=1e-8, **BOUNDS)
    again.fit(X[:2], learn.from_pairs(dissimilar=[(0, 1)]))
    np.testing.assert_allclose(metric.metric_, again.metric_, atol=1e-6 * np.abs(before).max())


def test_scikit_learn_sees_a_parameter():
    from sklearn.base import clone

    metric = learn.ITML(prior=PRIOR)
    assert clone(metric) == metric
    assert clone(learn.ITML(prior=PRIOR.tolist())).prior == PRIOR.tolist()
    assert metric.set_params(prior=None) == learn.ITML()


BAD = {
    "shape": (lambda: learn.ITML(prior=np.ones((2, 3))), r"ITML: prior: A has shape \(2, 3\)"),
    "not symmetric": (lambda: learn.ITML(prior=[[1, 2], [0, 1]]), "prior: A is not symmetric"),
    "negative": (lambda: learn.ITML(prior=-np.eye(2)), "prior: A has eigenvalue -1"),
    "NaN": (lambda: learn.ITML(prior=np.nan * np.eye(2)), "prior: A contains NaN"),
    "width": (lambda: learn.ITML(prior=np.eye(3)).fit(X, Y), "prior has 3 rows but items have 6"),
    "kernel": (
        lambda: learn.ITML("linear", prior=np.eye(6)),
        r"without a kernel. Pass the kernel to start from.*Mahalanobis\(prior\)",
    ),
    "slack": (lambda: learn.ITML(slack=-math.inf), "ITML: slack is -inf"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_calls(name):
    call, text = BAD[name]
    with pytest.raises(mercer.InputError, match=text):
        call()
