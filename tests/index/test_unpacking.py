"""What is read is an index again: what is not of its type or length is refused."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from benchmarks.attacks import rewriting
from mercer import StoreError
from mercer.index import recipe, unpacking

X = np.random.default_rng(0).dirichlet(np.ones(6), 60).astype(np.float32)


@pytest.fixture
def index(monkeypatch):
    """Three segments, with rows removed from the first and the last of them."""
    monkeypatch.setattr(recipe, "RATIO", 0)
    made = mercer.exact("chi2", n_landmarks=12, n_components=4).fit(X)
    made.add(X[:30], ids=np.arange(100, 130)).add(X[30:40]).add(X[40:])
    return made.remove([100, 117, 159])


@pytest.fixture
def folder(index, tmp_path):
    index.save(tmp_path)
    return tmp_path


def test_segments_come_back_row_by_row(index, folder):
    back = mercer.load(folder).segments_
    assert len(back) == 57
    assert [len(one.ids) for one in back.members] == [30, 10, 20]
    for one, other in zip(back.members, index.segments_.members, strict=True):
        for name in ("diag", "ids", "removed"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        np.testing.assert_array_equal(one.items.kept, other.items.kept)
        np.testing.assert_array_equal(one.rows.vectors, other.rows.vectors)
    assert not np.isin([100, 117, 159], back.ids).any()


@pytest.mark.parametrize("name, dtype", [("own", np.float32), ("ids", np.float64), ("ids", bool)])
def test_arrays_of_other_types_are_refused(folder, name, dtype):
    def change(tree):
        content = tree["segments"][1]["content"]
        content[name] = content[name].astype(dtype)

    rewriting.rewrite(folder, change)
    with pytest.raises(StoreError, match=f"a segment has .*{np.dtype(dtype)}.*Restore"):
        mercer.load(folder)


@pytest.mark.parametrize("name", ["own", "ids"])
def test_arrays_of_other_lengths_are_refused(folder, name):
    def change(tree):
        content = tree["segments"][2]["content"]
        content[name] = content[name][:-1]

    rewriting.rewrite(folder, change)
    with pytest.raises(StoreError, match=rf"as long in all parts \((items|rows) 20, .*{name} 19"):
        mercer.load(folder)


def test_what_is_the_same_as_before_is_kept(folder):
    """Segments, what was learned, and what is known of the rows."""
    reader = mercer.load(folder)
    before = reader.segments_.members
    before[0].find(np.array([105]))
    mercer.load(folder).add(X[:4]).remove([131]).save(folder)
    after = reader.reload().segments_.members
    assert len(after) == 4
    assert after[0] is before[0]
    assert after[2] is before[2]
    assert after[1] is not before[1]
    assert after[1].rows is before[1].rows
    assert after[1].removed.sum() == 1


def test_damaged_names_are_refused():
    with pytest.raises(StoreError, match="names of its columns"):
        unpacking.unpack_columns([1, 2])
    assert unpacking.unpack_columns(None) is None
