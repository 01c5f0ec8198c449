"""Tables of pandas, polars and files: their numbers, and the names that an index remembers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import mercer
from mercer import items
from mercer.errors import InputError

X = np.random.default_rng(2).random((40, 3)).astype(np.float32)
NAMES = ["width", "height", "depth"]


def pandas(X, names):
    return pd.DataFrame(X, columns=names)


def polars(X, names):
    return pl.DataFrame(X, schema=names)


MAKERS = [pandas, polars, items.Table]


@pytest.mark.parametrize("make", MAKERS)
def test_tables_are_items(make, tmp_path):
    table = make(X, NAMES)
    index = mercer.exact("rbf", n_landmarks=20).fit(table).add(table[:30])
    index.save(tmp_path / "index")
    for one in (index, mercer.load(tmp_path / "index"), index.empty().add(table)):
        assert one.columns_ == one.info()["columns"] == NAMES
        assert one.search(table[:2], 1).ids.ravel().tolist() == [0, 1]
        assert one.search(X[:2], 1).ids.ravel().tolist() == [0, 1]  # arrays have no names


@pytest.mark.parametrize("make", MAKERS)
def test_other_columns_are_refused(make):
    index = mercer.exact("rbf", n_landmarks=20).fit(make(X, NAMES)).add(X)
    verbs = [
        index.add, index.search, index.calibrate, lambda Q: index.within(Q, 0.5),
    ]  # fmt: skip
    for verb in verbs:
        with pytest.raises(InputError, match="column 0 is 'height' but was 'width'"):
            verb(make(X[:, [1, 0, 2]], ["height", "width", "depth"]))
        with pytest.raises(InputError, match="missing: 'depth'; not known: 'length'"):
            verb(make(X, ["width", "height", "length"]))
    with pytest.raises(InputError, match=r"Index\.fit: the queries: .* another order"):
        mercer.brute("rbf").fit(make(X, NAMES), queries=make(X, NAMES[::-1]))
    hashed = mercer.klsh("rbf", n_bits=8).fit(make(X, NAMES))
    with pytest.raises(InputError, match="another order"):
        hashed.encode(make(X, NAMES[::-1]))
    assert len(index) == 40


def test_indexes_of_arrays_take_any_table():
    index = mercer.brute("rbf").fit(X)
    assert index.columns_ is None
    assert index.add(pandas(X, NAMES)).search(polars(X, NAMES[::-1]), 1).ids[0] == 0


def test_names_that_are_numbers_are_none():
    assert items.columns_of(pd.DataFrame(X)) is None
    assert items.columns_of(X) is None
    assert items.columns_of(pd.DataFrame({"a": [1.0]})["a"]) is None


def test_columns_of_several_types():
    table = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5], "c": [True, False]})
    table["d"] = pd.array([3, 4], "Int64")
    assert items.check(table).tolist() == [[1, 0.5, 1, 3], [2, 1.5, 0, 4]]
    table["e"] = ["x", "y"]
    with pytest.raises(InputError, match="row 0, column 4 holds 'x'"):
        items.check(table)
    table["e"] = pd.array([1, None], "Int64")
    with pytest.raises(InputError, match=r"row 1, column 4 holds <NA>"):
        items.check(table)


def test_names_must_fit():
    with pytest.raises(InputError, match="one name for each column"):
        items.Table(X, NAMES[:2])
