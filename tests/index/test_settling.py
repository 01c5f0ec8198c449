"""The compiled loops of settling against plain NumPy."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.index._settling import (
    bound_errors,
    contenders,
    drop_known,
    find_rows,
    judge,
    keep_best,
    keep_most_promising,
    keep_values,
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
    kept = np.full(ids.shape, 7)
    contenders(ids, scores, np.full(len(ids), margin), k, kept)
    floors = scores[:, k - 1].astype(np.float64) - 2 * margin
    np.testing.assert_array_equal(kept, np.where(scores >= floors[:, None], ids, -1))


@given(st.integers(0, 1000), st.integers(0, 9), st.integers(0, 9))
def test_rows_are_found_where_they_are(seed, first, n):
    ids = np.random.default_rng(seed).integers(-1, 20, (3, 4))
    rows = np.full(ids.shape, 7)
    find_rows(ids, first, n, rows)
    inside = (ids >= first) & (ids < first + n)
    np.testing.assert_array_equal(rows, np.where(inside, ids - first, -1))


@settings(deadline=None)  # the first call compiles
@given(rankings(), st.integers(1, 10))
def test_the_best_are_those_of_a_sort(ranking, k):
    ids, single = ranking
    rng = np.random.default_rng(k)
    scores = np.where(ids >= 0, single.astype(np.float64) + rng.integers(0, 2, ids.shape), -np.inf)
    diag, asked = rng.random(ids.shape), rng.random(len(ids))
    found = np.full((len(ids), k), 7), np.full((len(ids), k), 7.0), np.full((len(ids), k), 7.0)
    keep_best(ids, scores, asked, diag, *found)
    for i in range(len(ids)):
        rows = sorted((-s, row, d) for s, row, d in zip(scores[i], ids[i], diag[i], strict=True)
                      if row >= 0)[:k]  # fmt: skip
        n = len(rows)
        assert found[0][i].tolist() == [row for _, row, _ in rows] + [-1] * (k - n)
        assert found[1][i, :n].tolist() == [-s for s, _, _ in rows]
        squares = [asked[i] + d + 2 * s for s, _, d in rows]
        np.testing.assert_allclose(found[2][i, :n], np.sqrt(np.maximum(squares, 0)))
        assert (found[1][i, n:] == -np.inf).all()
        assert (found[2][i, n:] == np.inf).all()


def test_values_are_kept_and_the_first_odd_one_is_named():
    rows = np.array([[0, -1, 2], [1, 3, -1]])
    single = np.array([[0.5, 0, 0.25], [0.125, 1, 0]], np.float32)
    double = single + np.array([[0, 9, 0.01], [0.02, 0.5, 9]])
    diag, kept = np.array([4.0, 5.0, 6.0, 7.0]), (np.full((2, 3), -np.inf), np.zeros((2, 3)))
    one = np.full(2, 1 / 16), np.full(4, 1 / 16)  # k(q, q) and k(x, x): values are larger

    def odd(tolerance, tiny=0.0):
        return keep_values(rows, single, double, *one, tolerance, tiny, *kept)

    assert odd(0.2) == 4  # 0.5 of 1.5
    np.testing.assert_array_equal(kept[0], np.where(rows >= 0, double, -np.inf))
    assert odd(0.03) == 2  # 0.01 of 0.26
    assert odd(0.03, tiny=0.01) == 3  # 0.02 of 0.145
    assert odd(0.5) == -1
    one = np.full(2, 1e4), diag
    assert odd(0.002) == -1
    assert odd(0.0018) == 4  # 0.5 of √(10⁴ 7)
    np.testing.assert_array_equal(kept[1], np.where(rows >= 0, diag[rows], 0))


def test_rounding_is_in_proportion_to_lengths():
    root, worst, usual = (np.empty(3) for _ in range(3))
    bound_errors(np.array([4.0, 0.0, -1e-20]), 3.0, 2.0, 0.5, root, worst, usual)
    assert (root.tolist(), worst.tolist(), usual.tolist()) == (
        [2, 0, 0],
        [6.5, 0.5, 0.5],
        [4, 0, 0],
    )


def test_what_fell_out_of_a_list_is_stated_or_doubtful():
    """Lists whose last score may hide a row; one with places left; and one not proven."""
    listed = np.array([[0.9, 0.5], [0.9, -np.inf], [0.9, 0.89], [0.9, 0.89]], np.float32)
    scores = np.array([[0.9], [0.9], [0.9], [0.9]])
    margins, root = np.full(4, 0.1), np.ones(4)
    tolerance = np.empty(4)

    def doubtful(allowed, proven):
        known = np.array(proven), margins, np.full(4, allowed), root, 2.0**-50, 2.0**-24, tolerance
        return judge(listed, scores, *known)

    assert doubtful(0.05, [True] * 4)
    assert not doubtful(0.05, [True, True, False, False])
    rounded = 2 * 2.0**-50 + 2.0**-24 * 0.9
    np.testing.assert_allclose(tolerance, [rounded, rounded, 0.05, 0.05])
    assert not doubtful(0.5, [True] * 4)
    np.testing.assert_allclose(tolerance[2:], 0.09, rtol=1e-6)


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
