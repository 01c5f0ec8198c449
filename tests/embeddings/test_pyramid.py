"""Pyramid match hashing: walks, bridges and bits against their laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from set_reference import normals, scattered
from zoo import ANIMALS, SETS

import mercer
from mercer import evaluate, kernels
from mercer.embeddings import PyramidDirections
from mercer.embeddings._walk_loops import MOST_NODES, motion, project
from mercer.errors import InputError, NotFittedError
from mercer.kernels import PyramidMatch
from mercer.search import SortedLists
from mercer.testing import check_embedding, check_index

PYRAMIDS = {
    animal.name: animal.kernel
    for animal in ANIMALS
    if isinstance(getattr(animal.kernel, "kernel", animal.kernel), kernels.Pyramid)
    and animal.X is SETS
    and animal.kernel.psd
}
MANY = 8192  # functions: means over them are off by about 1/90 of a standard deviation


def walk(count):
    """Return a Brownian motion at `count` as nodes and shares."""
    nodes, shares = np.empty(MOST_NODES), np.empty(MOST_NODES)
    n = motion(float(count), nodes, shares)
    return dict(zip(nodes[:n].tolist(), shares[:n].tolist(), strict=True))


def covariance(one, other):
    return sum(share * other.get(node, 0.0) for node, share in one.items())


counts = st.integers(0, 10**6) | st.floats(0, 10**5) | st.integers(0, 70)


@settings(max_examples=200, deadline=None)
@given(counts, counts)
def test_motions_have_the_covariance_of_walks(a, b):
    """Cov(W(a), W(b)) = min(a, b) for whole and real counts, by the shares of the nodes alone."""
    tolerance = 1e-6 * (1 + max(a, b)) if isinstance(a + b, float) else 1e-12 * (1 + max(a, b))
    assert covariance(walk(a), walk(b)) == pytest.approx(min(a, b), abs=tolerance)


def test_motions_take_few_numbers():
    draws = {count: len(walk(count)) for count in (0, 1, 2, 3, 4, 64, 1000, 10**6)}
    assert draws[0] == 0
    assert draws[1] == 1
    assert draws[2] == 2
    assert draws[64] == 7
    assert draws[1000] < 20
    assert draws[10**6] < 40
    assert all(len(walk(n)) <= n + 1 for n in range(1, 200))  # never much more than one a step


def projections(bins, counts, n_bits, seed=0, is_walk=True):
    rows = np.array([0, len(bins)]), np.asarray(bins), np.asarray(counts)
    out = np.empty((1, n_bits), np.float32)
    project(rows, np.ones(1), 63, np.uint64(seed), is_walk, out)
    return out[0]


def test_numbers_are_those_of_the_formula():
    """Against a twin of the generator in double precision."""
    start = scattered(7 + 0x9E3779B97F4A7C15)
    own = scattered(12345 ^ start)
    one = int(np.float64(1.0).view(np.int64))
    stream = scattered(own ^ one)
    found = projections([12345], [1], 501, seed=7)
    np.testing.assert_allclose(found, normals(stream, 501), atol=3e-6)


def test_numbers_are_normal_and_independent():
    Z = np.array([projections([b], [1], 200) for b in range(400)], np.float64)  # 80,000 numbers
    assert abs(Z.mean()) < 4 / np.sqrt(Z.size)
    assert abs(Z.var() - 1) < 4 * np.sqrt(2 / Z.size)
    assert abs((Z**4).mean() - 3) < 4 * np.sqrt(96 / Z.size)
    places = np.sort(Z.ravel())
    shares = 0.5 * (1 + np.vectorize(math.erf)(places / np.sqrt(2)))
    assert np.abs(shares - np.arange(Z.size) / Z.size).max() < 2 / np.sqrt(Z.size)  # Kolmogorov
    across = (Z.T @ Z / len(Z))[np.triu_indices(200, 1)]
    assert np.abs(across).max() < 5.5 / np.sqrt(len(Z))  # of 19,900 functions' pairs
    between = (Z @ Z.T / Z.shape[1])[np.triu_indices(400, 1)]
    assert np.abs(between).max() < 6 / np.sqrt(Z.shape[1])  # of 79,800 bins' pairs
    assert abs(np.corrcoef(Z[:, ::2].ravel() ** 2, Z[:, 1::2].ravel() ** 2)[0, 1]) < 0.02


def test_walks_of_one_bin_have_independent_steps():
    """W(n) - W(m) is independent of W(m), with variance n - m, also through the bridge."""
    at = {n: projections([5], [n], MANY).astype(np.float64) for n in (3, 10, 37)}
    for low, high in ((3, 10), (10, 37), (3, 37)):
        step = at[high] - at[low]
        assert step.var() == pytest.approx(high - low, rel=0.06)  # 4 standard deviations
        assert abs(np.corrcoef(step, at[low])[0, 1]) < 0.045


@pytest.mark.parametrize("name", PYRAMIDS)
def test_covariance_of_projections_is_the_kernel(name):
    kernel = PYRAMIDS[name]
    Z = PyramidDirections(kernel, MANY).fit(SETS).transform(SETS[:30]).astype(np.float64)
    inner = kernel.kernel if isinstance(kernel, kernels.Normalized) else kernel
    K = inner(SETS[:30], dtype=np.float64)
    own = np.sqrt(np.outer(np.diag(K), np.diag(K)))
    error = (Z @ Z.T / MANY - K) / np.where(own > 0, own, 1)
    assert np.abs(error).max() < 5 * np.sqrt(2 / MANY)


def test_equal_bits_estimate_the_angle():
    sets = _photos(60)
    kernel = PyramidMatch(16.0, 3)
    P = kernel.normalized()(sets, dtype=np.float64)
    expected = 1 - np.arccos(P.clip(-1, 1)) / np.pi
    off = np.triu_indices(60, 1)
    error = (_equal_bits(kernel, sets, "walk") - expected)[off]
    assert abs(error.mean()) < 0.003
    spread = np.sqrt((expected * (1 - expected))[off].mean() / MANY)
    assert error.std() == pytest.approx(spread, rel=0.2)
    assert (_equal_bits(kernel, sets, "paper") - expected)[off].mean() > 0.02


def test_the_shortcut_of_the_paper_is_the_hellinger_pyramid():
    """r √V has the covariance c √(n m), never below that of the walk, c min(n, m)."""
    sets = _photos(30)
    kernel = PyramidMatch(4.0, 5)
    Z = PyramidDirections(kernel, MANY, mode="paper").fit_transform(sets).astype(np.float64)
    bins, counts = kernel.prepare(sets).parts.values()
    coefficients = kernel.coefficients[bins.values >> kernel.coefficient_shift]
    names, columns = np.unique(bins.values, return_inverse=True)
    F = np.zeros((len(sets), len(names)))
    owners = np.repeat(np.arange(len(sets)), np.diff(bins.offsets))
    F[owners, columns.ravel()] = np.sqrt(coefficients * counts.values).ravel()
    own = np.sqrt(np.outer((F**2).sum(axis=1), (F**2).sum(axis=1)))
    assert np.abs((Z @ Z.T / MANY - F @ F.T) / own).max() < 5 * np.sqrt(2 / MANY)
    assert (kernel(sets, dtype=np.float64) - 1e-9 <= F @ F.T).all()


def _equal_bits(kernel, sets, mode):
    signs = np.sign(PyramidDirections(kernel, MANY, mode=mode, seed=3).fit_transform(sets))
    return (1 + signs.astype(np.float64) @ signs.T / MANY) / 2


def _photos(n, seed=0):
    """Return sets of parts of ten objects, with clutter, so that bins have many points."""
    rng = np.random.default_rng(seed)
    objects = np.random.default_rng(8).random((10, 12, 3)) * 60
    return mercer.Ragged.from_list([
        np.concatenate([objects[i % 10] + rng.normal(0, 2, (12, 3)), rng.random((5, 3)) * 60])
        for i in range(n)
    ])  # fmt: skip


def test_fewer_bits_are_the_first_of_more():
    kernel = PyramidMatch(0.2, 3)
    few, more = (PyramidDirections(kernel, n).fit_transform(SETS) for n in (33, 256))
    # the last columns of an odd width may be summed in another order
    np.testing.assert_allclose(few, more[:, :33], rtol=0, atol=16 * 2.0**-24 * np.abs(more).max())
    other = PyramidDirections(kernel, 256, seed=1).fit_transform(SETS)
    assert abs(np.corrcoef(more.ravel(), other.ravel())[0, 1]) < 0.05


def test_normalised_kernels_have_the_same_bits():
    kernel = PyramidMatch(0.2, 3)
    one, other = (
        PyramidDirections(k, 64).fit_transform(SETS) for k in (kernel, kernel.normalized())
    )
    np.testing.assert_array_equal(one, other)


def test_empty_sets_have_no_direction():
    sets = mercer.Ragged(SETS.values[:3], [0, 0, 3], SETS.positions[:3])
    kernel = PyramidMatch(0.2, 3)
    Z = PyramidDirections(kernel, 16).fit(SETS).transform(sets)
    assert (Z[0] == 0).all()
    index = mercer.pyramid(kernel, n_bits=16).fit(SETS).add(SETS)
    found = index.search(sets, 3, candidates=10)
    assert (found.scores[0] == 0).all()
    assert (found.ids >= 0).all()


# ---- contracts


@pytest.mark.parametrize("mode", ["walk", "paper"])
@pytest.mark.parametrize("name", PYRAMIDS)
def test_contract_of_embeddings(name, mode):
    check_embedding(PyramidDirections(PYRAMIDS[name], 33, mode=mode), SETS)


METHODS = {
    "walk": lambda kernel: mercer.pyramid(kernel, n_bits=40),
    "paper, lists": lambda kernel: mercer.pyramid(
        kernel, n_bits=40, mode="paper", codes=SortedLists(asymmetric=False)
    ),
    "exact": lambda kernel: mercer.exact(kernel, n_landmarks=30, n_components=12),
    "klsh": lambda kernel: mercer.klsh(kernel, n_bits=24, n_landmarks=30, subset=5),
    "kpca_lsh": lambda kernel: mercer.kpca_lsh(kernel, n_bits=24, n_landmarks=30),
}


@pytest.mark.parametrize("name", PYRAMIDS)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_takes_sets(method, name, tmp_path):
    kernel = PYRAMIDS[name]
    index = METHODS[method](kernel).fit(SETS).add(SETS[:50]).add(SETS[50:])
    index.remove([3, 60])
    truth = evaluate.ground_truth(kernel, SETS, SETS, 3)
    everything = index.search(SETS, 3, candidates=70)
    if method == "exact":
        assert index.search(SETS, 3).exact.all()
    assert everything.exact.all()
    index.save(tmp_path / "index")
    loaded = mercer.load(tmp_path / "index")
    for some in (index, loaded):
        some.add(SETS.take(np.array([3, 60])), ids=[3, 60])
    one, other = (some.search(SETS, 3, candidates=40) for some in (index, loaded))
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_array_equal(one.scores, other.scores)
    assert evaluate.recall(index.search(SETS, 3, candidates=70), truth) == 1


@pytest.mark.parametrize("method", METHODS)
def test_contract_of_indexes(method):
    check_index(METHODS[method](PyramidMatch(0.2, 3).normalized()), SETS)


def test_hashing_finds_what_a_scan_finds():
    base, queries = _photos(400), _photos(40, seed=1)
    kernel = PyramidMatch.for_data(base).normalized()
    truth = evaluate.ground_truth(kernel, base, queries, 1)
    index = mercer.pyramid(kernel, n_bits=256).fit(base).add(base)
    recalls = evaluate.recall_at(index, queries, truth, [1, 10, 50])
    assert recalls[50] > 0.8  # chance: 1 in 8
    labels = index.search(queries, 1, candidates=40).ids[:, 0] % 10
    assert (labels == np.arange(40) % 10).mean() > 0.9


# ---- bad calls


def test_minimum_normalisation_cannot_be_hashed():
    kernel = PyramidMatch(0.2, 3, normalize="minimum")
    with pytest.raises(InputError, match=r"no hashing exists for 'minimum', P §3.5"):
        mercer.pyramid(kernel)
    assert evaluate.ground_truth(kernel, SETS, SETS[:3], 1).ids.ravel().tolist() == [0, 1, 2]


def test_bad_calls():
    kernel = PyramidMatch(0.2, 3)
    with pytest.raises(InputError, match="'chi2' is not a pyramid of sets"):
        mercer.pyramid("chi2")
    with pytest.raises(InputError, match=r"exp\(2.0\) is not a pyramid"):
        mercer.pyramid(kernel.exp(2.0))
    with pytest.raises(InputError, match="mode is 'fast'"):
        PyramidDirections(kernel, mode="fast")
    with pytest.raises(InputError, match="n_bits is 0"):
        PyramidDirections(kernel, 0)
    with pytest.raises(NotFittedError, match="PyramidDirections: not fitted"):
        PyramidDirections(kernel).transform(SETS)
    with pytest.raises(InputError, match="items have 2 features but it was fitted on 3"):
        PyramidDirections(kernel).fit(SETS).transform([[[1.0, 2.0]]])
    with pytest.raises(InputError, match="does not embed items for"):
        mercer.Index(PyramidMatch(0.3, 3), PyramidDirections(kernel), mercer.search.BoundScan())
