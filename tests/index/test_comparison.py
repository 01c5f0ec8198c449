"""Brute force on threads: any cut of queries and rows gives the same answer."""

from __future__ import annotations

import numpy as np
import pytest
import reference

from mercer import kernels
from mercer.embeddings import NoVectors
from mercer.index import comparison
from mercer.index.comparison import Comparison
from mercer.index.recipe import Recipe
from mercer.index.settling import settle
from mercer.index.views import View
from mercer.runtime import parallel
from mercer.search import Allowed, Everything

rng = np.random.default_rng(0)
X = rng.dirichlet(np.full(6, 0.5), 90).astype(np.float32)
X[45:] = X[:45]  # every item twice, mostly in another view or cut: ties
Q = X[:7]
CHI2 = kernels.Chi2()
RECIPE = Recipe(CHI2, NoVectors(CHI2).fit(X), Everything())
K = CHI2(Q, X, dtype=np.float64)


def views_of(cuts, allowed=None):
    """Return views that begin at these rows."""
    P = CHI2.prepare(X)
    found = []
    for rows in np.split(np.arange(len(X)), cuts):
        some = None if allowed is None else Allowed.where(allowed[rows])
        found.append(View(RECIPE.build(P.take(rows), rows), int(rows[0]), some))
    return found


def compared(views, k, threads, monkeypatch):
    monkeypatch.setattr(parallel, "count", lambda n_jobs=None: threads)
    made = Comparison(RECIPE, CHI2.prepare(Q), k)
    for view in views:
        made.compare(view)
    merged = made.merged()
    for ranking in merged:
        ranking.finish(views, {view.first: CHI2.tolerance(CHI2.prepare(X)) for view in views})
    rows, scores = (np.concatenate(column) for column in
                    zip(*(settle(ranking)[:2] for ranking in merged), strict=True))  # fmt: skip
    evaluations = np.concatenate([ranking.evaluations for ranking in merged])
    return made, rows, scores, evaluations


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("cuts", [[], [3, 4, 60]], ids=str)
@pytest.mark.parametrize("height", [2, 32])
def test_cuts_do_not_change_the_answer(threads, cuts, height, monkeypatch):
    """Few queries: rows are cut for threads, also views with fewer rows than there are cuts."""
    monkeypatch.setattr(comparison, "LEAST_QUERIES", height)
    made, rows, scores, evaluations = compared(views_of(cuts), 5, threads, monkeypatch)
    n_blocks = -(-len(Q) // height)
    assert [len(block) for block in made.rankings] == [n_blocks] * -(-threads // n_blocks)
    expected, values = reference.best(K, 5)
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_array_equal(scores, values)
    assert (evaluations == len(X)).all()


def test_a_cut_without_allowed_rows(monkeypatch):
    """Evaluations count what is allowed, cut by cut."""
    allowed = np.zeros(len(X), bool)
    allowed[[2, 3, 47, 89]] = True
    _, rows, _, evaluations = compared(views_of([40], allowed), 6, 4, monkeypatch)
    masked = np.where(allowed, K, -np.inf)
    np.testing.assert_array_equal(rows[:, :4], reference.best(masked, 4)[0])
    assert (rows[:, 4:] == -1).all()
    assert (evaluations == 4).all()


def test_queries_are_counted_from_the_first_of_all(monkeypatch):
    """So that an error names the query as the user does."""
    monkeypatch.setattr(parallel, "count", lambda n_jobs=None: 1)
    monkeypatch.setattr(comparison, "MOST_QUERIES", 3)
    made = Comparison(RECIPE, CHI2.prepare(Q), 2)
    assert [ranking.queries.first for ranking in made.rankings[0]] == [0, 3, 6]
