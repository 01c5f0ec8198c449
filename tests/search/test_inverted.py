"""Inverted lists: all lists are a flat scan, knobs find more, filters, damage, concurrency."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from built import Built

import mercer
from mercer import evaluate
from mercer.codes import Product, Sign
from mercer.errors import InputError, StoreError
from mercer.index import searching
from mercer.search import Inverted, Scan, decoded, packed
from mercer.search._code_loops import choose_lists
from mercer.testing import check_searcher

rng = np.random.default_rng(4)
CENTRES = rng.normal(size=(60, 12))


def clustered(n, seed):
    some = np.random.default_rng(seed)
    return (CENTRES[some.integers(60, size=n)] + 0.6 * some.normal(size=(n, 12))).astype(np.float32)


Z, Q = clustered(8000, 0), clustered(40, 1)
CODE = Product(None, "deal", bits=4)


@pytest.fixture(scope="module")
def lists():
    return Built(Inverted(Product(None, "deal", bits=4), n_lists=64), Z)


@pytest.fixture
def no_shortcut(monkeypatch):
    """Let lists be searched even where comparing all rows would be cheaper."""
    monkeypatch.setattr(decoded, "PAIRS", 0)


def distances(lists, Q):
    """Return squared distances to what all codes stand for, by NumPy."""
    stands_for = lists.code_.decode_mixed(lists.codes)[np.argsort(lists.numbers)]
    return np.square(lists.code_.query(Q)[:, None].astype(np.float64) - stands_for).sum(axis=2)


def share_found(found, best):
    return np.mean([np.isin(b, f).mean() for b, f in zip(best, found.rows, strict=True)])


def test_rows_are_in_the_list_of_their_nearest_centroid(lists):
    assert sorted(lists.numbers.tolist()) == list(range(len(Z)))
    V = lists.code_.query(Z[lists.numbers]).astype(np.float64)
    squares = np.square(V[:, None] - lists.centroids_).sum(axis=2)
    member = np.repeat(np.arange(64), np.diff(lists.offsets))
    np.testing.assert_allclose(squares[np.arange(len(V)), member], squares.min(axis=1), rtol=1e-4)
    np.testing.assert_array_equal(lists.codes, lists.code_.encode(Z[lists.numbers]))


def test_all_lists_are_a_scan_of_all_codes(lists, no_shortcut):
    scan = Built(Scan(CODE), Z)
    found, flat = lists.candidates(Q, 50, effort=64), scan.candidates(Q, 50)
    exact = np.sort(distances(lists, Q), axis=1)[:, :50]
    np.testing.assert_allclose(-flat.values, exact, rtol=1e-4, atol=1e-4)
    # fast scan rounds its tables to bytes
    step = 0.02 * distances(lists, Q).max()
    np.testing.assert_allclose(-found.values, exact, atol=step)
    assert share_found(found, flat.rows[:, :40]) > 0.98


def test_more_lists_find_more(lists, no_shortcut):
    best = np.argsort(distances(lists, Q), axis=1)[:, :10]
    shares = [share_found(lists.candidates(Q, 30, effort=n), best) for n in (1, 4, 16, 64)]
    assert shares == sorted(shares)
    assert shares[0] < 0.95 < shares[2]
    assert shares[3] > 0.99


def test_so_many_lists_are_looked_into_on_average(lists):
    for n_probe in (1, 5, 20):
        chosen = (lists._probed(lists.code_.query(Z[::13]), n_probe) >= 0).sum(axis=1)
        assert chosen.mean() == pytest.approx(n_probe, rel=0.15)
        assert chosen.min() >= 1


def test_lists_are_those_within_reach():
    squares = rng.random((30, 50)).astype(np.float32)
    chosen = np.empty((30, 50), np.int64)
    choose_lists(squares, np.float32(0.2), chosen)
    for row, found in zip(squares, chosen, strict=True):
        expected = np.flatnonzero(row <= row.min() + np.float32(0.2))
        np.testing.assert_array_equal(found[: len(expected)], expected)
        assert (found[len(expected) :] == -1).all()


@pytest.mark.parametrize("share", [0.0, 0.002, 0.3, 0.9])
@pytest.mark.parametrize("shortcut", [True, False])
def test_filters(lists, share, shortcut, monkeypatch):
    monkeypatch.setattr(decoded, "PAIRS", 5000 if shortcut else 0)
    allowed = np.random.default_rng(5).random(len(Z)) < share
    found = lists.candidates(Q, 20, allowed, effort=16)
    assert allowed[found.rows[found.rows >= 0]].all()
    wanted = min(20, int(allowed.sum()))
    assert ((found.rows >= 0).sum(axis=1) == wanted).all()
    squares = np.where(allowed, distances(lists, Q), np.inf)
    assert wanted == 0 or share_found(found, np.argsort(squares, axis=1)[:, : wanted // 2]) > 0.95


def test_few_rows_are_compared_one_by_one(lists):
    """Then nothing is rounded to bytes, and all that are asked for are found."""
    allowed = np.zeros(len(Z), bool)
    allowed[100:150] = True
    found = lists.candidates(Q, 80, allowed)
    assert found.rows.shape[1] == 50
    expected = distances(lists, Q)[:, 100:150]
    np.testing.assert_allclose(-found.values, np.sort(expected, axis=1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n_lists", [None, 1, 7, 5000])
def test_contract(n_lists, no_shortcut):
    check_searcher(Inverted(CODE, n_lists), Z[:1000])


def test_contract_with_the_shortcut():
    check_searcher(Inverted(CODE), Z[:1000])


def test_numbers_of_lists():
    assert len(Inverted(CODE).fit(Z[:3000]).centroids_) == 1
    assert len(Inverted(CODE).fit(Z).centroids_) == 64  # 2^6 is next to √8000
    assert len(Inverted(CODE).fit(Z, n=100_000).centroids_) == 256  # of which Z is a sample
    assert len(Inverted(CODE, n_lists=99).fit(Z[:20]).centroids_) == 20


def test_searches_of_different_effort_at_the_same_time(lists, no_shortcut):
    expected = {n: lists.candidates(Q, 20, effort=n).rows for n in (1, 8, 64)}
    wrong = []

    def ask(n):
        for _ in range(20):
            if not np.array_equal(lists.candidates(Q, 20, effort=n).rows, expected[n]):
                wrong.append(n)

    threads = [threading.Thread(target=ask, args=(n,)) for n in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# ---- as an index


def histograms(n, seed):
    some = np.random.default_rng(seed)
    centres = np.random.default_rng(9).dirichlet(np.full(32, 0.3), size=40)
    return np.stack([some.dirichlet(60 * centres[i % 40] + 0.05) for i in range(n)])


@pytest.fixture(scope="module")
def filled():
    X = histograms(8000, 0)
    return mercer.inverted("chi2", n_lists=64).fit(X, measure=False).add(X), X


def test_effort_and_candidates(filled):
    index, X = filled
    asked = histograms(80, 1)
    truth = evaluate.ground_truth("chi2", X, asked, 10)

    def recall(**options):
        return evaluate.recall(index.search(asked, 10, **options), truth)

    assert recall(candidates=60, effort=1) < recall(candidates=60, effort=16) > 0.9
    assert recall(candidates=15, effort=16) < recall(candidates=200, effort=16)
    assert index.search(asked, 10, candidates=30).evaluations.max() == 30
    assert index.search(asked, 10).landmark_evaluations.max() == 0  # square roots need none
    low = index.search(asked, 10, candidates=60, effort=2)
    index.set_params(searcher__n_probe=2)  # the same for all searches to come
    np.testing.assert_array_equal(index.search(asked, 10, candidates=60).ids, low.ids)
    index.set_params(searcher__n_probe=None)


def test_answers_do_not_depend_on_threads_or_blocks(filled, monkeypatch):
    index, X = filled
    whole = index.search(X[:200], 5, n_jobs=1)
    monkeypatch.setattr(searching, "QUERIES", 17)
    cut = index.search(X[:200], 5, n_jobs=2)
    # sums of blocks of another height are rounded otherwise
    assert (whole.ids == cut.ids).mean() > 0.999
    np.testing.assert_allclose(whole.scores, cut.scores, atol=1e-3)


def test_items_as_similar_as_any_can_be_are_proven(filled):
    """No item of a positive semi-definite kernel exceeds √(k(q, q) k(x, x))."""
    index, X = filled
    found = index.search(X[:50], 1, candidates=20)
    assert (found.ids[:, 0] == np.arange(50)).all()
    assert found.exact.all()
    assert not index.search(X[:50], 2, candidates=20).exact.any()
    assert not index.search(histograms(50, 1), 1, candidates=20).exact.any()


@pytest.mark.parametrize("embedding, landmarks", [("auto", 0), ("kpca", 256)])
def test_kernels_of_users_go_through_maps_or_landmarks(embedding, landmarks):
    @mercer.kernel(psd=True, nonnegative=True)
    def overlap(x, y):
        total = 0.0
        for i in range(len(x)):
            total += min(x[i], y[i])
        return total

    X, asked = histograms(3000, 0), histograms(50, 1)
    index = mercer.inverted(overlap, embedding=embedding).fit(X).add(X)
    found = index.search(asked, 10, candidates=100)
    assert (found.landmark_evaluations == landmarks).all()
    assert evaluate.recall(found, evaluate.ground_truth(overlap, X, asked, 10)) > 0.95


def test_saved_lists_answer_alike_and_damage_is_refused(filled, tmp_path):
    index, X = filled
    index.save(tmp_path / "index")
    loaded = mercer.load(tmp_path / "index")
    for effort in (1, 20):
        one, other = (some.search(X[:60], 3, effort=effort) for some in (index, loaded))
        np.testing.assert_array_equal(one.ids, other.ids)
        np.testing.assert_array_equal(one.scores, other.scores)
    for name, value in (
        ("numbers", loaded.segments_.members[0].rows.numbers + np.uint32(1)),
        ("offsets", np.flip(loaded.segments_.members[0].rows.offsets)),
        ("codes", loaded.segments_.members[0].rows.codes[:, :-1]),
    ):
        damaged = mercer.load(tmp_path / "index")
        vars(damaged.segments_.members[0].rows)[name] = value
        with pytest.raises(StoreError, match="Inverted: its rows do not fit together"):
            damaged.search(X[:3], 3)


# ---- what is refused


@pytest.mark.parametrize(
    "options, text",
    [
        ({"code": Product(8)}, "Pass a product code of 4 bits a group"),
        ({"code": Sign(None)}, "Pass a product code of 4 bits a group"),
        ({"code": CODE, "n_lists": 0}, "n_lists is 0"),
        ({"code": CODE, "n_probe": 0}, "n_probe is 0"),
        ({"code": CODE, "seed": -1}, "seed is -1"),
    ],
)
def test_parameters_are_checked(options, text):
    with pytest.raises(InputError, match=text):
        Inverted(**options)


def test_effort_is_for_methods_with_a_knob(filled):
    index, X = filled
    for effort in (0, 2.5, True):
        with pytest.raises(InputError, match=r"Index\.search: effort is"):
            index.search(X[:1], 1, effort=effort)
    with pytest.raises(InputError, match="has no effort to choose"):
        mercer.exact("chi2").fit(X[:99]).add(X[:99]).search(X[:1], 1, effort=3)


def test_rows_of_one_searcher_do_not_disturb_each_other():
    """Everything that is derived from rows and kept is kept with them."""
    searcher = Inverted(Product(None, "deal", bits=4), 16).fit(Z)
    first = Built(searcher, Z)
    allowed = np.arange(len(Z)) % 7 == 0
    first.candidates(Q, 20, allowed)
    first.candidates(Q, 20, effort=16)
    other = Z[::-1][:4000]
    second, fresh = Built(searcher, other), Built(Inverted(CODE, 16).fit(Z), other)
    for mask in (None, allowed[:4000], np.arange(4000) < 50):
        found, expected = (one.candidates(Q, 20, mask).rows for one in (second, fresh))
        np.testing.assert_array_equal(found, expected)


def test_lists_are_joined_as_if_built_at_once(lists):
    cuts = [Z[:5000], Z[5000:5003], Z[5003:]]
    kept = [np.flatnonzero(np.arange(len(cut)) % 3 > 0) for cut in cuts]
    joined = lists.searcher.join([lists.build(cut) for cut in cuts], kept)
    at_once = lists.build(np.concatenate([cut[some] for cut, some in zip(cuts, kept, strict=True)]))
    for name, value in at_once.kept().items():
        np.testing.assert_array_equal(getattr(joined, name), value)


def test_both_ways_to_scan_find_the_same(lists, monkeypatch):
    """Query by query, and list by list where there are many codes."""
    expected = lists.candidates(Q, 40, effort=8)
    monkeypatch.setattr(packed, "LARGE", 0)
    found = Built(lists.searcher, Z).candidates(Q, 40, effort=8)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-6)
    for i in range(len(Q)):  # those that tie with the last may differ
        sure = expected.values[i] > expected.values[i, -1]
        assert set(expected.rows[i, sure]) == set(found.rows[i, sure])
