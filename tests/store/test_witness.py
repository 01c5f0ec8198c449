"""Stored kernel values tell whether a kernel is the one that an index was saved with."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer import StoreError, kernels
from mercer.kernels import registry
from mercer.store.witness import SAMPLES, check_samples, registered_names, samples

X = np.random.default_rng(0).dirichlet(np.ones(6), 40).astype(np.float32)


@pytest.fixture(autouse=True)
def own_names(monkeypatch):
    """Names registered in a test end with it."""
    monkeypatch.setattr(registry, "_registered", {})


def overlap(scale=1.0):
    return kernels.from_gram(lambda A, B: scale * np.minimum(A[:, None], B).sum(axis=2), psd=True)


@pytest.fixture
def items():
    kernel = overlap()
    mercer.register("overlap", kernel)
    return kernel.prepare(X)


def test_samples_are_kernel_values_in_double_precision(items):
    few = X[:SAMPLES].astype(np.float64)
    expected = np.minimum(few[:, None], few).sum(axis=2)
    np.testing.assert_allclose(samples(items), expected, rtol=1e-6)
    assert samples(items).dtype == np.float64
    assert samples(items.take(np.arange(3))).shape == (3, 3)
    assert samples(None) is None


@pytest.mark.parametrize("same_version", [True, False])
def test_lacking_values_are_noticed(items, same_version):
    good = samples(items)
    for expected in (None, good[:-1], good[:-1, :-1], good[0]):
        with pytest.raises(StoreError, match=f"lacks the kernel values of {SAMPLES} items"):
            check_samples(items, expected, same_version)
    check_samples(None, None, same_version)  # no items, nothing to compare


def test_a_value_may_differ_by_rounding_alone(items):
    """Twice that of one value: the one that was kept was rounded too."""
    good = samples(items)
    tolerance = items.kernel.tolerance(items.take(np.arange(SAMPLES)))
    scale = np.sqrt(np.outer(np.diag(good), np.diag(good)))
    check_samples(items, good + 1.9 * tolerance * scale, same_version=True)
    check_samples(items, good - 1.9 * tolerance * scale, same_version=True)
    for place in ((2, 5), (SAMPLES - 1, SAMPLES - 1)):
        for wrong in (good[place] + 2.5 * tolerance * scale[place], np.nan):
            odd = good.copy()
            odd[place] = wrong
            with pytest.raises(StoreError, match=r"registered as 'overlap' is not the one"):
                check_samples(items, odd, same_version=True)


def test_built_in_kernels_of_the_same_version_are_trusted():
    items = kernels.Intersection().prepare(X)
    check_samples(items, None, same_version=True)
    with pytest.raises(StoreError, match="lacks the kernel values"):
        check_samples(items, None, same_version=False)
    told = r"the kernel Intersection\(\) is not the one .*Build and save the index again"
    with pytest.raises(StoreError, match=told):
        check_samples(items, samples(items) * 1.01, same_version=False)


def test_a_registered_kernel_inside_of_others_is_found(items):
    inside = 2.0 * (kernels.Chi2() + items.kernel.normalized())
    assert registered_names(kernels.to_spec(inside)) == ["overlap"]
    assert registered_names(kernels.to_spec(2.0 * kernels.Chi2())) == []
    P = inside.prepare(X)
    with pytest.raises(StoreError, match=r"'overlap' .*Register the kernel that it was saved with"):
        check_samples(P, samples(P) * 1.01, same_version=True)
