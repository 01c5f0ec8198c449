"""The k best, against a stable sort."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from reference import best

from mercer.runtime import topk

tied_scores = hnp.arrays(
    np.float32, st.tuples(st.integers(1, 4), st.integers(1, 60)), elements=st.integers(-3, 3)
)


@settings(max_examples=150, deadline=None)
@given(tied_scores, st.integers(1, 70), st.integers(1, 60), st.data())
def test_any_order_of_blocks_gives_the_sorted_answer(K, k, step, data):
    """Ties go to the smaller row, whatever the order in which blocks are offered."""
    k = min(k, K.shape[1])
    ids, scores = topk.empty(len(K), k)
    starts = data.draw(st.permutations(range(0, K.shape[1], step)))
    for start in starts:
        topk.update(ids, scores, K[:, start : start + step], start)
    found_ids, found = topk.ordered(ids, scores)
    expected_ids, expected = best(K, k)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found_ids, expected_ids)


@settings(max_examples=80, deadline=None)
@given(tied_scores, st.integers(1, 20), st.integers(0, 60))
def test_merging_parts_gives_the_whole(K, k, cut):
    parts = []
    for start, block in ((0, K[:, :cut]), (cut, K[:, cut:])):
        heaps = topk.empty(len(K), k)
        topk.update(*heaps, block, start)
        parts.append(heaps)
    ids, scores = topk.merge(parts, k)
    expected_ids, expected = best(K, k)
    width = expected.shape[1]
    np.testing.assert_array_equal(ids[:, :width], expected_ids)
    np.testing.assert_array_equal(scores[:, :width], expected)
    assert (ids[:, width:] == -1).all()
    assert np.isneginf(scores[:, width:]).all()


@settings(max_examples=100, deadline=None)
@given(tied_scores, st.integers(1, 70), st.integers(1, 60), st.data())
def test_inserting_keeps_lists_sorted(K, k, step, data):
    """Blocks of rows in any order, some of them -1: the best first, as a stable sort gives."""
    k = min(k, K.shape[1])
    order = np.array(data.draw(st.permutations(range(K.shape[1]))))
    ids, scores = topk.empty(len(K), k)
    counts = np.zeros(len(K), np.int64)
    for start in range(0, len(order), step):
        rows = np.tile(order[start : start + step], (len(K), 1))
        padded = np.pad(rows, ((0, 0), (1, 0)), constant_values=-1)
        given_scores = np.pad(np.take_along_axis(K, rows, 1), ((0, 0), (1, 0)))
        topk.insert(ids, scores, padded, given_scores, 100, counts)
    expected_ids, expected = best(K, k)
    np.testing.assert_array_equal(scores, expected)
    np.testing.assert_array_equal(ids, expected_ids + 100)
    assert (counts == K.shape[1]).all()


@pytest.mark.parametrize("width", [63, 64, 65, 128, 300])
@pytest.mark.parametrize("k", [1, 2, 9, 64])
def test_wide_tiles_are_looked_at_by_strides(width, k):
    """Scores that rise along a tile enter the heap all the time, and many are equal."""
    rng = np.random.default_rng(width + k)
    K = rng.integers(0, 9, (5, 700)).astype(np.float32)
    K[1:3] += np.arange(700) // 8
    K[3] = 1
    ids, scores = topk.empty(len(K), k)
    for start in rng.permutation(np.arange(0, 700, width)):
        topk.update(ids, scores, K[:, start : start + width].copy(), 40 + start)
    found_ids, found = topk.ordered(ids, scores)
    expected_ids, expected = best(K, k)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found_ids, 40 + expected_ids)


@settings(max_examples=100, deadline=None)
@given(tied_scores, st.integers(1, 70), st.integers(1, 60), st.data())
def test_offering_rows_in_any_order_gives_the_sorted_answer(K, k, step, data):
    """Candidates come in any order, and -1 among them is no row, however good its score."""
    order = np.array(data.draw(st.permutations(range(K.shape[1]))))
    ids, scores = topk.empty(len(K), k)
    for start in range(0, len(order), step):
        rows = np.tile(order[start : start + step], (len(K), 1))
        padded = np.pad(rows, ((0, 0), (1, 1)), constant_values=-1)
        values = np.pad(np.take_along_axis(K, rows, 1), ((0, 0), (1, 1)), constant_values=99)
        topk.offer(ids, scores, padded, values)
    found_ids, found = topk.ordered(ids, scores)
    expected_ids, expected = best(K, k)
    n_found = min(k, K.shape[1])
    np.testing.assert_array_equal(found[:, :n_found], expected)
    np.testing.assert_array_equal(found_ids[:, :n_found], expected_ids)
    assert (found_ids[:, n_found:] == -1).all()
    assert np.isneginf(found[:, n_found:]).all()


def test_inserting_counts_only_rows():
    ids, scores = topk.empty(2, 2)
    rows = np.array([[4, -1, -1], [-1, 0, 2]])
    values = np.array([[1, 9, 9], [9, 0.5, 0.5]], np.float32)
    counts = np.array([0, 5])
    topk.insert(ids, scores, rows, values, 10, counts)
    assert counts.tolist() == [1, 7]
    assert ids.tolist() == [[14, -1], [10, 12]]
