"""Files, mapped arrays and iterators are added block by block, and go on where they stopped."""

from __future__ import annotations

import os

import numpy as np
import pytest

import mercer
from mercer.index import streaming
from mercer.index.recipe import Recipe
from mercer.store import parts

X = np.random.default_rng(0).dirichlet(np.full(8, 0.5), 5000).astype(np.float32)
Q = X[:5]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Do not wait for the disk; map all files, as those of larger blocks are."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    monkeypatch.setattr(parts, "SMALL", -1)


@pytest.fixture
def folder(tmp_path):
    mercer.inverted("chi2", n_lists=16).fit(X, measure=False).save(tmp_path / "index")
    np.save(tmp_path / "X.npy", X)
    return tmp_path / "index"


@pytest.fixture
def built(monkeypatch):
    """The sizes of the blocks that are built."""
    sizes, build = [], Recipe.build

    def counting(self, P, ids):
        sizes.append(len(P))
        return build(self, P, ids)

    monkeypatch.setattr(Recipe, "build", counting)
    return sizes


def mapped(folder):
    return np.load(folder.parent / "X.npy", mmap_mode="r")


def require_all(index, n=5000):
    assert index.ids.tolist() == list(range(n))
    found = index.search(Q, 3, candidates=n, effort=16)
    expected = mercer.brute("chi2").fit(X).add(X[:n]).search(Q, 3)
    np.testing.assert_array_equal(found.scores, expected.scores)


def require_mapped(index):
    sizes = index.info()["bytes"]["items"]
    assert sizes["memory"] == 0
    assert sizes["disk"] == X.nbytes


@pytest.mark.parametrize("how", ["mapped", "path", "str", "fbin"])
def test_mapped_files_are_added_in_blocks_and_stay_on_disk(folder, built, how):
    path = folder.parent / "X.npy"
    given = {"mapped": mapped(folder), "str": str(path), "fbin": path.with_suffix(".fbin")}.get(
        how, path
    )
    if how == "fbin":
        given.write_bytes(np.array([*X.shape], np.uint32).tobytes() + X.tobytes())
    with mercer.open(folder) as store:
        store.add(given, memory=1)
        assert built == [1000] * 5
        require_all(store)
        require_mapped(store)
        store.remove([0, 4999])
    assert len(mercer.load(folder)) == 4998


def test_memory_says_how_many_rows_a_block_has(folder, built):
    with mercer.open(folder) as store:
        store.add(mapped(folder), memory=1 << 20)
        store.remove(store.ids).add(mapped(folder))
    *blocks, whole = built
    assert 1000 <= blocks[0] < 5000
    assert blocks[0] * X[0].nbytes < 1 << 20
    assert whole == 5000


class Stopped(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("given", ["mapped", "path"])
@pytest.mark.parametrize("with_ids", [False, True])
def test_what_is_there_is_not_read_again(folder, built, monkeypatch, given, with_ids):
    source = mapped(folder) if given == "mapped" else folder.parent / "X.npy"
    ids = [f"item {i}" for i in range(5000)] if with_ids else None
    with mercer.open(folder) as store, monkeypatch.context() as patch:
        build = Recipe.build

        def stop(self, P, ids):
            if len(built) == 3:
                raise Stopped
            return build(self, P, ids)

        patch.setattr(Recipe, "build", stop)
        with pytest.raises(Stopped):
            store.add(source, ids, memory=1)
        assert len(store) == 3000
    with mercer.open(folder) as store:
        assert len(store) == 3000
        store.add(X[:1], ids=["own"] if with_ids else [9000])  # something else in between
        store.remove(["own"] if with_ids else [9000])
        store.add(source, ids, memory=1)
        assert built == [1000] * 3 + [1] + [1000] * 2
        assert len(store) == 5000
        assert store.ids.tolist()[:2] == (["item 0", "item 1"] if with_ids else [0, 1])
        own = store.search(Q, 1, candidates=5000, effort=16).ids[:, 0].tolist()
        assert own == store.ids.tolist()[:5]
    with mercer.open(folder) as store:  # it is finished: adding it again adds it again
        store.add(source, None if ids is None else [f"{one} again" for one in ids])
        assert len(store) == 10_000


def test_a_file_that_changed_is_another_one(folder, monkeypatch):
    with mercer.open(folder) as store, monkeypatch.context() as patch:
        patch.setattr(streaming.Source, "blocks", cut(streaming.Source.blocks))
        store.add(folder.parent / "X.npy", memory=1)
        assert len(store) == 1000
    np.save(folder.parent / "X.npy", X[:1500])
    with mercer.open(folder) as store:
        assert len(store.add(folder.parent / "X.npy", memory=1)) == 2500


def cut(blocks):
    """Return a source that ends after its first block."""

    def first(self, unfinished):
        yield next(blocks(self, unfinished))

    return first


@pytest.mark.parametrize("kind", ["in memory", "open"])
def test_an_iterator_of_blocks(folder, built, kind):
    def blocks():
        for start in range(0, 5000, 700):
            yield X[start : start + 700]
            yield X[:0]

    if kind == "in memory":
        require_all(mercer.load(folder).add(blocks()))
    else:
        with mercer.open(folder) as store:
            require_all(store.add(blocks()))
    assert built[:3] == [700, 700, 700]


def test_files_for_an_index_in_memory(folder, built):
    index = mercer.load(folder).add(folder.parent / "X.npy")
    assert built == [5000]
    require_all(index)
    np.savetxt(folder.parent / "X.csv", X[:50], delimiter=",")
    assert len(mercer.load(folder).add(folder.parent / "X.csv")) == 50


def failing():
    yield X[:0]
    raise KeyError("gone")


def test_bad_input_is_refused(folder):
    with mercer.open(folder) as store:
        for wrong, told in [
            (
                lambda: store.add(iter([X]), ids=[1]),
                "an iterator .* takes no ids and no payload",
            ),
            (lambda: store.add(mapped(folder), ids=[1]), "1 ids for 5000 items"),
            (lambda: store.add(mapped(folder), memory=0), "memory is 0"),
            (lambda: store.add(folder.parent / "nowhere.npy"), "nowhere.npy"),
            (lambda: store.add(iter([X[:, :3]])), "3 features"),
            (lambda: store.add(failing()), "iterator of blocks failed .KeyError: 'gone'"),
        ]:
            with pytest.raises(mercer.InputError, match=told):
                wrong()
        assert len(store) == 0
