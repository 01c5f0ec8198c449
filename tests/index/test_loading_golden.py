"""Indexes saved by earlier versions load forever, and answer as they did."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import make_golden
import numpy as np
import pytest

import mercer
from mercer import methods
from mercer.index.unpacking import READERS
from mercer.store import FORMAT

GOLDEN = Path(__file__).parents[1] / "golden"
SAVED = sorted(path.parent for path in GOLDEN.glob("format-*/*/manifest*.json"))


def answers(folder: Path) -> dict:
    return json.loads(folder.with_suffix(".json").read_text())


def test_every_format_has_a_reader_and_an_index():
    formats = {int(folder.parent.name.removeprefix("format-")) for folder in SAVED}
    assert formats == set(READERS) == set(range(1, FORMAT + 1))


def test_every_method_is_among_them():
    names = {folder.name for folder in SAVED if folder.parent.name == f"format-{FORMAT}"}
    assert names >= set(methods.__all__) - {"relearn"}


@pytest.mark.parametrize("folder", SAVED, ids=lambda folder: f"{folder.parent.name}-{folder.name}")
def test_golden_indexes_answer_as_they_did(folder, tmp_path):
    make_golden.letters()
    X = make_golden.INDEXES[folder.name][1]()
    expected = answers(folder)
    mercer.verify(folder)
    index = mercer.load(folder)
    for turn in ("first", "second"):
        found = index.search(X[: make_golden.QUERIES], k=make_golden.K)
        assert found.ids.tolist() == expected["ids"]
        np.testing.assert_allclose(found.scores, expected["scores"], rtol=1e-6)
        index.save(shutil.copytree(folder, tmp_path / turn))
        index = mercer.load(tmp_path / turn)
    assert len(index.add(X[:2], ids=["more", "and more"])) == 24


@pytest.mark.parametrize("number", READERS)
@pytest.mark.parametrize("name", ["exact", "brute"])
def test_golden_indexes_are_compared_by_kernel_values(monkeypatch, number, name):
    """As any index of another version is."""
    monkeypatch.setattr(mercer, "__version__", "99.0")
    assert len(mercer.load(GOLDEN / f"format-{number}" / name)) == 22
    monkeypatch.setattr("mercer.kernels.similarity.TINY", 0)
    monkeypatch.setattr("mercer.store.witness._gram", lambda P: 2 * np.ones((len(P), len(P))))
    with pytest.raises(mercer.StoreError, match="is not the one this index was saved with"):
        mercer.load(GOLDEN / f"format-{number}" / name)


@pytest.mark.parametrize("folder", [one for one in SAVED if one.parent.name == "format-1"],
                         ids=lambda folder: folder.name)  # fmt: skip
def test_a_folder_of_the_first_format_becomes_one_of_this(folder, tmp_path):
    make_golden.letters()
    place = shutil.copytree(folder, tmp_path / "index")
    with mercer.open(place) as store:
        assert len(store.remove(["item 0"])) == 21
    assert sorted(path.name for path in place.iterdir()) == [
        "lock", f"manifest-{1 + generation_of(folder)}.json", "parts"
    ]  # fmt: skip
    assert "item 0" not in mercer.load(place)
    mercer.verify(place)


def generation_of(folder: Path) -> int:
    return json.loads((folder / "manifest.json").read_text())["generation"]


@pytest.mark.parametrize("name", make_golden.INDEXES)
def test_making_it_again_gives_the_same(name, tmp_path):
    make_golden.make(tmp_path, name)
    assert answers(tmp_path / name)["ids"] == answers(GOLDEN / f"format-{FORMAT}" / name)["ids"]
