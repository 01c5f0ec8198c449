"""What an index tells of itself, and items by their ids."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from zoo import ANIMALS, HISTOGRAMS, SETS, VECTORS

import mercer
from mercer import items, kernels

KEPT = [
    animal for animal in ANIMALS
    if animal.name in ("chi2-float32", "rbf-sparse", "cosine-uint8", "strings", "sets", "deep")
]  # fmt: skip


@pytest.mark.parametrize("animal", KEPT, ids=lambda animal: animal.name)
def test_items_are_read_by_their_ids(animal):
    ids = [f"item {row}" for row in range(70)]
    index = mercer.brute(animal.kernel).fit(animal.X)
    index.add(animal.X[:40], ids[:40]).add(animal.X[40:], ids[40:])
    index.remove(["item 3"])
    for row in (0, 39, 40, 69):
        found, given = index[f"item {row}"], items.take(animal.X, [row])[0]
        if items.is_sparse(animal.X):
            found, given = found.toarray(), given.toarray()
        np.testing.assert_array_equal(found, given)
    with pytest.raises(mercer.InputError, match=r"1 of 1 ids are not in the index .*'item 3'"):
        index["item 3"]


def test_packed_bits_and_sets_are_read_too():
    bits = np.random.default_rng(0).random((9, 20)) < 0.5
    index = mercer.brute("tanimoto").fit(bits).add(bits)
    np.testing.assert_array_equal(index[4], np.packbits(bits[4]))
    packed = np.packbits(bits, axis=1)
    both = mercer.brute(kernels.Tanimoto() + kernels.Tversky()).fit(packed).add(packed)
    np.testing.assert_array_equal(both[4], packed[4])
    sets = mercer.brute(kernels.MaxSim()).fit(SETS).add(SETS, ids=np.arange(70) * 2)
    np.testing.assert_array_equal(sets[6], SETS[3].astype(np.float32))


@pytest.mark.parametrize("name", ["pyramid_match-normalized", "mahalanobis"])
def test_items_that_are_not_kept_are_not_made_up(name):
    [animal] = [animal for animal in ANIMALS if animal.name == name]
    index = mercer.brute(animal.kernel).fit(animal.X).add(animal.X)
    with pytest.raises(mercer.KernelError, match=r"not the items\. Keep them"):
        index[0]


@pytest.mark.parametrize("ids", [np.arange(70), np.arange(70) * 3 + 1, [f"{i}" for i in range(70)]])
def test_membership(ids):
    index = mercer.brute("rbf").fit(VECTORS)
    assert ids[0] not in index
    index.add(VECTORS, ids).remove([ids[5]])
    assert ids[0] in index
    assert ids[69] in index
    assert ids[5] not in index
    assert list(index) == [one for place, one in enumerate(np.asarray(ids).tolist()) if place != 5]
    for strange in (-1, 10**6, "a", None, 1.0, True, (0,), VECTORS[0]):
        assert strange not in index


def test_the_repr_says_what_an_index_holds():
    index = mercer.brute("chi2")
    made = repr(index)
    assert made == "Index(kernel=Chi2(), embedding=NoVectors(kernel='chi2'), searcher=Everything())"
    before = hash(index)
    assert repr(index.fit(HISTOGRAMS)) == f"{made}, fitted, without items"
    assert repr(index.add(HISTOGRAMS)) == f"{made} with 70 items of 24 features"
    assert repr(pickle.loads(pickle.dumps(index))) == repr(index)
    assert hash(index) == before
    words = mercer.brute(kernels.from_function(max)).fit([1.5, 2.5]).add([1.5, 2.5])
    assert repr(words).endswith(" with 2 items")
