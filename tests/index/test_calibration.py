"""Relaxed bounds keep the nearest item as often as they promise."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer import evaluate
from mercer.errors import InputError, NotFittedError
from mercer.index import calibration, recipe

PROBABILITY = 0.9


def histograms(n, seed):
    return np.random.default_rng(seed).dirichlet(np.full(12, 0.6), n).astype(np.float32)


X = histograms(800, 0)
INDEX = mercer.exact("chi2", n_landmarks=40, n_components=8).fit(X).add(X)


@pytest.mark.parametrize("m", [19, 40, 199])
@pytest.mark.parametrize("probability", [0.5, 0.9, 0.95])
def test_coverage_of_the_conformal_choice(m, probability):
    """Over 4,000 random splits a new value is kept with this probability, ± 0.02."""
    rng = np.random.default_rng(1)
    drawn = rng.beta(2, 5, size=(4000, m + 1))
    kept = [row[-1] <= calibration.relaxation(row[:-1], probability) for row in drawn]
    exact = np.ceil(probability * (m + 1)) / (m + 1)
    assert np.mean(kept) >= probability - 0.02
    assert abs(np.mean(kept) - exact) < 0.02


def test_coverage_end_to_end():
    """Over random splits of 600 queries the nearest item is found in at least 0.9 - 0.02."""
    Q = histograms(600, 2)
    truth = evaluate.ground_truth("chi2", X, Q, 1)
    rng = np.random.default_rng(3)
    kept, evaluations = [], []
    for _ in range(12):
        order = rng.permutation(600)
        INDEX.calibrate(Q[order[:100]], PROBABILITY)
        found = INDEX.search(Q[order[100:]], 1, relaxed=True)
        kept.append((found.scores >= truth.scores[order[100:]] - 1e-6).mean())
        evaluations.append(found.evaluations.mean())
        assert not found.exact.any()
        assert (found.probability == np.float32(PROBABILITY)).all()
    assert np.mean(kept) >= PROBABILITY - 0.02
    assert np.mean(kept) < 1  # else nothing was relaxed
    exact = INDEX.search(Q, 1)
    assert np.mean(evaluations) < exact.evaluations.mean()


def test_cosines_are_what_the_bounds_leave():
    """A share of R R just above a pair's cosine keeps it, one just below does not."""
    Q = histograms(50, 4)
    nearest = INDEX.search(Q, 1)
    Zq = INDEX.embedding_.transform(Q)
    Zx = INDEX.embedding_.transform(X[nearest.ids[:, 0]])
    cosines = calibration.residual_cosines(nearest.scores[:, 0], Zq, Zx)
    assert (np.abs(cosines) <= 1).all()
    z = np.einsum("ij,ij->i", Zq[:, :-1].astype(float), Zx[:, :-1].astype(float))
    R = Zq[:, -1].astype(float) * Zx[:, -1]
    np.testing.assert_allclose(z + cosines * R, nearest.scores[:, 0], rtol=1e-6)


def test_ids_of_any_length_in_any_number_of_segments(monkeypatch):
    Q = histograms(40, 5)
    expected = INDEX.calibrate(Q, 0.9).relaxation_
    monkeypatch.setattr(recipe, "RATIO", 0)
    other = mercer.exact("chi2", n_landmarks=40, n_components=8).fit(X)
    names = [str(number) for number in range(800)]  # from "0" to "799": all lengths
    for start, stop in ((0, 9), (9, 300), (300, 800)):
        other.add(X[start:stop], names[start:stop])
    assert other.info()["segments"] == 3
    assert other.calibrate(Q, 0.9).relaxation_ == expected


def test_changes_forget_the_calibration():
    Q = histograms(40, 6)
    changed = mercer.exact("chi2", n_landmarks=40, n_components=8).fit(X).add(X)
    for change in (lambda: changed.add(X[:1]), lambda: changed.remove([0]),
                   lambda: changed.fit(X, forget=True)):  # fmt: skip
        changed.calibrate(Q, 0.9) if len(changed) else None
        assert changed.info()["relaxed probability"] == 0.9
        change()
        with pytest.raises(NotFittedError, match=r"Call index\.calibrate"):
            changed.search(Q, 1, relaxed=True)


@pytest.mark.parametrize("probability, least", [(0.5, 1), (0.9, 9), (0.95, 19), (0.99, 99)])
def test_how_many_queries_a_probability_needs(probability, least):
    assert calibration.least_queries(probability) == least
    with pytest.raises(InputError, match=f"needs at least {least}"):
        calibration.relaxation(np.zeros(least - 1), probability)
    assert calibration.relaxation(np.zeros(least), probability) == 0


def test_more_than_a_calibration_can_promise():
    INDEX.calibrate(histograms(20, 7), 0.9)
    with pytest.raises(InputError, match="holds for all items"):
        INDEX.search(X[:2], 1, relaxed=True, where=[1, 2])
    with pytest.raises(InputError, match="between 0 and 1"):
        INDEX.calibrate(X[:9], 1.0)
