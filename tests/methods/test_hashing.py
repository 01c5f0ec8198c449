"""Every method works for every kind of item, with ids, removal, filters, save and load."""

from __future__ import annotations

import numpy as np
import pytest
from zoo import ANIMALS, HISTOGRAMS, VECTORS

import mercer
from mercer import evaluate, kernels
from mercer.codes import Sign
from mercer.testing import check_index

FEW = {"n_bits": 24, "n_landmarks": 40}
METHODS = {
    "klsh": lambda kernel: mercer.klsh(kernel, subset=10, **FEW),
    "klsh, paper": lambda kernel: mercer.klsh(kernel, subset=10, center="landmarks", **FEW),
    "low rank": lambda kernel: mercer.klsh(kernel, subset=None, rank=8, scale=2.0, **FEW),
    "klsh, hamming": lambda kernel: mercer.klsh(kernel, subset=10, codes="hamming", **FEW),
    "klsh, lists": lambda kernel: mercer.klsh(kernel, subset=10, codes="lists", **FEW),
    "kpca_lsh": lambda kernel: mercer.kpca_lsh(kernel, **FEW),
    "rmmh": lambda kernel: mercer.rmmh(kernel, **FEW),
    "fourier": lambda kernel: mercer.fourier(kernel, **FEW),
}
BITS = list(METHODS)  # methods that keep bits
METHODS |= {
    "kpca_pq": lambda kernel: mercer.kpca_pq(kernel, n_bytes=5, n_landmarks=40, n_components=16),
    "inverted": lambda kernel: mercer.inverted(kernel),
    "inverted, lists": lambda kernel: mercer.inverted(kernel, n_lists=6, n_probe=2, n_bytes=3),
    "graph": lambda kernel: mercer.graph(kernel),
}
KERNELS = {animal.name: animal for animal in ANIMALS}
SOME = [
    *("chi2-float32", "chi2-uint8", "intersection-sparse", "tanimoto-bool", "linear-float32"),
    *("sum", "my_chi2", "strings", "sets", "gram", "precomputed", "tversky-asymmetric"),
    *("sum_match-float32", "max_sim-uint8", "corr-float32"),
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SOME)
def test_every_method_takes_every_kind_of_item(method, name):
    animal = KERNELS[name]
    index = METHODS[method](animal.kernel).fit(animal.X).add(animal.X)
    truth = evaluate.ground_truth(animal.kernel, animal.X, animal.X, 3)
    everything = index.search(animal.X, 3, candidates=70)
    assert evaluate.recall(everything, truth) == 1  # all candidates are all items
    assert everything.exact.all()
    few = index.search(animal.X, 1, candidates=20)
    assert (few.evaluations == 20).all()
    proven = few.exact  # where an item is as similar as any can be
    assert (few.scores[proven] >= truth.scores[proven, :1] - truth.tolerance[proven, None]).all()
    assert animal.kernel.psd or not proven.any()
    assert evaluate.recall(few, truth, 1) > 0.4  # chance: 20 of 70


@pytest.mark.parametrize("method", METHODS)
def test_contract(method):
    check_index(METHODS[method]("chi2"), HISTOGRAMS)


def test_lsh():
    index = mercer.lsh("cosine", n_bits=128).fit(VECTORS).add(VECTORS)
    truth = evaluate.ground_truth("cosine", VECTORS, VECTORS, 1)
    assert evaluate.recall_at(index, VECTORS, truth, [1])[1] == 1
    check_index(mercer.lsh("linear", n_bits=64), VECTORS)
    with pytest.raises(mercer.InputError, match="no vectors are known that rank as 'laplacian'"):
        mercer.lsh("laplacian")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["chi2-float32", "tanimoto-packed", "intersection-sparse", "deep",
                                  "corr-float32", "chi2-sets"])  # fmt: skip
