"""What is sound of a damaged folder is kept, and what is not is told."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from benchmarks.attacks import rewriting
from mercer import store
from mercer.index import recipe

X = np.random.default_rng(0).dirichlet(np.ones(6), 60).astype(np.float32)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Three segments, from the second of which an item was removed."""
    monkeypatch.setattr(recipe, "RATIO", 0)
    made = mercer.inverted("chi2", n_lists=2).fit(X)
    made.add(X[:30]).add(X[30:45]).add(X[45:]).remove([31]).save(tmp_path)
    return tmp_path


def damage(folder, *place):
    """Change a byte of a part."""
    entry = rewriting.manifest_of(folder)["index"]
    for key in place:
        entry = entry[key]
    path = folder / "parts" / entry["part"]
    path.write_bytes(path.read_bytes()[:70] + b"?" + path.read_bytes()[71:])
    return entry["part"]


def test_a_sound_folder_is_not_touched(folder):
    assert store.repair(folder) == []
    assert rewriting.manifest_of(folder)["generation"] == 1


def test_damaged_segments_are_dropped(folder):
    name = damage(folder, "segments", 1, "content")
    (folder / "lock").write_text("at work")  # what damaged it
    [told] = store.repair(folder)
    assert told.startswith("15 rows")
    assert name in told
    index = mercer.load(folder)
    assert index.ids.tolist() == [*range(30), *range(45, 60)]
    assert index.search(X[50:51], 1, effort=2).ids.tolist() == [[50]]
    mercer.verify(folder)
    assert store.repair(folder) == []
    with mercer.open(folder) as again:
        assert again.add(X[:1]).ids.max() == 60


def test_what_was_removed_is_told_if_it_comes_back(folder):
    damage(folder, "segments", 1, "removed")
    [told] = store.repair(folder)
    assert "which of 15 rows were removed" in told
    assert len(mercer.load(folder)) == 60


def test_what_was_measured_is_measured_again(tmp_path):
    rows = np.random.default_rng(0).dirichlet(np.ones(6), 1200).astype(np.float32)
    mercer.inverted("chi2", n_lists=8).fit(rows).add(rows[:1100]).save(tmp_path)
    assert mercer.load(tmp_path).info()["recall measured"]
    damage(tmp_path, "measured")
    [told] = store.repair(tmp_path)
    assert "what was measured" in told
    index = mercer.load(tmp_path)
    assert len(index) == 1100
    assert index._state.curve is None
    assert index.add(rows[1100:])._state.curve is not None


def test_without_what_was_learned_nothing_is_kept(folder):
    damage(folder, "base")
    before = sorted(folder.rglob("*"))
    with pytest.raises(mercer.StoreError, match=r"what .* has learned is damaged"):
        store.repair(folder)
    assert sorted(folder.rglob("*")) == before


def test_an_older_generation_that_a_reader_kept_is_better_than_nothing(folder):
    with mercer.load(folder):
        with mercer.open(folder) as writer:
            writer.remove([0])
        path = folder / "manifest-2.json"
        path.write_text(path.read_text().replace('"rows": 30', '"rows": 29'))
        with pytest.raises(mercer.StoreError, match="is not as it was saved"):
            mercer.load(folder)
        [told] = store.repair(folder)
    assert "generation 2, whose manifest is damaged" in told
    assert len(mercer.load(folder)) == 59
    assert rewriting.manifest_of(folder)["generation"] == 3


def test_a_folder_without_a_readable_manifest(folder):
    (folder / "manifest-1.json").write_text('{"format": 2, "generation": 1, "mercer": "1"}')
    with pytest.raises(mercer.StoreError, match="nothing says what belongs to the index"):
        store.repair(folder)


def test_what_a_folder_holds(folder):
    with mercer.load(folder), mercer.open(folder) as writer:
        writer.remove([0])
        told = store.describe(folder)
    assert told["format"] == 2
    assert told["generation"] == 2
    assert told["kept for readers"] == [1]
    assert told["parts"] == len(list((folder / "parts").iterdir()))
    assert told["bytes"] > X.nbytes
