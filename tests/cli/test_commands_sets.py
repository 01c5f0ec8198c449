"""Sets of vectors in files and on the command line: archives, folders, and bad ones."""

from __future__ import annotations

import numpy as np
import pytest
from terminal import jsonl, run
from zoo import PLACED, PLACED_BYTES

import mercer
from mercer import Ragged, kernels
from mercer.items import files

BASE, ASKED = PLACED[:60], PLACED[60:]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, sets in (("base", BASE), ("asked", ASKED)):
        save(f"{name}.npz", sets)
        (tmp_path / name).mkdir()
        for i, one in enumerate(sets):
            np.save(tmp_path / name / f"photo{i:02}.npy", one)
    return tmp_path


def save(path, sets, values="values", positions="positions", **more):
    given = {} if sets.positions is None else {positions: sets.positions}
    np.savez(path, **{values: sets.values, "offsets": sets.offsets, **given, **more})


def done(*args):
    found = run(*args)
    assert (found.status, found.err) == (0, ""), found.err
    return found.out


def same(found, sets):
    np.testing.assert_array_equal(found.values, sets.values)
    np.testing.assert_array_equal(found.offsets, sets.offsets)
    assert found.values.dtype == sets.values.dtype


# ---- reading


@pytest.mark.parametrize("sets", [PLACED, PLACED_BYTES], ids=["float32", "uint8"])
@pytest.mark.parametrize("names", [("values", "positions"), ("desc", "xy")])
def test_archives_give_back_what_was_written(sets, names):
    save("sets.npz", sets, *names, label=np.arange(70))
    found = files.read_items("sets.npz")
    same(found.X, sets)
    np.testing.assert_array_equal(found.X.positions, sets.positions)
    assert found.ids is None
    np.testing.assert_array_equal(files.read_items("sets.npz", key=names[0]).X, sets.values)


def test_folders_name_their_sets():
    found = files.read_items("base")
    same(found.X, BASE)
    assert found.X.positions is None
    assert found.ids.tolist() == [f"photo{i:02}" for i in range(60)]


def test_folders_of_numbers_have_numbers_as_ids(tmp_path):
    (tmp_path / "numbered").mkdir()
    for i in (7, 10):
        np.save(tmp_path / "numbered" / f"{i}.npy", np.ones((2, 3)))
    found = files.read_items("numbered")
    assert (found.ids.tolist(), found.ids.dtype) == ([10, 7], np.int64)  # in the order of names
    assert len(found.X) == 2


def test_an_archive_with_other_offsets_is_a_matrix():
    np.savez("other.npz", X=np.eye(3), offsets=[0, 3])
    np.testing.assert_array_equal(files.read_items("other.npz").X, np.eye(3))


# ---- commands


@pytest.mark.parametrize(
    "kernel, method", [("sum_match", "exact"), ("max_sim", "klsh"), ("corr", "klsh")]
)
def test_build_search_and_evaluate(kernel, method):
    few = ["--set", "n_landmarks=60"]
    done("build", "base.npz", "a.index", "--kernel", kernel, "--method", method, *few)
    index = mercer.load("a.index")
    cls = kernels.NAMES[kernel]
    assert index.kernel == (cls.for_data(BASE) if hasattr(cls, "for_data") else cls())
    out = done("search", "a.index", "asked.npz", "-k", "3", "--candidates", "60", "--format",
               "jsonl")  # fmt: skip
    truth = mercer.evaluate.ground_truth(index.kernel, BASE, ASKED, 3)
    np.testing.assert_allclose([one["scores"] for one in jsonl(out)], truth.scores, rtol=1e-5)
    out = done("evaluate", "a.index", "base.npz", "asked.npz", "-k", "3", "--candidates", "60")
    assert "recall@3                1\n" in out


def test_folders_build_and_ask():
    done("build", "base", "a.index", "--kernel", "max_sim", "--method", "klsh", "--set",
         "n_landmarks=60")  # fmt: skip
    found = jsonl(done("search", "a.index", "asked", "-k", "1", "--format", "jsonl"))
    assert [one["query"] for one in found] == [f"photo{i:02}" for i in range(10)]
    nearest = mercer.evaluate.ground_truth("max_sim", BASE, ASKED, 1)
    assert [one["ids"][0] for one in found] == [f"photo{i:02}" for i in nearest.ids[:, 0]]
    done("remove", "a.index", "photo03")
    assert len(mercer.load("a.index")) == 59


def test_parameters_change_what_the_data_suggests():
    done("build", "base.npz", "a.index", "--kernel", "corr", "--method", "klsh", "--param",
         "gamma=0.5", "--param", "position_weight=2")  # fmt: skip
    assert mercer.load("a.index").kernel == kernels.Corr(0.5, 2)
    done("build", "base.npz", "b.index", "--kernel", "sum_match", "--param", "base=laplacian",
         "--param", "base__gamma=0.5")  # fmt: skip
    assert mercer.load("b.index").kernel == kernels.SumMatch(kernels.Laplacian(gamma=0.5))


