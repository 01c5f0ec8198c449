"""An index as a tree and back: what is not of its type or length is refused."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer import StoreError
from mercer.index import packing, recipe
from mercer.index.recipe import Recipe

X = np.random.default_rng(0).dirichlet(np.ones(6), 60).astype(np.float32)


@pytest.fixture
def index(monkeypatch):
    """Three segments, with rows removed from the first and the last of them."""
    monkeypatch.setattr(recipe, "RATIO", 0)
    made = mercer.exact("chi2", n_landmarks=12, n_components=4).fit(X)
    made.add(X[:30], ids=np.arange(100, 130)).add(X[30:40]).add(X[40:])
    return made.remove([100, 117, 159])


@pytest.fixture
def tree(index):
    return packing.pack(recipe_of(index), index.segments_, {"disproof_": None})


def recipe_of(index):
    return Recipe(index.kernel, index.embedding_, index.searcher_)


def test_segments_come_back_row_by_row(index, tree):
    back = packing.unpack_segments(tree, packing.unpack_recipe(tree))
    assert len(back) == 57
    assert [len(one.ids) for one in back.members] == [30, 10, 20]
    for one, other in zip(back.members, index.segments_.members, strict=True):
        for name in ("diag", "ids", "removed"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        np.testing.assert_array_equal(one.items.kept, other.items.kept)
        np.testing.assert_array_equal(one.rows.vectors, other.rows.vectors)
    assert not np.isin([100, 117, 159], back.ids).any()


@pytest.mark.parametrize(
    "name, dtype", [("own", np.float32), ("removed", np.uint8), ("ids", np.float64), ("ids", bool)]
)
def test_arrays_of_other_types_are_refused(tree, name, dtype):
    tree["segments"][1][name] = tree["segments"][1][name].astype(dtype)
    with pytest.raises(StoreError, match=f"a segment has .*{np.dtype(dtype)}.*Restore"):
        packing.unpack_segments(tree, packing.unpack_recipe(tree))


@pytest.mark.parametrize("name", ["own", "removed", "ids"])
def test_arrays_of_other_lengths_are_refused(tree, name):
    tree["segments"][2][name] = tree["segments"][2][name][:-1]
    with pytest.raises(StoreError, match=rf"as long in all parts \((items|rows) 20, .*{name} 19"):
        packing.unpack_segments(tree, packing.unpack_recipe(tree))


def test_facts_are_plain_values(index):
    facts = {"a": np.float32(0.5), "b": np.int64(3), "c": None, "d": "words"}
    kept = packing.pack(recipe_of(index), index.segments_, facts)["facts"]
    assert kept == {"a": 0.5, "b": 3, "c": None, "d": "words", "keeps_items": True}
    assert [type(value) for value in kept.values()] == [float, int, type(None), str, bool]


def test_samples_are_of_landmarks_or_of_the_first_items(index, tree):
    landmarks = index.embedding_.landmarks_.kept
    expected = index.kernel(landmarks, dtype=np.float64)
    np.testing.assert_allclose(tree["samples"], expected, rtol=1e-12)
    brute = mercer.brute("chi2").fit(X)
    for made, rows in ((brute, 0), (mercer.brute("chi2").fit(X).add(X[:5]), 5)):
        found = packing.pack(recipe_of(made), made.segments_, {})["samples"]
        assert found is None if rows == 0 else found.shape == (rows, rows)


def test_damaged_names_are_refused():
    with pytest.raises(StoreError, match="names of its columns"):
        packing.unpack_columns({"columns": [1, 2]})
    assert packing.unpack_columns({}) is None
