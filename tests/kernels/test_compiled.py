"""A user's own pair function: right, fast, and with errors that help."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from numba import njit
from reference import PAIRS, gram
from zoo import COUNTS, HISTOGRAMS, VECTORS, my_chi2, my_dot

import mercer
from mercer import kernels
from mercer.errors import InputError, KernelError
from mercer.kernels import compiled

HALF = 0.5


def test_same_values_as_the_built_in():
    np.testing.assert_allclose(my_chi2(HISTOGRAMS), kernels.Chi2()(HISTOGRAMS), rtol=1e-6)
    expected = gram(PAIRS["chi2"], HISTOGRAMS, HISTOGRAMS)
    np.testing.assert_allclose(my_chi2(HISTOGRAMS, dtype=np.float64), expected, rtol=1e-12)
    np.testing.assert_allclose(my_chi2(COUNTS), kernels.Chi2()(COUNTS), rtol=1e-6)


def literal_forms():
    def integer_start(x, y):
        total = 0
        for i in range(x.shape[0]):
            total += 2 * x[i] * y[i] / 4
        return total

    def global_factor(x, y):
        total = 0.0
        for i in range(len(x)):
            total += HALF * x[i] * y[i]
        return total

    def with_bounds(x, y):
        total = 0.0
        for i in range(len(x)):
            total += max(0, 1 - abs(x[i] - y[i]) ** 2)
        return total

    factor = 0.5

    def closure(x, y):
        total = 0.0
        for a, b in zip(x, y):  # noqa: B905, numba has no strict
            total += factor * a * b
        return total

    return [integer_start, global_factor, with_bounds, closure]


@pytest.mark.parametrize("function", literal_forms(), ids=lambda f: f.__name__)
def test_literals_take_the_precision_of_the_items(function, monkeypatch):
    pairs = []
    loops = compiled.user_loops
    monkeypatch.setattr(compiled, "user_loops", lambda f, o: pairs.append(f) or loops(f, o))
    kernel = mercer.kernel(function)
    expected = gram(function, VECTORS, VECTORS[:5])
    np.testing.assert_allclose(kernel(VECTORS, VECTORS[:5]), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        kernel(VECTORS, VECTORS[:5], dtype=np.float64), expected, rtol=1e-12, atol=1e-13
    )
    returned = {
        (signature.args[0].dtype.name, signature.return_type.name)
        for pair in pairs
        for signature in pair.nopython_signatures
    }
    assert returned == {("float32", "float32"), ("float64", "float64")}


def test_integers_stay_integers_where_no_float_is_met():
    @mercer.kernel
    def every_second(x, y):
        total = 0.0
        n = 0
        for i in range(0, len(x) // 2):
            total += x[2 * i] * y[2 * i]
            n += 1
        return total / n**2

    expected = (VECTORS[:, ::2].astype(float) @ VECTORS[:, ::2].T.astype(float)) / 144
    np.testing.assert_allclose(every_second(VECTORS), expected, rtol=1e-4, atol=1e-6)


def test_may_call_compiled_functions_and_math():
    @njit
    def squared(x, y):
        return ((x - y) ** 2).sum()

    @mercer.kernel(psd=True)
    def gaussian(x, y):
        return math.exp(-squared(x, y))

    np.testing.assert_allclose(gaussian(VECTORS), kernels.RBF(gamma=1.0)(VECTORS), atol=1e-6)


def test_infinity_may_be_used_inside():
    @mercer.kernel
    def nearest_feature(x, y):
        best = np.inf
        for i in range(len(x)):
            gap = abs(x[i] - y[i])
            if gap < best:
                best = gap
        return 0.0 if best == np.inf else 1 / (1 + best)

    expected = gram(lambda x, y: 1 / (1 + np.abs(x - y).min()), VECTORS, VECTORS[:6])
    np.testing.assert_allclose(nearest_feature(VECTORS, VECTORS[:6]), expected, rtol=1e-5)

    @mercer.kernel
    def never_set(x, y):
        best = np.inf
        for i in range(len(x)):
            if x[i] > 1e30:
                best = x[i]
        return 0.0 if best == np.inf else 1.0  # fast arithmetic would say 1

    assert (never_set(VECTORS) == 0).all()


def test_facts_are_declared():
    assert my_chi2.psd
    assert my_chi2.nonnegative
    assert not mercer.kernel(lambda x, y: 1.0).psd
    P = my_dot.prepare(VECTORS)
    assert my_dot.tolerance(P) == (24 + 16) * 2.0**-24
    tight = mercer.kernel(my_dot.function, error=8)
    assert tight.tolerance(tight.prepare(VECTORS)) == 8 * 2.0**-24


def test_composed_kernels_pickle():
    fresh = pickle.loads(pickle.dumps(kernels.RBF(gamma=2.0) + kernels.Chi2()))
    assert fresh == kernels.RBF(gamma=2.0) + kernels.Chi2()


def fails(function, X, **facts):
    with pytest.raises(KernelError) as caught:
        mercer.kernel(function, **facts)(X)
    return str(caught.value)


def test_error_where_it_does_not_compile():
    def asks(x, y):
        return eval("x[0] * y[0]")

    text = fails(asks, VECTORS)
    assert "asks: does not compile" in text
    assert "test_compiled.py" in text
    assert "from_function" in text
    assert "\n" not in text


def test_error_where_it_returns_no_number():
    assert "returns array(" in fails(lambda x, y: x + y, VECTORS)
    assert "returns none" in fails(lambda x, y: None, VECTORS)
    assert "returns complex" in fails(lambda x, y: 1j * x[0], VECTORS)


def test_error_where_it_is_not_symmetric():
    text = fails(lambda x, y: x[0] - y[0], VECTORS)
    assert "Kernels are symmetric" in text
    assert "k(X[" in text


def test_error_where_it_reads_past_its_vectors():
    def too_far(x, y):
        return x[len(x)] * y[len(y)]

    assert "fails on the first items: IndexError" in fails(too_far, VECTORS)


def test_error_where_it_changes_its_vectors():
    def centred(x, y):
        x -= x.mean()
        return (x * y).sum()

    def first_to_zero(x, y):
        x[0] = 0.0
        return x[1] * y[1]

    before = VECTORS.copy()
    for function in (centred, first_to_zero):
        assert "seems to change its vectors" in fails(function, VECTORS)
    np.testing.assert_array_equal(VECTORS, before)


def test_error_where_it_returns_nan():
    text = fails(lambda x, y: np.sqrt(x[0] * y[0] - 1e9), VECTORS)
    assert "is nan" in text


def test_error_where_it_depends_on_something_else():
    calls = []

    def forgetful(x, y):
        return float(len(calls))

    kernel = mercer.kernel(forgetful)
    calls.append(1)
    with pytest.raises(KernelError):
        kernel(VECTORS)


def test_error_where_the_function_has_other_arguments():
    with pytest.raises(InputError, match="cannot be called with two items"):
        mercer.kernel(lambda x: 1.0)
    with pytest.raises(InputError, match="Pass a function"):
        mercer.kernel(3)