def test_pyramids_take_their_bins_from_the_items():
    done("build", "base.npz", "a.index", "--kernel", "pyramid_match", "--normalized", "--method",
         "pyramid", "--set", "n_bits=64")  # fmt: skip
    suited = kernels.PyramidMatch.for_data(BASE)
    assert mercer.load("a.index").kernel == suited.normalized()
    found = jsonl(done("search", "a.index", "base.npz", "-k", "1", "--format", "jsonl"))
    assert np.mean([one["ids"][0] == one["query"] for one in found]) > 0.9
    done("build", "base.npz", "b.index", "--kernel", "pyramid_match", "--method", "klsh", "--param",
         "n_levels=2", "--param", "normalize=minimum")  # fmt: skip
    assert mercer.load("b.index").kernel == suited.set_params(n_levels=2, normalize="minimum")


def test_vectors_of_sets_are_divided_by_their_sums():
    done("build", "base.npz", "a.index", "--kernel", "pyramid_match", "--l1", "--method", "pyramid",
         "--set", "n_bits=64")  # fmt: skip
    values = BASE.values / BASE.values.sum(axis=1, keepdims=True)
    suited = kernels.PyramidMatch.for_data(mercer.Ragged(values, BASE.offsets))
    kernel = mercer.load("a.index").kernel
    assert kernel == kernel.kernel.of("l1")
    assert kernel.kernel.finest == pytest.approx(suited.finest)
    assert kernel.kernel.n_levels == suited.n_levels
    found = jsonl(done("search", "a.index", "base.npz", "-k", "1", "--format", "jsonl"))
    assert np.mean([one["ids"][0] == one["query"] for one in found]) > 0.9


ERRORS = {
    "no such kernel inside": (["--param", "base=none_such"], "no kernel is called 'none_such'"),
    "a word for a number": (["--param", "base__gamma=x"], "a name and a number are required"),
    "nothing": (["--param", "base="], "a name and a number are required"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_bad_parameters_are_one_line(case):
    args, text = ERRORS[case]
    found = run("build", "base.npz", "a.index", "--kernel", "sum_match", *args)
    assert (found.status, found.err.count("\n")) == (2, 1)
    assert text in found.err


def write_offsets(offsets):
    np.savez("bad.npz", values=np.ones((4, 3)), offsets=offsets)


BAD = {
    "offsets from 1": (lambda: write_offsets([1, 4]), "bad.npz: offsets go from 1 to 4, but"),
    "offsets too far": (lambda: write_offsets([0, 9]), "bad.npz: offsets go from 0 to 9, but"),
    "offsets that fall": (lambda: write_offsets([0, 3, 2, 4]), "bad.npz: offsets fall after set 1"),
    "offsets that are real": (lambda: write_offsets([0.0, 4.0]), "type float64"),
    "no set": (lambda: np.savez("bad.npz", values=np.ones((0, 3)), offsets=[0]), "has no sets"),
    "one dimension": (lambda: np.savez("bad.npz", values=np.ones(4), offsets=[0, 4]), "One row"),
    "words": (
        lambda: np.savez("bad.npz", values=np.array([["a"]]), offsets=[0, 1]),
        "bad.npz: the values are of type <U1. Numbers are required.",
    ),
    "few positions": (
        lambda: np.savez("bad.npz", values=np.ones((4, 3)), offsets=[0, 4], xy=np.ones((2, 2))),
        "bad.npz: 2 positions for 4 vectors. Pass one position per vector.",
    ),
    "NaN": (
        lambda: np.savez("bad.npz", values=np.full((4, 3), np.nan), offsets=[0, 1, 4]),
        "2 of 2 items contain NaN (first: row 0)",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_archives_are_one_line(case):
    make, text = BAD[case]
    make()
    found = run("build", "bad.npz", "a.index", "--kernel", "max_sim", "--method", "klsh")
    assert (found.status, found.err.count("\n")) == (2, 1)
    assert text in found.err


def test_bad_folders_are_one_line(tmp_path):
    def error(*more):
        found = run("build", "bad", "a.index", "--kernel", "max_sim", *more)
        assert (found.status, found.err.count("\n")) == (2, 1)
        return found.err

    (tmp_path / "bad").mkdir()
    assert "bad: is a folder without .npy files. One for each set is required" in error()
    np.save("bad/a.npy", np.ones((2, 3)))
    np.save("bad/b.npy", np.ones((2, 4)))
    assert "bad/b.npy: has vectors of 4 features but a.npy of 3" in error()
    np.save("bad/b.npy", np.ones(3))
    assert "bad/b.npy: the vectors have shape (3,)" in error()
    np.save("bad/b.npy", np.ones((0, 3)))  # an empty set is a set
    np.save("ids.npy", np.arange(2))
    assert "both give ids" in error("--ids", "ids.npy", "--method", "klsh")


def test_sets_and_vectors_are_told_apart():
    np.save("vectors.npy", np.ones((4, 3)))
    one = run("build", "vectors.npy", "a.index", "--kernel", "max_sim", "--method", "klsh")
    assert "Ragged: set 0 has shape (3,). Pass (size, n_features) each." in one.err
    other = run("build", "base.npz", "a.index", "--kernel", "rbf")
    assert "got sets of vectors (Ragged). Pass one vector per item, or use a kernel of sets" in (
        other.err
    )
    assert isinstance(files.read_items("base.npz").X, Ragged)
