"""Graphs of neighbours, as what takes precomputed distances needs them, and vectors."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.datasets import load_digits, make_blobs
from sklearn.manifold import TSNE
from sklearn.neighbors import KNeighborsTransformer
from zoo import HISTOGRAMS, VECTORS

from mercer import kernels
from mercer.embeddings import KernelPCA
from mercer.errors import InputError
from mercer.neighbors import KernelEmbedding, KernelNeighbors, KernelNeighborsTransformer


@pytest.mark.parametrize("mode", ["distance", "connectivity"])
def test_graphs_have_the_form_of_scikit_learn(mode):
    ours = KernelNeighborsTransformer("rbf", 4, mode=mode).fit(VECTORS[:60])
    theirs = KNeighborsTransformer(n_neighbors=4, mode=mode).fit(VECTORS[:60])
    for queries in (VECTORS[:60], VECTORS[60:]):
        graph, other = ours.transform(queries), theirs.transform(queries)
        assert type(graph) is type(other)
        assert graph.shape == other.shape
        np.testing.assert_array_equal(graph.indptr, other.indptr)
        np.testing.assert_array_equal(graph.indices, other.indices)
    rows = ours.fit_transform(VECTORS[:60])
    if mode == "distance":
        values = rows.data.reshape(60, 5)
        assert (values[:, 0] == 0).all()  # an item finds itself first
        assert (np.diff(values, axis=1) >= 0).all()
    assert ours.get_feature_names_out().tolist()[:2] == [
        f"kernelneighborstransformer{i}" for i in range(2)
    ]


def test_rows_are_sorted_by_distance_whatever_the_lengths():
    graph = KernelNeighborsTransformer("linear", 9).fit_transform(VECTORS)
    assert (np.diff(graph.data.reshape(70, 10), axis=1) >= 0).all()
    made = KernelNeighborsTransformer("linear", 9, mode="score").fit(VECTORS)
    scores = made.transform(VECTORS).data.reshape(70, 9)
    np.testing.assert_array_equal(-np.sort(-scores), -np.sort(-made.matches(VECTORS).scores))


@pytest.mark.filterwarnings("ignore:Precomputed sparse input was not sorted")  # by old DBSCANs
def test_graphs_are_clustered():
    points, labels = make_blobs(150, centers=4, cluster_std=0.3, random_state=0)
    kernel = kernels.RBF(0.1)
    graph = KernelNeighborsTransformer(kernel, 20).fit_transform(points)
    assert graph.max() < 1.5
    found = DBSCAN(eps=0.5, min_samples=4, metric="precomputed").fit_predict(graph)
    assert set(zip(found.tolist(), labels.tolist(), strict=True)) == {
        (one, labels[found == one][0]) for one in range(found.max() + 1)
    }
    assert found.max() + 1 == 4


def test_graphs_are_drawn_by_tsne():
    digits, labels = load_digits(n_class=3, return_X_y=True)
    digits, labels = digits[:150], labels[:150]
    graph = KernelNeighborsTransformer("exp_chi2", 31).fit_transform(digits)
    drawn = TSNE(metric="precomputed", init="random", perplexity=10, random_state=0,
                 max_iter=400).fit_transform(graph)  # fmt: skip
    nearest = KernelNeighbors("rbf", 3).fit(drawn).kneighbors(return_distance=False)
    assert (labels[nearest] == labels[:, None]).mean() > 0.95


def test_umap_gets_its_own_neighbours():
    """The pair that umap takes as `precomputed_knn`: row numbers first, each item with itself."""
    distances, ids = KernelNeighbors("rbf", 15).fit(VECTORS).kneighbors(VECTORS)
    assert ids.shape == distances.shape == (70, 15)
    assert (ids[:, 0] == np.arange(70)).all()
    assert (distances[:, 0] == 0).all()
    assert (np.diff(distances, axis=1) >= 0).all()


@pytest.mark.parametrize("embedding", [
    None, KernelPCA("rbf", 5), KernelPCA("laplacian", None),
])  # fmt: skip
def test_embeddings_suit_their_kernel_to_the_items(embedding):
    made = KernelEmbedding(embedding).fit(VECTORS)
    plain = made.embedding_
    assert plain.kernel.gamma == type(plain.kernel).for_data(VECTORS).gamma
    np.testing.assert_array_equal(made.transform(VECTORS), plain.transform(VECTORS))
    assert made.transform(VECTORS).dtype == np.float32
    width = made.transform(VECTORS).shape[1]
    assert made.get_feature_names_out().tolist()[-1] == f"kernelembedding{width - 1}"
    assert embedding is None or not embedding.is_fitted


def test_grids_of_embeddings():
    made = KernelEmbedding(KernelPCA("rbf", 5))
    made.set_params(embedding__kernel="chi2", embedding__n_components=3)
    assert made.fit_transform(HISTOGRAMS).shape == (70, 3)
    assert made.embedding_.kernel == kernels.Chi2()


def test_what_is_wrong():
    with pytest.raises(InputError, match="mode is 'near'"):
        KernelNeighborsTransformer(mode="near").fit(VECTORS)
    with pytest.raises(InputError, match="n_neighbors is 6, but there are 5 items"):
        KernelNeighborsTransformer(n_neighbors=5).fit_transform(VECTORS[:5])
