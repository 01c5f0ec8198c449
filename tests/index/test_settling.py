"""The compiled loops of settling against plain NumPy."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.index._settling import (
    contenders,
    drop_known,
    keep_most_promising,
    keep_values,
    settled,
)


@st.composite
def rankings(draw):
    """Return ids and float32 scores with the best first, -1 and minus infinity beside them."""
    n, width = draw(st.integers(1, 4)), draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    scores = rng.integers(0, 5, (n, width)).astype(np.float32) / 4  # many are equal
    ids = np.array([rng.permutation(50)[:width] for _ in range(n)])
    ids[rng.random((n, width)) < draw(st.sampled_from([0.0, 0.3, 1.0]))] = -1
    scores[ids < 0] = -np.inf
    order = np.lexsort((ids, -scores), axis=-1)
    return np.take_along_axis(ids, order, 1), np.take_along_axis(scores, order, 1)


@settings(deadline=None)  # the first call compiles
@given(rankings(), st.integers(1, 8), st.floats(0, 1))
def test_contenders_are_all_within_the_margin(ranking, k, margin):
    ids, scores = ranking
    k = min(k, ids.shape[1])
    kept = contenders(ids, scores, np.full(len(ids), margin, np.float32), k)
    floors = scores[:, k - 1] - np.float32(margin)
    for i in range(len(ids)):
        expected = {row for row, s in zip(ids[i], scores[i], strict=True) if s >= floors[i]}
        assert set(kept[i]) - {-1} == expected - {-1}
    assert kept.shape[1] >= k
    assert kept.shape[1] == k or (scores[:, kept.shape[1] - 1] >= floors).any()


@settings(deadline=None)  # the first call compiles
@given(rankings(), st.integers(1, 10))
def test_the_best_are_those_of_a_sort(ranking, k):
    ids, single = ranking
    rng = np.random.default_rng(k)
    scores = np.where(ids >= 0, single.astype(np.float64) + rng.integers(0, 2, ids.shape), -np.inf)
    own, asked = rng.random(ids.shape), rng.random((len(ids), 1))
    found = settled(ids, scores, asked + own, k)
    for i in range(len(ids)):
        rows = sorted((-s, row, o) for s, row, o in zip(scores[i], ids[i], own[i], strict=True)
                      if row >= 0)[:k]  # fmt: skip
        n = len(rows)
        assert found[0][i].tolist() == [row for _, row, _ in rows] + [-1] * (k - n)
        assert found[1][i, :n].tolist() == [-s for s, _, _ in rows]
        squares = [asked[i, 0] + o + 2 * s for s, _, o in rows]
        np.testing.assert_allclose(found[2][i, :n], np.sqrt(np.maximum(squares, 0)))
        assert (found[1][i, n:] == -np.inf).all()
        assert (found[2][i, n:] == np.inf).all()


def test_values_are_kept_and_the_first_odd_one_is_named():
    rows = np.array([[0, -1, 2], [1, 3, -1]])
    single = np.array([[0.5, 0, 0.25], [0.125, 1, 0]], np.float32)
    double = single + np.array([[0, 9, 0.01], [0.02, 0.5, 9]])
    scores = np.full(rows.shape, -np.inf)
    assert keep_values(rows, single, double, np.full(rows.shape, 0.1), scores) == 4
    np.testing.assert_array_equal(scores, np.where(rows >= 0, double, -np.inf))
    assert keep_values(rows, single, double, np.full(rows.shape, 0.015), scores) == 3
    assert keep_values(rows, single, double, np.full(rows.shape, 1.0), scores) == -1


@settings(deadline=None)  # the first call compiles
@given(st.integers(0, 1000), st.integers(0, 6), st.integers(0, 9))
def test_known_rows_are_dropped(seed, n_known, width):
    rng = np.random.default_rng(seed)
    known = np.sort([rng.permutation(12)[:n_known] - 1 for _ in range(3)], axis=1)
    rows = np.array([rng.permutation(12)[:width] - 1 for _ in range(3)]).reshape(3, width)
    before = rows.copy()
    drop_known(rows, known)
    for i in range(3):
        expected = [-1 if row in known[i] else row for row in before[i].tolist()]
        assert rows[i].tolist() == expected


@settings(deadline=None)
@given(st.integers(0, 1000), st.lists(st.integers(0, 6), min_size=1, max_size=4),
       st.integers(0, 20))  # fmt: skip
def test_the_most_promising_of_several_lists_are_kept(seed, lengths, n):
    """As a stable sort of all values: among equal ones the first list comes first."""
    rng = np.random.default_rng(seed)
    ends = np.cumsum(lengths)
    values = rng.integers(0, 4, (3, ends[-1])).astype(np.float32)
    rows = np.array([rng.permutation(50)[: ends[-1]] for _ in range(3)]).reshape(3, ends[-1])
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        values[:, start:end] = -np.sort(-values[:, start:end], axis=1)
    kept, following = rows.copy(), np.full(3, -np.inf, np.float32)
    keep_most_promising(kept, values, ends, n, following)
    for i in range(3):
        order = np.argsort(-values[i], kind="stable")
        expected = rows[i].copy()
        expected[order[n:]] = -1
        assert kept[i].tolist() == expected.tolist()
        assert following[i] == (values[i, order[n]] if n < ends[-1] else -np.inf)
