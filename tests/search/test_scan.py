"""Scanning codes finds what comparing all of them finds."""

from __future__ import annotations

import numpy as np
import pytest
from built import Built

from mercer.codes import Sign
from mercer.search import Scan
from mercer.search._code_loops import asymmetric_scores
from mercer.testing import check_code, check_searcher

rng = np.random.default_rng(5)
Z = rng.normal(size=(1500, 24)).astype(np.float32)
Q = rng.normal(size=(20, 24)).astype(np.float32)


def signs(Z, scan):
    return np.where(scan.code_.query(Z) >= 0, 1.0, -1.0)


def truth(scan):
    """Return the value of every row for every query, by NumPy."""
    rows = signs(Z, scan)
    if scan.asymmetric:
        return scan.code_.query(Q).astype(np.float64) @ rows.T
    return (signs(Q, scan) @ rows.T - rows.shape[1]) / 2  # minus the Hamming distance


@pytest.mark.parametrize("asymmetric", [True, False])
@pytest.mark.parametrize("n_bits", [1, 7, 8, 64, 77, 300])
def test_candidates_are_the_nearest(asymmetric, n_bits):
    scan = Built(Scan(Sign("gaussian", n_bits), asymmetric), Z)
    found = scan.candidates(Q, 50)
    values = truth(scan)
    named = np.take_along_axis(values, found.rows, 1)
    np.testing.assert_allclose(found.values, named, rtol=1e-5, atol=1e-4)
    best = -np.sort(-values, axis=1)[:, :50]
    # fast scan rounds its sums to bytes: a row at the edge may be another of nearly its value
    slack = 0.02 * np.abs(values).max() if asymmetric else 0
    assert (found.values >= best - slack - 1e-4).all()
    assert (np.diff(found.values, axis=1) <= 0).all()


@pytest.mark.parametrize("asymmetric", [True, False])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_filters(asymmetric, share):
    scan = Built(Scan(Sign("orthogonal", 64), asymmetric), Z)
    allowed = rng.random(len(Z)) < share
    found = scan.candidates(Q, 30, allowed)
    wanted = min(30, int(allowed.sum()))
    assert ((found.rows >= 0).sum(axis=1) == wanted).all()
    assert allowed[found.rows[found.rows >= 0]].all()
    values = np.where(allowed, truth(scan), -np.inf)
    best = -np.sort(-values, axis=1)[:, :wanted]
    assert (found.values[:, :wanted] >= best - 0.02 * np.abs(truth(scan)).max() - 1e-4).all()


def test_more_rows_than_there_are():
    scan = Built(Scan(Sign(None)).fit(Z), Z[:3])
    found = scan.candidates(Q, 10)
    assert found.rows.shape[1] == 3
    assert (np.sort(found.rows, axis=1) == [0, 1, 2]).all()


def test_scores_by_tables():
    scan = Built(Scan(Sign("gaussian", 77)), Z)
    weights = np.pad(scan.code_.query(Q), ((0, 0), (0, 3)))  # 80 bits are 10 bytes
    rows = rng.integers(-1, len(Z), (len(Q), 40))
    found = np.zeros(rows.shape, np.float32)
    asymmetric_scores(weights, scan.codes, rows, found)
    expected = np.where(rows >= 0, np.take_along_axis(truth(scan), rows, 1), 0)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("asymmetric", [True, False])
@pytest.mark.parametrize("code", [Sign(None), Sign("gaussian", 50), Sign("orthogonal", 100)])
def test_contract(code, asymmetric):
    check_searcher(Scan(code, asymmetric), Z)
    check_code(code, Z)


def test_faiss_keeps_its_threads():
    faiss = pytest.importorskip("faiss")
    before = faiss.omp_get_max_threads()
    Built(Scan(Sign(None)), Z).candidates(Q, 5)
    assert faiss.omp_get_max_threads() == before
