"""Charikar's hashing: with stored directions, and over sparse vectors without any."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from zoo import COUNTS, HISTOGRAMS, SPARSE, VECTORS

import mercer
from mercer import kernels, learn
from mercer.codes import Sign
from mercer.embeddings import Explicit, Hyperplanes, LearnedDirections
from mercer.embeddings.directions import WIDE
from mercer.errors import InputError
from mercer.testing import check_embedding, check_index

FEATURES = 20 * WIDE


def spread(X, width=FEATURES, seed=0):
    """Return the columns of a matrix in random places among many more."""
    places = np.random.default_rng(seed).choice(width, X.shape[1], replace=False)
    C = scipy.sparse.coo_array(X)
    return scipy.sparse.csr_array((C.data, (C.row, places[C.col])), shape=(len(X), width))


TEXT = np.random.default_rng(0).poisson(0.15, (300, 400)).astype(np.float32)
WIDE_COUNTS = spread(TEXT)


# ---- stored directions


@pytest.mark.parametrize(
    "kernel, X",
    [
        ("cosine", VECTORS), ("linear", COUNTS), ("chi2", HISTOGRAMS), ("rbf", VECTORS),
        ("cosine", SPARSE), ("rbf", SPARSE), ("hellinger", WIDE_COUNTS), ("cosine", WIDE_COUNTS),
        ("rbf", WIDE_COUNTS), (kernels.RBF(gamma=0.1).exp(2.0), WIDE_COUNTS),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("hyperplanes", ["orthogonal", "gaussian"])
def test_contract(kernel, X, hyperplanes):
    check_embedding(Hyperplanes(kernel, 24, hyperplanes=hyperplanes), X)


@pytest.mark.parametrize("kernel", ["cosine", "rbf", "chi2"])
@pytest.mark.parametrize("hyperplanes", ["orthogonal", "gaussian"])
@pytest.mark.parametrize("X", [HISTOGRAMS, SPARSE, VECTORS], ids=["dense", "sparse", "signed"])
def test_stored_directions_are_those_of_sign_codes(kernel, hyperplanes, X):
    if kernel == "chi2" and X is VECTORS:
        return
    planes = Hyperplanes(kernel, 70, hyperplanes=hyperplanes, seed=4).fit(X)
    Z = Explicit(kernel, angles=True).fit_transform(X)
    code = Sign(hyperplanes, 70, seed=4).fit(Z)
    np.testing.assert_array_equal(planes.directions_, code.directions_)
    np.testing.assert_allclose(planes.transform(X), code.query(Z), atol=1e-5 * np.abs(Z).max())


def test_dense_vectors_have_stored_directions_however_wide():
    X = np.random.default_rng(0).normal(size=(4, WIDE + 5)).astype(np.float32)
    assert Hyperplanes("cosine", 16).fit(X).directions_.shape == (WIDE + 5, 16)
    sparse = scipy.sparse.csr_array(X)
    assert Hyperplanes("cosine", 16).fit(sparse).directions_.shape == (0, 16)
    assert Hyperplanes("cosine", 16).fit(sparse[:, :WIDE]).directions_.shape == (WIDE, 16)


# ---- directions that are not stored


def rates(codes):
    bits = np.unpackbits(codes, axis=1)
    i, j = np.triu_indices(len(bits), 1)
    return (bits[i] != bits[j]).mean(axis=1)


@pytest.mark.parametrize("kernel", ["cosine", "linear", "hellinger", "rbf"])
def test_bits_differ_as_often_as_the_angle_says(kernel):
    """For RBF, angles are those after the mean is subtracted and a coordinate appended."""
    n_bits, X = 20_000, WIDE_COUNTS[:20]
    Z = Explicit(kernel, angles=True).fit_transform(X).astype(np.float64)
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    i, j = np.triu_indices(20, 1)
    expected = np.arccos(np.einsum("ij,ij->i", Z[i], Z[j])) / np.pi
    found = rates(Sign(None).fit(Z).encode(Hyperplanes(kernel, n_bits).fit_transform(X)))
    error = np.abs(found - expected) / np.sqrt(expected * (1 - expected) / n_bits)
    assert error.max() < 4.5


def test_offsets_project_what_is_subtracted():
    planes = Hyperplanes("rbf", 40, seed=2).fit(WIDE_COUNTS)
    middle = scipy.sparse.csr_array(planes.map_.offsets_[None])
    plain = Hyperplanes("linear", 40, seed=2).fit(WIDE_COUNTS)
    appended = plain.transform(middle)[0] - planes.offsets_  # the height times one more entry
    assert 0.5 < np.abs(appended).mean() / (planes.map_.height_ * np.sqrt(2 / np.pi)) < 1.6
    expected = plain.transform(WIDE_COUNTS) - plain.transform(middle) + appended
    np.testing.assert_allclose(planes.transform(WIDE_COUNTS), expected, atol=1e-3)


@pytest.mark.parametrize("kernel", ["linear", "cosine", "rbf", "chi2"])
def test_contract_of_the_index(kernel):
    """Counts of words: lengths vary, so rows are grouped by length for the linear kernel."""
    check_index(mercer.lsh(kernel, n_bits=64), WIDE_COUNTS[:70])


def test_what_is_found_is_what_stored_directions_find():
    narrow, wide = TEXT, WIDE_COUNTS
    truth = mercer.evaluate.ground_truth("cosine", narrow, narrow[:60], 5)
    shares = [
        mercer.evaluate.recall(
            mercer.lsh("cosine", n_bits=512, hyperplanes="gaussian").fit(X).add(X)
            .search(X[:60], 5, candidates=60).ids, truth,
        )
        for X in (narrow, wide)
    ]  # fmt: skip
    assert shares[1] == pytest.approx(shares[0], abs=0.06)
    assert shares[1] > 0.6


def test_saved_and_loaded_indexes_answer_alike(tmp_path):
    index = mercer.lsh("rbf", n_bits=64).fit(WIDE_COUNTS).add(WIDE_COUNTS)
    index.save(tmp_path / "index")
    stored = sum(path.stat().st_size for path in (tmp_path / "index").rglob("*.npy"))
    assert stored < 4 * FEATURES + 20 * WIDE_COUNTS.nnz  # the mean and the items
    loaded = mercer.load(tmp_path / "index")
    for some in (index, loaded):
        some.add(WIDE_COUNTS[:5])
    one, other = (some.search(WIDE_COUNTS[:9], 4, candidates=30) for some in (index, loaded))
    np.testing.assert_array_equal(one.ids, other.ids)


def test_learned_metrics_over_wide_vectors_store_no_directions():
    """rᵀGφ(x) with the r that plain hashing has, in the columns that the items have."""
    metric = learn.ITML("linear", n_basis=30, upper=1.0, lower=90.0)
    kernel = metric.fit(WIDE_COUNTS, learn.from_pairs([(0, 1)], [(2, 3)])).kernel_
    learned = LearnedDirections(kernel, 40, seed=3).fit(WIDE_COUNTS)
    assert learned.directions_.shape == (0, 40)
    plain = Hyperplanes("linear", 40, seed=3).fit(WIDE_COUNTS)
    S, basis = metric.coefficients_, metric.basis_
    on_items, on_basis = (plain.transform(one).astype(np.float64) for one in (WIDE_COUNTS, basis))
    K = (WIDE_COUNTS @ basis.T).toarray().astype(np.float64)
    exact = on_items + K @ S.T @ on_basis
    np.testing.assert_allclose(
        learned.transform(WIDE_COUNTS), exact, atol=1e-4 * np.abs(exact).max()
    )
    check_embedding(LearnedDirections(kernel, 16), WIDE_COUNTS)


# ---- memory


def _peak(what, pipe):
    """Send how many MB more than before a call takes at its peak."""
    rng = np.random.default_rng(0)
    X = scipy.sparse.csr_array(
        (rng.random(40_000, np.float32), rng.integers(0, 10**6, 40_000), np.arange(0, 40_001, 40)),
        shape=(1000, 10**6),
    )
    pairs = learn.from_pairs([(0, 1)], [(2, 3)])
    calls = {
        "lsh": lambda: mercer.lsh("cosine", n_bits=512),
        "learned": lambda: mercer.learned(
            learn.ITML("linear", n_basis=50, upper=1.0, lower=90.0).fit(X, pairs).kernel_,
            n_bits=512,
        ),
    }
    calls[what]().fit(X[:50]).add(X[:50]).search(X[:5], 3)  # imports and compiles
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    calls[what]().fit(X).add(X).search(X[:20], 3)
    pipe.send(_status("VmHWM") - before)


def _status(name):
    [line] = [one for one in Path("/proc/self/status").read_text().splitlines() if name in one]
    return int(line.split()[1]) / 1024


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="reads /proc")
@pytest.mark.parametrize("what", ["lsh", "learned"])
def test_a_million_features_and_512_bits(what):
    """Stored directions alone would take 2 GB, and 1,000 dense items 4 GB."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_peak, args=(what, there))
    process.start()
    there.close()
    assert here.recv() < 300
    process.join()


# ---- what is refused


def test_bad_parameters():
    with pytest.raises(InputError, match=r"hyperplanes is 'random'\. Pass one of: orthogonal, ga"):
        Hyperplanes("cosine", hyperplanes="random")
    with pytest.raises(InputError, match="Hyperplanes: n_bits is 0"):
        Hyperplanes("cosine", 0)
    with pytest.raises(InputError, match="Hyperplanes: seed is -1"):
        Hyperplanes("cosine", seed=-1)
    with pytest.raises(InputError, match="Hyperplanes: no vectors are known that rank as"):
        Hyperplanes("laplacian")
