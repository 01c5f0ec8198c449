"""Sign codes against NumPy: bits, rotations, the law of cosines; and vectors as they are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from mercer.codes import Sign
from mercer.errors import InputError, NotFittedError

Z = np.random.default_rng(3).normal(size=(5000, 12)).astype(np.float32)  # more than one block


def unpacked(code, Z):
    """Return the bits as booleans, shape (n, n_bits)."""
    return np.unpackbits(code.encode(Z), axis=1, count=code.n_bits_).astype(bool)


# ---- bits


@pytest.mark.parametrize("hyperplanes", ["gaussian", "orthogonal", None])
@pytest.mark.parametrize("n_bits", [1, 7, 8, 9, 12, 13, 40, 257])
def test_bits_are_the_signs_of_projections(hyperplanes, n_bits):
    code = Sign(hyperplanes, n_bits).fit(Z)
    expected_bits = 12 if hyperplanes is None else n_bits
    assert code.n_bits_ == expected_bits
    projections = Z if hyperplanes is None else Z @ code.directions_
    np.testing.assert_allclose(code.query(Z), projections, atol=1e-5)
    codes = code.encode(Z)
    assert codes.dtype == np.uint8
    assert codes.flags.c_contiguous
    assert codes.shape == (5000, -(-expected_bits // 8))
    # blocks may round other than the whole; only a projection next to 0 could show it
    bits = np.unpackbits(codes, axis=1)
    clear = np.abs(projections) > 1e-5
    np.testing.assert_array_equal(bits[:, :expected_bits][clear], (projections >= 0)[clear])
    assert not bits[:, expected_bits:].any()  # the last byte is filled with 0


def test_packed_as_numpy_does():
    code = Sign(None).fit(Z)
    np.testing.assert_array_equal(code.encode(Z), np.packbits(Z >= 0, axis=1))
    assert code.query(Z) is Z


def test_zero_counts_as_positive():
    zeros = np.array([[0.0, -0.0, -1e-30, 1e-30]], np.float32)
    assert Sign(None).fit(zeros).encode(zeros).tolist() == [[0b11010000]]


def test_as_many_bits_as_dimensions_by_default():
    for hyperplanes in ("gaussian", "orthogonal", None):
        assert Sign(hyperplanes).fit(Z).n_bits_ == 12


@pytest.mark.parametrize("hyperplanes", ["gaussian", "orthogonal"])
def test_seeds_choose(hyperplanes):
    a, b, c = (Sign(hyperplanes, 50, seed=s).fit(Z).encode(Z) for s in (0, 0, 1))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)


def test_only_the_width_of_the_vectors_is_learned():
    one, other = Sign("gaussian", 50).fit(Z[:1]), Sign("gaussian", 50).fit(7 * Z[9:40])
    np.testing.assert_array_equal(one.directions_, other.directions_)


# ---- rotations


@pytest.mark.parametrize("n_bits", [5, 12, 24, 31])
def test_blocks_are_orthonormal(n_bits):
    directions = Sign("orthogonal", n_bits).fit(Z).directions_.astype(np.float64)
    assert directions.shape == (12, n_bits)
    blocks = [directions[:, i : i + 12] for i in range(0, n_bits, 12)]
    for block in blocks:
        np.testing.assert_allclose(block.T @ block, np.eye(block.shape[1]), atol=1e-6)
    for one, other in itertools.pairwise(blocks):
        assert np.abs(one[:, : other.shape[1]] - other).max() > 0.1  # each block its own


def rotations(d, n):
    """Return n rotations of different seeds, shape (n, d, d)."""
    nothing = np.zeros((1, d), np.float32)
    return np.array([Sign("orthogonal", seed=s).fit(nothing).directions_ for s in range(n)])


def test_every_rotation_is_as_likely():
    """Haar: without signs fixed after QR, entries on the diagonal would nearly all be negative."""
    n, d = 1500, 4
    Q = rotations(d, n).astype(np.float64)
    np.testing.assert_allclose(Q.mean(axis=0), 0, atol=4 * np.sqrt(1 / d / n))
    np.testing.assert_allclose((Q**2).mean(axis=0), 1 / d, atol=4 * np.sqrt(2 / d**2 / n))
    positive = (Q > 0).mean(axis=0)
    np.testing.assert_allclose(positive, 0.5, atol=4 * np.sqrt(0.25 / n))
    mirrored = (np.linalg.det(Q) < 0).mean()
    assert abs(mirrored - 0.5) < 4 * np.sqrt(0.25 / n)


def test_entries_are_as_those_of_points_on_a_sphere():
    """In three dimensions each coordinate is uniform (Archimedes)."""
    Q = rotations(3, 1000)
    for i, j in np.ndindex(3, 3):
        assert stats.kstest(Q[:, i, j], stats.uniform(-1, 2).cdf).pvalue > 1e-4


# ---- the law of cosines


def rates_and_angles(code, X):
    bits, unit = unpacked(code, X), X / np.linalg.norm(X, axis=1)[:, None]
    i, j = np.triu_indices(len(X), 1)
    angles = np.arccos(np.einsum("ij,ij->i", unit[i], unit[j], dtype=np.float64))
    return (bits[i] != bits[j]).mean(axis=1), angles / np.pi


@pytest.mark.parametrize("hyperplanes", ["gaussian", "orthogonal"])
def test_bits_differ_as_often_as_the_angle_says(hyperplanes):
    """P = θ/π within 4 standard errors; orthogonal directions do not err more."""
    X = np.random.default_rng(0).normal(size=(20, 12)).astype(np.float32) + 0.7
    n_bits = 24_000
    found, expected = rates_and_angles(Sign(hyperplanes, n_bits).fit(X), X)
    assert expected.min() < 0.25
    assert (np.abs(found - expected) <= 4 * np.sqrt(expected * (1 - expected) / n_bits)).all()


def test_orthogonal_directions_err_less():
    X = np.random.default_rng(0).normal(size=(20, 12)).astype(np.float32) + 0.7

    def error(hyperplanes):
        pairs = [rates_and_angles(Sign(hyperplanes, 12, seed=s).fit(X), X) for s in range(60)]
        return np.mean([(found - expected) ** 2 for found, expected in pairs])

    assert error("orthogonal") < 0.8 * error("gaussian")


# ---- what is refused


def test_before_fit():
    for call in (Sign().encode, Sign().query, Sign(None).encode):
        with pytest.raises(NotFittedError, match=r"Sign: not fitted yet. Call Sign\.fit"):
            call(Z)


@pytest.mark.parametrize(
    "options, text",
    [
        ({"hyperplanes": "random"}, "hyperplanes is 'random'. Pass 'gaussian', 'orthogonal' or"),
        ({"n_bits": 0}, "n_bits is 0. Pass an integer of at least 1"),
        ({"n_bits": 8.0}, "n_bits is 8.0"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_parameters_are_checked(options, text):
    with pytest.raises(InputError, match=text):
        Sign(**options)
    with pytest.raises(InputError, match=text):
        Sign().set_params(**options)
