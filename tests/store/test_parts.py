"""A part is one file that comes back as it was, or not at all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from mercer import StoreError
from mercer.store import parts
from mercer.store.parts import Part, write_part

TYPES = st.sampled_from(["<f4", "<f8", "<i8", "|u1", "<u2", "|b1", ">f4", "<c16", "<U3", "<M8[D]"])
ARRAYS = TYPES.flatmap(
    lambda dtype: arrays_of.arrays(
        np.dtype(dtype), arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)
    )
)
VALUES = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False)
)
TREES = st.dictionaries(
    st.text(max_size=4),
    st.recursive(ARRAYS | VALUES, lambda inner: st.lists(inner, max_size=3)
                 | st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=6),
    max_size=4,
)  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "parts").mkdir()
    return tmp_path


def require_same(found, expected):
    if isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    elif isinstance(expected, dict):
        assert set(found) == set(expected)
        for key, value in expected.items():
            require_same(found[key], value)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            require_same(one, other)
    else:
        assert (found, type(found)) == (expected, type(expected))


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(tree=TREES, small=st.sampled_from([-1, 1 << 16]))
def test_any_tree_comes_back(tmp_path_factory, tree, small):
    folder = tmp_path_factory.mktemp("store")
    (folder / "parts").mkdir()
    entry = write_part(folder, tree)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "SMALL", small)
        part = Part(folder, entry)
        require_same(part.tree, tree)
        part.check_values()
    assert (folder / "parts" / entry["part"]).stat().st_size == entry["bytes"]


@pytest.mark.parametrize("block", [64, 1000, 1 << 24])
def test_large_arrays_are_written_block_by_block(folder, monkeypatch, block):
    monkeypatch.setattr(parts, "BLOCK", block)
    X = np.arange(600.0).reshape(60, 10)
    tree = {
        "rows": X,
        "columns": np.asfortranarray(X),
        "some": X[::3, 1:],
        "wide": X.reshape(1, -1),
    }
    part = Part(folder, write_part(folder, tree))
    part.check_values()
    require_same(part.tree, tree)
    assert part.tree["columns"].flags.f_contiguous


def test_an_array_in_two_places_is_written_once(folder):
    X = np.ones(10_000)
    entry = write_part(folder, {"one": X, "other": [X]})
    assert entry["bytes"] < 1.1 * X.nbytes
    tree = Part(folder, entry).tree
    assert tree["one"] is tree["other"][0]


def test_parts_have_names_of_their_own(folder):
    names = {write_part(folder, {})["part"] for _ in range(50)}
    assert len(names) == 50
    assert all(parts.NAME.fullmatch(name) for name in names)


def test_every_byte_counts(folder):
    entry = write_part(folder, {"X": np.arange(5.0), "name": "five"})
    path = folder / "parts" / entry["part"]
    good = path.read_bytes()
    for place in range(len(good)):
        path.write_bytes(good[:place] + bytes([good[place] ^ 4]) + good[place + 1 :])
        with pytest.raises(StoreError, match=entry["part"]):
            Part(folder, entry).check_values()


def test_another_part_under_its_name_is_noticed(folder):
    entry, other = (write_part(folder, {"X": np.full(5, value)}) for value in (1.0, 2.0))
    (folder / "parts" / other["part"]).replace(folder / "parts" / entry["part"])
    with pytest.raises(StoreError, match="is not as it was saved"):
        Part(folder, entry)
