"""What float32 cannot tell apart is said, and defaults suit the scale of the data."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import mercer
from mercer import evaluate, kernels
from mercer.errors import PrecisionWarning

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 8)).astype(np.float32)
COUNTS = rng.integers(0, 200, (300, 128)).astype(np.uint8)  # as SIFT descriptors


@pytest.mark.parametrize("name", ["rbf", "laplacian", "exp_chi2"])
@pytest.mark.parametrize("method", [mercer.exact, mercer.brute, mercer.inverted, mercer.klsh])
def test_gamma_is_chosen_by_the_data(name, method):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        index = method(name).fit(COUNTS).add(COUNTS)
        found = index.search(COUNTS[:20], 3)
    assert index.kernel_ == type(kernels.get(name)).for_data(COUNTS)
    assert index.kernel == kernels.get(name)  # parameters stay as they were given
    assert (found.scores[:, 1:] > 1e-3).all()
    truth = evaluate.ground_truth(name, COUNTS, COUNTS[:20], 3)
    assert truth.kernel == found.kernel == repr(index.kernel_)
    if method in (mercer.exact, mercer.brute):
        assert evaluate.recall(found, truth) == 1


def test_what_is_given_stays():
    given = kernels.RBF(gamma=0.5)
    assert mercer.exact(given).fit(X).kernel_ is given
    mixed = 2.0 * kernels.RBF().normalized() + kernels.Linear()
    suited = mercer.exact(mixed).fit(X).kernel_
    assert suited == 2.0 * kernels.RBF.for_data(X).normalized() + kernels.Linear()
    assert mercer.exact("linear").fit(X).kernel_ == kernels.Linear()


def test_bad_rows_are_named_among_all():
    bad = X.copy()
    bad[17, 3] = np.nan
    with pytest.raises(mercer.InputError, match="first: row 17"):
        mercer.brute("rbf").fit(bad)


@pytest.mark.parametrize("kernel", [kernels.RBF(gamma=10.0), kernels.Cosine().exp(2000.0),
                                    kernels.Linear().radial(30.0)], ids=repr)  # fmt: skip
def test_scores_that_count_as_0_are_said(kernel):
    with pytest.warns(PrecisionWarning, match=r"most of 64 items score below 1e-33.*less sharp"):
        mercer.exact(kernel, n_landmarks=20).fit(50 * X)


def test_items_too_small_to_be_told_apart():
    with pytest.warns(PrecisionWarning, match=r"k\(x, x\) is at most .*Scale the items up"):
        mercer.exact("linear", n_landmarks=20).fit(X * np.float32(1e-23))


def test_differences_that_float32_loses():
    moved = X.astype(np.float64) + 1e8
    with pytest.warns(PrecisionWarning, match=r"of what is between them.*X\.mean"):
        mercer.exact("rbf", n_landmarks=20).fit(moved)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mercer.exact("rbf", n_landmarks=20).fit(moved - moved.mean(axis=0))
        mercer.exact("rbf", n_landmarks=20).fit(X.astype(np.float64) + 100)


def test_items_that_are_far_from_each_other_are_no_underflow():
    """A linear kernel of items with nothing in common is 0, and rightly so."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mercer.brute("linear").fit(np.eye(50, dtype=np.float32))
        mercer.brute("chi2").fit(np.ones((5, 3)))
        mercer.brute("rbf").fit(np.ones((1, 3)))


@pytest.mark.parametrize("scale", [1e-30, 1e-32, 1e-34, 1e-36])
@pytest.mark.parametrize("name", ["chi2", "jensen_shannon", "intersection", "hellinger"])
def test_small_histograms_are_no_disproof(name, scale):
    H = rng.dirichlet(np.ones(64), 200).astype(np.float32)
    H[::2] *= np.float32(scale)
    index = mercer.exact(name, n_landmarks=40, n_components=16).fit(H).add(H)
    found = index.search(H[:30], 4)
    assert found.exact.all()
    assert index.disproof_ is None
