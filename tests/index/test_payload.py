"""Records come back as they were given, and filters say what plain Python says of them."""

from __future__ import annotations

import operator
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from benchmarks.attacks import rewriting
from mercer.index import recipe
from mercer.index.payload import Payload, joined

X = np.random.default_rng(0).dirichlet(np.full(8, 0.5), 120).astype(np.float32)
RECORDS = [
    {"year": 1990 + i % 30, "class": "abc"[i % 3], "ok": i % 2 == 0, "weight": i / 7,
     "tags": [i % 4], **({"rare": None} if i % 40 == 7 else {})}
    for i in range(120)
]  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | st.sampled_from("abc")
VALUES = SCALARS | st.lists(st.integers(0, 2), max_size=2) | st.just(2**70) | st.just({"a": [1]})
NAMES = st.sampled_from(["one", "two", "three"])
SOME = st.lists(st.dictionaries(NAMES, VALUES, max_size=3), min_size=1, max_size=12)
KEPT = settings(max_examples=150, deadline=None, derandomize=True, database=None)
PYTHON = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
          ">": operator.gt, ">=": operator.ge}  # fmt: skip


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Do not wait for the disk."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def fulfils(value, how, operand):
    """Return what a condition means, in plain Python."""
    if how == "in":
        return any(fulfils(value, "==", one) for one in operand)
    alike = type(value) is type(operand) or (is_number(value) and is_number(operand))
    if how in ("==", "!="):
        same = alike and value == operand
        return same if how == "==" else not same
    ordered = alike and (is_number(value) or isinstance(value, str))
    return ordered and PYTHON[how](value, operand)


@KEPT
@given(records=SOME)
def test_records_come_back(records):
    payload = Payload.of(records, len(records))
    if payload is None:
        assert not any(records)
        return
    rows = np.arange(len(records))[::-1]
    assert repr(payload.records(rows)) == repr_like(records[::-1], payload)
    back = Payload.unpack(payload.pack(), len(records))
    assert repr(back.records(rows)) == repr(payload.records(rows))
    both = joined([(payload, rows), (None, rows[:2]), (back, rows[:1])])
    expected = [*records[::-1], *[{} for _ in rows[:2]], records[-1]]
    assert both.records(np.arange(len(expected))) == expected


def repr_like(records, payload):
    """Types count too; the order of fields is that of the columns."""
    return repr([{n: one[n] for n in payload.columns if n in one} for one in records])


@KEPT
@given(records=SOME, name=NAMES, how=st.sampled_from([*PYTHON, "in"]), operand=SCALARS)
def test_conditions_mean_what_python_means(records, name, how, operand):
    payload = Payload.of(records, len(records))
    if payload is None:
        return
    operand = [operand, 1, "a"] if how == "in" else operand
    for one in (payload, Payload.unpack(payload.pack(), len(records))):
        found = one.matching({name: {how: operand}})
        expected = [name in one and fulfils_mixed(one[name], how, operand, records, name)
                    for one in records]  # fmt: skip
        assert found.tolist() == expected


def fulfils_mixed(value, how, operand, records, name):
    """Numbers of one type are compared with all numbers; where types are mixed, with their own."""
    kinds = {type(one[name]) for one in records if name in one}
    if (
        len(kinds) == 1
        and kinds <= {int, float}
        and all(abs(one[name]) < 2**63 for one in records if name in one)
    ):
        return fulfils(value, how, operand)
    if how == "in":
        return any(fulfils_mixed(value, "==", one, records, name) for one in operand)
    if type(value) is not type(operand):
        return how == "!="
    return fulfils(value, how, operand) if type(value) is not bool or how in ("==", "!=") else False


# ---- with an index


@pytest.fixture(params=["in memory", "open", "loaded"])
def index(request, tmp_path, monkeypatch):
    monkeypatch.setattr(recipe, "RATIO", 0)
    made = mercer.exact("chi2", n_landmarks=30, n_components=8).fit(X)
    made.add(X[:50], payload=RECORDS[:50]).add(X[50:60]).add(X[60:], payload=RECORDS[60:])
    made.remove([0, 70])
    if request.param == "in memory":
        yield made
        return
    made.save(tmp_path)
    opened = mercer.open(tmp_path) if request.param == "open" else mercer.load(tmp_path)
    with opened as store:
        yield store


def record_of(name):
    return {} if 50 <= name < 60 else RECORDS[name]


def test_answers_bring_records(index):
    for one in (index, index.compact()):
        found = one.search(X[5:9], 4)
        assert found.payload.tolist() == [[record_of(i) for i in row] for row in found.ids.tolist()]
        assert found[1].payload == found.payload[1].tolist()
        assert found[1:3].payload.tolist() == found.payload[1:3].tolist()
        [listed] = one.within(X[5:6], 0.5)
        assert listed.payload[0].tolist() == [record_of(i) for i in listed.ids[0].tolist()]
        merged = mercer.Matches.merge([found, one.search(X[5:9], 2)], 3)
        assert merged.payload[:, 0].tolist() == found.payload[:, 0].tolist()
    few = index.search(X[:1], 5, where=[3])
    assert few.payload[0].tolist() == [RECORDS[3], None, None, None, None]


