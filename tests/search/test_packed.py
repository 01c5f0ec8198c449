"""Lists as faiss scans them: tables of bytes, and of floats where bytes would not do."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer.codes import Product
from mercer.evaluate import ground_truth, recall
from mercer.search import Inverted
from mercer.search.packed import ENOUGH, packed_lists, rounded, share_kept

RNG = np.random.default_rng(0)
DATA = {
    "Gaussian": RNG.normal(size=(8000, 16)),
    "histograms": np.sqrt(RNG.dirichlet(np.ones(16), 8000)),
    "heavy tails": RNG.standard_t(1.5, size=(8000, 16)),
    "few far rows": np.concatenate([RNG.normal(size=(7960, 16)), np.full((40, 16), 1e4)]),
}
TELLING = {"Gaussian": True, "histograms": True, "heavy tails": False, "few far rows": False}


def built(name):
    Z = DATA[name].astype(np.float32)
    lists = Inverted(Product(None, "deal", bits=4)).fit(Z)
    return lists, lists.build(Z)


@pytest.mark.parametrize("name", DATA)
def test_bytes_are_used_where_they_tell_rows_apart(name):
    lists, rows = built(name)
    assert (share_kept(lists.code_, rows) >= ENOUGH) == TELLING[name]
    index = packed_lists(lists.code_, rows).index
    assert type(index).__name__ == ("IndexIVFPQFastScan" if TELLING[name] else "IndexIVFPQ")


@pytest.mark.parametrize("name", ["Gaussian", "heavy tails"])
def test_values_are_distances_to_what_codes_stand_for(name):
    lists, rows = built(name)
    Q = RNG.normal(size=(20, 16)).astype(np.float32)
    found = lists.candidates(rows, Q, 50, effort=len(lists.centroids_))
    V = lists.code_.query(Q)[:, None]
    squares = np.square(V - lists._decoded(rows, found.rows.ravel()).reshape(20, 50, -1)).sum(2)
    # half a step in each of the groups where tables are of bytes
    slack = 1e-4 if name == "heavy tails" else 2.0
    np.testing.assert_allclose(-found.values, squares, rtol=1e-4, atol=slack)


def test_steps_are_those_of_faiss():
    """Its distances are sums of steps, times their width, plus the least value of every table."""
    lists, rows = built("Gaussian")
    code, V = lists.code_, lists.code_.query(DATA["Gaussian"][:5].astype(np.float32))
    found = lists.candidates(rows, DATA["Gaussian"][:5].astype(np.float32), 30, effort=1000)
    for v, values, named in zip(V, found.values, found.rows, strict=True):
        tables = np.square(v.reshape(-1, 1, code.centroids_.shape[2]) - code.centroids_).sum(axis=2)
        ranges = tables.max(axis=1) - tables.min(axis=1)
        step = max(ranges.max() / 255, ranges.sum() / 65_535)
        codes = rows.codes[rows.places[named]]
        numbers = np.stack([codes & 15, codes >> 4], axis=2).reshape(len(codes), -1)
        steps = rounded(tables)[np.arange(len(tables)), numbers].sum(axis=1)
        np.testing.assert_allclose(-values, steps * step + tables.min(axis=1).sum(), rtol=2e-3)


def test_equal_values_have_one_step():
    assert not rounded(np.full((4, 16), 3.0, np.float32)).any()


def test_heavy_tails_are_found():
    """With tables of bytes, .13 of them were found, and fewer the more lists were scanned."""
    X = DATA["heavy tails"].astype(np.float32)
    Q = RNG.standard_t(1.5, size=(100, 16)).astype(np.float32)
    index = mercer.inverted("rbf").fit(X).add(X)
    truth = ground_truth(index.kernel_, X, Q, 10)
    shares = [recall(index.search(Q, 10, effort=e, candidates=100), truth) for e in (2, 8, 32, 128)]
    assert shares == sorted(shares)
    assert shares[-1] > 0.97
    assert recall(index.search(Q, 10), truth) > 0.93
