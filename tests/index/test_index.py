"""The index: joining, filtering, removing and adding, each against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from zoo import ANIMALS, HISTOGRAMS, VECTORS

import mercer
from mercer import kernels
from mercer.embeddings import KernelPCA
from mercer.errors import InputError, NotFittedError
from mercer.index import recipe
from mercer.search import BoundScan
from mercer.testing import check_index

NAMES = ["chi2-float32", "rbf-sparse", "cosine-uint8", "tanimoto-bool", "minmax-float32", "deep",
         "strings", "sets", "gram", "precomputed", "my_chi2", "jensen_shannon-float32",
         "sum_match-float32"]  # fmt: skip
CHOSEN = [animal for animal in ANIMALS if animal.name in NAMES]
CHI2 = kernels.Chi2()


@pytest.mark.parametrize("animal", CHOSEN, ids=lambda a: a.name)
def test_contract(animal):
    check_index(mercer.exact(animal.kernel, n_landmarks=30, n_components=12), animal.X)


@pytest.mark.parametrize("options", [
    {"n_landmarks": 1, "n_components": 1}, {"n_landmarks": 500, "n_components": 500},
    {"landmarks": "farthest", "n_landmarks": 9}, {"landmarks": "kmeans++", "seed": 3},
])  # fmt: skip
def test_contract_of_options(options):
    check_index(mercer.exact("chi2", **options), HISTOGRAMS)


def test_contract_of_many_segments(monkeypatch):
    monkeypatch.setattr(recipe, "RATIO", 0)
    check_index(mercer.exact("chi2", n_landmarks=20, n_components=8), HISTOGRAMS)


# ---- large enough for tiles, first bounds, and both kinds of filters

rng = np.random.default_rng(0)
LARGE = rng.dirichlet(np.full(16, 0.4), 5000).astype(np.float32)
QUERIES = rng.dirichlet(np.full(16, 0.4), 70).astype(np.float32)
TRUE = CHI2(QUERIES, LARGE, dtype=np.float64)


def require_best(found, K, rows, k):
    """Scores are the k best among the allowed rows, and belong to the ids."""
    best = -np.sort(-K[:, rows], axis=1)[:, :k]
    k = best.shape[1]
    assert found.exact.all()
    np.testing.assert_allclose(found.scores[:, :k], best, rtol=2e-6)
    np.testing.assert_allclose(np.take_along_axis(K, found.ids[:, :k], 1), best, rtol=2e-6)
    assert np.isin(found.ids[:, :k], rows).all()
    assert (found.ids[:, k:] == -1).all()


@pytest.fixture(scope="module", params=[8, 16, 70, 130])
def large(request):
    made = mercer.exact("chi2", n_landmarks=200, n_components=request.param)
    return made.fit(LARGE).add(LARGE)


@pytest.mark.parametrize("k", [1, 10, 600])
def test_large(large, k):
    found = large.search(QUERIES, k)
    require_best(found, TRUE, np.arange(5000), k)
    assert found.evaluations.mean() < 5000 or k == 600  # so many that all are compared at once
    assert (found.landmark_evaluations == 200).all()
    assert (found.probability == 1).all()


@pytest.mark.parametrize("share", [0.0, 0.0004, 0.01, 0.24, 0.26, 0.5, 0.99, 1.0])
def test_large_filters(large, share):
    mask = np.random.default_rng(1).random(5000) < share
    rows = np.flatnonzero(mask)
    for where in (mask, rows, rng.permutation(rows)):
        require_best(large.search(QUERIES, 5, where=where), TRUE, rows, 5)
    large_scores = large.within(QUERIES[:5], 0.7, where=mask)
    for query, found in enumerate(large_scores):
        expected = rows[TRUE[query, rows] >= 0.7]
        assert set(found.ids[0].tolist()) == set(expected.tolist())


@pytest.mark.parametrize("n_components", [16, 70])
def test_many_segments(monkeypatch, n_components):
    monkeypatch.setattr(recipe, "RATIO", 0)
    made = mercer.exact("chi2", n_landmarks=200, n_components=n_components).fit(LARGE)
    for start, stop in ((0, 3000), (3000, 3001), (3001, 4200), (4200, 5000)):
        made.add(LARGE[start:stop])
    assert made.info()["segments"] == 4
    require_best(made.search(QUERIES, 7), TRUE, np.arange(5000), 7)
    gone = rng.permutation(5000)[:2500]
    made.remove(gone)
    left = np.setdiff1d(np.arange(5000), gone)
    require_best(made.search(QUERIES, 7), TRUE, left, 7)
    mask = rng.random(2500) < 0.1
    require_best(made.search(QUERIES, 7, where=mask), TRUE, made.ids[mask], 7)
    before = made.search(QUERIES, 7)
    made.compact()
    assert made.info()["segments"] == 1
    assert made.info()["removed"] == 0
    np.testing.assert_array_equal(made.search(QUERIES, 7).ids, before.ids)


def test_a_graph_grows_in_one_segment_until_rows_are_removed():
    made = mercer.graph("chi2", n_landmarks=50).fit(LARGE, measure=False)
    for start in range(0, 2000, 100):
        made.add(LARGE[start : start + 100])
    assert made.info()["segments"] == 1
    made.remove([0])  # a graph cannot lose rows: linking all of them anew must be worth it
    made.add(LARGE[2000:2100])
    assert made.info()["segments"] == 2
    found = made.search(LARGE[1:2100], 1).ids[:, 0]
    assert np.mean(found == np.arange(1, 2100)) > 0.98


def test_single_additions_do_not_pile_up():
    made = mercer.exact("chi2", n_landmarks=20, n_components=8).fit(HISTOGRAMS)
    for row in range(64):
        made.add(HISTOGRAMS[row : row + 1])
    assert made.info()["segments"] <= 7
    assert made.ids.tolist() == list(range(64))
    require_best(made.search(HISTOGRAMS[:5], 3), CHI2(HISTOGRAMS[:5], HISTOGRAMS[:64],
                 dtype=np.float64), np.arange(64), 3)  # fmt: skip


def test_queries_answer_the_same_in_any_number():
    made = mercer.exact("chi2", n_landmarks=100, n_components=70).fit(LARGE).add(LARGE)
    together = made.search(QUERIES, 5)
    for query in range(0, 70, 10):
        alone = made.search(QUERIES[query : query + 1], 5)
        np.testing.assert_array_equal(alone.ids[0], together.ids[query])


# ---- ids


def test_next_ids_follow_the_largest():
    made = mercer.exact("rbf").fit(VECTORS).add(VECTORS[:3], ids=[7, 5, 100])
    made.add(VECTORS[3:5])
    assert made.ids.tolist() == [7, 5, 100, 101, 102]
    made.remove([102, 101]).add(VECTORS[:1])
    assert made.ids.tolist()[:3] == [7, 5, 100]
    assert len(set(made.ids.tolist())) == 4


def test_types_of_ids():
    made = mercer.exact("rbf").fit(VECTORS)
    assert made.info()["id type"] == "not chosen yet"
    made.add(VECTORS[:2], ids=np.array([3, 4], np.uint16))
    assert made.search(VECTORS[:1], 1).ids.dtype == np.int64
    with pytest.raises(InputError, match="ids are of type str but those of the index are int64"):
        made.add(VECTORS[:1], ids=["a"])
    words = mercer.exact("rbf").fit(VECTORS).add(VECTORS[:2], ids=np.array(["é", "long name"]))
    words.add(VECTORS[2:3], ids=["a much longer name than the others"])
    found = words.search(VECTORS[2:3], 4).ids[0].tolist()
    assert found[0] == "a much longer name than the others"
    assert found[3] is None
    with pytest.raises(InputError, match=r"have string ids\. Pass ids="):
        words.add(VECTORS[:1])
    words.remove(words.ids)
    assert words.add(VECTORS[:1], ids=[5]).ids.tolist() == [5]  # empty again: any type


def test_removing_is_all_or_nothing():
    made = mercer.exact("rbf").fit(VECTORS).add(VECTORS)
    with pytest.raises(InputError, match=r"1 of 3 ids are not in the index \(first: 99\)"):
        made.remove([1, 2, 99])
    with pytest.raises(InputError, match="given twice"):
        made.remove([1, 1])
    assert len(made) == 70
    made.remove([])
    assert len(made.remove(made.ids)) == 0
    assert bool(made)
    with pytest.warns(mercer.EmptyIndexWarning, match=r"no items.*Call add\(X\)"):
        found = made.search(VECTORS[:2], 2)
    assert found.ids.tolist() == [[-1, -1]] * 2
    assert found.found.tolist() == [0, 0]
    with pytest.warns(mercer.EmptyIndexWarning):
        assert made.within(VECTORS[:1], 0.5)[0].ids.shape == (1, 0)


def test_failed_additions_change_nothing():
    made = mercer.exact("rbf").fit(VECTORS).add(VECTORS[:10])
    bad = VECTORS[10:20].copy()
    bad[3, 0] = np.nan
    for call in (lambda: made.add(bad), lambda: made.add(VECTORS[:2], ids=[50, 3]),
                 lambda: made.add(VECTORS[:2], ids=[50])):  # fmt: skip
        with pytest.raises(InputError):
            call()
    assert made.ids.tolist() == list(range(10))


# ---- methods, facts


@pytest.mark.parametrize("options", [{}, {"center": True, "residual": True}])
def test_vectors_that_are_no_bounds_prove_nothing(options):
    """Candidates are re-ranked, nothing is certified, and the kernel is not accused."""
    made = mercer.Index("chi2", KernelPCA("chi2", 8, **options), BoundScan())
    made.fit(LARGE, measure=False)
    assert not made.info()["certified"]
    with pytest.raises(InputError, match="has no bounds"):
        made.within(QUERIES[:1], 0.5)
    made.add(LARGE)
    found = made.search(QUERIES, 3, candidates=100)
    assert (found.evaluations == 100).all()
    assert not found.exact.any()
    assert made.disproof_ is None
    assert made.search(QUERIES[:2], 3, candidates=5000).exact.all()  # all were evaluated
    check_index(made, HISTOGRAMS)


def test_an_embedding_of_another_kernel_is_refused():
    with pytest.raises(InputError, match=r"does not embed items for Chi2\(\)\. Give both the same"):
        mercer.Index("chi2", KernelPCA("rbf", 8, residual=True), BoundScan())


def test_fit_forgets_only_if_asked():
    made = mercer.exact("rbf").fit(VECTORS).add(VECTORS)
    made.disproof_ = "something"
    for fitted in (lambda: made.fit(VECTORS[:20]), lambda: made.fit(VECTORS[:20], forget=False)):
        with pytest.raises(InputError, match=r"Index\.fit: the index has 70 items.*forget=True"):
            fitted()
    assert len(made) == 70
    assert made.disproof_ == "something"
    made.fit(VECTORS[:20], forget=True)
    assert len(made.fit(VECTORS[:20])) == 0  # nothing is forgotten
    assert made.info()["certified"]
    with pytest.raises(NotFittedError, match=r"Call index\.fit"):
        mercer.exact("rbf").search(VECTORS, 1)


def test_info_and_params():
    made = mercer.exact("chi2", n_landmarks=10, seed=3)
    assert made.get_params()["embedding__n_landmarks"] == 10
    assert made.set_params(embedding__seed=4).embedding.seed == 4
    made.fit(HISTOGRAMS).add(HISTOGRAMS).remove([3])
    facts = made.info()
    assert facts["items"] == 69
    assert facts["removed"] == 1
    assert facts["id type"] == "int64"
    assert facts["certified"] is True


# ---- filters by ids


@pytest.mark.parametrize("ids", [np.arange(70) * 2, [f"item {i}" for i in range(70)]])
def test_ids_of_a_filter_are_in_the_index(ids):
    ids = np.asarray(ids)
    made = mercer.exact("rbf", n_landmarks=20).fit(VECTORS).add(VECTORS[:40], ids[:40])
    made.add(VECTORS[40:], ids[40:]).remove(ids[:1])
    strange = [*ids[38:42], ids[0], "item 99" if ids.dtype.kind == "U" else 99]
    for call in (lambda: made.search(VECTORS[:3], 2, where=strange),
                 lambda: made.within(VECTORS[:3], 0.5, where=np.array(strange))):  # fmt: skip
        with pytest.raises(
            InputError, match=rf"2 of 6 ids are not in the index .first: '?{ids[0]}"
        ):
            call()
    found = made.search(VECTORS[:3], 5, where=[*ids[38:42], ids[40]])  # one of them twice
    assert set(found.ids[:, :4].ravel()) == set(ids[38:42])
    assert found.found.tolist() == [4, 4, 4]
    with pytest.raises(InputError, match="are not in the index"):
        made.empty().search(VECTORS[:3], 2, where=ids[:1])
