"""An index that chooses its own method: what it promises, and what it says of its choice."""

from __future__ import annotations

import json
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest

import mercer
from mercer import evaluate, kernels
from mercer.errors import InputError, NotFittedError, SlowKernelWarning
from mercer.index.ways import WAYS

K = 10


def histograms(n, seed, width=32):
    return np.random.default_rng(seed).dirichlet(np.full(width, 0.5), size=n).astype(np.float32)


X, Q = histograms(8000, 0), histograms(300, 1)
TRUTH = evaluate.ground_truth("chi2", X, Q, K)


@pytest.fixture(scope="module")
def index():
    return mercer.auto("chi2", recall=0.95).fit(X).add(X)


@pytest.mark.parametrize("target", [None, 0.8, 0.9, 0.99])
def test_the_recall_asked_for_is_found(index, target):
    found = index.search(Q, K, recall=target)
    assert evaluate.recall(found, TRUTH) >= (target or 0.95)
    assert found.recall >= (target or 0.95)


def test_other_numbers_of_items_are_found_too(index):
    for k in (1, 30, 80):
        truth = evaluate.ground_truth("chi2", X, Q, k)
        assert evaluate.recall(index.search(Q, k), truth) >= 0.95


def test_it_tells_what_it_tried(index):
    told = index.explain()
    names = [one.method for one in told.tried]
    assert names == [name for name in WAYS if name in names]
    assert told.taken in names
    assert told.n_items == len(X)
    [taken] = [one for one in told.tried if one.method == told.taken]
    assert not taken.note
    fastest = max(one.queries_per_second for one in told.tried if not one.note)
    assert taken.queries_per_second > fastest / 2  # timed again at the end
    assert all(one.at_least <= one.recall for one in told.tried)
    assert f"{told.taken} was taken for recall@10 0.95 of 8000 items" in str(told)
    assert json.loads(json.dumps(told.to_dict())) == told.to_dict()
    assert index.info()["choice"] == told.to_dict()


def test_the_picture_is_well_formed_and_shows_every_method(index, tmp_path):
    told = index.explain()
    told.plot(tmp_path / "choice.svg")
    root = ElementTree.parse(tmp_path / "choice.svg").getroot()
    texts = {node.text for node in root.iter("{http://www.w3.org/2000/svg}text")}
    named = {one.method + (" (taken)" if one.method == told.taken else "") for one in told.tried}
    assert named <= texts
    assert len(root.findall("{http://www.w3.org/2000/svg}polyline")) == len(told.tried)


def test_the_choice_is_saved(index, tmp_path):
    index.save(tmp_path / "index")
    again = mercer.load(tmp_path / "index")
    assert again.explain() == index.explain()
    assert again.aim == index.aim
    np.testing.assert_array_equal(again.search(Q, K).ids, index.search(Q, K).ids)
    again.add(X, ids=np.arange(10_000, 18_000))  # twice as many: chosen again
    assert again.explain().n_items == 16_000


def test_a_proof_is_a_recall_of_1():
    made = mercer.auto("chi2", recall=1).fit(X).add(X)
    assert made.search(Q, K).exact.all()
    assert {one.method for one in made.explain().tried} <= {"brute", "exact"}


def test_few_items_are_compared_and_the_choice_is_made_when_there_are_more():
    made = mercer.auto("chi2", recall=0.9).fit(X[:500])
    with pytest.raises(InputError, match="the choice is made then"):
        made.explain()
    made.add(X[:400])
    assert made.explain().taken == "brute"
    assert made.search(Q[:5], K).exact.all()
    n_known = []
    for start in range(400, 4000, 400):
        made.add(X[start : start + 400])
        n_known.append(made.explain().n_items)
    assert n_known == [800, 800, 1600, 1600, 1600, 1600, 3200, 3200, 3200]
    assert made.ids.tolist() == list(range(4000))
    truth = evaluate.ground_truth("chi2", X[:4000], Q, K)
    assert evaluate.recall(made.search(Q, K), truth) >= 0.9


def test_candidates_do_not_leave_items_out_where_everything_is_compared():
    X = np.random.default_rng(0).dirichlet(np.ones(8), 500)
    made = mercer.auto("chi2").fit(X).add(X)
    assert made.explain().taken == "brute"
    np.testing.assert_array_equal(made.search(X[:9], 3, candidates=20).ids[:, 0], np.arange(9))


def test_ids_and_removals_survive_a_choice():
    names = [f"item {i}" for i in range(len(X))]
    made = mercer.auto("chi2").fit(X).add(X[:300], ids=names[:300])
    made.remove(names[:100]).add(X[300:3000], ids=names[300:3000])
    assert made.ids.tolist() == names[100:3000]
    found = made.search(X[100:400], 1)
    assert (found.ids[:, 0] == names[100:400]).mean() > 0.95


@pytest.mark.parametrize("seconds", [1e-3])
def test_no_time_leaves_brute_force_and_says_so(seconds):
    made = mercer.auto("chi2", build_seconds=seconds).fit(X).add(X)
    told = made.explain()
    assert told.taken == "brute"
    assert told.not_tried == ["exact", "inverted", "graph"]
    assert "Not tried, for lack of time: exact, inverted, graph" in str(told)


