"""What items are: every form is accepted, kept compact, and checked in one place."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mercer import Ragged, items, kernels
from mercer.errors import InputError

matrices = hnp.arrays(
    np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.floats(-9, 9)
)


@settings(max_examples=50, deadline=None)
@given(matrices)
def test_every_form_of_a_matrix_means_the_same(A):
    expected = A.astype(np.float32)
    for form in (A, A.tolist(), np.asfortranarray(A), A[::-1][::-1], scipy.sparse.coo_array(A)):
        checked = items.check(form)
        dense = checked.toarray() if items.is_sparse(checked) else checked
        np.testing.assert_array_equal(dense, expected)
        assert dense.dtype == np.float32


def test_float32_and_uint8_are_not_copied():
    for dtype in (np.float32, np.uint8):
        A = np.ones((4, 3), dtype)
        assert np.shares_memory(items.check(A), A)
    assert items.check(np.ones((2, 2), bool)).dtype == np.uint8
    assert items.check(np.ones((2, 2), np.float16)).dtype == np.float32
    assert items.check(np.ones((2, 2), ">f4")).dtype == np.dtype("=f4")


def test_memory_maps_stay_on_disk(tmp_path):
    path = tmp_path / "items.npy"
    np.save(path, np.random.default_rng(0).random((50, 8), dtype=np.float32))
    mapped = np.load(path, mmap_mode="r")
    prepared = kernels.Chi2().prepare(mapped)
    base = prepared.kept
    while base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    np.testing.assert_array_equal(kernels.Chi2()(mapped), kernels.Chi2()(np.array(mapped)))


def test_tables_are_rows():
    class Table:
        """Has what a data frame has."""

        shape = (2, 3)

        def __len__(self):
            return 2

        def to_numpy(self):
            return np.arange(6.0).reshape(2, 3)

    assert items.check(Table()).shape == (2, 3)
    assert len(items.check(Table(), "any")) == 2


def test_anything_stays_as_it_is():
    words = ["a", "b"]
    assert items.check(words, "any") is words
    assert items.check(("a", "b"), "any") == words
    tree = [{"leaf": 1}, {"leaf": 2}]
    assert items.check(tree, "any") is tree


@settings(max_examples=50, deadline=None)
@given(hnp.arrays(bool, hnp.array_shapes(min_dims=2, max_dims=2, max_side=20)))
def test_bits_come_back(bits):
    packed = items.check(bits, "bits")
    np.testing.assert_array_equal(np.unpackbits(packed, axis=1, count=bits.shape[1]), bits)
    np.testing.assert_array_equal(items.check(bits.astype(int), "bits"), packed)
    np.testing.assert_array_equal(items.check(scipy.sparse.csr_array(bits), "bits"), packed)
    assert items.check(packed, "bits") is packed


@settings(max_examples=50, deadline=None)
@given(matrices, st.data())
def test_bad_rows_are_named_and_can_be_dropped(A, data):
    row = data.draw(st.integers(0, len(A) - 1))
    bad = data.draw(st.sampled_from([np.nan, np.inf, -np.inf, 1e300]))
    A[row, data.draw(st.integers(0, A.shape[1] - 1))] = bad
    for form in (A, scipy.sparse.csr_array(A)):
        with pytest.raises(InputError, match=rf"1 of {len(A)} items .*first: row {row + 100}\)"):
            items.check(form, first_row=100)
        good, rows = items.drop_bad(form)
        assert rows.tolist() == [i for i in range(len(A)) if i != row]
        assert items.length(good) == len(rows)


def test_sets_with_bad_values_can_be_dropped():
    sets = Ragged.from_list([[[1.0]], [[2.0], [np.nan]], [[3.0]]])
    with pytest.raises(InputError, match=r"1 of 3 items contain NaN \(first: row 1\)"):
        items.check(sets, "sets")
    good, rows = items.drop_bad(sets, "sets")
    assert rows.tolist() == [0, 2]
    assert [s.tolist() for s in good] == [[[1.0]], [[3.0]]]


def test_sparse_duplicates_are_added_without_touching_the_original():
    C = scipy.sparse.csr_array((np.ones(3), [1, 1, 0], [0, 3]), shape=(1, 2))
    checked = items.check(C)
    np.testing.assert_array_equal(checked.toarray(), [[1, 2]])
    assert C.nnz == 3


def test_blocks_and_take_agree():
    for X in (np.arange(10)[:, None], list("abcdefghij"), scipy.sparse.csr_array(np.eye(10)),
              Ragged(np.arange(20)[:, None], np.arange(0, 21, 2))):  # fmt: skip
        found = list(items.blocks(X, 4))
        assert [start for start, _ in found] == [0, 4, 8]
        assert sum(items.length(block) for _, block in found) == 10
        again = items.take(X, np.array([9, 0]))
        assert items.length(again) == 2


arrays_of_sets = st.lists(
    st.integers(0, 4).flatmap(lambda n: hnp.arrays(np.float32, (n, 2), elements=st.just(1.5))),
    min_size=1,
    max_size=8,
)


@settings(max_examples=80, deadline=None)
@given(arrays_of_sets, st.data())
def test_ragged_behaves_as_a_list_of_arrays(sets, data):
    for i, one in enumerate(sets):
        one[:] = i
    ragged = Ragged.from_list(sets)
    assert len(ragged) == len(sets)
    start = data.draw(st.integers(0, len(sets)))
    stop = data.draw(st.integers(0, len(sets)))
    rows = data.draw(st.lists(st.integers(0, len(sets) - 1), max_size=6))
    for found, expected in (
        (ragged, sets),
        (ragged[start:stop], sets[start:stop]),
        (ragged[::-2], sets[::-2]),
        (ragged.take(np.array(rows, int)), [sets[row] for row in rows]),
    ):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b.reshape(a.shape))


def test_ragged_keeps_positions():
    ragged = Ragged(np.arange(6)[:, None], [0, 2, 2, 6], positions=np.arange(12).reshape(6, 2))
    assert ragged[2:].positions.tolist() == [[4, 5], [6, 7], [8, 9], [10, 11]]
    assert ragged.take(np.array([0])).positions.tolist() == [[0, 1], [2, 3]]
    assert ragged[-1].ravel().tolist() == [2, 3, 4, 5]
    with pytest.raises(IndexError):
        ragged[3]
