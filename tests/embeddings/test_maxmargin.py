"""Random maximum margin hashing against scikit-learn's machines and the conditions of an SVM."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.datasets
import sklearn.svm
from zoo import ANIMALS, BITS, HISTOGRAMS, VECTORS, WORDS, shared_letters

from mercer import kernels
from mercer.embeddings import MaxMarginDirections
from mercer.errors import InputError, NotFittedError
from mercer.testing import check_embedding

MANY = np.random.default_rng(5).dirichlet(np.full(24, 0.3), size=700).astype(np.float32)
SOME = ["chi2-float32", "chi2-uint8", "rbf-sparse", "tanimoto-bool", "tanimoto-packed",
        "tversky-asymmetric", "strings", "string-distance", "sets", "deep", "my_dot",
        "precomputed"]  # fmt: skip


@pytest.mark.parametrize("animal", [a for a in ANIMALS if a.name in SOME], ids=lambda a: a.name)
def test_contract(animal):
    check_embedding(MaxMarginDirections(animal.kernel, 12, n_landmarks=80), animal.X)


@pytest.mark.parametrize("options", [{"normalize": False}, {"C": 1.0}, {"n_items": 4}], ids=repr)
def test_contract_of_every_option(options):
    check_embedding(MaxMarginDirections("chi2", 9, n_landmarks=80, **options), HISTOGRAMS)


@pytest.fixture(scope="module")
def fitted():
    return MaxMarginDirections("chi2", 200, n_landmarks=400).fit(MANY)


def at_landmarks(fitted):
    """Return the decision values of all landmarks, shape (p, n_bits)."""
    return fitted.transform(fitted.landmarks_).astype(np.float64)


# ---- every bit is a machine


def correct(fitted):
    """Return for each bit which share of its support vectors is on the side of its label."""
    label, found = np.sign(fitted.weights_), np.sign(at_landmarks(fitted))
    return (label == found).sum(axis=0, where=label != 0) / (label != 0).sum(axis=0)


def test_every_bit_separates_the_landmarks_it_was_learned_on(fitted):
    """C = 1000 is a hard margin here, and no landmark that is no support vector is misplaced."""
    assert (correct(fitted) == 1).mean() >= 0.99
    assert correct(fitted).min() >= 0.9


def test_a_small_price_degenerates():
    """With C = 1 nearly every weight is at the limit, 0.75 are on their side (theory: max-margin).

    C = 10: 0.90, C = 1000: all.
    """
    digits = sklearn.datasets.load_digits().data
    shares = []
    for C in (1.0, 10.0, 1000.0):
        fitted = MaxMarginDirections("chi2", 100, n_landmarks=400, C=C).fit(digits)
        shares.append(correct(fitted).mean())
        limited = (np.abs(fitted.weights_) > 0.999 * C).sum() / (fitted.weights_ != 0).sum()
        assert (limited > 0.9) == (C == 1)
    np.testing.assert_allclose(shares, [0.75, 0.9, 1.0], atol=0.04)


def test_conditions_of_the_best_margin(fitted):
    """Karush, Kuhn, Tucker: Σ α ε = 0, 0 ≤ α ≤ C, and 1 at vectors inside these limits."""
    weights, decisions = fitted.weights_, at_landmarks(fitted)
    np.testing.assert_allclose(weights.sum(axis=0), 0, atol=1e-9 * np.abs(weights).max())
    assert np.abs(weights).max() <= 1000 * (1 + 1e-9)
    inside = (weights != 0) & (np.abs(weights) < 999)
    assert inside.sum() > 200 * 16
    np.testing.assert_allclose((decisions * np.sign(weights))[inside], 1, atol=5e-3)


def test_one_pool_of_landmarks(fitted):
    used = fitted.weights_ != 0
    assert used.shape == (400, 200)
    assert fitted.n_landmarks_ == len(fitted.landmarks_) == 400
    assert (used.sum(axis=0) <= 32).all()
    assert (used.sum(axis=0) >= 16).all()
    assert used.any(axis=1).all()  # 200 bits of 32 reach all of them


def test_labels_are_drawn_anew_for_every_bit():
    """With all landmarks in every bit, a pair has equal labels in 14/30 of the bits."""
    fitted = MaxMarginDirections(kernels.RBF(5.0), 400, n_landmarks=16, n_items=16).fit(MANY)
    sides = np.sign(at_landmarks(fitted))
    np.testing.assert_array_equal(sides.sum(axis=0), 0)  # half and half
    i, j = np.triu_indices(16, 1)
    alike = (sides[i] == sides[j]).mean(axis=1)
    np.testing.assert_allclose(alike, 7 / 15, atol=4 * np.sqrt(7 / 15 * 8 / 15 / 400))


def test_decision_values_are_those_of_scikit_learn(monkeypatch):
    machines = []

    class Remembered(sklearn.svm.SVC):
        def fit(self, K, labels):
            machines.append((self, K))
            return super().fit(K, labels)

    monkeypatch.setattr(sklearn.svm, "SVC", Remembered)
    fitted = MaxMarginDirections("chi2", 30, n_landmarks=20, n_items=20).fit(MANY)
    L = fitted.landmarks_
    K = fitted.compared(L, L[:], dtype=np.float64)
    crossed = fitted.compared(MANY, L, dtype=np.float64)
    Y = fitted.transform(MANY)
    assert len(machines) == 30
    for bit, (machine, drawn) in enumerate(machines):
        # all landmarks are drawn: a row is known by its values, whatever their order
        gaps = np.abs(np.sort(drawn, axis=1)[:, None] - np.sort(K, axis=1)).sum(axis=2)
        rows = gaps.argmin(axis=1)
        assert sorted(rows) == list(range(20))
        expected = machine.decision_function(crossed[:, rows])
        np.testing.assert_allclose(Y[:, bit], expected, atol=1e-6 * np.abs(expected).max())


def test_support_vectors_alone_give_the_same_machine(fitted):
    """A machine learned by another hand, to a finer tolerance, on the support vectors only."""
    L = fitted.landmarks_
    K = fitted.compared(L, L[:], dtype=np.float64)
    crossed = fitted.compared(MANY, L, dtype=np.float64)
    Y = fitted.transform(MANY)
    for bit in range(0, 200, 20):
        rows = np.flatnonzero(fitted.weights_[:, bit])
        machine = sklearn.svm.SVC(kernel="precomputed", C=1000.0, tol=1e-8)
        machine.fit(K[np.ix_(rows, rows)], np.sign(fitted.weights_[rows, bit]))
        np.testing.assert_allclose(
            Y[:, bit], machine.decision_function(crossed[:, rows]), atol=1e-2
        )


# ---- the bits


def test_bits_are_balanced(fitted):
    """On new items too; measured: mean 0.50, and 0.06 off on average."""
    new = np.random.default_rng(6).dirichlet(np.full(24, 0.3), size=700).astype(np.float32)
    rates = (fitted.transform(new) >= 0).mean(axis=0)
    assert abs(rates.mean() - 0.5) < 0.03
    assert np.abs(rates - 0.5).mean() < 0.12


def test_near_items_differ_in_fewer_bits(fitted):
    bits = fitted.transform(MANY) >= 0
    K = kernels.Chi2().normalized()(MANY)
    i, j = np.triu_indices(len(MANY), 1)
    differ = (bits[i] != bits[j]).mean(axis=1)
    near = K[i, j] > np.quantile(K[i, j], 0.999)
    assert differ[near].mean() < 0.7 * differ.mean()
    assert abs(differ.mean() - 0.5) < 0.05


def test_seeds_choose():
    a, b, c = (MaxMarginDirections("chi2", 20, n_landmarks=60, seed=s).fit(MANY).transform(MANY)
               for s in (0, 0, 1))  # fmt: skip
    np.testing.assert_array_equal(a, b)
    assert 0.3 < ((a >= 0) != (c >= 0)).mean() < 0.7


def test_normalised_and_not():
    assert MaxMarginDirections("linear").compared == kernels.Linear().normalized()
    assert MaxMarginDirections("linear", normalize=False).compared == kernels.Linear()
    fitted = MaxMarginDirections("linear", 20, n_landmarks=60).fit(VECTORS)
    np.testing.assert_allclose(
        fitted.transform(4 * VECTORS), fitted.transform(VECTORS), rtol=1e-4, atol=1e-4
    )
    assert fitted.serves(kernels.Linear())
    assert not fitted.serves(kernels.Cosine())


# ---- odd items and parameters


@pytest.mark.parametrize("n, used", [(2, 2), (3, 2), (7, 6), (33, 32)])
def test_few_and_odd_numbers_of_items(n, used):
    for options in ({"n_items": n}, {"n_items": 64, "n_landmarks": n}):
        fitted = MaxMarginDirections(kernels.RBF(5.0), 30, **options).fit(MANY)
        sides = np.sign(fitted.weights_)
        assert (sides.sum(axis=0) == 0).all() or used > 2
        assert ((sides != 0).sum(axis=0) <= used).all()
        assert (correct(fitted) == 1).all()


def test_one_landmark_splits_nothing():
    fitted = MaxMarginDirections("chi2", 10).fit(MANY[:1])
    assert not fitted.weights_.any()
    assert not fitted.transform(MANY).any()
    assert fitted.n_landmarks_ == 1


@pytest.mark.parametrize("n", [2, 3, 40])
@pytest.mark.parametrize("X", [HISTOGRAMS[:1], np.zeros((1, 4), np.float32)], ids=["equal", "zero"])
def test_items_that_cannot_be_told_apart(X, n):
    X = np.tile(X, (n, 1))
    fitted = MaxMarginDirections("chi2", 20).fit(X)
    slack = 4 * 2.0**-23 * np.abs(fitted.weights_).sum(axis=0)  # ±C cancels, but for rounding
    assert (np.abs(fitted.transform(X)) <= slack).all()


@pytest.mark.parametrize("C", [1.0, 1e3, 1e9])
def test_kernels_that_are_no_inner_product(C):
    """Gram matrices with negative eigenvalues, an uneven one, and equal items of both labels."""
    distance = kernels.from_gram(lambda X, Y: -np.abs(np.asarray(X)[:, None] - Y).sum(axis=2))
    wild = kernels.from_gram(lambda X, Y: np.sin(9 * np.array(X, float) @ np.array(Y, float).T))
    letters = kernels.from_function(shared_letters)
    cases = [(distance, VECTORS), (wild, VECTORS), (kernels.Tversky(0.9, 0.1), BITS),
             (letters, WORDS), ("chi2", np.repeat(HISTOGRAMS[:5], 8, axis=0))]  # fmt: skip
    for kernel, X in cases:
        fitted = MaxMarginDirections(kernel, 20, C=C, normalize=False).fit(X)
        assert np.isfinite(fitted.transform(X)).all()


@pytest.mark.parametrize(
    "options, text",
    [
        ({"n_items": 1}, "n_items is 1. Pass an integer of at least 2"),
        ({"n_bits": 0}, "n_bits is 0. Pass an integer of at least 1"),
        ({"n_landmarks": 0}, "n_landmarks is 0"),
        ({"C": 0}, "C is 0. Pass a finite number above 0"),
        ({"C": np.inf}, "C is inf"),
        ({"seed": -1}, "seed is -1"),
        ({"kernel": "chi3"}, "Did you mean 'chi2'"),
    ],
)
def test_parameters_are_checked(options, text):
    with pytest.raises(InputError, match=text):
        MaxMarginDirections(**{"kernel": "chi2", **options})
    with pytest.raises(InputError, match=text):
        MaxMarginDirections("chi2").set_params(**options)


def test_before_fit_and_other_items(fitted):
    with pytest.raises(NotFittedError, match=r"Call MaxMarginDirections\.fit"):
        MaxMarginDirections("chi2").transform(MANY)
    with pytest.raises(InputError, match="the items: 3 features, but the landmarks: 24"):
        fitted.transform(MANY[:, :3])
    with pytest.raises(InputError, match=r"MaxMarginDirections\.fit: there are no items"):
        MaxMarginDirections("chi2").fit([])