def test_too_little_memory_is_an_error_and_little_memory_limits_the_choice():
    n_bytes = X.nbytes
    with pytest.raises(InputError, match="the items alone take"):
        mercer.auto("chi2", memory=n_bytes // 2).fit(X).add(X)
    made = mercer.auto("chi2", memory=int(1.3 * n_bytes)).fit(X).add(X)
    told = made.explain()
    [exact] = [one for one in told.tried if one.method == "exact"]
    assert exact.note == "takes more memory"
    [taken] = [one for one in told.tried if one.method == told.taken]
    assert taken.bytes_an_item * len(X) <= 1.3 * n_bytes


def test_kernels_that_are_not_psd_and_objects_are_served():
    kernel = kernels.from_gram(lambda A, B: -np.abs(A[:, None] - B[None]).sum(axis=2))
    points = np.random.default_rng(2).normal(size=(1500, 6)).astype(np.float32)
    made = mercer.auto(kernel, recall=0.9).fit(points).add(points[:1300])
    truth = evaluate.ground_truth(kernel, points[:1300], points[1300:], K)
    assert evaluate.recall(made.search(points[1300:], K), truth) >= 0.9
    assert "exact" not in {one.method for one in made.explain().tried}


def test_a_kernel_less_precise_than_it_says_is_served_by_what_needs_no_proof():
    """Its float32 and its double precision differ, which disproves certificates only."""

    @mercer.kernel
    def saturated(x, y):
        total = 0.0
        for i in range(len(x)):
            total += x[i] * y[i]
        return np.tanh(0.1 * total - 1)

    points = np.random.default_rng(3).normal(size=(2300, 16)).astype(np.float32)
    made = mercer.auto(saturated, recall=0.9).fit(points).add(points[:2000])
    truth = evaluate.ground_truth(saturated, points[:2000], points[2000:], K)
    assert evaluate.recall(made.search(points[2000:], K), truth) >= 0.9


def test_it_measures_even_if_told_not_to():
    made = mercer.auto("chi2", recall=0.9).fit(X, measure=False).add(X)
    assert evaluate.recall(made.search(Q, K), TRUTH) >= 0.9
    assert made.search(Q[:5], K).recall >= 0.9


def test_queries_that_are_given_are_what_it_is_measured_by():
    made = mercer.auto("chi2", recall=0.9).fit(X, queries=Q[:150]).add(X)
    truth = evaluate.ground_truth("chi2", X, Q[150:], K)
    assert evaluate.recall(made.search(Q[150:], K), truth) >= 0.9


def test_an_empty_copy_reaches_the_same_aim(index):
    copy = index.empty().add(X[:3000])
    truth = evaluate.ground_truth("chi2", X[:3000], Q, K)
    assert evaluate.recall(copy.search(Q, K), truth) >= 0.9


def test_effort_and_candidates_still_say_what_to_do(index):
    if index.searcher_.takes_effort:
        assert index.search(Q[:3], K, effort=256, candidates=300).evaluations.max() == 300
    with pytest.raises(InputError, match="Pass either recall, or these"):
        index.search(Q, K, recall=0.9, candidates=50)


def test_filters_are_respected(index):
    found = index.search(Q, K, where=np.arange(0, 8000, 7))
    assert (found.ids % 7 == 0).all()


@pytest.mark.parametrize(
    "wrong", [{"recall": 0}, {"recall": 1.1}, {"k": 0}, {"memory": 0}, {"build_seconds": -1}]
)
def test_impossible_aims_are_refused(wrong):
    [name] = wrong
    with pytest.raises(InputError, match=f"{name} is"):
        mercer.auto("chi2", **wrong)


def test_other_indexes_have_nothing_to_explain():
    with pytest.raises(InputError, match=r"mercer\.auto"):
        mercer.brute("chi2").fit(X[:10]).add(X[:10]).explain()
    with pytest.raises(NotFittedError):
        mercer.auto("chi2").search(Q)


@pytest.mark.parametrize("name", WAYS)
def test_ways_are_the_public_functions_with_their_defaults(name):
    made = getattr(mercer, name)("chi2", **({} if name == "brute" else {"seed": 3}))
    embedding, searcher = WAYS[name].parts(kernels.Chi2(), 3)
    embedding.set_params(kernel=made.embedding.kernel)
    assert (made.embedding, made.searcher) == (embedding, searcher)


def test_items_that_cannot_be_stored_are_weighed_and_announced_once():
    rng = np.random.default_rng(0)
    X = [frozenset(rng.integers(0, 40, 12).tolist()) for _ in range(1100)]
    kernel = kernels.from_function(lambda x, y: len(x & y) / len(x | y), psd=True)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        kernel.prepare(X)
        kernel._seconds = 1e-3
        kernel._called = lambda xs, ys: np.array(list(map(kernel.function, xs, ys)))
        index = mercer.auto(kernel, memory=10**9).fit(X).add(X)
    slow = [one for one in said if one.category is SlowKernelWarning]
    assert len(slow) == 1
    assert str(slow[0].message).startswith("auto, 1,100 items: about ")
    assert slow[0].filename == __file__
    assert index.explain().tried[0].bytes_an_item > 0
    np.testing.assert_array_equal(index.search(X[:9], 1).ids[:, 0], range(9))