@pytest.mark.parametrize(
    "where, holds",
    [
        ({"year": {">=": 2000, "<": 2005}}, lambda r: 2000 <= r["year"] < 2005),
        ({"class": "a"}, lambda r: r["class"] == "a"),
        ({"class": {"in": ["a", "b"]}, "ok": True}, lambda r: r["class"] in "ab" and r["ok"]),
        ({"weight": {">": 5.5}}, lambda r: r["weight"] > 5.5),
        ({"class": {"!=": "c"}}, lambda r: r["class"] != "c"),
        ({"rare": None}, lambda r: "rare" in r),
        ({"tags": [2]}, lambda r: r["tags"] == [2]),
        ({"year": {"in": []}}, lambda r: False),
        ({"year": "2000"}, lambda r: False),
        ({}, lambda r: True),
    ],
    ids=lambda one: str(one) if isinstance(one, dict) else "",
)
def test_filters_by_records(index, where, holds):
    """As a list of the ids of those records for which plain Python holds."""
    live = [i for i in range(120) if i not in (0, 70)]
    names = [i for i in live if not where or (record_of(i) and holds(record_of(i)))]
    for one in (index, index.compact()):
        found, expected = (one.search(X[:6], 5, where=how) for how in (where, names))
        np.testing.assert_array_equal(found.scores, expected.scores)
        np.testing.assert_array_equal(np.sort(found.ids), np.sort(expected.ids))


def test_updates_replace_records(index):
    index.update(X[:2], [3, 4], payload=[{"year": 1}, None])
    found = index.search(X[:1], 2, where=[3, 4])
    records = dict(zip(found.ids[0].tolist(), found.payload[0], strict=True))
    assert records == {3: {"year": 1}, 4: {}}


def test_bad_records_and_conditions_are_refused(index):
    for wrong, told in [
        (lambda: index.add(X[:2], payload=[{}]), "1 records for 2 items"),
        (lambda: index.add(X[:1], payload=[3]), "record 0 is 3, not a dict"),
        (lambda: index.add(X[:1], payload=[{"a": {1, 2}}]), "record 0 cannot be written as JSON"),
        (lambda: index.add(X[:1], payload=[{"a": float("nan")}]), "record 0 cannot be written"),
        (lambda: index.search(X[:1], 1, where={"month": 3}), "no item has a field 'month'.*year"),
        (lambda: index.search(X[:1], 1, where={"year": {"~": 3}}), "'~' is no operator"),
        (lambda: index.search(X[:1], 1, where={"year": {"in": "ab"}}), "'in' takes a list"),
    ]:
        with pytest.raises(mercer.InputError, match=told):
            wrong()
    assert len(index) == 118


def test_an_index_without_records(tmp_path):
    index = mercer.brute("chi2").fit(X).add(X)
    assert index.search(X[:2], 3).payload is None
    assert index.search(X[:2], 3)[0].payload is None
    with pytest.raises(mercer.InputError, match="pass payload= to add"):
        index.search(X[:1], 1, where={"year": 3})


def test_records_stay_when_a_method_is_chosen_or_learned_anew():
    many = np.tile(X, (3, 1))
    index = mercer.auto("chi2").fit(many)
    for start in (0, 120, 240):
        index.add(many[start : start + 120], payload=RECORDS)
    assert index.search(X[5:6], 1, where={"year": 1995}).payload[0, 0]["year"] == 1995
    linear = mercer.kernels.Linear()
    W = np.linalg.inv(np.linalg.cholesky(linear(X[:4], dtype="float64"))).T
    first, second = (
        mercer.kernels.Learned(linear, X[:4], W, np.diag([a, 1, 1, 2])) for a in (1.0, 3.0)
    )
    learned = mercer.learned(first).fit(X).add(X, payload=RECORDS)
    again = mercer.relearn(learned, second)
    found = again.search(X[5:6], 1)
    assert found.payload[0, 0] == RECORDS[found.ids[0, 0]]


def test_records_of_streamed_items(tmp_path):
    np.save(tmp_path / "X.npy", np.tile(X, (20, 1)))
    mercer.brute("chi2").fit(X).save(tmp_path / "index")
    with mercer.open(tmp_path / "index") as store:
        store.add(tmp_path / "X.npy", payload=[{"row": i} for i in range(2400)], memory=1)
        assert len(store.segments_.members) == 3
        found = store.search(X[:3], 4, where={"row": {">=": 1000, "<": 1240}})
        assert [[one["row"] for one in row if one] for row in found.payload] == [
            [i for i in row if i >= 0] for row in found.ids.tolist()
        ]


@pytest.mark.parametrize(
    "change",
    [
        lambda p: p.update(fields=np.frombuffer(b"[", np.uint8)),
        lambda p: p.update(fields=np.frombuffer(b"3", np.uint8)),
        lambda p: p.update(columns=[]), lambda p: p.update(columns=3), lambda p: p.clear(),
        lambda p: p["columns"][0].update(places=np.full(50, 99)),
        lambda p: p["columns"][0].update(places=np.full(50, -2)),
        lambda p: p["columns"][0].update(places=np.zeros(49, int)),
        lambda p: p["columns"][0].update(places=np.zeros(50)),
        lambda p: p["columns"][0].update(numbers=np.zeros((50, 2))),
        lambda p: p["columns"][0].update(numbers=np.zeros(50, "M8[D]")),
        lambda p: p["columns"][0].update(numbers=None),
        lambda p: p["columns"][1].update(json=np.frombuffer(b"{}", np.uint8)),
    ],
)  # fmt: skip
def test_damaged_records_are_refused(tmp_path, change):
    mercer.brute("chi2").fit(X).add(X[:50], payload=RECORDS[:50]).save(tmp_path)
    rewriting.rewrite(tmp_path, lambda tree: change(tree["segments"][0]["content"]["payload"]))
    with pytest.raises(mercer.StoreError, match="load: "):
        mercer.load(tmp_path)
