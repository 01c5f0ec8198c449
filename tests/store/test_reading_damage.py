"""A damaged folder is noticed; it is never half an index and never runs code."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zoo

import mercer
from benchmarks.attacks import rewriting
from mercer.store import parts

OLD = zoo.HISTOGRAMS[:40]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Do not wait for the disk: no test pulls the plug."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    index_of(OLD, kernel=mercer.kernels.Chi2() + mercer.kernels.RBF()).save(folder)
    return folder


@pytest.fixture
def folder(saved, tmp_path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "index"))


def index_of(X, kernel="chi2"):
    return mercer.exact(kernel, n_landmarks=20, n_components=8).fit(X).add(X)


def files(folder: Path) -> list[Path]:
    return sorted((folder / "parts").iterdir())


def require_refused(folder: Path, told: str) -> None:
    with pytest.raises(mercer.StoreError, match=told):
        mercer.load(folder)


# ---- files


def test_verify_names_all_files(folder):
    assert len(mercer.verify(folder)) == len(files(folder)) + 1


def test_a_flipped_bit_is_found_anywhere_in_a_file(folder):
    """Also in what fills up the arrays, and in what says what they are."""
    rng = np.random.default_rng(0)
    for path in files(folder):
        good = path.read_bytes()
        spread = range(0, len(good), 1 + len(good) // 60)
        for place in (*spread, *rng.integers(0, len(good), 20).tolist(), len(good) - 1):
            data = bytearray(good)
            data[place] ^= 1 << int(rng.integers(8))
            path.write_bytes(data)
            with pytest.raises(mercer.StoreError, match=path.name):
                mercer.verify(folder)
        path.write_bytes(good)
    mercer.verify(folder)


def test_verify_names_every_damaged_file(folder):
    first, second = files(folder)
    first.write_bytes(first.read_bytes()[:-1] + b"x")
    second.unlink()
    with pytest.raises(mercer.StoreError, match=f"{second.name} is missing") as found:
        mercer.verify(folder)
    assert first.relative_to(folder).as_posix() in str(found.value)


def test_every_flipped_byte_of_the_manifest_is_found(folder):
    path = folder / "manifest-1.json"
    good = path.read_bytes()
    for place in range(0, len(good), 3):
        data = bytearray(good)
        data[place] ^= 1
        path.write_bytes(data)
        if _same_values(good, bytes(data)):
            continue
        require_refused(folder, "manifest-1.json|has format")


def _same_values(left: bytes, right: bytes) -> bool:
    try:
        return json.loads(left) == json.loads(right)
    except ValueError:
        return False


@pytest.mark.parametrize("n_bytes", [0, 7, 100, -1])
def test_a_truncated_file_is_found_on_opening(folder, n_bytes):
    for path in files(folder):
        good = path.read_bytes()
        path.write_bytes(good[:n_bytes])
        require_refused(folder, f"{path.name} has .* bytes instead of {len(good)}")
        path.write_bytes(good)


def test_a_longer_file_is_found_on_opening(folder):
    path = files(folder)[0]
    path.write_bytes(path.read_bytes() + b"\0")
    require_refused(folder, "bytes instead of")


def test_a_missing_file_is_found_on_opening(folder):
    for path in files(folder):
        good = path.read_bytes()
        path.unlink()
        require_refused(folder, f"{path.name} is missing")
        path.mkdir()
        require_refused(folder, f"{path.name} is missing")
        path.rmdir()
        path.write_bytes(good)


def test_missing_parts(folder):
    shutil.rmtree(folder / "parts")
    require_refused(folder, "is missing")


def forge(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change how the first segment describes its k(x, x), with all hashes made right again."""
    own = rewriting.manifest_of(folder)["index"]["segments"][0]["content"]
    path = folder / "parts" / own["part"]
    data = path.read_bytes()
    length = int.from_bytes(data[-16:-8], "little")
    footer = json.loads(data[-16 - length : -16])
    change(footer["tree"]["own"])
    text = json.dumps(footer).encode()
    path.write_bytes(data[: -16 - length] + text + len(text).to_bytes(8, "little") + parts.END)
    sha256, size = hashlib.sha256(text).hexdigest(), path.stat().st_size

    def name(manifest):
        manifest["index"]["segments"][0]["content"].update(bytes=size, sha256=sha256)

    rewriting.change_manifest(folder, name)


