"""Items are embedded block by block where only codes are kept of their vectors."""

from __future__ import annotations

import numpy as np
import pytest
from zoo import HISTOGRAMS, VECTORS

import mercer
from mercer.embeddings import KLSHDirections

METHODS = {
    "klsh": (lambda: mercer.klsh("chi2", n_bits=32, n_landmarks=40, subset=10), HISTOGRAMS),
    "lsh by length": (lambda: mercer.lsh("linear", n_bits=32), VECTORS),
    "kpca_pq": (lambda: mercer.kpca_pq("chi2", n_bytes=4, n_landmarks=40), HISTOGRAMS),
    "lists": (
        lambda: mercer.klsh("chi2", n_bits=32, n_landmarks=40, subset=10, codes="lists"),
        HISTOGRAMS,
    ),
    "graph": (lambda: mercer.graph("linear"), VECTORS),
}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_blocks_change_nothing(name, monkeypatch):
    make, X = METHODS[name]
    whole = make().fit(X).add(X).search(X, 5, candidates=12)
    monkeypatch.setattr("mercer.index.recipe.BLOCK", 9)
    index = make().fit(X).add(X[:50]).add(X[50:])
    found = index.compact().search(X, 5, candidates=12)
    np.testing.assert_array_equal(found.ids, whole.ids)
    np.testing.assert_array_equal(found.scores, whole.scores)


def test_vectors_of_few_items_are_in_memory_together(monkeypatch):
    sizes, transform = [], KLSHDirections.transform

    def watched(self, X, **options):
        Z = transform(self, X, **options)
        sizes.append(len(Z))
        return Z

    make, X = METHODS["klsh"]
    index = make().fit(X)
    monkeypatch.setattr("mercer.index.recipe.BLOCK", 16)
    monkeypatch.setattr(KLSHDirections, "transform", watched)
    index.add(X)
    assert sizes[:5] == [16, 16, 16, 16, 6]
