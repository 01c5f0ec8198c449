"""Values that anybody may have written."""

from __future__ import annotations

import pytest

from mercer import StoreError
from mercer.store import values


def test_counts():
    assert all(values.is_count(value) for value in (0, 1, 2**40))
    assert not any(values.is_count(value) for value in (-1, True, False, 1.0, "1", None))


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[1]", b"3", b"[" * 100_000])
def test_what_is_no_dict_is_refused(content):
    with pytest.raises(StoreError, match="the file is"):
        values.parsed(content, "the file")


def test_the_seal_is_that_of_the_values():
    sealed = values.sealed({"b": 1, "a": [2]})
    assert sealed["sha256"] == values.seal({"a": [2], "b": 1})
    assert values.seal(sealed) == sealed["sha256"]
    assert values.seal(sealed | {"a": [3]}) != sealed["sha256"]