def test_saved_indexes_answer_alike(method, name, tmp_path):
    animal = KERNELS[name]
    index = METHODS[method](animal.kernel).fit(animal.X).add(animal.X[:50]).add(animal.X[50:])
    index.remove([3, 60])
    index.save(tmp_path / "index")
    loaded = mercer.load(tmp_path / "index")
    for some in (index, loaded):
        some.add(animal.X[:5], ids=[100, 101, 102, 103, 104])
    one, other = (some.search(animal.X, 4, candidates=15) for some in (index, loaded))
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_array_equal(one.scores, other.scores)
    assert mercer.verify(tmp_path / "index")


def test_recall_grows_with_candidates_and_bits():
    X, Q = _clustered(3000), _clustered(200, seed=1)
    truth = evaluate.ground_truth("chi2", X, Q, 1)
    found = {
        bits: evaluate.recall_at(mercer.kpca_lsh("chi2", n_bits=bits).fit(X).add(X), Q, truth,
                                 [1, 10, 100])
        for bits in (16, 64, 256)
    }  # fmt: skip
    for recalls in found.values():
        assert list(recalls.values()) == sorted(recalls.values())
    assert found[16][10] < found[64][10] < found[256][10]
    assert found[256][100] > 0.95


def test_asymmetric_search_finds_more():
    X, Q = _clustered(3000), _clustered(200, seed=1)
    truth = evaluate.ground_truth("chi2", X, Q, 1)
    recalls = [
        evaluate.recall_at(mercer.klsh("chi2", n_bits=64, codes=codes).fit(X).add(X), Q,
                           truth, [20])[20]
        for codes in ("hamming", "asymmetric")
    ]  # fmt: skip
    assert recalls[1] > recalls[0] + 0.03


def test_info_tells_about_spectrum_and_bits():
    index = mercer.klsh("chi2", n_bits=32, n_landmarks=60, subset=10, rank=12)
    told = index.fit(HISTOGRAMS).add(HISTOGRAMS).info()
    assert told["rank kept"] == 12
    assert told["bits"] == 32
    assert told["bytes per code"] == 4
    assert 0.9 < told["entropy a bit"]["mean"] <= 1
    assert 0.3 < told["share of ones"]["least"] <= told["share of ones"]["largest"] < 0.7
    assert told["expected share of equal bits"]["cosine 0.5"] == pytest.approx(2 / 3)
    floors = list(told["data-dependent bound"].values())
    assert floors == sorted(floors, reverse=True)  # a worse search promises less
    assert -1 <= floors[2] <= floors[0] <= 1
    assert told["leading eigenvalues"] == sorted(told["leading eigenvalues"], reverse=True)


