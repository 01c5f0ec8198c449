"""A saved index answers as it did, for every kernel and every kind of items."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
import scipy.sparse
import zoo

import mercer
from mercer import items, kernels
from mercer.kernels import Kernel, registry
from mercer.store import parts as store

ANIMALS = [animal for animal in zoo.ANIMALS if animal.kernel.psd]
FIELDS = ["ids", "scores", "distances", "exact", "evaluations", "tolerance", "probability"]


@pytest.fixture(autouse=True)
def own_names(monkeypatch):
    """Names registered in a test end with it."""
    monkeypatch.setattr(registry, "_registered", {})


@pytest.fixture
def mapped(monkeypatch):
    """Map all files, as a large index would."""
    monkeypatch.setattr(store, "SMALL", -1)


def register_inside(kernel: Kernel) -> None:
    """Give a name to every function inside a kernel."""
    inside = [value for value in kernel.get_params(deep=False).values()
              if isinstance(value, Kernel)]  # fmt: skip
    if "function" in kernel.get_params(deep=False):
        mercer.register(f"mine {len(registry._registered)}", kernel)
    for one in inside:
        register_inside(one)


def small_index(kernel="chi2", X=zoo.HISTOGRAMS, ids=None):
    index = mercer.exact(kernel, n_landmarks=20, n_components=8).fit(X)
    return index.add(X, ids=ids)


def require_same(left, right):
    for name in FIELDS:
        a, b = getattr(left, name), getattr(right, name)
        np.testing.assert_array_equal(a, b, err_msg=name)
        assert a.dtype == b.dtype
    assert left.kernel == right.kernel


@pytest.mark.parametrize("animal", ANIMALS, ids=lambda animal: animal.name)
def test_every_kernel_and_kind_of_items(animal, tmp_path):
    register_inside(animal.kernel)
    X, rest = animal.X[:60], animal.X[60:]
    index = small_index(animal.kernel, X)
    index.save(tmp_path)
    again = mercer.load(tmp_path)
    assert again.kernel == index.kernel_
    require_same(again.search(rest, k=5), index.search(rest, k=5))
    for one in (index, again):
        one.add(rest).remove([3, 5, 64])
    require_same(again.search(X, k=5), index.search(X, k=5))
    allowed = [0, 1, 2, 40, 61, 69]
    require_same(again.search(rest, k=4, where=allowed), index.search(rest, k=4, where=allowed))
    again.save(tmp_path)
    require_same(mercer.load(tmp_path).search(X, k=5), index.search(X, k=5))


@pytest.mark.parametrize(
    ("kernel", "X"),
    [("chi2", zoo.HISTOGRAMS), ("chi2", zoo.SPARSE), ("tanimoto", zoo.BITS), ("linear", zoo.COUNTS),
     (kernels.Chi2() + kernels.RBF(), zoo.HISTOGRAMS)],
    ids=["dense", "sparse", "bits", "uint8", "sum"],
)  # fmt: skip
def test_mapped_arrays_give_the_same_answers(kernel, X, tmp_path, mapped):
    index = small_index(kernel, X)
    index.save(tmp_path)
    again = mercer.load(tmp_path)
    assert not again.segments_.members[0].diag.flags.writeable
    require_same(again.search(X[:9], k=5), index.search(X[:9], k=5))
    for one in (index, again):
        one.remove([0, 7]).add(X[:3])
    require_same(again.search(X[:9], k=5), index.search(X[:9], k=5))
    assert [len(found.ids[0]) for found in again.within(X[:3], 0.2)] == [
        len(found.ids[0]) for found in index.within(X[:3], 0.2)
    ]


def test_saved_onto_the_folder_it_is_mapped_from(tmp_path, mapped):
    index = small_index()
    index.save(tmp_path)
    for number in (2, 3):
        again = mercer.load(tmp_path)
        again.compact().remove([number]).save(tmp_path)
        assert names(tmp_path) == ["lock", f"manifest-{number}.json", "parts"]
        index.remove([number])
        # files may be gone from the folder, but not for who has them open
        require_same(again.search(zoo.HISTOGRAMS, k=3), index.search(zoo.HISTOGRAMS, k=3))
    assert len(list((tmp_path / "parts").iterdir())) == 3  # learned, one segment, what is removed


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_large_parts_are_mapped_and_small_ones_read(tmp_path):
    X = np.random.default_rng(0).random((3000, 64)).astype(np.float32)
    small_index("linear", X).save(tmp_path / "large")
    small_index("linear", X[:50]).save(tmp_path / "small")
    for name, mapped in (("large", True), ("small", False)):
        index = mercer.load(tmp_path / name)
        [segment] = index.segments_.members
        assert segment.items.kept.flags.writeable == (not mapped)
        sizes = index.info()["bytes"]["items"]
        assert (sizes["disk"] > 0) == mapped


def told_of(index):
    """Return what an index tells of itself, but for where its bytes are."""
    return {name: value for name, value in index.info().items() if name != "bytes"}


def test_several_segments_and_removed_items(tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.index.recipe.RATIO", 0)
    index = small_index(X=zoo.HISTOGRAMS[:40]).add(zoo.HISTOGRAMS[40:60]).add(zoo.HISTOGRAMS[60:])
    index.remove([1, 45])
    assert index.info()["segments"] == 3
    index.save(tmp_path)
    again = mercer.load(tmp_path)
    assert told_of(again) == told_of(index)
    assert again.ids.tolist() == index.ids.tolist()
    require_same(again.search(zoo.HISTOGRAMS, k=4), index.search(zoo.HISTOGRAMS, k=4))
    require_same(again.compact().search(zoo.HISTOGRAMS, k=4),
                 index.compact().search(zoo.HISTOGRAMS, k=4))  # fmt: skip


def test_string_ids(tmp_path):
    names = [f"photo {i} ü" for i in range(70)]
    index = small_index(ids=names)
    index.save(tmp_path)
    again = mercer.load(tmp_path)
    require_same(again.search(zoo.HISTOGRAMS, k=4), index.search(zoo.HISTOGRAMS, k=4))
    assert again.remove([names[2]]).ids.tolist() == names[:2] + names[3:]


def test_calibration_and_disproof_are_kept(tmp_path):
    index = small_index().calibrate(zoo.HISTOGRAMS + 0.01, 0.9)
    index.disproof_ = "a test"
    index.save(tmp_path)
    again = mercer.load(tmp_path)
    assert again.info()["disproof"] == "a test"
    assert again.relaxation_ == index.relaxation_
    require_same(again.search(zoo.HISTOGRAMS, relaxed=True),
                 index.search(zoo.HISTOGRAMS, relaxed=True))  # fmt: skip


@pytest.mark.filterwarnings("ignore::mercer.EmptyIndexWarning")
def test_indexes_without_items(tmp_path):
    mercer.exact("chi2").save(tmp_path / "new")
    again = mercer.load(tmp_path / "new")
    assert not again.info()["fitted"]
    with pytest.raises(mercer.NotFittedError):
        again.search(zoo.HISTOGRAMS)
    again.fit(zoo.HISTOGRAMS).save(tmp_path / "fitted")
    again = mercer.load(tmp_path / "fitted")
    assert again.search(zoo.HISTOGRAMS[:2], k=1).ids.tolist() == [[-1], [-1]]
    assert again.add(zoo.HISTOGRAMS).search(zoo.HISTOGRAMS[:1], k=1).ids.tolist() == [[0]]


def test_parameters_and_the_kernel_object_come_back(tmp_path):
    index = mercer.exact(kernels.RBF(gamma=np.float32(0.5)), n_landmarks=np.int64(30), seed=4)
    index.fit(zoo.VECTORS).add(zoo.VECTORS).save(str(tmp_path))
    again = mercer.load(str(tmp_path))
    assert repr(again) == repr(index)
    assert again.embedding.kernel is again.kernel
    assert again.embedding_.landmarks_.kernel is again.kernel
    assert again.segments_.members[0].items.kernel is again.kernel


def test_precomputed_is_stored_once(tmp_path):
    kernel = kernels.Precomputed(zoo.VECTORS @ zoo.VECTORS.T, psd=True)
    small_index(kernel, np.arange(70)).save(tmp_path)
    size = sum(path.stat().st_size for path in (tmp_path / "parts").iterdir())
    assert size < 1.9 * kernel.K.nbytes
    assert mercer.load(tmp_path).embedding_.serves(kernel)


def test_items_that_two_kernels_share_are_stored_once(tmp_path):
    small_index(kernels.Chi2() + kernels.JensenShannon()).save(tmp_path)
    items = mercer.load(tmp_path).segments_.members[0].items
    assert items.left.kept is items.right.kept


ITEMS = {
    "strings": ["", "ü", "\ud800", "a" * 99],
    "numbers": [1, 2.5, True, 2**70],
    "lists": [[1, [2, "b"]], [], ["c"], [None]],
    "dicts": [{"a": 1}, {}, {"b": [2]}, {"c": {"d": None}}],
    "objects": np.array(["a", "bb", "ccc", "d"], object),
    "texts": np.array(["a", "bb", "ccc", "d"]),
    "days": np.array(["2020-01-01"] * 4, "M8[D]"),
    "complex": np.array([1j, 2, 3, 4]),
    "transposed": np.asfortranarray(np.arange(12.0).reshape(4, 3)),
    "matrix": scipy.sparse.csr_matrix(np.eye(4)),
    "long indices": scipy.sparse.csr_array(
        (np.ones(2), np.array([0, 1], np.int64), np.array([0, 1, 1, 2, 2], np.int64)), shape=(4, 9)
    ),
    "placed sets": mercer.Ragged(np.ones((5, 2)), [0, 1, 1, 3, 5], np.arange(10).reshape(5, 2)),
}


def ones(X, Y):
    return np.ones((items.length(X), items.length(Y)))


@pytest.mark.parametrize("name", ITEMS)
def test_items_come_back_as_they_were(name, tmp_path, mapped):
    X = ITEMS[name]
    mercer.register("one", kernels.from_gram(ones, psd=True))
    small_index("one", X).save(tmp_path)
    found = mercer.load(tmp_path).segments_.members[0].items.kept
    assert type(found) is type(X)
    if isinstance(X, mercer.Ragged):
        for part in ("values", "offsets", "positions"):
            np.testing.assert_array_equal(getattr(found, part), getattr(X, part))
    elif scipy.sparse.issparse(X):
        assert (found != X).nnz == 0
        assert found.indices.dtype == X.indices.dtype
    elif isinstance(X, np.ndarray):
        np.testing.assert_array_equal(found, X)
        assert found.dtype == X.dtype
    else:
        assert found == X
        assert [type(one) for one in found] == [type(one) for one in X]


@pytest.mark.parametrize(
    ("X", "told"),
    [([(1, 2), (3, 4)], "item 0, a tuple"), (["a", {1: 2}], "item 1, a dict"),
     ([{1, 2}, {3}], "item 0, a set"), ([np.ones(2), np.ones(3)], "item 0, a ndarray"),
     ([0.5, float("nan")], "item 1, a float"),
     (np.array([(1, 2.0)], "i4, f8"), "items in an array")],
)  # fmt: skip
def test_items_that_cannot_be_stored_are_refused(X, told, tmp_path):
    mercer.register("one", kernels.from_function(lambda x, y: 1.0, psd=True))
    index = small_index("one", X)
    with pytest.raises(mercer.StoreError, match=f"save: cannot store {told}"):
        index.save(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_kernel_must_be_registered_to_save(tmp_path):
    index = small_index(2.0 * kernels.from_function(zoo.shared_letters, psd=True), zoo.WORDS)
    with pytest.raises(mercer.KernelError, match=r"save: cannot store kernel .*Register it"):
        index.save(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_kernel_must_be_registered_to_load(tmp_path):
    letters = kernels.from_function(zoo.shared_letters, psd=True)
    mercer.register("letters", letters)
    small_index(2.0 * letters, zoo.WORDS).save(tmp_path)
    kernels.unregister("letters")
    with pytest.raises(mercer.StoreError, match=r"no kernel is called 'letters'.*mercer.register"):
        mercer.load(tmp_path)
    mercer.verify(tmp_path)  # needs no kernel


def test_a_registered_kernel_must_be_the_same(tmp_path):
    mercer.register("letters", kernels.from_function(zoo.shared_letters, psd=True))
    small_index("letters", zoo.WORDS).save(tmp_path)
    mercer.register("letters", kernels.from_distance(zoo.letter_difference, psd=True))
    told = r"registered as 'letters' is not the one .*: k\(item \d+, item \d+\) = .* instead of \d"
    with pytest.raises(mercer.StoreError, match=told):
        mercer.load(tmp_path)
    mercer.register("letters", kernels.from_function(lambda x, y: x.missing, psd=True))
    with pytest.raises(mercer.StoreError, match=r"not the one.*fails on saved items"):
        mercer.load(tmp_path)


def test_a_kernel_of_another_structure_is_refused(tmp_path):
    mercer.register("mixed", kernels.Chi2() + kernels.RBF(gamma=0.5))
    small_index("mixed").save(tmp_path)
    mercer.register("mixed", kernels.Chi2())
    with pytest.raises(mercer.StoreError, match="kernel 'left' inside"):
        mercer.load(tmp_path)


def test_built_in_kernels_are_compared_in_another_version(tmp_path, monkeypatch):
    small_index(kernels.RBF(gamma=0.5)).save(tmp_path)
    monkeypatch.setattr(mercer, "__version__", "99.0")
    assert len(mercer.load(tmp_path)) == 70
    monkeypatch.setattr(kernels.RBF, "_finish", lambda self, sums, *rest: None)
    with pytest.raises(mercer.StoreError, match=r"the kernel RBF\(gamma=0.5\) is not the one"):
        mercer.load(tmp_path)


def test_the_manifest_is_plain_and_small(tmp_path):
    small_index().remove([3]).save(tmp_path)
    manifest = json.loads((tmp_path / "manifest-1.json").read_text())
    assert (manifest["format"], manifest["generation"]) == (2, 1)
    assert manifest["mercer"] == mercer.__version__
    [segment] = manifest["index"]["segments"]
    assert segment["rows"] == 70
    found = {os.fspath(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*")}
    assert found == set(mercer.verify(tmp_path))
    assert len(found) == 4
    small_index(X=np.tile(zoo.HISTOGRAMS, (20, 1))).save(tmp_path / "larger")
    sizes = [(tmp_path / name / "manifest-1.json").stat().st_size for name in (".", "larger")]
    assert sizes[1] <= sizes[0] + 10  # it does not grow with the rows
