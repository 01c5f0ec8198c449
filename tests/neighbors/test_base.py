"""Every estimator is what scikit-learn expects of estimators, with any kernel."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator
from zoo import ANIMALS

import mercer
from mercer import kernels
from mercer.embeddings import AdditiveMap, KernelPCA
from mercer.neighbors import (
    KernelEmbedding,
    KernelNeighbors,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelNeighborsTransformer,
)

# vectors are float32: sums of products depend on the order of rows in the last digit, and these
# checks ask for the same numbers up to 1e-7
ROUNDED = {"check_methods_sample_order_invariance", "check_methods_subset_invariance"}
CHECKED = [
    (KernelNeighbors(), set()),
    (KernelNeighborsClassifier(), set()),
    (KernelNeighborsRegressor(), set()),
    (KernelNeighborsTransformer(), set()),
    (KernelEmbedding(), ROUNDED),
    (KernelNeighbors(kernels.Linear().radial(0.5)), set()),
    (KernelNeighborsClassifier("exp_chi2", weights="distance"), set()),
    (KernelNeighborsRegressor("laplacian", weights="distance"), set()),
    (KernelNeighborsTransformer("cosine", mode="connectivity"), set()),
    (KernelEmbedding(KernelPCA("exp_chi2", n_components=8)), ROUNDED),
]
ALL = [estimator for estimator, _ in CHECKED[:5]]


@pytest.mark.parametrize("estimator, expected", CHECKED, ids=range(len(CHECKED)))
def test_checks_of_scikit_learn(estimator, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None, on_skip=None)
    failed = {one["check_name"]: one["exception"] for one in results if one["status"] == "failed"}
    assert not set(failed) - expected, failed
    assert sum(one["status"] == "passed" for one in results) > 38


@pytest.mark.parametrize("kernel, two_d, positive, text", [
    ("rbf", True, False, False),
    ("exp_chi2", True, True, False),
    ("tanimoto", True, False, False),
    (kernels.MaxSim(), False, False, False),
    (kernels.from_function(lambda x, y: float(x == y)), False, False, True),
])  # fmt: skip
def test_tags_say_what_a_kernel_takes(kernel, two_d, positive, text):
    tags = get_tags(KernelNeighbors(kernel)).input_tags
    assert (tags.two_d_array, tags.sparse, tags.positive_only) == (two_d, two_d, positive)
    assert tags.string == text
    assert get_tags(KernelNeighborsClassifier(kernel)).target_tags.required
    assert get_tags(KernelEmbedding(KernelPCA(kernel, 2))).input_tags == tags


@pytest.mark.parametrize("animal", [
    animal for animal in ANIMALS
    if animal.name in ("chi2-sparse", "tanimoto-bool", "tanimoto-packed", "sets", "strings", "gram",
                       "precomputed", "pyramid_match-uint8")
], ids=lambda animal: animal.name)  # fmt: skip
def test_every_kind_of_item(animal):
    """All estimators take the items of all kernels, are cloned and pickled with them."""
    y = np.arange(70) % 3
    truth = mercer.evaluate.ground_truth(animal.kernel, animal.X, animal.X[:9], 4)
    for estimator in ALL[:4]:
        made = clone(estimator).set_params(kernel=animal.kernel, n_neighbors=4)
        made = pickle.loads(pickle.dumps(clone(made).fit(animal.X, y)))
        found = made.matches(animal.X[:9])
        np.testing.assert_allclose(found.scores, truth.scores, rtol=1e-6)
        assert found.exact.all()
    embedding = clone(KernelEmbedding(KernelPCA(animal.kernel, 3))).fit(animal.X)
    assert embedding.transform(animal.X[:9]).shape == (9, 3)


def test_names_of_features_are_kept():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(np.random.default_rng(0).random((20, 3)), columns=["a", "b", "c"])
    for estimator in ALL:
        made = clone(estimator).fit(table, np.arange(20) % 2)
        assert made.n_features_in_ == 3
        assert made.feature_names_in_.tolist() == ["a", "b", "c"]
        ask = made.transform if hasattr(made, "transform") else made.kneighbors
        with pytest.raises(ValueError, match="feature names should match"):
            ask(table.rename(columns={"c": "d"}))
        made.fit(table.to_numpy(), np.arange(20) % 2)
        assert not hasattr(made, "feature_names_in_")
        with pytest.raises(ValueError, match=r"4 features, but Kernel.* is expecting 3"):
            ask(np.ones((5, 4)))


def test_items_without_columns_have_no_features():
    words = ["cat", "category", "dog", "doge"]
    shared = kernels.from_function(lambda x, y: float(len(set(x) & set(y))))
    made = KernelNeighbors(shared, n_neighbors=1).fit(words)
    assert not hasattr(made, "n_features_in_")
    assert made.kneighbors(["do"], return_distance=False).tolist() == [[2]]


@pytest.mark.parametrize("estimator", ALL, ids=lambda one: type(one).__name__)
def test_what_is_not_fitted_says_so(estimator):
    for verb in ("kneighbors", "kneighbors_graph", "matches", "predict", "transform"):
        if hasattr(estimator, verb):
            with pytest.raises(NotFittedError):
                getattr(clone(estimator), verb)([[1.0]])


def test_a_seed_fixes_what_is_drawn():
    X = np.random.default_rng(0).random((300, 4))
    one, same, other = (
        KernelEmbedding(KernelPCA("rbf", 5, n_landmarks=20), random_state=seed).fit_transform(X)
        for seed in (1, np.random.RandomState(1), 2)
    )
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - other).max() > 1e-3
    own = KernelEmbedding(KernelPCA("rbf", 5, n_landmarks=20, seed=7)).fit(X).embedding_
    assert own.seed == 7
    assert "seed" not in KernelEmbedding(AdditiveMap("chi2"), random_state=1).fit(X).get_params()