THEOREM = {
    "klsh, paper": (lambda: mercer.klsh("chi2", subset=10, center="landmarks", **FEW), None),
    "an exact index of unit vectors": (lambda: mercer.exact("cosine", n_landmarks=40), None),
    "centred": (lambda: mercer.klsh("chi2", subset=10, **FEW), "items are centred"),
    "centred kernel PCA": (lambda: mercer.kpca_lsh("chi2", **FEW), "items are centred"),
    "lengths": (lambda: mercer.exact("linear", n_landmarks=40), "is not normalised"),
    "not normalised": (
        lambda: mercer.klsh("linear", subset=10, center="none", normalize=False, **FEW),
        "is not normalised",
    ),
    "not definite": (
        lambda: mercer.klsh(kernels.from_gram(np.inner), subset=10, center="none", **FEW),
        "not known to be positive semi-definite",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", THEOREM)
def test_theorem_2_is_stated_of_normalised_kernels_only(name):
    make, reason = THEOREM[name]
    X = HISTOGRAMS[HISTOGRAMS.sum(axis=1) > 0]
    told = make().fit(X).add(X).info()
    if reason is not None:
        assert reason in told["theorem 2"]
        assert isinstance(told["data-dependent bound"], str) == ("definite" in reason)
        return
    assert told["theorem 2"]["vacuous"] is True
    assert 0 <= told["theorem 2"]["least_norm"] <= 1
    floors = told["theorem 2"]["floor where the best similarity is 1"]
    assert list(floors.values()) == [-1, -1, -1]  # of 40 landmarks


def test_info_tells_the_collisions_of_waves():
    waves = mercer.fourier("rbf", n_bits=32).fit(VECTORS).add(VECTORS)
    curve = waves.info()["expected share of equal bits"]
    assert list(curve.values()) == sorted(curve.values())
    assert min(curve.values()) > 1 - 4 / np.pi**2
    machines = mercer.rmmh("rbf", n_bits=32).fit(VECTORS).add(VECTORS)
    assert "expected share of equal bits" not in machines.info()  # no theory tells it


@pytest.mark.parametrize("method", BITS)
def test_codes_are_those_that_are_searched(method):
    index = METHODS[method]("chi2").fit(HISTOGRAMS).add(HISTOGRAMS)
    codes = index.encode(HISTOGRAMS)
    assert (codes.dtype, len(codes)) == (np.uint8, 70)
    np.testing.assert_array_equal(codes, index.segments_.members[0].rows.codes)


@pytest.mark.parametrize("method, n_bytes", [("kpca_pq", 5), ("inverted, lists", 3)])
def test_product_codes_are_those_that_are_searched(method, n_bytes):
    X = HISTOGRAMS / np.maximum(HISTOGRAMS.sum(axis=1, keepdims=True), 1e-9)
    X[X.sum(axis=1) == 0] = 1 / X.shape[1]  # all of one length
    index = METHODS[method]("chi2").fit(X).add(X)
    codes, rows = index.encode(X), index.segments_.members[0].rows
    assert codes.shape == (70, n_bytes)
    numbers = getattr(rows, "numbers", np.arange(70))
    np.testing.assert_array_equal(codes[numbers], rows.codes)


def test_codes_need_a_method_that_has_them():
    with pytest.raises(mercer.NotFittedError, match=r"Index\.encode: not fitted"):
        mercer.klsh("chi2").encode(HISTOGRAMS)
    with pytest.raises(mercer.InputError, match="keeps no codes"):
        mercer.exact("chi2").fit(HISTOGRAMS).encode(HISTOGRAMS)


def test_kernels_that_are_not_definite_are_hashed():
    kernel = kernels.from_gram(lambda A, B: np.tanh(A @ B.T - 1))
    index = mercer.klsh(kernel, n_bits=64, n_landmarks=40, subset=10, normalize=False)
    index.fit(VECTORS).add(VECTORS)
    truth = evaluate.ground_truth(kernel, VECTORS, VECTORS, 1)
    assert evaluate.recall_at(index, VECTORS, truth, [20])[20] > 0.8


def _clustered(n, seed=0):
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(9).dirichlet(np.full(32, 0.3), size=40)
    return np.stack([rng.dirichlet(40 * centres[i % 40] + 0.02) for i in range(n)])


@pytest.mark.parametrize("method", [mercer.klsh, mercer.kpca_lsh, mercer.kpca_pq, mercer.rmmh,
                                    mercer.inverted, mercer.graph, mercer.exact])  # fmt: skip
@pytest.mark.parametrize("value, n", [(1, 30), (0, 30), (1, 1)], ids=["equal", "zero", "one"])
def test_items_without_any_difference(method, value, n):
    """Nothing can be learned of them: any of them is an answer."""
    X = np.full((n, 4), value, np.float32)
    found = method("linear").fit(X).add(X).search(X[:3], 2)
    assert (found.ids[:, 0] >= 0).all()
    assert (found.scores[:, 0] == X[0] @ X[0]).all()


def test_directions_of_many_features_take_their_own_memory():
    """Of 50,000 features: a square matrix would take 20 GB."""
    Z = np.random.default_rng(0).normal(size=(20, 50_000)).astype(np.float32)
    code = Sign("orthogonal", n_bits=48).fit(Z)
    assert code.directions_.shape == (50_000, 48)
    np.testing.assert_allclose(code.directions_.T @ code.directions_, np.eye(48), atol=1e-5)
