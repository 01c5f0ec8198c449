"""Kernels made of kernels: what must stay true under every operation."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import PAIRS, gram
from zoo import HISTOGRAMS, VECTORS, my_chi2

import mercer
from mercer import kernels
from mercer.errors import InputError, KernelError

positive = st.floats(0.05, 4.0)


def leaves():
    return st.one_of(
        st.sampled_from(
            [kernels.Chi2(), kernels.Intersection(), kernels.JensenShannon(), kernels.Hellinger(),
             kernels.MinMax(), kernels.Cosine(), kernels.Linear()]
        ),
        st.builds(kernels.RBF, gamma=positive),
        st.builds(kernels.Laplacian, gamma=positive),
        st.builds(kernels.ExpChi2, gamma=positive),
        st.builds(kernels.Polynomial, degree=st.integers(1, 4), gamma=st.floats(0.05, 0.5),
                  coef0=st.just(0.0) | st.floats(0.01, 0.5)),
    )  # fmt: skip


def grow(kernel):
    return st.one_of(
        st.builds(lambda a, b: a + b, kernel, kernel),
        st.builds(lambda a, b: a * b, kernel, kernel),
        st.builds(lambda s, a: s * a, positive, kernel),
        st.builds(lambda a, s: a.exp(s), kernel, st.floats(0.05, 1.0)),
        st.builds(lambda a: a.normalized(), kernel),
    )


SAMPLE = HISTOGRAMS[:12]


def is_moderate(kernel):
    """Whether float32 can hold the values: towers of exponentials overflow, and are refused."""
    try:
        return kernel(SAMPLE).max() < 1e12
    except KernelError as error:
        assert "is inf" in str(error) or "float32 can divide by" in str(error)  # noqa: PT017
        return False


composed = st.recursive(leaves(), grow, max_leaves=5).filter(is_moderate)


@settings(max_examples=80, deadline=None)
@given(composed)
def test_psd_stays_psd(kernel):
    assert kernel.psd
    values = np.linalg.eigvalsh(kernel(SAMPLE, dtype=np.float64))
    assert values[0] >= -1e-9 * max(values[-1], 1e-300)


@settings(max_examples=80, deadline=None)
@given(composed)
def test_normalised_diagonal_is_one_or_zero(kernel):
    own = kernel.diag(SAMPLE, dtype=np.float64)
    found = kernel.normalized().diag(SAMPLE)
    np.testing.assert_array_equal(found, (own > 0).astype(np.float32))
    assert np.abs(kernel.normalized()(SAMPLE)).max() <= 1 + 1e-4


@settings(max_examples=150, deadline=None)
@given(composed)
def test_reprs_and_specs_come_back(kernel):
    assert eval(repr(kernel), vars(kernels)) == kernel
    spec = json.loads(json.dumps(kernels.to_spec(kernel)))
    assert kernels.from_spec(spec) == kernel


@settings(max_examples=40, deadline=None)
@given(composed)
def test_float32_is_within_the_composed_tolerance(kernel):
    P = kernel.prepare(SAMPLE)
    exact = kernel(P, dtype=np.float64)
    own = np.diag(exact)
    slack = kernel.tolerance(P) * np.sqrt(np.outer(own, own)) + 1e-33
    assert (np.abs(kernel(P) - exact) <= slack).all()


@settings(max_examples=60, deadline=None)
@given(composed, st.floats(0.1, 3.0))
def test_exp_keeps_the_ranking(kernel, s):
    """R eq. 4: a monotone transformation of the values changes no neighbour."""
    values = kernel(SAMPLE, dtype=np.float64)
    if s * values.max() > 500:
        return
    changed = kernel.exp(s)(SAMPLE, dtype=np.float64)
    rising = np.take_along_axis(changed, np.argsort(values, axis=1), axis=1)
    assert (np.diff(rising, axis=1) >= -1e-12 * np.abs(rising[:, 1:])).all()


def test_values_against_numpy():
    chi2 = gram(PAIRS["chi2"], SAMPLE, SAMPLE)
    rbf = gram(lambda x, y: np.exp(-0.5 * np.sum((x - y) ** 2)), SAMPLE, SAMPLE)
    a, b = kernels.Chi2(), kernels.RBF(gamma=0.5)
    own = np.sqrt(np.outer(np.diag(chi2), np.diag(chi2)))
    unit = np.divide(chi2, own, out=np.zeros_like(own), where=own > 0)
    for kernel, expected in {
        a + b: chi2 + rbf,
        a * b: chi2 * rbf,
        0.3 * a: 0.3 * chi2,
        a.exp(2.0): np.exp(2 * (chi2 - 1)),
        a.normalized(): unit,
        a.normalized().exp(2.0): np.exp(2 * (unit - 1)),
    }.items():
        np.testing.assert_allclose(kernel(SAMPLE, dtype=float), expected, rtol=1e-12, atol=1e-14)


def test_numbers_of_numpy_scale_too():
    assert np.float32(0.5) * kernels.Chi2() == 0.5 * kernels.Chi2() == kernels.Chi2() * 0.5
    assert repr(np.float64(2) * kernels.Chi2()) == "2.0 * Chi2()"


def test_brackets_only_where_needed():
    a, b, c = kernels.Chi2(), kernels.Hellinger(), kernels.MinMax()
    assert repr(a + b + c) == "Chi2() + Hellinger() + MinMax()"
    assert repr(a + (b + c)) == "Chi2() + (Hellinger() + MinMax())"
    assert repr((a + b) * c) == "(Chi2() + Hellinger()) * MinMax()"
    assert repr((0.5 * a).normalized()) == "(0.5 * Chi2()).normalized()"
    assert repr(0.5 * (a * b)) == "0.5 * (Chi2() * Hellinger())"


def test_facts_follow_from_the_parts():
    mixed = kernels.RBF() + kernels.Chi2()
    assert mixed.nonnegative
    assert not (kernels.Tversky(0.1, 0.1) + kernels.Tanimoto()).psd
    assert not kernels.Tversky(0.9, 0.1).normalized().symmetric
    assert kernels.Tversky(0.5, 0.5).psd
    assert not kernels.Tversky(0.4, 0.4).psd


def test_kernels_of_different_items_do_not_join():
    with pytest.raises(KernelError, match=r"takes vectors, and .*takes bits"):
        kernels.Chi2() + kernels.Tanimoto()


def test_params_reach_inside():
    kernel = kernels.RBF(gamma=1.0) + 2.0 * kernels.Chi2()
    params = kernel.get_params()
    assert params["left__gamma"] == 1.0
    assert params["right__factor"] == 2.0
    kernel.set_params(left__gamma=0.25, right__factor=3.0)
    assert repr(kernel) == "RBF(gamma=0.25) + 3.0 * Chi2()"
    with pytest.raises(InputError, match="no parameter 'sigma'"):
        kernels.RBF().set_params(sigma=1)
    with pytest.raises(InputError, match="gamma is -1"):
        kernels.RBF().set_params(gamma=-1)


def test_scikit_learn_can_clone_kernels():
    from sklearn.base import clone

    kernel = 0.5 * kernels.Chi2() + kernels.RBF(gamma=2.0)
    copy = clone(kernel)
    assert copy == kernel
    assert copy is not kernel


def test_negative_self_similarity_cannot_be_normalised():
    @mercer.kernel
    def negative(x, y):
        return -(x * y).sum()

    with pytest.raises(KernelError, match="negative self-similarity"):
        negative.normalized()(VECTORS)


def test_specs_of_registered_and_of_unknown_kernels():
    with pytest.raises(KernelError, match="code is not data"):
        kernels.to_spec(my_chi2.normalized())
    mercer.register("my_chi2", my_chi2)
    try:
        spec = kernels.to_spec(my_chi2.normalized() + kernels.Chi2())
        assert kernels.from_spec(spec).left.kernel is my_chi2
        assert kernels.get("my_chi2") is my_chi2
        assert "my_chi2" in kernels.names()
    finally:
        kernels.unregister("my_chi2")
    with pytest.raises(KernelError, match="register it before loading"):
        kernels.from_spec(spec)


def test_precomputed_spec_keeps_the_matrix():
    kernel = kernels.Precomputed(np.eye(3), psd=True)
    assert kernels.from_spec(kernels.to_spec(kernel)) == kernel
    assert kernels.Precomputed(2 * np.eye(3)) != kernel


@pytest.mark.parametrize("alias, name", [("additive_chi2", "chi2"), ("JS", "jensen_shannon"),
                                         ("gaussian", "rbf"), ("jaccard", "tanimoto")])  # fmt: skip
def test_aliases(alias, name):
    assert kernels.get(alias) == kernels.get(name)


def test_hash_agrees_with_equality():
    assert hash(kernels.RBF(gamma=1)) == hash(kernels.RBF(gamma=1))
    assert len({kernels.Tanimoto(), kernels.Tanimoto(), kernels.Tversky()}) == 2
    assert kernels.Chi2() != "chi2"


def test_equal_kernels_are_one_key():
    pairs = [(kernels.RBF(gamma=2), kernels.RBF(gamma=2.0)), (kernels.Chi2(), kernels.Chi2())]
    for one, other in pairs:
        assert one == other
        assert len({one, other}) == len({one.normalized(), other.normalized()}) == 1
    assert len({kernels.RBF(gamma=2), kernels.RBF(gamma=3)}) == 2
