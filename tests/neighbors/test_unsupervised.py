"""Neighbours of items: against scikit-learn and against plain sorting."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors
from zoo import HISTOGRAMS, VECTORS

import mercer
from mercer import kernels
from mercer.errors import InputError
from mercer.neighbors import KernelNeighbors

X, Q = VECTORS[:60], VECTORS[60:]
CHI2 = kernels.Chi2()


def test_neighbours_under_rbf_are_those_of_scikit_learn():
    ours = KernelNeighbors("rbf", n_neighbors=4).fit(X)
    theirs = NearestNeighbors(n_neighbors=4).fit(X)
    for queries in (Q, None):
        found, expected = ours.kneighbors(queries), theirs.kneighbors(queries)
        np.testing.assert_array_equal(found[1], expected[1])
        assert (np.diff(found[0], axis=1) >= 0).all()
        for mode in ("connectivity", "distance"):
            graph, other = (one.kneighbors_graph(queries, mode=mode) for one in (ours, theirs))
            np.testing.assert_array_equal(graph.indices, other.indices)
            np.testing.assert_array_equal(graph.indptr, other.indptr)
            assert graph.shape == other.shape
            assert type(graph) is type(other)
    assert ours.kneighbors(Q, n_neighbors=2, return_distance=False).shape == (10, 2)


def test_scores_and_distances_are_those_of_the_kernel():
    made = KernelNeighbors("chi2", n_neighbors=3).fit(HISTOGRAMS)
    found, K = made.matches(HISTOGRAMS[:5]), CHI2(HISTOGRAMS[:5], HISTOGRAMS, dtype=np.float64)
    np.testing.assert_allclose(found.scores, -np.sort(-K, axis=1)[:, :3], rtol=1e-6)
    distances, ids = made.kneighbors(HISTOGRAMS[:5])
    np.testing.assert_array_equal(ids, found.ids)
    diag = CHI2.diag(HISTOGRAMS, dtype=np.float64)
    squares = diag[:5, None] + diag[ids] - 2 * np.take_along_axis(K, ids, 1)
    np.testing.assert_allclose(distances**2, squares, atol=1e-6)
    graph = made.kneighbors_graph(HISTOGRAMS[:5], mode="score")
    np.testing.assert_array_equal(graph.data.reshape(5, 3), found.scores)


@pytest.mark.parametrize("kernel", ["chi2", "linear", "cosine"])
def test_items_are_left_out_of_their_own_answers(kernel):
    """Also where other items score higher, or the same: an item is then not among the best."""
    items = np.vstack([HISTOGRAMS[:20], HISTOGRAMS[:5], HISTOGRAMS[:5], 3 * HISTOGRAMS[20:24]])
    made = KernelNeighbors(kernel, n_neighbors=6).fit(items)
    K = kernels.get(kernel)(items, items, dtype=np.float64)
    np.fill_diagonal(K, -np.inf)
    found = made.matches()
    assert not (found.ids == np.arange(len(items))[:, None]).any()
    np.testing.assert_allclose(found.scores, -np.sort(-K, axis=1)[:, :6], rtol=1e-6)
    assert all(len(set(row)) == 6 for row in found.ids.tolist())
    np.testing.assert_array_equal(made.kneighbors()[1], found.ids)


def test_all_neighbours_above_a_score():
    made = KernelNeighbors("chi2").fit(HISTOGRAMS)
    K = CHI2(HISTOGRAMS, HISTOGRAMS, dtype=np.float64)
    distances, ids = made.radius_neighbors(HISTOGRAMS[:7], score=0.6)
    for query in range(7):
        assert set(ids[query]) == set(np.flatnonzero(K[query] >= 0.6))
        assert (np.diff(distances[query]) >= 0).all()
        assert len(distances[query]) == len(ids[query])
    np.fill_diagonal(K, -np.inf)
    own = made.radius_neighbors(score=0.6, return_distance=False)
    assert [set(one) for one in own] == [set(np.flatnonzero(row >= 0.6)) for row in K]


def test_a_recall_chooses_a_method_and_is_reached():
    items = np.random.default_rng(0).dirichlet(np.ones(8), 3000).astype(np.float32)
    made = KernelNeighbors("chi2", n_neighbors=5, recall=0.9, random_state=0).fit(items)
    truth = mercer.evaluate.ground_truth("chi2", items, items[:200], 5)
    assert mercer.evaluate.recall(made.matches(items[:200]), truth, 5) >= 0.85
    assert made.index_.explain().why
    proven = KernelNeighbors("chi2", n_neighbors=5).fit(items).matches(items[:200])
    assert proven.exact.all()
    np.testing.assert_array_equal(proven.ids, truth.ids)


def test_searches_that_find_too_few_are_repeated(monkeypatch):
    made = KernelNeighbors("chi2", n_neighbors=3).fit(HISTOGRAMS)
    whole, search = made.matches(HISTOGRAMS[:4]), made.index_.search

    def poor(Q, k, recall=None, n_jobs=None):
        return search(Q, k, where=[0, 1] if recall is None else None)

    monkeypatch.setattr(made.index_, "search", poor)
    np.testing.assert_array_equal(made.matches(HISTOGRAMS[:4]).ids, whole.ids)


@pytest.mark.parametrize("call, told", [
    (lambda: KernelNeighbors().fit(X).kneighbors(Q, 61), "n_neighbors is 61, but there are 60 it"),
    (lambda: KernelNeighbors().fit(X).kneighbors(None, 60), "there are 59 other items"),
    (lambda: KernelNeighbors(n_neighbors=0).fit(X), "n_neighbors is 0"),
    (lambda: KernelNeighbors().fit(X).kneighbors_graph(mode="far"), "mode is 'far'. Pass one of: "),
    (lambda: KernelNeighbors("chi3").fit(X), "no kernel is called 'chi3'"),
    (lambda: KernelNeighbors(recall=2).fit(X), "recall is 2"),
    (lambda: KernelNeighbors().fit(X).radius_neighbors(score=None), "score is None"),
    (lambda: KernelNeighbors(kernels.MaxSim()).fit("abc"), "got one string"),
])  # fmt: skip
def test_what_is_wrong(call, told):
    with pytest.raises(InputError, match=told):
        call()
