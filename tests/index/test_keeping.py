"""An index that is open keeps every change; readers see them when they reload."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer import kernels
from mercer.store import disk

X = np.random.default_rng(0).dirichlet(np.full(8, 0.5), 400).astype(np.float32)
X[300:320] = X[:20]  # duplicates
Q = X[::40]
VALUES = kernels.Chi2()(Q, X, dtype=np.float64)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Do not wait for the disk, nor long for a lock."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    monkeypatch.setattr(disk, "TRIES", 2)


@pytest.fixture
def folder(tmp_path) -> Path:
    made = mercer.exact("chi2", n_landmarks=30, n_components=8).fit(X)
    made.add(X[:100]).save(tmp_path / "index")
    return tmp_path / "index"


def require_right(index, rows):
    """Compare an index, whose ids stand for these rows of X, with the kernel."""
    assert sorted(index.ids.tolist()) == sorted(rows)
    scores = VALUES[:, list(rows.values())]
    found = index.search(Q, 5)
    np.testing.assert_allclose(found.scores, -np.sort(-scores, axis=1)[:, :5], rtol=2e-6)
    own = [[rows[name] for name in names] for names in found.ids.tolist()]
    np.testing.assert_allclose(
        found.scores, np.take_along_axis(VALUES, np.array(own), 1), rtol=2e-6
    )


def numbered(*parts):
    return {row: row for part in parts for row in part}


def sizes(folder):
    return {path.name: path.stat().st_size for path in (folder / "parts").iterdir()}


# ---- the writer


def test_every_change_is_there_when_it_returns(folder):
    expected = numbered(range(100))
    with mercer.open(folder) as store:
        for change, rows in [
            (lambda: store.add(X[100:101]), {100: 100}), (lambda: store.remove([7, 100]), None),
            (lambda: store.add(X[300:310]), {i: i + 199 for i in range(101, 111)}),
            (lambda: store.update(X[[200, 201]], [3, 105]), {3: 200, 105: 201}),
            (lambda: store.compact(), {}), (lambda: store.remove(range(10, 50)), None),
        ]:  # fmt: skip
            change()
            if rows is None:
                expected = {name: row for name, row in expected.items() if name in store}
            expected |= rows or {}
            require_right(store, expected)
            with mercer.load(folder) as reader:
                require_right(reader, expected)
    mercer.verify(folder)


def test_what_did_not_change_is_not_written(folder):
    before = sizes(folder)
    with mercer.open(folder) as store:
        store.add(X[100:101])
        added = sizes(folder)
        assert set(before) < set(added)
        assert sum(added.values()) - sum(before.values()) < 3000
        store.remove([5])
        assert set(added) < set(sizes(folder))
        assert sum(sizes(folder).values()) - sum(added.values()) < 1000
    loaded = mercer.load(folder)
    before = sizes(folder)
    loaded.add(X[101:102]).save(folder)
    assert len(set(before) & set(sizes(folder))) >= 3  # learned, the large segment, its removed row


def test_few_segments_remain_and_removed_space_comes_back(folder):
    with mercer.open(folder) as store:
        for row in range(100, 228):
            store.add(X[row : row + 1])
        assert store.info()["segments"] <= 8
        full = sum(sizes(folder).values())
        store.remove(range(200)).compact()
        assert store.info()["segments"] == 1
        assert sum(sizes(folder).values()) < 0.6 * full
    assert len(list(folder.glob("manifest-*.json"))) == 1


def test_ids_are_not_given_twice(folder):
    with mercer.open(folder) as store:
        store.add(X[:1]).remove([100])
        store.compact()
    with mercer.open(folder) as store:
        assert store.add(X[:1]).ids.max() == 101


def test_a_store_is_made_without_items_and_filled(tmp_path):
    for method in (mercer.inverted, mercer.brute, mercer.graph, mercer.klsh):
        folder = tmp_path / method.__name__
        options = {"n_landmarks": 50, "subset": 5} if method is mercer.klsh else {}
        method("chi2", **options).fit(X).save(folder)
        with mercer.open(folder) as store:
            store.add(X[:50], ids=[f"item {i}" for i in range(50)]).add(
                X[50:60], ids=list("abcdefghij")
            )
            store.remove(["item 3", "b"])
            expected = store.search(Q, 3)
        found = mercer.load(folder).search(Q, 3)
        assert found.ids.tolist() == expected.ids.tolist()
        assert len(mercer.load(folder)) == 58


def test_an_index_that_chooses_its_method_can_be_open(tmp_path):
    mercer.auto("chi2").fit(X).save(tmp_path)
    with mercer.open(tmp_path) as store:
        store.add(X[:200])
        store.add(X[200:])
        assert store.explain().n_items >= 200
    assert mercer.load(tmp_path).explain().n_items >= 200


def test_there_is_one_writer(folder):
    with mercer.open(folder) as store:
        for call in (lambda: mercer.open(folder), lambda: mercer.load(folder).save(folder)):
            with pytest.raises(mercer.StoreError, match=r"another process .* has it open"):
                call()
        store.remove([0]).save(folder)  # its own folder is no other
        store.save(folder.parent / "copy")
    assert len(mercer.load(folder)) == len(mercer.load(folder.parent / "copy")) == 99
    with mercer.open(folder) as store:
        assert len(store) == 99


def test_a_writer_that_nobody_refers_to_lets_go(folder):
    mercer.open(folder)
    gc.collect()
    mercer.open(folder).close()


def test_a_closed_writer_cannot_be_changed(folder):
    with mercer.open(folder) as store:
        pass
    for change in (
        lambda: store.add(X[:1]),
        lambda: store.remove([0]),
        lambda: store.update(X[:1], [1]),
    ):
        with pytest.raises(mercer.StoreError, match="was closed"):
            change()
    store.close()
    assert len(store) == 100
    require_right(store, numbered(range(100)))


def test_a_forked_child_cannot_write(folder):
    with mercer.open(folder) as store:
        child = os.fork()
        if child == 0:
            try:
                store.remove([0])
            except mercer.StoreError as error:
                os._exit(0 if "forked" in str(error) else 1)
            os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        store.remove([1])
    assert len(mercer.load(folder)) == 99


@pytest.mark.parametrize("path", ["nowhere", "empty"])
def test_opening_what_is_not_there_makes_nothing(tmp_path, path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(mercer.StoreError, match=r"open: .*(does not exist|is not an index)"):
        mercer.open(tmp_path / path)
    assert [*tmp_path.iterdir()] == [tmp_path / "empty"]
    assert not [*(tmp_path / "empty").iterdir()]


def test_a_change_that_is_refused_changes_nothing(folder):
    with mercer.open(folder) as store:
        before = sizes(folder)
        for wrong in (lambda: store.add(X[:2], ids=[1, 2]), lambda: store.remove([1, 1000]),
                      lambda: store.update(X[:2], [1, 1000]), lambda: store.update(X[:2], [1, 1]),
                      lambda: store.update(-X[:1], [1]), lambda: store.add(X[:, :3])):  # fmt: skip
            with pytest.raises(mercer.InputError):
                wrong()
        assert sizes(folder) == before
        require_right(store, numbered(range(100)))


@pytest.mark.parametrize("name", ["create", "flush", "sync", "publish", "remove", "_finish"])
@pytest.mark.parametrize(
    "error", [KeyboardInterrupt, OSError(28, "No space left on device")], ids=str
)
def test_whatever_fails_index_and_folder_agree(folder, monkeypatch, name, error):
    """As before the call, or as after it, and the writer goes on."""
    home = "writing._Change" if name == "_finish" else "disk"

    def fail(*args):
        raise error

    with mercer.open(folder) as store:
        for change in (lambda: store.add(X[100:103]), lambda: store.remove([1, 2]),
                       lambda: store.update(X[200:201], [3]), lambda: store.compact()):  # fmt: skip
            with monkeypatch.context() as patch:
                patch.setattr(f"mercer.store.{home}.{name}", fail)
                with suppress(KeyboardInterrupt, mercer.StoreError):
                    change()
            with mercer.load(folder) as reader:
                assert reader.ids.tolist() == store.ids.tolist()
                np.testing.assert_array_equal(reader.search(Q, 4).ids, store.search(Q, 4).ids)
        store.add(X[110:111], ids=[5000]).remove([9])
    with mercer.load(folder) as reader:
        assert reader.ids.tolist() == store.ids.tolist()
    assert set(sizes(folder)) == {Path(name).name for name in mercer.verify(folder)[1:]}


# ---- readers


def test_a_reader_keeps_its_generation_until_it_reloads(folder):
    reader, other = mercer.load(folder), mercer.load(folder)
    with mercer.open(folder) as store:
        store.remove(range(20)).add(X[100:150]).compact()
        store.remove([20])
        require_right(reader, numbered(range(100)))
        later = mercer.load(folder)  # from files that nobody removed
        require_right(later, numbered(range(21, 150)))
        require_right(reader.reload(), numbered(range(21, 150)))
        assert reader.reload() is reader
        require_right(other, numbered(range(100)))
    assert len(list(folder.glob("manifest-*.json"))) == 2
    for one in (reader, other, later):
        one.close()
    mercer.open(folder).close()
    assert len(list(folder.glob("manifest-*.json"))) == 1
    assert set(sizes(folder)) == {Path(name).name for name in mercer.verify(folder)[1:]}


PINNING = """
import sys, mercer
index = mercer.load(sys.argv[1])
print(len(index), flush=True)
sys.stdin.read()
"""


def test_nothing_is_kept_because_a_reader_died(folder):
    process = subprocess.Popen([sys.executable, "-c", PINNING, str(folder)], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
    assert process.stdout.readline() == "100\n"
    with mercer.open(folder) as store:
        store.remove([0])
        assert (folder / "manifest-1.json").exists()
        process.kill()
        process.communicate()
        store.remove([1])
        assert not (folder / "manifest-1.json").exists()


def test_a_reader_with_changes_is_not_moved(folder):
    reader = mercer.load(folder).remove([3])
    reader.reload()  # there is nothing newer
    mercer.load(folder).remove([4]).save(folder)
    with pytest.raises(mercer.InputError, match=r"Index.reload: .*changes that were not saved"):
        reader.reload()
    assert len(reader) == 99
    reader.save(folder.parent / "mine")
    with pytest.raises(mercer.StoreError, match="somebody else saved"):
        reader.save(folder)
    fresh = mercer.load(folder).remove([9])
    fresh.save(folder)
    assert fresh.reload().ids.tolist() == mercer.load(folder).ids.tolist()


def test_reload_is_for_what_was_loaded():
    with pytest.raises(mercer.InputError, match=r"not loaded from a folder.*mercer\.load"):
        mercer.exact("chi2").fit(X).reload()


def test_a_follower_sees_every_change_before_each_search(folder):
    follower, other = mercer.load(folder, follow=True), mercer.load(folder)
    with mercer.open(folder) as store:
        store.add(X[100:120])
        found = follower.search(X[100:120], 1)
        assert (follower.within(X[110:111], 0.9999)[0].ids == 110).any()
        store.remove(found.ids[:, 0])
        assert not np.isin(found.ids, follower.search(X[100:120], 9).ids).any()
    assert len(other) == 100
    follower.remove([0])
    mercer.load(folder).remove([1]).save(folder)
    with pytest.raises(mercer.InputError, match="changes that were not saved"):
        follower.search(Q, 1)


def test_another_index_in_the_folder_is_another_index_after_reloading(folder):
    reader = mercer.load(folder)
    mercer.brute("rbf").fit(X).add(X[:7]).save(folder)
    assert len(reader.reload()) == 7
    assert reader.kernel == reader.kernel_ == mercer.load(folder).kernel
    assert repr(reader) == repr(mercer.load(folder))


def test_an_index_sent_elsewhere_is_neither_open_nor_a_reader(folder):
    with mercer.open(folder) as store:
        sent = pickle.loads(pickle.dumps(store))
        sent.remove([0])
        assert len(mercer.load(folder)) == 100
        with pytest.raises(mercer.InputError, match="not loaded"):
            sent.reload()


# ---- how others lost data


def test_a_stale_writer_is_refused_even_without_locks(folder, monkeypatch):
    """A handle that saves an old snapshot over a newer one loses what came in between."""
    monkeypatch.setattr(disk, "_lock_alone", lambda handle: True)
    stale = mercer.open(folder)
    with mercer.open(folder) as store:
        store.add(X[100:130])
    with pytest.raises(mercer.StoreError, match="somebody else saved"):
        stale.remove([0])
    assert len(stale) == 100
    with mercer.load(folder) as reader:
        require_right(reader, numbered(range(130)))


def test_of_two_who_commit_at_once_one_is_refused(folder, monkeypatch):
    monkeypatch.setattr(disk, "_lock_alone", lambda handle: True)
    first, second = mercer.open(folder), mercer.open(folder)
    publish = disk.publish

    def overtaken(draft, name):
        monkeypatch.setattr(disk, "publish", publish)
        second.remove([1])
        publish(draft, name)

    monkeypatch.setattr(disk, "publish", overtaken)
    with pytest.raises(mercer.StoreError, match="at the same time"):
        first.remove([0])
    assert len(first) == 100
    assert 1 not in mercer.load(folder)
    assert 0 in mercer.load(folder)
    mercer.verify(folder)


def test_manifests_do_not_grow_with_rows(folder):
    def size():
        [path] = folder.glob("manifest-*.json")
        return path.stat().st_size

    with mercer.open(folder) as store:
        before = size()
        store.add(np.tile(X, (30, 1))).compact()
        store.remove(range(5000))
        assert size() < before + 500


def test_a_query_that_is_an_item_finds_it_among_many_duplicates(folder):
    with mercer.open(folder) as store:
        store.add(np.tile(X[200:201], (300, 1))).remove(range(100, 399))
        store.compact()
        assert store.search(X[200:201], 1).ids.tolist() == [[399]]
    assert mercer.load(folder).search(X[200:201], 1).ids.tolist() == [[399]]


def test_half_of_a_batch_is_never_there(folder, monkeypatch):
    """See test_keeping_crashes, too: here, the second file of a change cannot be written."""
    with mercer.open(folder) as store:
        create, made = disk.create, []

        def full(path):
            made.append(path)
            if len(made) > 1:
                raise OSError(28, "No space left on device")
            return create(path)

        monkeypatch.setattr(disk, "create", full)
        with pytest.raises(mercer.StoreError, match="No space left"):
            store.update(X[100:150], range(50))
        assert len(made) == 2
        require_right(store, numbered(range(100)))
    with mercer.load(folder) as reader:
        require_right(reader, numbered(range(100)))


def test_files_that_nobody_names_are_removed_by_the_writer_only(folder):
    stray = [folder / "parts" / f"{'ab' * 16}.part", folder / f"{'0' * 16}.draft"]
    mine = [folder / "parts" / "mine.txt", folder / "notes.txt"]
    for path in (*stray, *mine):
        path.touch()
    with mercer.load(folder) as reader:
        reader.search(Q, 1)
        mercer.verify(folder)
    assert all(path.exists() for path in stray)
    with mercer.open(folder) as store:
        store.remove([0])
    assert not any(path.exists() for path in stray)
    assert all(path.exists() for path in mine)


# ---- many at once


def test_readers_and_a_writer_at_once(folder):
    """No reader fails, and none sees an older generation than before."""
    done, failures = threading.Event(), []

    def read():
        try:
            last, follower = 0, mercer.load(folder, follow=True)
            while not done.is_set():
                with mercer.load(folder) as index:
                    found = index.search(Q, 3, n_jobs=1)
                assert np.isfinite(found.scores).all()
                follower.search(Q, 1, n_jobs=1)
                number = follower._kept.opened.manifest["generation"]
                assert number >= last
                last = number
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    rng = np.random.default_rng(0)
    with mercer.open(folder) as store:
        until = time.perf_counter() + 2
        while time.perf_counter() < until and not failures:
            store.add(X[rng.integers(0, 400, 5)]).remove(rng.choice(store.ids, 5, replace=False))
            if rng.random() < 0.2:
                store.compact()
    done.set()
    for thread in threads:
        thread.join()
    assert failures == []
