"""Brute force against a sorted Gram matrix, for every kernel and every kind of items."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from reference import PAIRS, best, gram
from zoo import ANIMALS, HISTOGRAMS, VECTORS, WORDS

from mercer import evaluate, items, kernels
from mercer.errors import InputError, KernelError
from mercer.evaluate import truth
from mercer.index.matches import Matches


@pytest.mark.parametrize("animal", ANIMALS, ids=lambda a: a.name)
def test_truth_is_the_sorted_gram(animal):
    kernel, X = animal.kernel, animal.X
    Q = X[:9]
    found = evaluate.ground_truth(kernel, X, Q, k=5)
    K = kernel.suited(X)(Q, X, dtype=np.float64)
    _, expected = best(K, 5)
    np.testing.assert_allclose(found.scores, expected, rtol=1e-6, atol=1e-8)
    by_id = np.take_along_axis(K, found.ids, 1)
    assert (by_id >= expected - found.tolerance[:, None]).all()  # other ids only where they tie
    assert found.exact.all()
    assert (found.evaluations == 70).all()


def test_distances_are_those_of_the_kernel_space():
    found = evaluate.ground_truth("linear", VECTORS, VECTORS[:4], k=6)
    gaps = VECTORS[:4, None].astype(float) - VECTORS[found.ids].astype(float)
    np.testing.assert_allclose(found.distances, np.linalg.norm(gaps, axis=2), rtol=1e-5, atol=1e-5)


def test_blocks_do_not_change_the_answer(monkeypatch):
    X = np.random.default_rng(3).integers(0, 3, (5000, 6)).astype(np.float32)  # many ties
    whole = evaluate.ground_truth("intersection", X, X[:40], k=12)
    monkeypatch.setattr(truth, "BLOCK_BYTES", 1)
    cut = evaluate.ground_truth("intersection", X, X[:40], k=12, n_jobs=3)
    np.testing.assert_array_equal(whole.ids, cut.ids)
    expected_ids, _ = best(gram(PAIRS["intersection"], X[:40], X), 12)
    np.testing.assert_array_equal(whole.ids, expected_ids)


def test_near_ties_are_settled_in_double_precision():
    """float32 sums of these rows come out equal or reversed; double precision tells them apart."""
    rng = np.random.default_rng(5)
    base = rng.random(64).astype(np.float32)
    X = np.tile(base, (12, 1))
    X[np.arange(12), rng.permutation(64)[:12]] += np.float32(6e-8) * np.arange(12)
    exact, _ = best(gram(PAIRS["linear"], base[None], X), 12)
    found = evaluate.ground_truth("linear", X, base[None], k=12)
    np.testing.assert_array_equal(found.ids, exact)


def test_memory_maps_of_any_type_are_read_by_blocks(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.random((3000, 5))
    path = tmp_path / "items.npy"
    np.save(path, X)
    mapped = np.load(path, mmap_mode="r")
    sizes = []
    check = items.check

    def watched(block, *args, **kwargs):
        sizes.append(items.length(block))
        return check(block, *args, **kwargs)

    monkeypatch.setattr(items, "check", watched)
    monkeypatch.setattr(truth, "BLOCK_BYTES", 1)
    found = evaluate.ground_truth("rbf", mapped, X[:3], k=2)
    assert max(sizes) <= 1024  # never the whole array
    assert found.ids[:, 0].tolist() == [0, 1, 2]


def test_fewer_items_than_k():
    found = evaluate.ground_truth("linear", [[1.0], [2.0]], [[1.0]], k=4)
    assert found.ids.tolist() == [[1, 0, -1, -1]]
    assert np.isneginf(found.scores[0, 2:]).all()
    assert np.isposinf(found.distances[0, 2:]).all()
    assert found.to_list() == [[(1, 2.0), (0, 1.0)]]
    assert evaluate.recall(found, found) == 1.0


def test_one_item_one_query():
    found = evaluate.ground_truth("chi2", [[1.0]], [[1.0]], k=1)
    assert found.ids.tolist() == [[0]]
    assert repr(found) == "Matches(1 queries, k=1, 1 exact, 1 evaluations each)\n  0: 0 (1)"


def test_prepared_items_are_searched_as_they_are():
    chi2 = kernels.Chi2()
    raw = evaluate.ground_truth(chi2, HISTOGRAMS, HISTOGRAMS[:5], 3)
    prepared = evaluate.ground_truth(
        chi2, chi2.prepare(HISTOGRAMS), chi2.prepare(HISTOGRAMS[:5]), 3
    )
    np.testing.assert_array_equal(raw.ids, prepared.ids)


def test_bad_rows_are_counted_from_the_start(monkeypatch):
    X = np.ones((3000, 8), np.float32)
    X[2500, 3] = np.nan
    monkeypatch.setattr(truth, "BLOCK_BYTES", 1)
    with pytest.raises(InputError, match=r"ground_truth: .*first: row 2500"):
        evaluate.ground_truth("rbf", X, X[:1], 1)
    with pytest.raises(InputError, match=r"ground_truth: the queries: there are no items"):
        evaluate.ground_truth("rbf", X, X[:0], 1)
    with pytest.raises(InputError, match="the queries: 8 features, but the items: 9"):
        evaluate.ground_truth("rbf", np.ones((4, 9)), X[:1], 1)


def test_overflow_is_reported_with_its_pair():
    X = np.full((3, 2), 1e20, np.float32)
    X[0] = 1
    with pytest.raises(KernelError, match=r"Linear: k\(X\[0\], Y\[1\]\) is inf"):
        evaluate.ground_truth("linear", X, X[1:], 1)


def matches(ids, scores):
    n, k = np.shape(ids)
    return Matches(
        ids=np.array(ids), scores=np.array(scores, np.float32), distances=np.zeros((n, k)),
        exact=np.ones(n, bool), evaluations=np.ones(n, np.int64), tolerance=np.zeros(n),
        landmark_evaluations=np.zeros(n, np.int64), probability=np.ones(n, np.float32),
        kernel="Chi2()",
    )  # fmt: skip


TRUTH = matches([[1, 2, 3], [4, 5, 6]], [[0.9, 0.8, 0.8], [0.5, 0.4, 0.3]])


@pytest.mark.parametrize(
    "found, k, expected",
    [
        ([[1, 2, 3], [4, 5, 6]], 3, 1.0),
        ([[1, 9, 9], [8, 8, 8]], 3, 1 / 6),
        ([[3, 2, 1], [6, 7, 8]], 1, 0.5),  # recall@3 of the nearest
        ([[1, 1, 1], [4, 4, 4]], 3, 1 / 3),  # the same item three times counts once
        ([[-1, -1, -1], [-1, -1, -1]], 2, 0.0),
        (matches([[1, 7, -1], [4, 5, 8]], [[0.9, 0.8, -np.inf], [0.5, 0.4, 0.1]]), 2, 1.0),
        (matches([[1, 7], [4, 9]], [[0.9, 0.8 - 1e-9], [0.5, 0.39]]), 2, 0.75),
    ],
)
def test_recall(found, k, expected):
    assert evaluate.recall(found, TRUTH, k) == pytest.approx(expected)


def test_recall_of_whole_answers():
    truth = evaluate.ground_truth("chi2", HISTOGRAMS, HISTOGRAMS, 10)
    assert evaluate.recall(truth, truth) == 1.0
    assert evaluate.recall(truth.ids, truth, 4) == 1.0
    wrong = np.random.default_rng(0).integers(0, 70, truth.ids.shape)
    assert evaluate.recall(wrong, truth) < 0.5


def test_recall_needs_what_it_compares_with():
    with pytest.raises(InputError, match="Compute the truth with a larger k"):
        evaluate.recall(TRUTH, TRUTH, 4)
    with pytest.raises(InputError, match="one row of ids per query"):
        evaluate.recall([[1, 2]], TRUTH)


def test_progress_shows_on_request(capfd, monkeypatch):
    from mercer.runtime import progress

    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    kernel = kernels.from_function(lambda x, y: len(set(x) & set(y)))
    evaluate.ground_truth(kernel, WORDS, WORDS[:2], 1, show_progress=True)
    assert "comparing all pairs" in capfd.readouterr().err
    evaluate.ground_truth(kernel, WORDS, WORDS[:2], 1)
    assert capfd.readouterr().err == ""


def test_sparse_queries_need_sparse_items():
    with pytest.raises(InputError, match=r"the queries: sparse, but the items: dense.*toarray"):
        evaluate.ground_truth("chi2", np.eye(3), scipy.sparse.eye_array(3), 1)
