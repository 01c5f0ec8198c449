"""A recall that is measured: it is near that of fresh queries, chooses settings, and warns."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import mercer
from mercer import evaluate
from mercer.errors import InputError, RecallWarning
from mercer.index.measuring import measured

K = 10


def histograms(n, seed, width=48):
    return np.random.default_rng(seed).dirichlet(np.full(width, 0.3), size=n).astype(np.float32)


X, Q = histograms(6000, 0), histograms(300, 1)
TRUTH = evaluate.ground_truth("chi2", X, Q, K)


@pytest.fixture(scope="module", params=["inverted", "graph", "klsh", "kpca_pq"])
def index(request):
    return getattr(mercer, request.param)("chi2").fit(X).add(X)


def quiet(index, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecallWarning)
        return index.search(Q, K, **options)


@pytest.mark.parametrize("candidates", [20, 100, 600])
def test_the_expected_recall_is_near_that_of_fresh_queries(index, candidates):
    """Both are means of 100 and 300 queries: their difference is within four standard errors."""
    found = quiet(index, candidates=candidates)
    assert found.recall == pytest.approx(evaluate.recall(found, TRUTH), abs=0.08)


def test_defaults_find_most_or_warn(index):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = index.search(Q, K)
    warned = any(one.category is RecallWarning for one in said)
    assert evaluate.recall(found, TRUTH) > 0.88 or warned
    assert warned == (found.recall < 0.9)


@pytest.mark.parametrize("target", [0.8, 0.95, 0.99])
def test_a_recall_that_is_asked_for_is_found(index, target):
    found = index.search(Q, K, recall=target)
    assert evaluate.recall(found, TRUTH) >= target
    assert found.recall >= target


def test_too_few_candidates_warn_and_say_what_would_do(index):
    with pytest.warns(RecallWarning, match=r"recall@10 is about .* candidates=\d+ would give 0\.9"):
        index.search(Q[:5], K, candidates=10)


def test_recall_excludes_effort_and_candidates(index):
    with pytest.raises(InputError, match="Pass either recall, or these"):
        index.search(Q, K, recall=0.9, candidates=10)
    for wrong in (0, 1.5, "all"):
        with pytest.raises(InputError, match="recall is"):
            index.search(Q, K, recall=wrong)


def test_info_tells_what_to_expect(index):
    told = index.info()
    assert told["recall measured"] == "on 100 of its own items"
    assert set(told["expected recall"]) == {"k = 1", "k = 10", "k = 50"}
    assert all(0.5 < share <= 1 for share in told["expected recall"].values())


def test_what_is_known_is_saved(index, tmp_path):
    index.save(tmp_path / "index")
    again = mercer.load(tmp_path / "index")
    assert again.info()["expected recall"] == index.info()["expected recall"]
    found = again.search(Q, K, recall=0.95)
    np.testing.assert_array_equal(found.ids, index.search(Q, K, recall=0.95).ids)


def test_nothing_is_measured_where_it_is_switched_off_or_items_are_few():
    for made in (
        mercer.graph("chi2").fit(X, measure=False).add(X),
        mercer.graph("chi2").fit(X[:900]).add(X[:900]),
    ):
        found = made.search(Q[:3], K, candidates=12)  # no warning
        assert found.recall is None
        assert "expected recall" not in made.info()


def test_a_recall_beyond_what_is_known_compares_everything():
    made = mercer.graph("chi2").fit(X, measure=False).add(X)
    found = made.search(Q[:20], K, recall=0.9)
    assert found.exact.all()
    assert (found.evaluations == len(X)).all()
    assert (found.landmark_evaluations == 0).all()
    assert found.recall == 1


def test_measured_again_only_after_many_changes(monkeypatch):
    from mercer.index import state

    times = []
    monkeypatch.setattr(state, "measured", lambda *a: times.append(len(a[1])) or measured(*a))
    made = mercer.inverted("chi2").fit(X).add(X[:2000])
    for start in range(2000, 4000, 250):
        made.add(X[start : start + 250])
    made.remove(np.arange(2500))
    assert times == [2000, 3000, 1500]


def test_copies_of_a_query_are_not_counted_as_found():
    """Every item five times: the nearest others are what matters."""
    few = np.repeat(histograms(1000, 5), 5, axis=0)
    made = mercer.klsh("chi2", n_bits=32).fit(few).add(few)
    found = quiet(made, candidates=30)
    truth = evaluate.ground_truth("chi2", few, Q, K)
    assert found.recall == pytest.approx(evaluate.recall(found, truth), abs=0.1)


def test_queries_from_elsewhere_tell_more():
    """Queries that are mixtures are harder than items."""
    rng = np.random.default_rng(7)
    mixed = (histograms(600, 8) + histograms(600, 9) + rng.dirichlet(np.ones(48), 600)) / 3
    mixed = mixed.astype(np.float32)
    truth = evaluate.ground_truth("chi2", X, mixed[300:], K)
    made = mercer.klsh("chi2", n_bits=64).fit(X, queries=mixed[:300]).add(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecallWarning)
        found = made.search(mixed[300:], K, candidates=100)
    assert found.recall == pytest.approx(evaluate.recall(found, truth), abs=0.08)
    assert made.info()["recall measured"] == "on 100 queries that were given"
