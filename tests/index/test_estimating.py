"""Indexes that keep codes and no items: answers by the codes alone."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from zoo import HISTOGRAMS, SETS, VECTORS

import mercer
from mercer import kernels
from mercer.errors import InputError
from mercer.search import Inverted

EVEN = HISTOGRAMS[HISTOGRAMS.sum(axis=1) > 0]  # of one length, so that angles are all there is

MAKE = {
    "klsh": lambda: mercer.klsh("chi2", n_bits=64, n_landmarks=40),
    "lists": lambda: mercer.kpca_lsh("chi2", n_bits=64, n_landmarks=40, codes="lists"),
    "kpca_pq": lambda: mercer.kpca_pq("chi2", n_bytes=4, n_landmarks=40),
    "inverted": lambda: mercer.inverted("chi2"),
}


@pytest.fixture(params=MAKE)
def index(request):
    return MAKE[request.param]().fit(HISTOGRAMS, keep_items=False).add(HISTOGRAMS)


def bits_of(codes, n_bits):
    return np.unpackbits(codes, axis=1)[:, :n_bits]


def test_scores_are_the_values_of_the_codes():
    index = MAKE["klsh"]().fit(EVEN, keep_items=False).add(EVEN)
    found = index.search(EVEN[:9], 5)
    signs = 2.0 * bits_of(index.encode(EVEN), 64) - 1
    values = index.embedding_.transform(EVEN[:9]).astype(float) @ signs.T
    np.testing.assert_allclose(found.scores, -np.sort(-values, axis=1)[:, :5], rtol=1e-5)
    reached = np.take_along_axis(values, found.ids, 1)
    np.testing.assert_allclose(reached, found.scores, rtol=1e-5)


def test_scores_of_product_codes_are_minus_squared_distances():
    index = MAKE["kpca_pq"]().fit(EVEN, keep_items=False).add(EVEN)
    found = index.search(EVEN[:9], 5)
    code, codes = index.searcher_.code_, index.encode(EVEN)
    n_groups, _, size = code.centroids_.shape
    decoded = code.centroids_[np.arange(n_groups), codes].reshape(len(codes), n_groups * size)
    Z = code.query(index.embedding_.query(EVEN[:9]))
    squares = ((Z[:, None] - decoded) ** 2).sum(axis=2)
    np.testing.assert_allclose(-found.scores, np.sort(squares, axis=1)[:, :5], rtol=1e-4, atol=1e-5)


def test_nothing_is_claimed_of_estimates(index):
    found = index.search(HISTOGRAMS[:9], 5)
    assert found.estimated
    assert found[:3].estimated
    assert "estimated by codes" in repr(found)
    assert not found.exact.any()
    assert not found.evaluations.any()
    assert np.isnan(found.distances).all()
    assert np.isinf(found.tolerance).all()
    assert not MAKE["klsh"]().fit(HISTOGRAMS).add(HISTOGRAMS).search(HISTOGRAMS, 1).estimated


def test_items_are_not_kept(index):
    with_items = index.fresh().fit(HISTOGRAMS).add(HISTOGRAMS)
    assert index.info()["bytes"]["items"]["memory"] == 0
    assert with_items.info()["bytes"]["items"]["memory"] > 0
    assert all(not len(segment.diag) for segment in index.segments_.members)


def test_any_pieces_any_place(index, tmp_path):
    whole = index.search(HISTOGRAMS[:9], 5)
    pieces = index.empty().add(HISTOGRAMS[:40]).add(HISTOGRAMS[40:])
    index.save(tmp_path / "codes")
    for other in (
        pieces, pieces.compact(), mercer.load(tmp_path / "codes"),
        pickle.loads(pickle.dumps(index)),
    ):  # fmt: skip
        found = other.search(HISTOGRAMS[:9], 5)
        assert found.estimated
        if isinstance(index.searcher, Inverted):  # fast scan rounds, by what it scans together
            assert np.mean(found.ids == whole.ids) > 0.7
        else:
            np.testing.assert_array_equal(found.ids, whole.ids)
            np.testing.assert_array_equal(found.scores, whole.scores)
    loaded = mercer.load(tmp_path / "codes").add(HISTOGRAMS[:1], ids=[1000])
    assert len(loaded) == len(HISTOGRAMS) + 1


def test_items_are_removed_and_filtered(index):
    best = index.search(HISTOGRAMS[:1], 1).ids[0]
    assert best not in index.remove(best).search(HISTOGRAMS[:1], 5).ids
    assert set(index.search(HISTOGRAMS[:9], 3, where=[3, 5]).ids.ravel()) <= {3, 5, -1}
    index.compact()
    assert best not in index.search(HISTOGRAMS[:1], 5).ids
    few = index.search(HISTOGRAMS[:2], len(index) + 2)
    assert few.found.max() <= len(index)


def test_what_needs_items_says_so(index):
    for call in (
        lambda: index.search(HISTOGRAMS[:1], candidates=5),
        lambda: index.search(HISTOGRAMS[:1], recall=0.9),
        lambda: index[0],
    ):
        with pytest.raises(InputError, match="does not keep"):
            call()
    with pytest.raises(InputError, match="keeps no codes"):
        mercer.exact("chi2", n_landmarks=40).fit(HISTOGRAMS, keep_items=False)
    with pytest.raises(InputError, match="keeps no codes"):
        mercer.auto("chi2").fit(HISTOGRAMS, keep_items=False)


def test_answers_of_estimates_are_not_merged_with_others(index):
    other = index.fresh().fit(HISTOGRAMS).add(HISTOGRAMS)
    found = [one.search(HISTOGRAMS[:2], 3) for one in (index, other)]
    with pytest.raises(InputError, match="other queries or kernels"):
        mercer.Matches.merge(found, 3)
    assert mercer.Matches.merge(found[:1] * 2, 3).estimated


def test_recall_of_estimates_goes_by_ids(index):
    truth = mercer.evaluate.ground_truth("chi2", HISTOGRAMS, HISTOGRAMS[:9], 3)
    found = index.search(HISTOGRAMS[:9], 3)
    expected = np.mean(
        [len(set(a) & set(b)) / 3 for a, b in zip(found.ids, truth.ids, strict=True)]
    )
    assert mercer.evaluate.recall(found, truth) == pytest.approx(expected)
    assert expected > 0.3


def test_metrics_do_not_learn_more_without_items():
    metric = mercer.learn.ITML("linear", n_basis=30).fit(VECTORS, np.arange(70) % 2)
    index = mercer.learned(metric.kernel_, n_bits=16).fit(VECTORS, keep_items=False).add(VECTORS)
    with pytest.raises(InputError, match="does not keep its items"):
        mercer.relearn(index, metric.kernel_)


@pytest.mark.parametrize("kernel, X", [("linear", VECTORS), (kernels.PyramidMatch(1.0, 3), SETS)])
def test_lengths_and_sets(kernel, X):
    make = mercer.lsh if kernel == "linear" else mercer.pyramid
    index = make(kernel, n_bits=64).fit(X, keep_items=False).add(X)
    assert index.search(X[:3], 2).found.tolist() == [2, 2, 2]
