"""Classes and values by neighbours: against scikit-learn, and within its tools."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.metrics.pairwise import chi2_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from zoo import SETS, VECTORS, WORDS

import mercer
from mercer import kernels
from mercer.embeddings import KernelPCA
from mercer.errors import InputError
from mercer.neighbors import (
    KernelEmbedding,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelNeighborsTransformer,
)

DATA = Path(os.environ.get("MERCER_DATA", Path(__file__).parents[3] / "shared" / "data"))
X, y = load_wine(return_X_y=True)
X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
NAMES = np.array(["barolo", "grignolino", "barbera"])[y]
EVEN = np.arange(len(X)) % 2 == 0


def sharp(distances):
    return np.exp(-4 * distances)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_votes_are_those_of_scikit_learn(weights):
    ours = KernelNeighborsClassifier(kernels.Linear().radial(1e-3), 6, weights=weights)
    theirs = KNeighborsClassifier(6, weights=weights)
    for model in (ours, theirs):
        model.fit(X[EVEN], NAMES[EVEN])
    for queries in (X[~EVEN], X[EVEN]):
        np.testing.assert_array_equal(ours.predict(queries), theirs.predict(queries))
        expected = theirs.predict_proba(queries)
        np.testing.assert_allclose(ours.predict_proba(queries), expected, atol=2e-3)
    assert ours.classes_.tolist() == theirs.classes_.tolist()


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_values_are_those_of_scikit_learn(weights, outputs):
    values = X[:, 0] if outputs == 1 else X[:, :2]
    ours = KernelNeighborsRegressor(kernels.Linear().radial(1e-3), 4, weights=weights)
    theirs = KNeighborsRegressor(4, weights=weights)
    for model in (ours, theirs):
        model.fit(X[EVEN], values[EVEN])
    found, expected = ours.predict(X[~EVEN]), theirs.predict(X[~EVEN])
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, atol=2e-3)


def test_votes_can_be_weighed_by_a_function():
    made = KernelNeighborsClassifier("rbf", 5, weights=sharp).fit(X[EVEN], y[EVEN])
    found = made.matches(X[~EVEN][:1])
    expected = np.bincount(y[EVEN][found.ids[0]], sharp(found.distances[0]), 3)
    np.testing.assert_allclose(made.predict_proba(X[~EVEN][:1])[0], expected / expected.sum())


def test_items_do_not_vote_for_themselves():
    copies = np.repeat(VECTORS[:12], 2, axis=0) + np.tile([[0.0], [1e-3]], (12, 1))
    labels = np.tile([0, 1], 12)  # the nearest other item is always of the other class
    made = KernelNeighborsClassifier("rbf", 1).fit(copies, labels)
    assert made.score(copies, labels) == 1
    assert made.score(None, labels) == 0


def test_grid_search_chooses_kernels():
    pipeline = make_pipeline(MinMaxScaler(clip=True), KernelNeighborsClassifier())
    name = "kernelneighborsclassifier__kernel"
    grid = {name: ["exp_chi2", kernels.Laplacian(), kernels.Linear()]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, NAMES)
    assert search.best_score_ > 0.9
    assert search.best_params_[name] != kernels.Linear()
    gammas = {"kernel__gamma": [1e-9, 0.1]}
    weighed = KernelNeighborsRegressor(kernels.RBF(0.5), weights="distance")
    inner = GridSearchCV(weighed, gammas, cv=3).fit(X, X[:, 0])
    assert weighed.kernel == kernels.RBF(0.5)  # the folds have kernels of their own
    assert inner.best_estimator_.kernel_.gamma in gammas["kernel__gamma"]


@pytest.mark.parametrize("kernel, items", [
    (kernels.from_distance(lambda x, y: abs(len(x) - len(y)), psd=True), WORDS),
    (kernels.SumMatch(kernels.RBF(1.0)).normalized(), SETS),
    (kernels.Precomputed(VECTORS @ VECTORS.T), np.arange(70)),
    ("tanimoto", VECTORS > 0),
])  # fmt: skip
def test_cross_validation_of_any_items(kernel, items):
    lengths = [len(one) for one in items] if isinstance(items, (list, mercer.Ragged)) else VECTORS
    target = np.asarray(lengths).reshape(70, -1)[:, 0] > np.median(np.asarray(lengths)[:, ...])
    scores = cross_val_score(KernelNeighborsClassifier(kernel, 3), items, target, cv=3)
    assert scores.mean() > 0.5


def test_pipelines_of_transformers():
    digits, labels = load_digits(return_X_y=True)
    digits, labels = digits[:600], labels[:600]
    pipeline = make_pipeline(KernelEmbedding(KernelPCA("exp_chi2", 100)), KNeighborsClassifier(3))
    assert pipeline.fit(digits[:400], labels[:400]).score(digits[400:], labels[400:]) > 0.8
    graph = make_pipeline(
        KernelNeighborsTransformer("exp_chi2", 10), KNeighborsClassifier(3, metric="precomputed")
    )
    plain = KernelNeighborsClassifier("exp_chi2", 3).fit(digits[:400], labels[:400])
    graph.fit(digits[:400], labels[:400])
    np.testing.assert_array_equal(graph.predict(digits[400:]), plain.predict(digits[400:]))


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the real data: set MERCER_DATA")
def test_words_of_photos():
    """Neighbours under exponential χ² tell photos apart, nearly as a support vector machine."""
    stored = np.load(DATA / "bow" / "bow_k200.npz")
    common = np.flatnonzero(np.isin(stored["y"], np.argsort(np.bincount(stored["y"]))[-12:]))
    rows = np.random.default_rng(0).permutation(common)[:900]
    words = stored["X"][rows].astype(np.float64)
    words, labels = words / words.sum(axis=1, keepdims=True), stored["y"][rows]
    base, asked = slice(0, 600), slice(600, 900)
    grid = {"kernel": ["exp_chi2", "rbf"], "n_neighbors": [5, 15], "weights": ["distance"]}
    search = GridSearchCV(KernelNeighborsClassifier(), grid, cv=3).fit(words[base], labels[base])
    gamma = kernels.ExpChi2.for_data(words[base]).gamma
    grams = [chi2_kernel(words[some], words[base], gamma=gamma) for some in (base, asked)]
    machine = SVC(kernel="precomputed", C=10).fit(grams[0], labels[base])
    neighbours, vectors = (
        search.score(words[asked], labels[asked]), machine.score(grams[1], labels[asked])
    )  # fmt: skip
    chance = np.bincount(labels[asked]).max() / 300
    assert search.best_params_["kernel"] == "exp_chi2"
    assert neighbours > 0.8 > 2 * chance
    assert neighbours > vectors - 0.1


@pytest.mark.parametrize("call, told", [
    (lambda: KernelNeighborsClassifier().fit(X, None), "requires y to be passed"),
    (lambda: KernelNeighborsRegressor().fit(X, None), "requires y to be passed"),
    (lambda: KernelNeighborsClassifier().fit(X, y[:9]), "inconsistent numbers of samples"),
    (lambda: KernelNeighborsClassifier(kernels.MaxSim()).fit(SETS, y[:9]), "inconsistent numbers"),
    (lambda: KernelNeighborsClassifier().fit(X, X[:, 0]), "Unknown label type"),
    (lambda: KernelNeighborsClassifier(weights="near").fit(X, y), "weights are 'near'"),
    (lambda: KernelNeighborsClassifier("chi2").fit(X, y), "Negative values in data"),
])  # fmt: skip
def test_what_is_wrong(call, told):
    with pytest.raises((InputError, ValueError), match=told):
        call()
