"""Product codes against NumPy: nearest centroids, distances from tables, balance, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from built import Built
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer import evaluate
from mercer.codes import Product, Sign
from mercer.codes.balance import BALANCES, Groups, balanced
from mercer.errors import InputError, NotFittedError
from mercer.search import Scan
from mercer.testing import check_code, check_searcher

rng = np.random.default_rng(8)
# dimensions that decrease as principal components do
Z = (rng.normal(size=(1000, 24)) * 0.8 ** np.arange(24)).astype(np.float32)
Q = (rng.normal(size=(15, 24)) * 0.8 ** np.arange(24)).astype(np.float32)


def unpacked(code, codes):
    """Return the number of the centroid of every group."""
    if code.bits == 8:
        return codes
    return np.stack([codes % 16, codes // 16], axis=2).reshape(len(codes), -1)


def error(code, Z):
    return float(np.square(code.decode(code.encode(Z)) - Z).sum(axis=1).mean())


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("n_bytes", [1, 3, 5])
def test_codes_name_the_nearest_centroids(bits, n_bytes):
    code = Product(n_bytes, bits=bits).fit(Z)
    groups = np.split(code.query(Z[:200]), len(code.centroids_), axis=1)
    codes = code.encode(Z[:200])
    assert codes.shape == (200, n_bytes)
    for part, centroids, chosen in zip(
        groups, code.centroids_, unpacked(code, codes).T, strict=True
    ):
        squares = np.square(part[:, None].astype(np.float64) - centroids).sum(axis=2)
        np.testing.assert_allclose(
            squares[np.arange(200), chosen], squares.min(axis=1), rtol=1e-4, atol=1e-6
        )


@pytest.mark.parametrize("balance", BALANCES)
@pytest.mark.parametrize("bits", [4, 8])
def test_distances_are_those_to_what_codes_stand_for(balance, bits):
    scan = Built(Scan(Product(5, balance, bits)), Z)
    found = scan.candidates(Q, 40)
    stands_for = scan.code_.decode_mixed(scan.codes).astype(np.float64)
    squares = np.square(scan.code_.query(Q)[:, None].astype(np.float64) - stands_for).sum(axis=2)
    best = np.sort(squares, axis=1)[:, :40]
    np.testing.assert_allclose(-found.values, best, rtol=1e-4, atol=1e-5)
    named = np.take_along_axis(squares, found.rows, 1)
    np.testing.assert_allclose(-found.values, named, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("balance", BALANCES)
@pytest.mark.parametrize("groups", [Groups(6, 4, 8), Groups(5, 5, 8), Groups(30, 1, 4)])
def test_mixing_keeps_distances(balance, groups):
    axes = balanced(Z, groups, balance, seed=3).astype(np.float64)
    assert axes.shape == (24, groups.width)
    np.testing.assert_allclose(axes @ axes.T, np.eye(24), atol=1e-5)


def test_dealt_groups_vary_alike():
    def spread(balance):
        mixed = Z @ balanced(Z, Groups(6, 4, 8), balance, seed=0)
        return np.log(mixed.var(axis=0)).reshape(6, 4).sum(axis=1).std()

    assert spread("deal") < 0.2 * spread("none")
    assert spread("deal") < spread("permute")


def test_balance_errs_less():
    errors = {balance: error(Product(6, balance).fit(Z), Z) for balance in BALANCES}
    assert errors["deal"] < errors["permute"] < errors["none"]
    assert errors["opq"] < errors["none"]


def test_more_bytes_err_less():
    errors = [error(Product(n_bytes).fit(Z), Z) for n_bytes in (1, 2, 4, 12)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.1 * errors[0]


def test_two_dimensions_a_centroid_by_default():
    assert Product(None).fit(Z).encode(Z).shape[1] == 12
    assert Product(None, bits=4).fit(Z).encode(Z).shape[1] == 6
    assert Product(None, bits=4).fit(Z[:, :5]).encode(Z[:9, :5]).shape == (9, 2)


@pytest.mark.parametrize("n", [3, 20, 300])
@pytest.mark.parametrize("bits", [4, 8])
def test_few_vectors_are_enough(n, bits):
    code = Product(4, bits=bits).fit(Z[:n])
    if n < 2**bits:
        assert error(code, Z[:n]) < 1e-9  # a centroid for every vector
    check_code(Product(4, bits=bits), Z[:n])


@settings(max_examples=25, deadline=None)
@given(
    d=st.integers(1, 12), n_bytes=st.integers(1, 14), bits=st.sampled_from([4, 8]),
    balance=st.sampled_from(["none", "permute", "deal", "rotate"]), seed=st.integers(0, 99),
)  # fmt: skip
def test_any_number_of_bytes(d, n_bytes, bits, balance, seed):
    some = np.random.default_rng(seed).normal(size=(40, d)).astype(np.float32)
    code = Product(n_bytes, balance, bits, seed).fit(some)
    codes = code.encode(some)
    assert codes.shape == (40, n_bytes)
    assert code.decode(codes).shape == (40, d)
    np.testing.assert_array_equal(codes[7:9], code.encode(some[7:9]))


@pytest.mark.parametrize("balance", BALANCES)
def test_contract(balance):
    check_code(Product(5, balance), Z)
    check_searcher(Scan(Product(5, balance)), Z[:500])


def test_contract_of_halves_of_bytes():
    check_code(Product(5, "deal", bits=4), Z)
    check_searcher(Scan(Product(None, bits=4)), Z[:500])


@pytest.mark.parametrize(
    "options, text",
    [
        ({"n_bytes": 0}, "n_bytes is 0. Pass an integer of at least 1"),
        ({"balance": "none at all"}, "balance is 'none at all'. Ways are: permute, deal"),
        ({"bits": 6}, "bits is 6. Pass 8 or 4"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_parameters_are_checked(options, text):
    with pytest.raises(InputError, match=text):
        Product(**options)
    with pytest.raises(InputError, match=text):
        Product().set_params(**options)


def test_before_fit():
    for call in (Product().encode, Product().query):
        with pytest.raises(NotFittedError, match=r"Product: not fitted yet. Call Product\.fit"):
            call(Z)


def test_product_codes_are_not_compared_as_bits():
    with pytest.raises(InputError, match="Leave out asymmetric=False"):
        Scan(Product(), asymmetric=False)
    with pytest.raises(InputError, match="compared bit by bit"):
        mercer.search.SortedLists(Product())
    assert Scan(Sign(None), asymmetric=False).asymmetric is False


def test_kpca_pq_finds_more_with_more_bytes():
    X = np.random.default_rng(1).dirichlet(np.full(24, 0.4), size=1000)
    asked = np.random.default_rng(2).dirichlet(np.full(24, 0.4), size=60)
    truth = evaluate.ground_truth("chi2", X, asked, 1)
    recalls = [
        evaluate.recall_at(
            mercer.kpca_pq("chi2", n_bytes=n, n_landmarks=200, n_components=32).fit(X).add(X),
            asked, truth, [20],
        )[20]
        for n in (1, 4, 16)
    ]  # fmt: skip
    assert recalls == sorted(recalls)
    assert recalls[-1] > 0.97
