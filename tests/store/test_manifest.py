"""Which generations there are, and what an index knows of its folders."""

from __future__ import annotations

import gc
import json
import pickle

import numpy as np
import pytest

from mercer import StoreError
from mercer.store import Origins, Part, Writer, manifest, read
from mercer.store.values import sealed


class Thing:
    """Something that a part is made of."""


def commit(folder, tree, origins=None):
    with Writer(folder, "save") as writer:
        writer.commit(tree, origins or Origins())


def test_the_newest_generation_is_the_largest_number(tmp_path):
    assert manifest.newest(tmp_path) is None
    assert manifest.newest(tmp_path / "nowhere") is None
    for name in ("manifest.json", "manifest-9.json", "manifest-10.json", "manifest-011.json",
                 "manifest-12.json.draft", "manifest--13.json", "manifest-0.json"):  # fmt: skip
        (tmp_path / name).touch()
    assert manifest.numbers(tmp_path) == [9, 10]
    assert manifest.newest(tmp_path).name == "manifest-10.json"


def test_generations_are_counted(tmp_path):
    for number in (1, 2, 3):
        commit(tmp_path, {"base": None})
        assert read(tmp_path, lambda opened: opened.manifest["generation"]) == number


def test_the_last_number_there_can_be(tmp_path):
    """A folder that somebody made cannot make a change vanish."""
    commit(tmp_path, {"base": None})
    last = tmp_path / manifest.name_of(10**18 - 1)
    (tmp_path / "manifest-1.json").rename(last)
    values = json.loads(last.read_text()) | {"generation": 10**18 - 1}
    last.write_text(json.dumps(sealed(values)))
    with pytest.raises(StoreError, match="somebody else saved"):
        commit(tmp_path, {"base": 1})
    assert manifest.numbers(tmp_path) == [10**18 - 1]


def test_a_part_is_known_by_what_it_is_made_of(tmp_path):
    origins, one, made = Origins(), Thing(), []

    def tree():
        made.append(1)
        return {"X": np.ones(3)}

    def names():
        return sorted(path.name for path in (tmp_path / "parts").iterdir())

    commit(tmp_path, {"base": Part(tree, (one,))}, origins)
    first = names()
    for part, again in ((Part(tree, (one,)), False), (Part(tree, (one,), "key"), True),
                        (Part(tree, (one, one), "key"), True), (Part(tree, (Thing(),)), True),
                        (Part(tree), True), (Part(tree), True)):  # fmt: skip
        made.clear()
        commit(tmp_path, {"base": part}, origins)
        assert (names() != first, bool(made)) == (again, again)
        first = names()


def test_what_is_gone_is_not_mistaken_for_what_came_after(tmp_path):
    origins = Origins()
    for value in range(20):
        thing = Thing()
        commit(tmp_path, {"base": Part(lambda v=value: {"v": v}, (thing,))}, origins)
        assert read(tmp_path, lambda opened: opened.part(opened.index["base"])["v"]) == value
        del thing
        gc.collect()


def test_parts_that_the_folder_does_not_name_any_more_are_written(tmp_path):
    """Somebody else may have replaced the folder meanwhile."""
    origins, one = Origins(), Thing()
    tree = {"base": Part(lambda: {"X": np.ones(3)}, (one,))}
    commit(tmp_path, tree, origins)
    commit(tmp_path, {"base": None})
    with pytest.raises(StoreError, match="somebody else saved"):
        commit(tmp_path, tree, origins)
    origins.seals.clear()
    commit(tmp_path, tree, origins)
    assert read(tmp_path, lambda opened: opened.part(opened.index["base"]))["X"].sum() == 3


def test_origins_sent_elsewhere_know_seals_but_no_parts(tmp_path):
    origins, one = Origins(), Thing()
    part = Part(lambda: {}, (one,))
    commit(tmp_path, {"base": part}, origins)
    assert origins.entry_of(tmp_path, part) is not None
    sent = pickle.loads(pickle.dumps(origins))
    assert sent.seals == origins.seals
    assert sent.entry_of(tmp_path, part) is None


def test_a_manifest_that_cannot_be_read(tmp_path, monkeypatch):
    commit(tmp_path, {"base": None})

    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    with pytest.raises(StoreError, match=r"load: cannot read .*Permission denied"):
        read(tmp_path, lambda opened: opened.index)
