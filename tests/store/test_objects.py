"""Every embedding and every searcher there is comes back from a folder as it was."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer import embeddings, kernels, search
from mercer.codes import Product, Sign
from mercer.embeddings import Embedding
from mercer.runtime.params import stored_classes
from mercer.search import Searcher
from mercer.store.objects import require_lengths

RNG = np.random.default_rng(0)
X = RNG.dirichlet(np.ones(8), size=80).astype(np.float32)
SETS = mercer.Ragged.from_list([RNG.random((1 + i % 5, 2)) for i in range(80)])
W = np.linalg.inv(np.linalg.cholesky(kernels.Linear()(X[:6], dtype="float64"))).T
LEARNED = kernels.Learned(kernels.Linear(), X[:6], W, np.diag(np.arange(1.0, 7.0)))
PYRAMID = kernels.PyramidMatch(0.1, 3)
EMBEDDINGS = {
    "NoVectors": ("laplacian", X),
    "Explicit": ("rbf", X),
    "Hyperplanes": ("rbf", X),
    "Euclidean": ("chi2", X),
    "KernelPCA": ("chi2", X),
    "KLSHDirections": ("chi2", X),
    "MaxMarginDirections": ("chi2", X),
    "FourierDirections": ("laplacian", X),
    "AdditiveMap": ("chi2", X),
    "FeatureKPCA": ("chi2", X),
    "PyramidDirections": (PYRAMID, SETS),
    "LearnedDirections": (LEARNED, X),
}
OPTIONS = {"KLSHDirections": {"subset": 5}, "KernelPCA": {"residual": True, "n_components": 8}}
SEARCHERS = {
    "Everything": lambda: search.Everything(),
    "BoundScan": lambda: search.BoundScan(),
    "Scan": lambda: search.Scan(Sign(None)),
    "Scan of product codes": lambda: search.Scan(Product(1, seed=1)),
    "SortedLists": lambda: search.SortedLists(n_lists=3),
    "Inverted": lambda: search.Inverted(Product(None, "deal", bits=4), n_lists=2),
    "Graph": lambda: search.Graph(),
}
# without vectors there is nothing to search but everything
PAIRS = [
    (name, searcher)
    for name in EMBEDDINGS
    for searcher in SEARCHERS
    if name != "NoVectors" or searcher == "Everything"
]


def test_all_parts_are_here():
    own = [cls for cls in stored_classes() if cls.__module__.startswith("mercer.")]
    names = {cls.__name__ for cls in own if issubclass(cls, Embedding)}
    assert names == set(EMBEDDINGS)
    names = {cls.__name__ for cls in own if issubclass(cls, Searcher)}
    by_itself = {"ByLength"}  # indexes put it around others where items differ in length
    assert names - by_itself == {name.split()[0] for name in SEARCHERS}


@pytest.mark.parametrize("name, searcher", PAIRS)
def test_saved_and_loaded(name, searcher, tmp_path):
    kernel, items = EMBEDDINGS[name]
    embedding = getattr(embeddings, name)(kernel, **OPTIONS.get(name, {}))
    index = mercer.Index(kernel, embedding, SEARCHERS[searcher]())
    index.fit(items).add(items[:50]).add(items[50:]).remove([3, 60])
    index.save(tmp_path)
    back = mercer.load(tmp_path)
    assert (back.embedding, back.searcher) == (index.embedding_.fresh(), index.searcher)
    expected, found = (one.search(items[:20], 3, candidates=40) for one in (index, back))
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.scores, expected.scores)
    np.testing.assert_array_equal(
        back.embedding_.transform(items[:5]), index.embedding_.transform(items[:5])
    )
    more = back.empty().add(items[:10])
    np.testing.assert_array_equal(more.search(items[:3], 1).ids[:, 0], [0, 1, 2])


class Unnamed(search.Everything):
    """A searcher of a user that was not made known."""


def test_a_part_without_a_name_is_not_saved(tmp_path):
    index = mercer.Index("chi2", embeddings.NoVectors("chi2"), Unnamed()).fit(X).add(X)
    with pytest.raises(mercer.StoreError, match=r"no name.*mercer\.register\('Unnamed', Unnamed\)"):
        index.save(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_lengths():
    require_lengths("a list", one=3, other=3)
    with pytest.raises(mercer.StoreError, match=r"a list should be .*\(one 3, other 4\)"):
        require_lengths("a list", one=3, other=4)
