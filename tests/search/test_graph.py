"""The graph: walks find what a scan finds, knobs, filters, rebuilt from arrays, damage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from built import Built

import mercer
from mercer import evaluate
from mercer.errors import InputError, StoreError
from mercer.search import Graph, decoded
from mercer.testing import check_searcher

rng = np.random.default_rng(6)
Z = rng.normal(size=(3000, 10)).astype(np.float32)
Q = rng.normal(size=(40, 10)).astype(np.float32)


@pytest.fixture(scope="module")
def graph():
    return Built(Graph(n_links=8, ef_build=30), Z)


@pytest.fixture(autouse=True)
def no_shortcut(monkeypatch):
    """Let the graph be walked even where comparing all rows would be cheaper."""
    monkeypatch.setattr(decoded, "PAIRS", 0)


def distances(graph, Q):
    least, width = graph.scale_.astype(np.float64)
    stands_for = least + (graph.codes + 0.5) / 255 * width
    return np.square(Q[:, None] - stands_for).sum(axis=2)


def share_found(found, best):
    return np.mean([np.isin(b, f).mean() for b, f in zip(best, found.rows, strict=True)])


def test_vectors_are_rounded_to_a_byte_a_dimension(graph):
    least, width = graph.scale_
    stands_for = least + (graph.codes + 0.5) / 255 * width
    assert (np.abs(stands_for - Z) <= 0.51 * width / 255 + 1e-6).all()
    np.testing.assert_allclose(graph._decoded(graph.rows, np.arange(9)), stands_for[:9], atol=1e-5)


def test_walks_find_nearly_what_a_scan_finds(graph):
    squares = distances(graph, Q)
    best = np.argsort(squares, axis=1)[:, :10]
    shares = [share_found(graph.candidates(Q, 10, effort=ef), best) for ef in (10, 40, 300)]
    assert shares == sorted(shares)
    assert shares[-1] > 0.98
    found = graph.candidates(Q, 10, effort=300)
    named = np.take_along_axis(squares, found.rows, 1)
    np.testing.assert_allclose(-found.values, named, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_filters(graph, share):
    allowed = np.random.default_rng(5).random(len(Z)) < share
    found = graph.candidates(Q, 10, allowed, effort=100)
    assert allowed[found.rows[found.rows >= 0]].all()
    squares = np.where(allowed, distances(graph, Q), np.inf)
    assert share_found(found, np.argsort(squares, axis=1)[:, :10]) > 0.95


def test_few_rows_are_compared_one_by_one(graph, monkeypatch):
    monkeypatch.setattr(decoded, "PAIRS", 5000)
    allowed = np.zeros(len(Z), bool)
    allowed[40:90] = True
    found = graph.candidates(Q, 12, allowed)
    expected = np.sort(distances(graph, Q)[:, 40:90], axis=1)[:, :12]
    np.testing.assert_allclose(-found.values, expected, rtol=1e-4, atol=1e-4)


def test_levels_and_links_are_those_of_faiss(graph):
    assert graph.levels.min() == 1
    assert graph.links.shape == (8 * (graph.levels + 1).sum(),)
    first = graph.links[:16]
    assert (first != 0).all()  # no link of row 0 to itself
    again = Built(Graph(n_links=8, ef_build=30), Z)
    np.testing.assert_array_equal(again.links, graph.links)


@pytest.mark.parametrize("shortcut", [True, False])
def test_contract(shortcut, monkeypatch):
    monkeypatch.setattr(decoded, "PAIRS", 5000 if shortcut else 0)
    check_searcher(Graph(), Z[:600])


def test_as_an_index(tmp_path):
    X = np.random.default_rng(1).dirichlet(np.full(16, 0.5), size=2500)
    asked = np.random.default_rng(2).dirichlet(np.full(16, 0.5), size=60)
    index = mercer.graph("jensen_shannon").fit(X).add(X)
    truth = evaluate.ground_truth("jensen_shannon", X, asked, 10)
    recalls = [evaluate.recall(index.search(asked, 10, candidates=c, effort=ef), truth)
               for c, ef in ((12, 12), (60, 60), (200, 200))]  # fmt: skip
    assert recalls == sorted(recalls)
    assert recalls[-1] > 0.98
    index.remove(np.arange(0, 2500, 2))
    index.save(tmp_path / "index")
    loaded = mercer.load(tmp_path / "index")
    one, other = (some.search(asked, 5, effort=50) for some in (index, loaded))
    np.testing.assert_array_equal(one.ids, other.ids)
    assert (one.ids % 2 == 1).all()


@pytest.mark.parametrize(
    "name, damage",
    [
        ("links", lambda a: np.where(a >= 0, a + 1, a).astype(np.int32)),
        ("links", lambda a: a[:-1]),
        ("levels", lambda a: a + 1),
        ("scale_", lambda a: a[:1]),
        ("entry", lambda a: 3000),
    ],
)
def test_damage_is_refused(graph, name, damage):
    searcher, rows = Graph(n_links=8), graph.rows
    searcher.scale_ = damage(graph.scale_) if name == "scale_" else graph.scale_
    if name != "scale_":
        rows = replace(rows, **{name: damage(getattr(rows, name))})
    read = type(rows).read(**rows.kept())
    with pytest.raises(StoreError, match="Graph: its rows do not fit together"):
        searcher.require_sound(read, Q.shape[1])


def test_parameters_are_checked():
    for options in ({"n_links": 1}, {"ef_build": 0}, {"ef": 0}):
        with pytest.raises(InputError, match=f"{next(iter(options))} is"):
            Graph(**options)


@pytest.mark.parametrize("n_links", [2, 5, 16])
def test_a_graph_forgets_the_links_to_some_rows(n_links):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(3000, 6)).astype(np.float32)
    graph = Graph(n_links=n_links).fit(Z)
    rows, gone = graph.build(Z), rng.choice(3000, 100, replace=False)
    left = graph.without(rows, gone)
    assert graph.is_sound(left, 6)
    assert not np.isin(left.links, gone).any()
    kept = rows.links[~np.isin(rows.links, gone)]
    np.testing.assert_array_equal(np.sort(left.links[left.links >= 0]), np.sort(kept[kept >= 0]))
    starts = graph._offsets(left).astype(int)
    for row in range(3000):  # on no level a link of -1 stands before another link
        links = left.links[starts[row] : starts[row + 1]]
        levels = [links[: 2 * n_links], *links[2 * n_links :].reshape(-1, n_links)]
        assert all((np.diff((level < 0).astype(int)) >= 0).all() for level in levels)
    found = graph.candidates(left, Z[gone], n=10).rows
    assert not np.isin(found, np.setdiff1d(gone, [left.entry])).any()
    assert graph.without(rows, gone[:0]).links.tolist() == rows.links.tolist()


def test_joined_rows_are_linked_into_the_graph_of_the_first():
    """Half of the rows keep their links; what walks find is as good as in a graph built at once."""
    rng = np.random.default_rng(0)
    Z, Q = (rng.normal(size=(n, 6)).astype(np.float32) for n in (2000, 100))
    graph = Graph(n_links=8).fit(Z)
    parts = [graph.build(Z[:1000]), graph.build(Z[1000:])]
    every = np.arange(1000)
    joined, whole = graph.join(parts, [every, every]), graph.build(Z)
    assert graph.is_sound(joined, 6)
    np.testing.assert_array_equal(joined.codes, whole.codes)
    np.testing.assert_array_equal(joined.levels[:1000], parts[0].levels)
    best = graph.candidates(whole, Q, n=10, effort=2000)
    shares = [share_found(graph.candidates(rows, Q, 10, effort=40), best.rows)
              for rows in (joined, whole)]  # fmt: skip
    assert min(shares) > 0.97
    fewer = graph.join(parts, [every[1:], every])
    assert graph.is_sound(fewer, 6)
    np.testing.assert_array_equal(
        fewer.links, graph.build(graph._decoded(whole, np.arange(1, 2000))).links
    )
