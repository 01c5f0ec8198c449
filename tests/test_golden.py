"""Indexes saved by earlier versions load forever, and answer as they did."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import make_golden
import numpy as np
import pytest

import mercer
from mercer.store.manifest import FORMAT

FORMATS = sorted((Path(__file__).parent / "golden").glob("format-*"))


def test_the_format_of_now_is_among_them():
    assert f"format-{FORMAT}" in [folder.name for folder in FORMATS]


@pytest.mark.parametrize("folder", FORMATS, ids=lambda folder: folder.name)
def test_golden_indexes_answer_as_they_did(folder, tmp_path):
    X = make_golden.items()
    expected = json.loads((folder / "answers.json").read_text())
    mercer.verify(folder / "index")
    index = mercer.load(folder / "index")
    for _ in range(2):
        found = index.search(X[: make_golden.QUERIES], k=4)
        assert found.ids.tolist() == expected["ids"]
        np.testing.assert_allclose(found.scores, expected["scores"], rtol=1e-6)
        assert found.exact.all()
        index.save(shutil.copytree(folder / "index", tmp_path / "copy", dirs_exist_ok=True))
        index = mercer.load(tmp_path / "copy")
    assert len(index.add(X[:2], ids=["more", "and more"])) == 24


def test_golden_indexes_are_compared_by_kernel_values(monkeypatch):
    """As any index of another version is."""
    monkeypatch.setattr(mercer, "__version__", "99.0")
    assert len(mercer.load(FORMATS[0] / "index")) == 22


def test_making_it_again_gives_the_same(tmp_path):
    make_golden.make(tmp_path)
    answers = json.loads((tmp_path / "answers.json").read_text())
    assert answers["ids"] == json.loads((FORMATS[-1] / "answers.json").read_text())["ids"]
