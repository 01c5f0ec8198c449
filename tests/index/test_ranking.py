"""Re-ranking: no evaluation too many, and a proof only where there is one."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from hostile import items, near_ties

import mercer
from mercer import kernels
from mercer.index import searching
from mercer.index.ranking import ROUND, Ranking
from mercer.index.recipe import Recipe
from mercer.index.settling import settle
from mercer.index.views import Queries, View
from mercer.search import BoundScan

rng = np.random.default_rng(0)
CHI2 = kernels.Chi2()
HISTOGRAMS = rng.dirichlet(np.full(16, 0.5), 3000).astype(np.float32)
Q = rng.dirichlet(np.full(16, 0.5), 60).astype(np.float32)


def ranked(kernel, X, Q, k, n_components=16, views=1, ceiling=None):
    """Return a ranking over some views, and the embedding."""
    pca = mercer.embeddings.KernelPCA(kernel, n_components, n_landmarks=150, residual=True)
    P, Pq = kernel.prepare(X), kernel.prepare(Q)
    pca.fit(P)
    cuts = np.array_split(np.arange(len(X)), views)
    recipe = Recipe(kernel, pca, BoundScan())
    found = [View(recipe.build(P.take(rows), rows), int(rows[0])) for rows in cuts]
    tolerances = {view.first: kernel.tolerance(Pq, view.items) for view in found}
    ranking = Ranking(recipe, Queries(Pq, pca), found, k, tolerances)
    ranking.recipe = recipe
    ranking.ceiling = ceiling
    return ranking, pca


@pytest.mark.parametrize("kernel", [CHI2, kernels.RBF(gamma=4.0)], ids=repr)
@pytest.mark.parametrize("k", [1, 10])
@pytest.mark.parametrize("n_components", [16, 70])
@pytest.mark.parametrize("views", [1, 4])
def test_no_more_evaluations_than_the_bounds_need(kernel, k, n_components, views):
    """Theory: order. rows whose bound reaches the k-th score, the seeds, and the last round."""
    ranking, pca = ranked(kernel, HISTOGRAMS, Q, k, n_components, views)
    ranking.search_all()
    Z, Zq = pca.transform(HISTOGRAMS), pca.transform(Q)
    K = kernel(Q, HISTOGRAMS, dtype=np.float64)
    U = Zq.astype(np.float64) @ Z.T.astype(np.float64)
    error = np.max([ranking._errors([view]).worst for view in ranking.views], axis=0)
    least = reference.needed(U + 1e-6, K, k, 2 * error)
    assert (ranking.evaluations <= least + k + views * ROUND).all()
    assert ranking.evaluations.mean() <= least.mean() + k + ROUND
    assert (ranking.evaluations >= reference.needed(U - 1e-5, K, k, -error)).all()
    assert ranking.proven.all()
    rows, scores, _, tolerance = settle(ranking)
    _, best = reference.best(K, k)
    assert (np.abs(scores - best) <= tolerance[:, None]).all()
    assert (np.take_along_axis(K, rows, 1) >= best - tolerance[:, None]).all()


def test_a_bound_that_floats_reach_is_at_most_that_many():
    """With one query at a time nothing is shared: seeds and rows that reach, no more."""
    ranking, pca = ranked(CHI2, HISTOGRAMS, Q[:1], 5)
    ranking.search_all()
    U = pca.transform(Q[:1]) @ pca.transform(HISTOGRAMS).T
    seeds = BoundScan().seeds(ranking.views[0].rows, pca.transform(Q[:1]), 5)
    K = CHI2(Q[:1], HISTOGRAMS)
    threshold = np.sort(K[0, seeds.rows[0]])[0] - ranking._errors(ranking.views[:1]).worst[0]
    assert ranking.evaluations[0] <= (U[0] >= threshold - 1e-6).sum() + 5


@pytest.mark.parametrize(
    "kernel", [CHI2, kernels.Intersection(), kernels.JensenShannon()], ids=repr
)
def test_ceilings_save_evaluations_and_change_nothing(kernel):
    with_ceiling, _ = ranked(kernel, HISTOGRAMS, Q, 5, 8, ceiling=kernel.ceiling)
    without, _ = ranked(kernel, HISTOGRAMS, Q, 5, 8)
    for ranking in (with_ceiling, without):
        ranking.search_all()
    np.testing.assert_array_equal(settle(with_ceiling)[0], settle(without)[0])
    assert with_ceiling.evaluations.sum() <= without.evaluations.sum()
    ceilings = kernel.ceiling(Q, HISTOGRAMS, dtype=np.float64)
    assert (ceilings >= kernel(Q, HISTOGRAMS, dtype=np.float64) - 1e-12).all()


@pytest.mark.parametrize("n", [1, 3, 20, 200, 3000])
@pytest.mark.parametrize("views", [1, 5])
def test_some_candidates_are_proven_only_where_they_suffice(n, views):
    ranking, _ = ranked(CHI2, HISTOGRAMS, Q, 3, 70, views)
    ranking.search_some(n)
    assert (ranking.evaluations <= n).all()
    _, best = reference.best(CHI2(Q, HISTOGRAMS, dtype=np.float64), 3)
    rows, scores, _, tolerance = settle(ranking)
    right = (scores >= best - tolerance[:, None]).all(axis=1)
    assert right[ranking.proven].all()
    assert n < 3000 or ranking.proven.all()
    if n < 3:
        assert not ranking.proven.any()
        assert (rows[:, n:] == -1).all()


def test_one_query_at_a_time_is_not_proven_by_accident():
    """Candidates cut off by rounding would look as if there were no others."""
    ranking, _ = ranked(CHI2, HISTOGRAMS[:400], Q, 1)
    K = CHI2(Q, HISTOGRAMS[:400], dtype=np.float64)
    for query in range(len(Q)):
        P = ranking.queries.items[query : query + 1]
        alone = Queries(P, ranking.queries.embedding, query)
        one = Ranking(ranking.recipe, alone, ranking.views, 1, ranking.tolerances)
        one.search_some(2)
        best = settle(one)[1][0, 0]
        assert not one.proven[0] or best >= K[query].max() - 1e-6


@pytest.mark.parametrize("score", [0.99, 0.8, 0.5, 0.0, -1.0])
def test_all_above_a_score(score):
    ranking, _ = ranked(CHI2, HISTOGRAMS[:500], Q[:9], 1, 16, 3)
    K = CHI2(Q[:9], HISTOGRAMS[:500], dtype=np.float64)
    for query, (rows, scores) in enumerate(ranking.search_above(score)):
        assert set(rows.tolist()) == set(np.flatnonzero(K[query] >= score).tolist())
        np.testing.assert_allclose(scores, K[query, rows], rtol=1e-12)
        assert (np.diff(scores) <= 0).all()


@pytest.mark.parametrize("make", [mercer.exact, mercer.brute])
def test_a_score_that_is_just_reached_counts(make):
    """Products of whole numbers are exact, so nothing is left to rounding."""
    draw = np.random.default_rng(1)
    X, Y = (draw.integers(0, 4, (n, 5)).astype(np.float32) for n in (120, 8))
    K = Y @ X.T
    index = make("linear").fit(X).add(X[:70]).add(X[70:])
    for score in np.unique(K)[::7].tolist():
        for query, found in enumerate(index.within(Y, score)):
            expected = np.flatnonzero(K[query] >= score)
            assert sorted(found.ids[0].tolist()) == expected.tolist()
            order = np.lexsort((found.ids[0], -found.scores[0]))
            assert order.tolist() == list(range(len(expected)))  # ties by id


def test_what_was_left_out_is_worse_only_by_more_than_rounding():
    """A bound that lies within the error of the k-th best score proves nothing."""
    ranking, _ = ranked(CHI2, HISTOGRAMS[:300], Q, 3, 16, 2)
    ranking.search_some(20)
    threshold = ranking.scores[:, 2]
    error = np.max([ranking._errors([view]).worst for view in ranking.views], axis=0)
    assert (error > 0).all()
    for share, proven in ((-0.5, False), (0, False), (0.5, False), (2, True)):
        assert (ranking._nothing_better(threshold - share * error) == proven).all()


def test_relaxed_bounds_prove_nothing():
    for relaxed, proven in ((1.0, True), (0.9, False)):
        ranking, _ = ranked(CHI2, HISTOGRAMS[:300], Q, 3)
        ranking.search_all(relaxed)
        assert (ranking.proven == proven).all()


def test_nothing_to_search():
    ranking = ranked(CHI2, HISTOGRAMS[:50], Q, 2)[0]
    empty = Ranking(ranking.recipe, ranking.queries, [], 1, {})
    empty.search_all()
    empty.search_some(5)
    assert [len(rows) for rows, _ in empty.search_above(0.1)] == [0] * 60
    assert not empty.evaluations.any()


def test_double_precision_settles_near_ties():
    X = near_ties(400, 16, 4)
    ranking, _ = ranked(CHI2, X, X[:40], 3)
    ranking.search_all()
    rows, scores, _, _ = settle(ranking)
    K = CHI2(X[:40], X, dtype=np.float64)
    np.testing.assert_array_equal(scores, np.take_along_axis(K, rows, 1))
    expected, _ = reference.best(K, 3)
    assert (np.take_along_axis(K, rows, 1) == np.take_along_axis(K, expected, 1)).mean() > 0.99


@pytest.mark.parametrize("k", [1, 3])
def test_what_floats_put_behind_can_come_first(k):
    """Rows beyond the k best by float32 are settled too, if they are that close."""
    X = near_ties(800, 64, 5)
    K = CHI2(X[:200], X, dtype=np.float64)
    expected = reference.best(K, k)[1]
    by_floats = reference.best(CHI2(X[:200], X), k)[0]
    assert (np.take_along_axis(K, by_floats, 1) < expected).any()  # they do mislead
    ranking, _ = ranked(CHI2, X, X[:200], k)
    ranking.search_all()
    np.testing.assert_array_equal(settle(ranking)[1], expected)


@pytest.mark.parametrize("kernel", [CHI2, kernels.Linear(), kernels.JensenShannon()], ids=repr)
def test_the_error_bounds_the_rounding_of_every_score(kernel):
    """With items that are 10,000 times as large as others in the same view."""
    X = items(600, 24, 3)
    ranking, _ = ranked(kernel, X, X[:60], 3, views=2)
    for view in ranking.views:
        pair = X[:60], X[view.first : view.first + len(view.items)]
        off = np.abs(kernel(*pair).astype(np.float64) - kernel(*pair, dtype=np.float64))
        error = ranking._errors([view]).worst
        assert (off <= error[:, None]).all()
        assert off.max() > error.max() / 100  # and is no wild guess


def test_many_queries_are_cut_into_blocks(monkeypatch):
    index = mercer.exact("chi2", n_landmarks=40, n_components=12).fit(HISTOGRAMS[:300])
    index.add(HISTOGRAMS[:300])
    whole = index.search(Q, 4)
    monkeypatch.setattr(searching, "QUERIES", 7)
    for n_jobs in (1, 2):
        cut = index.search(Q, 4, n_jobs=n_jobs)
        np.testing.assert_array_equal(cut.ids, whole.ids)
        np.testing.assert_array_equal(cut.scores, whole.scores)


@pytest.mark.parametrize(
    "make",
    [mercer.brute, lambda kernel: mercer.exact(kernel, n_landmarks=8)],
    ids=["brute", "exact"],
)
def test_errors_name_rows_among_all_segments(make):
    """The pair is counted over all items and queries, not over those of a segment."""
    bad = 42.5

    def near(x, y):
        return np.nan if {x, y} == {0.25, bad} else np.exp(-((x - y) ** 2) / 5000)

    rows = [float(row) for row in range(40)]
    index = make(kernels.from_function(near, psd=True)).fit(rows).add(rows)
    index.add([100.0, 101.0, bad])
    assert len(index.segments_.members) == 2
    with pytest.raises(mercer.KernelError, match=r"k\(X\[1\], Y\[42\]\) is nan"):
        index.search([3.0, 0.25], 43)