@pytest.mark.parametrize(
    "change",
    [{"dtype": "|O"}, {"dtype": "O"}, {"dtype": 3}, {"dtype": "<i4"}, {"dtype": "nonsense"},
     {"dtype": "i4,f4"}, {"dtype": "|V8"}, {"dtype": ">f9"}, {"dtype": None},
     {"@array": -64}, {"@array": 2**62}, {"@array": 65}, {"@array": None}, {"@array": 1.5},
     {"@array": True}, {"bytes": 2**62}, {"bytes": -1}, {"bytes": None}, {"bytes": 319},
     {"shape": [2**62]}, {"shape": [-40]}, {"shape": [2**40, 2**40]}, {"shape": 40},
     {"shape": [41]}, {"shape": [40.0]}, {"shape": ["40"]}, {"shape": None}, {"shape": [True]},
     {"shape": [0, 2**62]}, {"shape": [2**62, 0], "bytes": 0}, {"shape": [1] * 70},
     {"order": "K"}, {"order": None}, {"dtype": "<U0", "bytes": 0, "shape": [2**50]}],
    ids=str,
)  # fmt: skip
def test_arrays_that_a_file_does_not_hold_are_refused(folder, change):
    """Neither memory nor files outside are reached for, and no Python objects are made."""
    mercer.load(folder)
    forge(folder, lambda entry: entry.update(change))
    require_refused(folder, "load: ")
    with pytest.raises(mercer.StoreError):
        mercer.load(folder).search(OLD[:1], 1)


@pytest.mark.parametrize("lacking", ["@array", "shape", "dtype", "bytes", "order"])
def test_arrays_that_are_not_described_are_refused(folder, lacking):
    forge(folder, lambda entry: entry.pop(lacking))
    require_refused(folder, "load: ")


# ---- manifests


def test_a_manifest_that_is_no_manifest(folder):
    for text in ("", "{", "[1]", "3", "null", "\xff", "[" * 100_000, '{"format": 1}'):
        (folder / "manifest-1.json").write_text(text, encoding="latin-1")
        require_refused(folder, "manifest-1.json")
        with pytest.raises(mercer.StoreError, match=r"verify: .*manifest-1.json"):
            mercer.verify(folder)


def test_a_manifest_edited_by_hand(folder):
    path = folder / "manifest-1.json"
    path.write_text(path.read_text().replace('"rows": 40', '"rows": 41'))
    require_refused(folder, "manifest-1.json is not as it was saved")


def test_a_damaged_generation_is_not_passed_over_for_an_older_one(folder):
    reader = mercer.load(folder)  # keeps the first one
    reader_too = mercer.load(folder)
    reader_too.remove([0]).save(folder)
    assert (folder / "manifest-1.json").exists()
    (folder / "manifest-2.json").write_text("{")
    require_refused(folder, "manifest-2.json is damaged")
    assert len(reader) == 40


def test_another_format_says_who_can_read_it(folder):
    rewriting.change_manifest(folder, lambda m: m.update(format=3, mercer="7.1"))
    require_refused(folder, "format 3, written by mercer 7.1, but mercer .* reads formats up to 2")


BASE, SEGMENT = ["base"], ["segments", 0, "content"]
PLACES = [[], ["facts"], BASE, [*BASE, "embedding"], [*BASE, "embedding", "learned"],
          ["segments", 0], SEGMENT, [*SEGMENT, "items"], [*SEGMENT, "items", "parts", "left"],
          [*SEGMENT, "items", "parts", "left", "prepared"], [*SEGMENT, "rows"]]  # fmt: skip
# told and not needed, or missing in the first files
FREE = {"floors_", "spectrum_", "energies_", "n_components_", "next_id", "measures", "n_items",
        "everything", "head", "unfinished", "payload"}  # fmt: skip


@pytest.mark.parametrize("place", PLACES, ids=lambda place: "/".join(map(str, place)))
def test_a_missing_key_is_an_error(saved, tmp_path, place):
    def inside(tree):
        for key in place:
            tree = tree[key]
        return tree

    for key in set(inside(rewriting.opened(saved))) - FREE:
        if place == SEGMENT and key == "samples":
            continue  # those of the landmarks are compared
        folder = Path(shutil.copytree(saved, tmp_path / f"without {key}"))
        rewriting.rewrite(folder, lambda tree, key=key: inside(tree).pop(key))
        require_refused(folder, "load: ")


