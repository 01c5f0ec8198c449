"""Kernels of words and positions as they are learned: hashed, searched, saved; bad calls."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer import evaluate, kernels
from mercer.embeddings import PyramidDirections
from mercer.errors import InputError

WORDS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], np.float32)
FRAME = [[0, 0], [1, 1]]


def photos(sizes, seed=0):
    """Return sets with positions."""
    rng = np.random.default_rng(seed)
    n = int(np.sum(sizes))
    return mercer.Ragged(rng.random((n, 2)), np.cumsum([0, *sizes]), rng.random((n, 2)))


@pytest.mark.parametrize("cls", [kernels.SpatialPyramid, kernels.ProximityDistribution])
def test_bits_agree_as_the_angle_says(cls):
    sets = photos([20] * 6, seed=3)
    kernel = cls.for_data(sets, n_words=4)
    Z = PyramidDirections(kernel, 8000, seed=1).fit_transform(sets)
    agreed = np.mean((Z[:, None] >= 0) == (Z[None] >= 0), axis=2)
    P = kernel.normalized()(sets, dtype=np.float64)
    expected = 1 - np.arccos(np.clip(P, -1, 1)) / np.pi
    assert np.abs(agreed - expected).max() < 4 * 0.5 / np.sqrt(8000)


@pytest.mark.parametrize("cls", [kernels.SpatialPyramid, kernels.ProximityDistribution])
@pytest.mark.parametrize("method", [mercer.exact, mercer.klsh, mercer.pyramid])
def test_searched_and_saved(cls, method, tmp_path):
    sets = photos(np.random.default_rng(1).integers(3, 30, 80))
    kernel = cls.for_data(sets, n_words=10).normalized()
    settings = {} if method is mercer.pyramid else {"n_landmarks": 60}
    index = method(kernel, **settings).fit(sets).add(sets)
    found = index.search(sets[:9], 3, candidates=None if method is mercer.exact else 80)
    truth = evaluate.ground_truth(kernel, sets, sets[:9], 3)
    assert evaluate.recall(found, truth) == 1
    assert found.exact.all()
    index.save(tmp_path / "index")
    loaded = mercer.load(tmp_path / "index").search(sets[:9], 3, candidates=80)
    np.testing.assert_array_equal(loaded.scores, found.scores)


def test_words_are_learned_the_same_again():
    sets = photos([40] * 10)
    one, other = (kernels.ProximityDistribution.for_data(sets, n_words=8) for _ in range(2))
    np.testing.assert_array_equal(one.words, other.words)
    assert len(kernels.SpatialPyramid.for_data(photos([3]), n_words=50).words) == 3


@pytest.mark.parametrize("call, text", [
    (lambda: kernels.SpatialPyramid([], FRAME), r"words have shape \(0,\)"),
    (lambda: kernels.SpatialPyramid([[np.nan]], FRAME), "Pass finite numbers"),
    (lambda: kernels.SpatialPyramid(WORDS, [[0, 0], [1, -1]]), "frame"),
    (lambda: kernels.SpatialPyramid(WORDS, [0, 1]), "frame"),
    (lambda: kernels.SpatialPyramid(WORDS, FRAME, 99), "too many bins"),
    (lambda: kernels.SpatialPyramid(WORDS, FRAME, 2, weights=[1, 2]), "do not increase"),
    (lambda: kernels.SpatialPyramid(WORDS, [[0], [1]])(photos([3])), "positions have shape"),
    (lambda: kernels.ProximityDistribution(WORDS, 0), "n_ranks"),
    (lambda: kernels.ProximityDistribution(WORDS, 256), "n_ranks is 256"),
    (lambda: kernels.ProximityDistribution(WORDS)([[[0.0, 1.0]]]), "have no positions"),
    (lambda: kernels.SpatialPyramid.for_data([[[0.0, 1.0]]]), "have no positions"),
    (lambda: kernels.SpatialPyramid.for_data(photos([0, 0])), "all sets are empty"),
    (lambda: kernels.ProximityDistribution([[0.0]])(photos([3])), "but the words 1"),
    (lambda: kernels.get("spatial_pyramid"), r"SpatialPyramid\.for_data"),
])  # fmt: skip
def test_bad_calls(call, text):
    with pytest.raises(InputError, match=text):
        call()
