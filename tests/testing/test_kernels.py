"""The public checks catch kernels that break their promises."""

from __future__ import annotations

import numpy as np
import pytest
from zoo import COUNTS, HISTOGRAMS, VECTORS

import mercer
from mercer import kernels
from mercer.errors import CheckError, InputError
from mercer.testing import check_kernel


def broken(**changes):
    """Return a linear kernel with some of its methods or facts replaced."""
    return type("Broken", (kernels.Linear,), changes)()


def noisy(self, P, R, out):
    out[:] = np.random.default_rng().random(out.shape)


def off_tile(self, P, R, out):
    kernels.Linear._tile(self, P, R, out)
    out += 1e-3


def rough(self, P, R, out):
    kernels.Linear._tile(self, P, R, out)
    if out.dtype == np.float32:
        out *= 1 + 1e-3


def skewed(self, P, R, out):
    kernels.Linear._tile(self, P, R, out)
    out += P.rows[:, :1]


def depends_on_the_block(self, P, R, out):
    kernels.Linear._tile(self, P, R, out)
    out += P.rows[0, 0] ** 2 + R.rows[0, 0] ** 2


@pytest.mark.parametrize(
    "kernel, text",
    [
        (broken(psd="yes"), "`psd` is 'yes'"),
        (broken(tolerance=lambda self, *P, dtype=None: -1.0), "`tolerance` is -1.0"),
        (broken(_tile=noisy), "raw items give other values"),
        (broken(_tile=skewed), "differs from k"),
        (broken(_diag=lambda self, P, dtype: np.ones(len(P), dtype)), "`diag` differs"),
        (broken(_gather=lambda self, P, R, ids, dtype: np.ones(ids.shape, dtype),
                _diag=lambda self, P, dtype: np.einsum("ij,ij->i", *2 * (P.rows,))),
         "`score` differs"),
        (broken(_tile=depends_on_the_block), "differ"),
        (broken(_tile=rough), "differ"),
        (broken(_tile=off_tile), "differs"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)  # fmt: skip
def test_broken_promises_are_caught(kernel, text):
    with pytest.raises(CheckError, match=text):
        check_kernel(kernel, VECTORS)


def test_a_kernel_that_lies_about_being_psd_is_caught():
    @mercer.kernel(psd=True)
    def distance(x, y):
        return np.abs(x - y).sum()

    with pytest.raises(CheckError, match="declares psd but has eigenvalue -"):
        check_kernel(distance, VECTORS)
    check_kernel(mercer.kernel(distance.function), VECTORS)  # without the claim it is fine


def test_a_kernel_that_accepts_negative_values_is_caught():
    class Trusting(kernels.Chi2):
        nonnegative = True

        def prepare(self, X, **kwargs):
            X = X if isinstance(X, kernels.Prepared) else np.asarray(X)
            return super().prepare(np.abs(X) if isinstance(X, np.ndarray) else X, **kwargs)

    with pytest.raises(CheckError, match="accepts a negative value"):
        check_kernel(Trusting(), HISTOGRAMS)


def test_too_few_items():
    with pytest.raises(InputError, match="Pass at least 3"):
        check_kernel("chi2", COUNTS[:2])


def test_by_name_and_says_what_it_checked():
    lines = check_kernel("chi2", COUNTS)
    assert "float32 is within the tolerance of float64" in lines
