"""An index as values and parts: a part is made of objects by which it is known again."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer.index import packing

X = np.random.default_rng(0).dirichlet(np.ones(6), 60).astype(np.float32)


@pytest.fixture
def index():
    made = mercer.exact("chi2", n_landmarks=12, n_components=4).fit(X).add(X[:50])
    return made.add(X[50:55]).remove([1, 52])


def packed(index):
    return packing.pack(index._state, index._known, None)


def test_only_what_changed_is_another_part(index):
    before = packed(index)
    after = packed(index.remove([7]).add(X[55:56]))
    assert after["base"].source == before["base"].source
    assert [one["rows"] for one in after["segments"]] == [50, 5, 1]
    for one, other in zip(before["segments"], after["segments"], strict=False):
        assert all(map(is_same, one["content"].source, other["content"].source))
    masks = [[one["removed"].source[0] for one in tree["segments"][:2]] for tree in (before, after)]
    assert masks[0][0] is not masks[1][0]
    assert masks[0][1] is masks[1][1]
    assert after["segments"][2]["removed"] is None


def is_same(left, right):
    return left is right


def test_facts_are_plain_values(index):
    facts = packed(index.calibrate(X[55:], 0.5))["facts"]
    assert facts["next_id"] == 55
    assert facts["probability_"] == 0.5
    assert {type(value) for value in facts.values()} <= {float, int, bool, type(None), str}


def test_samples_are_of_landmarks_or_of_the_items(index):
    landmarks = index.embedding_.landmarks_.kept
    expected = index.kernel(landmarks, dtype=np.float64)
    np.testing.assert_allclose(packed(index)["base"].tree()["samples"], expected, rtol=1e-12)
    assert packed(index)["segments"][0]["content"].tree()["samples"] is None
    brute = packed(mercer.brute("chi2").fit(X).add(X[:5]))
    assert brute["base"].tree()["samples"] is None
    assert brute["segments"][0]["content"].tree()["samples"].shape == (5, 5)


def test_what_has_learned_nothing_may_be_changed_by_its_user(tmp_path):
    index = mercer.inverted("chi2", n_probe=3)
    index.save(tmp_path)
    index.searcher.set_params(n_probe=7)
    index.save(tmp_path)
    assert mercer.load(tmp_path).searcher.n_probe == 7
