"""Whatever is in the folder of a loaded index, it is the folder that gets the blame, or nobody."""

from __future__ import annotations

import shutil
from pathlib import Path

import make_golden
import numpy as np
import pytest
import zoo

import mercer
from benchmarks.attacks import rewriting
from mercer import kernels
from mercer.errors import InputError, KernelError, StoreError

X = zoo.HISTOGRAMS[:40]
GOLDEN = Path(__file__).parents[1] / "golden" / "format-2"


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    mercer.exact("chi2", n_landmarks=20, n_components=8).fit(X).add(X).save(folder)
    return folder


@pytest.fixture
def folder(saved, tmp_path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "index"))


def rewrite(folder, place, change):
    """Change what is in one place, and seal the folder as a save would."""

    def edit(tree):
        *above, key = place
        for name in above:
            tree = tree[name]
        tree[key] = change(tree[key])

    rewriting.rewrite(folder, edit)


def with_nan(array):
    array[3, 0] = np.nan
    return array


def use(folder):
    index = mercer.load(folder)
    index.info()
    index.search(X, 3)
    index.add(X[:2])


SEGMENT = ("segments", 0, "content")
ITEMS = (*SEGMENT, "items", "parts", "rows", "vectors")
LEARNED = ("base", "embedding", "learned")
LANDMARKS = (*LEARNED, "landmarks_", "items", "parts", "rows", "vectors")
CHANGES = {
    "an item is NaN": (ITEMS, with_nan),
    "a landmark is NaN": (LANDMARKS, with_nan),
    "landmarks are too long": (LANDMARKS, lambda rows: 3 * rows),
    "weights are too narrow": ((*LEARNED, "weights_"), lambda weights: weights[:, :4]),
    "weights are too short": ((*LEARNED, "weights_"), lambda weights: weights[:9]),
    "components below zero": ((*LEARNED, "n_components_"), lambda n: -1),
    "another form": ((*LEARNED, "landmarks_", "items", "form"), lambda form: ["sparse", 3]),
    "vectors are too narrow": ((*SEGMENT, "rows", "vectors"), lambda rows: rows[:, :4]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_contents_that_do_not_fit_are_blamed_on_the_folder(folder, name):
    rewrite(folder, *CHANGES[name])
    assert mercer.verify(folder)  # the hashes are those of what is there
    with pytest.raises(StoreError) as found:
        use(folder)
    assert str(folder) in str(found.value)


def test_items_without_anything_learned_are_refused_at_once(folder):
    rewrite(folder, LEARNED, lambda learned: {})
    with pytest.raises(StoreError, match="it has items but has learned nothing"):
        mercer.load(folder)


def test_items_of_two_forms_are_refused_at_once(folder):
    rewrite(folder, (*LEARNED, "landmarks_", "items", "form"), lambda form: ["sparse", form[1]])
    with pytest.raises(StoreError, match=r"load: .*index"):
        mercer.load(folder)


@pytest.mark.parametrize("form", [["dense", 2], ["sets"], [3, 2], ["sets", -1], ["sets", "x"]])
def test_forms_that_no_items_have_are_refused_at_once(tmp_path, form):
    folder = shutil.copytree(GOLDEN / "pyramid", tmp_path / "index")
    rewrite(folder, (*SEGMENT, "items", "form"), lambda _: form)
    with pytest.raises(StoreError, match=f"load: {folder}"):
        mercer.load(folder)


def test_a_user_who_errs_is_told_so(folder):
    """Also from a sound folder, and from one whose other contents were never touched."""
    index = mercer.load(folder)
    mistakes = [
        lambda: index.search(X[:, :5], 3), lambda: index.search(X, 0),
        lambda: index.search(X, 3, where=["a"]), lambda: index.add(-X),
        lambda: index.add(X[:1], ids=[3]), lambda: index.remove([1000]),
        lambda: index.encode(X), lambda: index.within(X, float("nan")),
    ]  # fmt: skip
    for mistake in mistakes:
        with pytest.raises(InputError):
            mistake()


def test_a_kernel_that_fails_on_a_query_is_no_damage(tmp_path):
    mercer.brute("linear").fit(X).add(1e3 * X).save(tmp_path / "index")
    index = mercer.load(tmp_path / "index")
    for _ in range(2):  # the folder is read through once
        with pytest.raises(KernelError, match="inf"):
            index.search(np.full((1, X.shape[1]), 3e37, np.float32), 1)


@pytest.mark.parametrize("error", [InputError("x"), KernelError("x")], ids=["input", "kernel"])
@pytest.mark.parametrize("name", sorted(make_golden.INDEXES))
def test_sound_indexes_of_every_method_are_not_blamed(name, error):
    make_golden.letters()
    index = mercer.load(GOLDEN / name)
    index._source.blame("search", index._state, error)


def test_items_that_the_kernel_would_not_take_are_found(folder):
    """Wherever they are, and whether or not they reach an answer."""
    rewrite(folder, ITEMS, lambda rows: np.where(np.arange(40)[:, None] == 39, -rows, rows))
    index = mercer.load(folder)
    with pytest.raises(StoreError, match=r"does not fit together.*negative"):
        index._source.blame("search", index._state, KernelError("x"))


def test_damaged_contents_name_the_folder(folder):
    """Also where they are noticed far from it."""
    rewrite(folder, (*SEGMENT, "ids"), lambda ids: ids - 9)
    with pytest.raises(StoreError, match="an id is negative") as found:
        mercer.load(folder).ids  # noqa: B018
    assert str(folder) in str(found.value)


def test_memory_and_warnings_are_not_blamed_on_the_folder(folder, monkeypatch):
    index = mercer.load(folder)
    for error in (MemoryError, UserWarning):
        monkeypatch.setattr(kernels.Chi2, "prepare", _raising(error))
        with pytest.raises(error):
            index.search(X, 1)


def _raising(error):
    def fail(*args, **kwargs):
        raise error

    return fail
