"""Machine code kept on disk is found again, and never that of other types."""

from __future__ import annotations

from mercer.runtime import topk
from mercer.runtime.jit import cached_njit


def plus_one(x):
    return x + 1


def test_two_processes_that_store_at_once_do_not_mix_their_code(tmp_path):
    first, second = (cached_njit()(plus_one)._cache._cache_file for _ in range(2))
    for file in (first, second):
        file._cache_path = str(tmp_path)
        file._index_path = str(tmp_path / "index.nbi")
    second._load_index = dict  # it looked before the first one wrote
    first.save("float32", "code for float32")
    second.save("float64", "code for float64")
    found = {key: first.load(key) for key in ("float32", "float64")}
    assert found == {"float32": None, "float64": "code for float64"}  # None is compiled again
    first.save("float32", "code for float32")
    assert first.load("float32") == "code for float32"
    assert first.load("float64") == "code for float64"


def test_every_stored_loop_has_unique_names():
    names = {topk.update._cache._cache_file._data_name(1) for _ in range(3)}
    assert len(names) == 3
