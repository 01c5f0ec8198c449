"""Sorted lists of permuted codes against a walk written naively."""

from __future__ import annotations

import numpy as np
import pytest
from built import Built

from mercer.codes import Code, Sign
from mercer.errors import InputError, StoreError
from mercer.runtime import parallel
from mercer.search import SortedLists, _list_loops
from mercer.search.lists import SortedRows, _frozen, _loop_arguments
from mercer.testing import check_searcher

BITS = [1, 7, 64, 65, 300]
ROWS = 700


def projections(n, n_bits, seed=0, noise=0.7):
    """Return signed values in clusters; in the first ones codes differ in few bits or none."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(12, n_bits))
    of = rng.integers(12, size=n)
    Z = centres[of] + np.where(of < 4, 0.03, noise)[:, None] * rng.normal(size=(n, n_bits))
    Z[: n // 10] = Z[n // 2 : n // 2 + n // 10]
    return Z.astype(np.float32)


def lists_of(n_bits, n=ROWS, **params):
    Z = projections(n, n_bits)
    searcher = SortedLists(Sign(None), **({"n_lists": 6, "neighbours": 2} | params))
    return Built(searcher, Z), Z


def masks(n):
    rng = np.random.default_rng(5)
    shares = {"all": 1.1, "most": 0.9, "some": 0.3, "few": 0.03, "none": 0.0}
    return {"no mask": None} | {name: rng.random(n) < share for name, share in shares.items()}


def budget(searcher):
    """Return how many entries are met at least."""
    return 2 * len(searcher.lists) * (1 + searcher.neighbours)


# ---- the twin


def shared_prefixes(searcher, Z, q):
    """Return how many leading bits each row shares with the query, shape (n_lists, n)."""
    found = []
    for permutation in searcher.permutations:
        alike = (Z >= 0)[:, permutation] == (q >= 0)[permutation]
        found.append(np.cumprod(alike, axis=1).sum(axis=1))
    return np.array(found)


class Walk:
    """Entries of all lists, longest shared prefix first, until there are enough."""

    def __init__(self, searcher, Z, q, n, allowed):
        all_lengths = shared_prefixes(searcher, Z, q)
        lengths = all_lengths if allowed is None else np.where(allowed, all_lengths, -1)
        self.best = lengths.max(axis=0)
        self.budget = 2 * len(lengths) * (1 + searcher.neighbours)
        self.level = Z.shape[1]
        while (lengths >= self.level).sum() < self.budget or len(self.may) < n:
            self.level -= 1
        self.n_above = (lengths > self.level).sum()
        # entries of all rows that were met at least, and at most
        self.met = (all_lengths > self.level).sum(), (all_lengths >= self.level).sum()

    @property
    def must(self):
        """Rows of the levels that were met as a whole."""
        return set(np.flatnonzero(self.best > self.level))

    @property
    def may(self):
        """Those, and the rows of the level that was met in part."""
        return set(np.flatnonzero(self.best >= self.level))


def scores(Z, q, asymmetric):
    if asymmetric:
        return np.where(Z >= 0, 1.0, -1.0) @ q.astype(np.float64)
    return -((Z >= 0) != (q >= 0)).sum(axis=1).astype(np.float64)


def walked(searcher, q, n, allowed=None):
    """Return the rows that the compiled walk finds, in its order; None where it gives up."""
    lists, directories, permutations, codes = _loop_arguments(searcher.rows)
    bits = searcher._compared(q[None], codes.shape[1])[0][0]
    n_lists, n_rows = lists.shape
    keys, found = np.empty(n_lists, np.uint64), np.empty(n_rows, np.int64)
    ends, levels = np.empty(2 * n_lists, np.int64), np.empty(2 * n_lists, np.int64)
    seen = np.zeros(n_rows // 64 + 1, np.uint64)
    _list_loops.locate(lists, directories, permutations, codes, bits, keys, ends, levels)
    n_found = _list_loops.gather(
        lists, permutations, codes, _frozen(np.empty(0, bool) if allowed is None else allowed),
        bits, keys, ends, levels, budget(searcher), n, seen, found,
    )  # fmt: skip
    assert not seen.any()
    return None if n_found < 0 else found[:n_found]


# ---- building


@pytest.mark.parametrize("n_bits", BITS)
@pytest.mark.parametrize("n", [1, 2, 70, ROWS])
def test_lists_are_sorted(n_bits, n):
    searcher, Z = lists_of(n_bits, n)
    for permutation, entries in zip(searcher.permutations, searcher.lists, strict=True):
        assert sorted(permutation) == list(range(n_bits))
        bits = [tuple(row) for row in (Z >= 0)[:, permutation].tolist()]
        assert (entries & 0xFFFFFFFF).tolist() == sorted(range(n), key=lambda row: bits[row])


@pytest.mark.parametrize("n_bits", [31, 32, 33, 96, 200])
def test_equal_keys_are_sorted_by_what_follows(n_bits):
    rng = np.random.default_rng(0)
    Z = np.ones((400, n_bits), np.float32)
    for row in Z[50:]:
        row[rng.integers(n_bits, size=3)] = -1
    searcher = Built(SortedLists(Sign(None), n_lists=4), Z)
    for permutation, entries in zip(searcher.permutations, searcher.lists, strict=True):
        bits = [tuple(row) for row in (Z >= 0)[:, permutation].tolist()]
        assert (entries & 0xFFFFFFFF).tolist() == sorted(range(400), key=lambda row: bits[row])


@pytest.mark.parametrize(
    "n, epsilon, expected",
    [(1000, 1.0, 32), (1000, 2.0, 10), (1000, 0.5, 100), (900, 1.0, 30), (1, 1.0, 1)],
)
def test_epsilon_gives_the_number_of_lists(n, epsilon, expected):
    searcher = Built(SortedLists(Sign(None), epsilon=epsilon), projections(n, 5))
    assert searcher.lists.shape == (expected, n)
    assert budget(searcher) == 2 * expected


def test_lists_above_the_memory_limit_are_refused():
    Z = projections(1000, 64)
    with pytest.raises(InputError, match=r"32 lists of 1000 rows need 0\.000\d+ GB, above mem"):
        Built(SortedLists(Sign(None), memory_limit=32 * 8000), Z)
    searcher = Built(SortedLists(Sign(None), memory_limit=32 * 9004), Z)
    assert searcher.lists.nbytes + searcher.directories.nbytes <= 32 * 9004


@pytest.mark.parametrize(
    "wrong",
    [{"epsilon": 0}, {"epsilon": np.nan}, {"n_lists": 0}, {"neighbours": -1}, {"seed": -1},
     {"memory_limit": 0}, {"code": "sign"}],
)  # fmt: skip
def test_wrong_parameters(wrong):
    with pytest.raises(InputError, match=f"SortedLists: {next(iter(wrong))} is"):
        SortedLists(**({"code": Sign()} | wrong))


def test_codes_that_are_not_bits_are_refused():
    class Centroids(Code):
        distance = "table"
        fit = encode = query = None

    with pytest.raises(InputError, match="compared bit by bit"):
        SortedLists(Centroids())


def test_a_copy_of_the_code_learns():
    Z = projections(100, 8)
    code = Sign("gaussian", n_bits=24)
    searcher = SortedLists(code).fit(Z)
    assert not code.is_fitted
    np.testing.assert_array_equal(searcher.build(Z).codes, searcher.code_.encode(Z))
    np.testing.assert_array_equal(searcher.build(Z[:50]).codes, searcher.code_.encode(Z[:50]))


# ---- searching


@pytest.mark.parametrize("n_bits", BITS)
@pytest.mark.parametrize("name", ["no mask", "all", "most", "some"])
@pytest.mark.parametrize("n", [5, 120])
def test_longest_prefixes_come_first(n_bits, name, n):
    searcher, Z = lists_of(n_bits)
    allowed = masks(ROWS)[name]
    for q in projections(6, n_bits, seed=1):
        rows = walked(searcher, q, n, allowed)
        twin = Walk(searcher, Z, q, n, allowed)
        if rows is None:
            assert twin.met[1] > ROWS
            continue
        assert twin.met[0] <= ROWS
        assert len(set(rows)) == len(rows)
        assert twin.must <= set(rows) <= twin.may
        assert (np.diff(twin.best[rows]) <= 0).all()
        # where it ends: the last level has room for no more, or the n-th row was the last
        assert len(rows) == n or len(rows) - len(twin.must) <= twin.budget - twin.n_above
        assert len(rows) >= n


@pytest.mark.parametrize("n_bits", BITS)
@pytest.mark.parametrize("asymmetric", [True, False])
@pytest.mark.parametrize("n", [1, 10, 100])
def test_candidates_are_the_best_rows_of_the_walk(n_bits, asymmetric, n):
    searcher, Z = lists_of(n_bits, asymmetric=asymmetric)
    Q = projections(8, n_bits, seed=1)
    for name, allowed in masks(ROWS).items():
        n_allowed = ROWS if allowed is None else allowed.sum()
        if max(n, budget(searcher)) >= n_allowed:
            continue  # `test_few_allowed_rows_are_all_ranked`
        found = searcher.candidates(Q, n, allowed)
        assert found.rows.shape == (8, n), name
        for q, rows, values in zip(Q, found.rows, found.values, strict=True):
            twin = Walk(searcher, Z, q, n, allowed)
            met = walked(searcher, q, n, allowed)
            met = np.flatnonzero(allowed) if met is None else met
            assert set(rows) <= set(met)
            expected = scores(Z, q, asymmetric)
            np.testing.assert_allclose(values, expected[rows], rtol=1e-5, atol=1e-4)
            assert (np.lexsort((rows, -values)) == np.arange(n)).all()
            if not asymmetric:  # sums without rounding: ties are by number
                order = np.lexsort((met, -expected[met]))
                assert rows.tolist() == met[order][:n].tolist()
            missed = twin.must - set(rows)
            assert all(expected[row] <= values[-1] + 1e-4 for row in missed)
            best = -np.sort(-expected[met])[:n]
            np.testing.assert_allclose(values, best, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("n_bits", BITS)
@pytest.mark.parametrize("asymmetric", [True, False])
def test_few_allowed_rows_are_all_ranked(n_bits, asymmetric):
    searcher, Z = lists_of(n_bits, asymmetric=asymmetric)
    Q = projections(5, n_bits, seed=1)
    allowed = masks(ROWS)["few"]
    for n in (3, allowed.sum(), ROWS):
        found = searcher.candidates(Q, n, allowed)
        for q, rows, values in zip(Q, found.rows, found.values, strict=True):
            expected = scores(Z, q, asymmetric)
            assert allowed[rows].all()
            assert len(set(rows)) == len(rows) == min(n, allowed.sum())
            np.testing.assert_allclose(values, expected[rows], rtol=1e-5, atol=1e-4)
            best = -np.sort(-expected[allowed])[: len(rows)]
            np.testing.assert_allclose(values, best, rtol=1e-5, atol=1e-4)


def test_allowed_rows_far_from_the_query_are_all_ranked():
    """A walk that meets more entries than there are rows ends, and all are looked at."""
    searcher, Z = lists_of(64, n_lists=20, neighbours=0)
    q = projections(1, 64, seed=1)[0]
    far = shared_prefixes(searcher, Z, q).max(axis=0).argsort(kind="stable")[:60]
    far = np.isin(np.arange(ROWS), far)
    assert far.sum() > budget(searcher)
    assert walked(searcher, q, 7, far) is None
    values = searcher.candidates(q[None], 7, far).values[0]
    best = -np.sort(-scores(Z, q, True)[far])[:7]
    np.testing.assert_allclose(values, best, rtol=1e-5)


@pytest.mark.parametrize("n_lists", [1, 3])
def test_it_goes_on_until_there_are_enough(n_lists):
    searcher, _ = lists_of(64, n_lists=n_lists, neighbours=0)
    Q = projections(4, 64, seed=1)
    for n in (1, 50, 300, ROWS - 1, ROWS, ROWS + 9):
        found = searcher.candidates(Q, n)
        assert found.rows.shape == (4, min(n, ROWS))
        assert all(len(set(rows)) == len(rows) and rows.min() >= 0 for rows in found.rows)


@pytest.mark.parametrize("n_bits", BITS)
def test_a_row_finds_itself(n_bits):
    searcher, Z = lists_of(n_bits, asymmetric=False)
    found = searcher.candidates(Z, 1)
    assert (found.values == 0).all()
    same = (Z >= 0)[found.rows[:, 0]] == (Z >= 0)
    assert same.all()


def test_one_row_and_no_queries():
    q = projections(2, 20)
    one = Built(SortedLists(Sign(None)), q[:1])
    found = one.candidates(q, 5)
    assert found.rows.tolist() == [[0], [0]]
    assert one.candidates(q[:0], 5).rows.shape == (0, 1)


def test_equal_codes_are_named_by_number():
    searcher = Built(SortedLists(Sign(None), n_lists=3), np.ones((50, 40), np.float32))
    found = searcher.candidates(np.ones((1, 40), np.float32), 20)
    assert len(set(found.rows[0])) == 20
    assert (np.diff(found.rows[0]) > 0).all()
    assert (found.values == 40).all()


@pytest.mark.parametrize("params", [{}, {"n_lists": 3}, {"asymmetric": False, "neighbours": 1}])
@pytest.mark.parametrize("code", [Sign(None), Sign("orthogonal", n_bits=50), Sign("gaussian", 3)])
def test_contract(params, code):
    check_searcher(SortedLists(code, **params), projections(500, 20))


def test_the_seed_chooses_the_permutations():
    Z, Q = projections(ROWS, 64), projections(50, 64, seed=1)
    one, same, other = (
        Built(SortedLists(Sign(None), n_lists=4, seed=seed), Z) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one.lists, same.lists)
    np.testing.assert_array_equal(one.candidates(Q, 9).rows, same.candidates(Q, 9).rows)
    assert (one.permutations != other.permutations).any()
    assert (one.candidates(Q, 9).rows != other.candidates(Q, 9).rows).any()


def test_arrays_on_disk_are_searched_by_the_same_machine_code(tmp_path):
    searcher, _ = lists_of(64)
    Q = projections(20, 64, seed=1)
    found = searcher.candidates(Q, 9)
    n_compiled = len(_list_loops.answer.signatures)
    kept = searcher.rows.kept()
    assert sorted(kept) == ["codes", "directories", "lists", "permutations"]
    for name, value in kept.items():
        np.save(tmp_path / f"{name}.npy", value)
        kept[name] = np.load(tmp_path / f"{name}.npy", mmap_mode="r")
    again = searcher.searcher.candidates(SortedRows(**kept), Q, 9)
    np.testing.assert_array_equal(again.rows, found.rows)
    np.testing.assert_array_equal(again.values, found.values)
    assert len(_list_loops.answer.signatures) == n_compiled
    assert searcher.lists.flags.writeable


def test_threads_do_not_disturb_each_other():
    searcher, _ = lists_of(65)
    Q = projections(64, 65, seed=1)
    spans = [(Q[span], 9) for span in parallel.spans(64, 4)]
    parts = parallel.run(searcher.candidates, spans, n_jobs=4)
    rows = np.concatenate([part.rows for part in parts])
    np.testing.assert_array_equal(rows, searcher.candidates(Q, 9).rows)


# ---- quality


def share_found(**params):
    """Return for how many queries the best of all codes is found."""
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(5000, 64)).astype(np.float32)
    Q = Z[:300] + 0.7 * rng.normal(size=(300, 64)).astype(np.float32)
    truth = (Q @ np.where(Z >= 0, 1, -1).T).argmax(axis=1)
    searcher = Built(SortedLists(Sign(None), **params), Z)
    return (searcher.candidates(Q, 1).rows[:, 0] == truth).mean()


def test_more_lists_find_more():
    found = [share_found(n_lists=n_lists) for n_lists in (2, 8, 32, 128)]
    assert (np.diff(found) > 0.1).all()


def test_more_neighbours_find_more():
    found = [share_found(n_lists=8, neighbours=neighbours) for neighbours in (0, 3, 15, 100)]
    assert (np.diff(found) > 0.1).all()


DAMAGES = {
    "a row that is not there": ("lists", lambda a: a | np.uint64(0xFFFF)),
    "a list too short": ("lists", lambda a: a[:, :-1]),
    "a place behind the end": ("directories", lambda a: np.where(a == 400, 401, a).astype(a.dtype)),
    "places that go back": ("directories", lambda a: np.ascontiguousarray(a[:, ::-1])),
    "a directory too short": ("directories", lambda a: a[:, :-2]),
    "a bit that is not there": ("permutations", lambda a: np.where(a == 3, 64, a).astype(a.dtype)),
    "a bit twice": ("permutations", lambda a: np.where(a == 3, 4, a).astype(a.dtype)),
    "a permutation too short": ("permutations", lambda a: a[:, :-1]),
    "codes too short": ("codes", lambda a: a[:, :-1]),
    "codes of another type": ("codes", lambda a: a.astype(np.int8)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_lists_from_a_damaged_file_are_refused(damage):
    """Also where the file is small, so that it was read and not mapped."""
    Z = np.random.default_rng(0).normal(size=(400, 64)).astype(np.float32)
    built = Built(SortedLists(Sign(None), n_lists=5), Z)
    part, change = DAMAGES[damage]
    kept = built.rows.kept()
    built.searcher.require_sound(type(built.rows).read(**kept), 64)
    read = type(built.rows).read(**kept | {part: change(kept[part])})
    with pytest.raises(StoreError, match="SortedLists: its rows do not fit together"):
        built.searcher.require_sound(read, 64)


@pytest.mark.parametrize("n", [1, 5, 700])
@pytest.mark.parametrize("params", [{"epsilon": 1.5}, {"n_lists": 3}])
def test_memory_is_told_before_it_is_taken(n, params):
    built = Built(SortedLists(Sign(None), **params), projections(n, 40))
    taken = built.lists.nbytes + built.directories.nbytes
    assert SortedLists(Sign(None), **params).memory(n, 40) == taken
