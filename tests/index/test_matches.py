"""Matches: joining answers of several blocks of queries, and of several sets of items."""

from __future__ import annotations

import numpy as np
import pytest
from zoo import HISTOGRAMS

import mercer
from mercer import evaluate
from mercer.errors import InputError
from mercer.index.matches import Matches

Q = HISTOGRAMS[:6]


def answer(rows, k=4, Q=Q):
    return evaluate.ground_truth("chi2", HISTOGRAMS[rows], Q, k)


def with_ids(found, ids):
    """Return an answer with the ids that some rows have."""
    named = np.append(ids, ids[:1])[found.ids]
    named[found.ids < 0] = -1
    return Matches(**{**vars(found), "ids": named})


def test_concatenate_is_one_answer_to_all_queries():
    whole = answer(slice(None))
    blocks = [answer(slice(None), Q=Q[i : i + 2]) for i in (0, 2, 4)]
    joined = Matches.concatenate(blocks)
    for name, value in vars(whole).items():
        np.testing.assert_array_equal(getattr(joined, name), value)
    assert len(joined) == 6


def test_merge_is_one_answer_from_all_items():
    whole = answer(slice(None))
    parts = [np.arange(0, 30), np.arange(30, 32), np.arange(32, 70)]
    merged = Matches.merge([with_ids(answer(rows), rows) for rows in parts], k=4)
    np.testing.assert_array_equal(merged.ids, whole.ids)
    np.testing.assert_array_equal(merged.scores, whole.scores)
    np.testing.assert_allclose(merged.distances, whole.distances, atol=1e-6)
    assert (merged.evaluations == 70).all()
    assert merged.exact.all()
    assert (merged.probability == 1).all()


def test_merge_keeps_the_weakest_promise():
    left, right = answer(slice(0, 30)), answer(slice(30, 70))
    doubtful = Matches(**{
        **vars(right), "exact": np.arange(6) > 2, "probability": np.full(6, 0.5, np.float32),
        "landmark_evaluations": np.full(6, 9), "tolerance": np.full(6, 0.25, np.float32),
    })  # fmt: skip
    merged = Matches.merge([left, doubtful], k=2)
    assert merged.exact.tolist() == [False] * 3 + [True] * 3
    assert (merged.probability == 0.5).all()
    assert (merged.landmark_evaluations == 9).all()
    assert (merged.tolerance == 0.25).all()


def test_merge_of_short_answers_leaves_empty_places_last():
    left, right = answer([0], k=3), answer([1], k=3)
    merged = Matches.merge([left, right], k=3)
    assert (merged.ids[:, 2] == -1).all()
    assert np.isneginf(merged.scores[:, 2]).all()
    assert (np.diff(merged.scores[:, :2], axis=1) <= 0).all()


def test_ties_go_to_the_first_answer():
    one, two = answer([5], k=1), with_ids(answer([5], k=1), np.array([7]))
    assert (Matches.merge([one, two], 1).ids == 0).all()
    assert (Matches.merge([two, one], 1).ids == 7).all()


def test_other_queries_or_kernels_are_refused():
    other = evaluate.ground_truth("linear", HISTOGRAMS, Q, 2)
    for wrong in (other, answer([0], Q=Q[:3])):
        with pytest.raises(InputError, match="other queries or kernels"):
            Matches.merge([answer([0]), wrong], 2)


def test_lists_and_text():
    X = HISTOGRAMS[:3]
    index = mercer.exact("chi2").fit(X).add(X, ids=["a", "b", "c"])
    found = index.search(X[:1], k=5)
    pairs = found.to_list()[0]
    assert pairs[0][0] == "a"
    assert len(pairs) == 3
    assert repr(found).startswith("Matches(1 queries, k=5, 1 exact, ")
    assert repr(Matches.concatenate([found, found])).startswith("Matches(2 queries")


# ---- one query, some queries, every query


def test_one_answer_is_a_row_without_empty_places():
    found = answer(slice(0, 3), k=5)
    for query, one in enumerate(found):
        assert len(one) == 3
        np.testing.assert_array_equal(one.ids, found.ids[query, :3])
        np.testing.assert_array_equal(one.scores, found.scores[query, :3])
        np.testing.assert_array_equal(one.distances, found.distances[query, :3])
        assert list(one) == found.to_list()[query]
        assert (one.exact, one.evaluations, one.probability) == (True, 3, 1.0)
        assert one.landmark_evaluations == 0
        assert one.tolerance == found.tolerance[query]
    assert list(found[-1]) == list(found[5])
    assert list(found[np.int64(2)]) == found.to_list()[2]
    for outside in (6, -7):
        with pytest.raises(IndexError):
            found[outside]


@pytest.mark.parametrize("key", [slice(2, 5), slice(None, None, -2), np.array([4, 0]), [1, 1],
                                 np.arange(6) % 2 == 0, slice(0, 0)])  # fmt: skip
def test_some_answers_are_matches(key):
    found = answer(slice(None))
    some = found[key]
    rows = np.arange(6)[key]
    assert isinstance(some, Matches)
    assert len(some) == len(rows)
    for name, value in vars(found).items():
        whole = name in ("kernel", "recall", "estimated", "payload")
        expected = value if whole else value[rows]
        np.testing.assert_array_equal(getattr(some, name), expected)


def test_found_tells_items_from_empty_places():
    assert answer(slice(0, 3), k=5).found.tolist() == [3] * 6
    assert answer(slice(None), k=5).found.tolist() == [5] * 6
    index = mercer.exact("chi2").fit(HISTOGRAMS).add(HISTOGRAMS[:2], ids=["a", "b"])
    assert index.search(Q, k=4).found.tolist() == [2] * 6
    assert index.search(Q, k=4, where=["b"]).found.tolist() == [1] * 6
    assert answer(slice(None))[:0].found.shape == (0,)
