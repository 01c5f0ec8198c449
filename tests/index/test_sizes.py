"""Bytes by part: what arrays really take, in memory and on disk."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import mercer
from mercer import kernels
from mercer.store import parts as stored

X = np.random.default_rng(0).random((500, 16)).astype(np.float32)
FEW = {"n_landmarks": 40}


def sizes(index, where="memory"):
    return {name: size[where] for name, size in index.info()["bytes"].items()}


PARTS = {
    "exact": (lambda: mercer.exact("rbf", n_components=8, **FEW), {"vectors": 4 * 9}),
    "klsh": (lambda: mercer.klsh("rbf", n_bits=64, **FEW), {"codes": 8}),
    "kpca_pq": (lambda: mercer.kpca_pq("rbf", n_bytes=4, n_components=8, **FEW), {"codes": 4}),
    "graph": (lambda: mercer.graph("linear"), {"codes": 16}),
    "brute": (lambda: mercer.brute("rbf"), {}),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_take_what_their_arrays_take(name, tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "SMALL", 0)  # small files are mapped too
    make, expected = PARTS[name]
    index = make().fit(X).add(X[:300]).add(X[300:])
    found = sizes(index)
    assert found["items"] >= X.nbytes
    assert found["items"] <= X.nbytes + 16 * len(X)  # and numbers that the kernel keeps
    assert found["ids"] == found["self-similarities"] == 8 * len(X)
    assert found["removed"] == len(X)
    for part, n_bytes in expected.items():
        assert found[part] == n_bytes * len(X)
    assert set(sizes(index, "disk").values()) == {0}
    parts = [n for part, n in found.items() if part != "learned"]
    assert index.info()["bytes per item"] == round(sum(parts) / len(X), 1)
    index.save(tmp_path / "index")
    loaded = mercer.load(tmp_path / "index")
    on_disk = sizes(loaded, "disk")
    for part in ("items", "ids", *expected):
        assert on_disk[part] == found[part]
        assert sizes(loaded)[part] == 0


def test_what_searches_make_is_counted():
    index = mercer.kpca_pq("rbf", n_bytes=4, n_components=8, **FEW).fit(X, measure=False).add(X)
    before = sizes(index)["made for searches"]
    index.search(X[:3], 2)
    assert sizes(index)["made for searches"] == before + 4 * len(X)


@pytest.mark.parametrize(
    "kernel, items, least",
    [
        ("linear", scipy.sparse.csr_array(X * (X > 0.9)), 8 * int((X > 0.9).sum())),
        ("sum_match", mercer.Ragged(X, np.arange(0, 501, 10)), X.nbytes + 8 * 51),
        ("tanimoto", X > 0.5, 2 * len(X)),
        (kernels.from_function(lambda x, y: float(x == y)), ["a", "bb"] * 20, 40 * 40),
        (kernels.Chi2().of("l1"), (9 * X).astype(np.uint8), X.nbytes),
    ],
)
def test_items_of_all_kinds(kernel, items, least):
    index = mercer.brute(kernel).fit(items).add(items)
    assert least <= sizes(index)["items"] <= 8 * least


def test_nothing_takes_nothing():
    told = mercer.brute("rbf").info()
    assert told["bytes"] == {"learned": {"memory": 0, "disk": 0}}
    assert told["bytes per item"] == 0
