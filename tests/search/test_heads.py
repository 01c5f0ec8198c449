"""First bounds from leading components: never below the product of the whole vectors."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.search import _bytes, heads
from mercer.search.heads import ByteHead, FloatHead, choose, residual_of_head

KINDS = [
    FloatHead,
    pytest.param(
        ByteHead,
        marks=pytest.mark.skipif(not _bytes.AVAILABLE, reason="no instruction for bytes here"),
    ),
]


def vectors(n, d, seed=0):
    """Return vectors whose energies fall; one component is the same everywhere, one is 0."""
    Z = np.random.default_rng(seed).normal(size=(n, d)) * np.linspace(2, 0.1, d)
    Z[:, min(3, d - 1)] = 0.75
    Z[:, min(5, d - 1)] = 0
    Z[:, -1] = np.abs(Z[:, -1])
    return Z.astype(np.float32)


def filled(head, Zq, rows, residual=1.0):
    tile = np.full((len(Zq), rows.stop - rows.start), np.nan, np.float32)
    found = head.fill(head.queries(Zq, residual), rows, tile)
    assert found is tile
    return tile.astype(np.float64)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_head", [1, 2, 5, 6, 16, 47])
@pytest.mark.parametrize("n", [1, 15, 16, 17, 200])
def test_no_bound_is_below_the_whole_product(kind, n_head, n):
    """Rows that do not fill a block, no bytes at all, and a query of zeros.

    The bound of bytes has its own rounding inside; that of floats is inside of the residuals.
    """
    Z, Zq = vectors(n, 48), vectors(9, 48, seed=1)
    Zq[4] = 0
    whole = Zq.astype(np.float64) @ Z.T.astype(np.float64)
    slack = 0 if kind is ByteHead else 1e-5
    assert (filled(kind(Z, n_head), Zq, slice(0, n)) >= whole - slack).all()


@pytest.mark.parametrize("kind, loose", [(FloatHead, 1e-5), (ByteHead, 0.15)])
@pytest.mark.parametrize("residual", [1.0, 0.5, 0.0])
def test_a_bound_is_the_product_of_heads_and_of_what_follows(kind, loose, residual):
    """Not looser than that but for bytes, and only the product of residuals is relaxed."""
    if kind is ByteHead and not _bytes.AVAILABLE:
        pytest.skip("no instruction for bytes here")
    Z, Zq = vectors(300, 48), vectors(20, 48, seed=1)
    long = [A.astype(np.float64) for A in (Zq, Z)]
    lost = [np.linalg.norm(A[:, 16:], axis=1) for A in long]
    expected = long[0][:, :16] @ long[1][:, :16].T + residual * np.outer(*lost)
    found = filled(kind(Z, 16), Zq, slice(0, 300), residual)
    assert (found >= expected - 1e-5).all()
    assert (found <= expected + loose * np.outer(*(np.linalg.norm(A, axis=1) for A in long))).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_span_is_a_cut_of_the_whole(kind):
    Z, Zq = vectors(200, 48), vectors(8, 48, seed=1)
    head = kind(Z, 16)
    whole = filled(head, Zq, slice(0, 200))
    for rows in (slice(0, 16), slice(64, 96), slice(112, 117), slice(192, 200)):
        lengths = np.outer(*(np.linalg.norm(A, axis=1) for A in (Zq, Z[rows])))
        gaps = np.abs(filled(head, Zq, rows) - whole[:, rows])
        assert (gaps <= 2 * 20 * 2.0**-24 * lengths).all()  # sums of 17 terms, in another order


def test_rows_encoded_in_several_goes_are_the_same(monkeypatch):
    """The largest errors are those of all rows, not of the last ones."""
    Z, Zq = vectors(200, 48), vectors(8, 48, seed=1)
    Z[3] *= 5
    whole = ByteHead(Z, 16)
    monkeypatch.setattr(heads, "ROWS", 32)
    cut = ByteHead(Z, 16)
    np.testing.assert_array_equal(cut.codes, whole.codes)
    np.testing.assert_array_equal(cut.leads, whole.leads)
    for one, other in zip(cut.queries(Zq), whole.queries(Zq), strict=True):
        np.testing.assert_array_equal(one, other)


def test_residuals_are_rounded_up():
    """Also where the squares are too small or too large for float32."""
    rng = np.random.default_rng(0)
    Z = (rng.normal(size=(500, 9)) * 10.0 ** rng.integers(-30, 30, (500, 1))).astype(np.float32)
    true = np.linalg.norm(Z[:, 4:].astype(np.longdouble), axis=1)
    found = residual_of_head(Z, 4)
    assert found.dtype == np.float32
    assert (found >= true).all()
    assert (found <= true * (1 + 3e-7)).all()
    assert (residual_of_head(np.zeros((1, 3), np.float32), 1) > 0).all()


@pytest.mark.parametrize("available, kind, n_head", [(True, ByteHead, 48), (False, FloatHead, 32)])
def test_the_head_that_pays_depends_on_the_machine(monkeypatch, available, kind, n_head):
    monkeypatch.setattr(_bytes, "AVAILABLE", available)
    head = choose(vectors(20, 101), None)
    assert type(head) is kind
    assert head.n_head == n_head  # whole registers


def test_no_head_where_it_does_not_pay():
    assert choose(vectors(20, heads.LEAST_COMPONENTS), None) is None
    assert choose(vectors(20, heads.LEAST_COMPONENTS + 1), None) is not None
    assert choose(vectors(20, 9), 7) is not None
    assert choose(vectors(20, 9), 8) is None  # as many as there are