@pytest.mark.parametrize("key", ["format", "generation", "mercer", "index", "sha256"])
def test_a_manifest_lacks_something(folder, key):
    rewriting.change_manifest(folder, lambda manifest: manifest.pop(key, None))
    if key == "sha256":  # it was made right again
        assert len(mercer.load(folder)) == 40
    else:
        require_refused(folder, "load: .*manifest-1.json")


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (
            lambda m: m["base"]["embedding"].update({"class": "Evil"}),
            "class 'Evil'.*not known",
        ),
        (lambda m: m["base"]["searcher"].update({"class": "KernelPCA"}), "class 'KernelPCA'"),
        (lambda m: m["base"]["kernel"].update(name="os.system"), "no kernel is called"),
        (lambda m: m["base"]["kernel"]["left"].update(gamma=1), "no parameters gamma"),
        (lambda m: m["base"].update(kernel=[]), "from_spec"),
        (lambda m: m["base"]["embedding"]["params"].update(n_components=-1), "n_components"),
        (lambda m: m["base"]["embedding"]["params"].update(more=1), "more"),
        (lambda m: m["base"]["embedding"]["learned"].update(__class__=1), "__class__"),
        (lambda m: m["base"]["embedding"]["learned"].update(fit=1), "learned .*fit"),
        (lambda m: m.update(segments=[1]), "load: "),
        (lambda m: m["segments"][0]["content"].update(own=1), "load: "),
        (
            lambda m: m["segments"][0]["content"]["items"].update(parts={"rows": {"pickle": 1}}),
            "'pickle'",
        ),
        (lambda m: m["segments"][0].update(rows=41), "as long in all parts .*expected 41"),
        (lambda m: m["facts"].update(next_id=-1), "the next id is -1"),
        (lambda m: m["facts"].update(disproof_=[]), "the claim its kernel broke"),
    ],
)
def test_a_tree_that_asks_for_something_else(folder, edit, told):
    rewriting.rewrite(folder, edit)
    require_refused(folder, told)


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda m: m.update(generation="1"), "lacks"),
        (lambda m: m.update(generation=True), "lacks"),
        (lambda m: m.update(generation=7), "the name of another manifest"),
        (lambda m: m.update(format=1), "the name of another manifest"),
        (lambda m: m.update(index=[]), "lacks"),
        (lambda m: m["index"].update(base=None), "load: "),
        (
            lambda m: m["index"]["segments"].append(m["index"]["segments"][0] | {"removed": 3}),
            "load: ",
        ),
    ],
)
def test_a_manifest_that_asks_for_something_else(folder, edit, told):
    rewriting.change_manifest(folder, edit)
    require_refused(folder, told)


@pytest.mark.parametrize(
    "rows",
    [
        np.array([40]),
        np.array([-1]),
        np.array([0.0]),
        np.array([[0]]),
        np.array([0], "i4"),
        3,
        None,
    ],
    ids=str,
)
def test_removed_rows_that_there_are_not(folder, rows):
    mercer.load(folder).remove([3]).save(folder)
    rewriting.rewrite(folder, lambda tree: tree["segments"][0]["removed"].update(rows=rows))
    require_refused(folder, "load: ")


@pytest.mark.parametrize(
    "name",
    ["../x.part", "/tmp/x.part", "C:\\x.part", "", None, 3, ["x"], "0" * 32, "0" * 31 + ".part",
     "../" + "0" * 32 + ".part", "0" * 32 + ".part/", "0" * 32 + ".part\n", "\0.part"],
)  # fmt: skip
def test_names_that_leave_the_folder_are_refused(folder, name):
    def edit(manifest):
        manifest["index"]["segments"][0]["content"]["part"] = name

    rewriting.change_manifest(folder, edit)
    require_refused(folder, "is not the name of a part|is missing|does not describe")
    with pytest.raises(mercer.StoreError):
        mercer.verify(folder)


def test_lengths_must_agree(folder):
    def shorten(tree):
        content = tree["segments"][0]["content"]
        content["own"] = content["own"][:-1]

    rewriting.rewrite(folder, shorten)
    require_refused(folder, "a segment should be as long in all parts .*own 39")


def test_a_kernel_that_fails_on_damaged_items_names_their_files(folder, tmp_path):
    """NaN in items is found by the hashes; a sound folder is not blamed."""
    index = mercer.load(folder)
    [content] = [one["content"]["part"] for one in
                 rewriting.manifest_of(folder)["index"]["segments"]]  # fmt: skip
    path = folder / "parts" / content
    data = bytearray(path.read_bytes())
    data[64 : 64 + OLD.nbytes] = np.full(OLD.shape, np.nan, OLD.dtype).tobytes()
    path.write_bytes(data)
    with pytest.raises(mercer.StoreError, match=rf"is damaged: parts/{content} is not as it was"):
        mercer.load(folder).search(OLD[:5], 3)
    broken = mercer.brute(mercer.kernels.Linear()).fit(100 * OLD).add(100 * OLD)
    broken.save(tmp_path / "sound")
    with pytest.raises(mercer.KernelError, match="inf"):
        mercer.load(tmp_path / "sound").search(np.full((1, OLD.shape[1]), 3e38, np.float32), 1)
    assert len(index) == len(OLD)


def test_negative_ids_are_damage(folder):
    def lower(tree):
        tree["segments"][0]["content"]["ids"][3] = -5

    rewriting.rewrite(folder, lower)
    with pytest.raises(mercer.StoreError, match="an id is negative"):
        mercer.load(folder).ids  # noqa: B018


def test_items_without_parts_are_refused(folder):
    rewriting.rewrite(folder, lambda tree: tree["segments"][0]["content"]["items"].update(parts={}))
    require_refused(folder, "parts of its items are missing")
