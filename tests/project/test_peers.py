"""The benchmark of peers counts, scores and compares what it says, on data made here."""

from __future__ import annotations

import csv
import importlib
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numba import njit, prange

from mercer import evaluate, kernels

ROOT = Path(__file__).parents[2]
NAMES = ["pairs", "task", "results", "registry", "process", "ours", "sklearn_brute"]
K = 5
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def bench():
    """Return the modules by name."""
    found = {name: importlib.import_module(f"benchmarks.rivals.{name}") for name in NAMES}
    return SimpleNamespace(**found, peers=importlib.import_module("benchmarks.peers"))


@pytest.fixture(scope="module")
def task(bench):
    return bench.task.made(400, 40)


@pytest.fixture(scope="module")
def truth(task):
    return evaluate.ground_truth(task.kernel, task.X, task.Q, K)


PAIRS = {
    "chi2": kernels.Chi2(),
    "jensen_shannon": kernels.JensenShannon(),
    "exp_chi2": kernels.ExpChi2(gamma=1.0),
    "two_kernels": kernels.JensenShannon() + kernels.Intersection(),
}


@pytest.mark.parametrize("name", PAIRS)
def test_everyone_gets_the_same_kernel(bench, task, name):
    pair = njit(getattr(bench.pairs, name))
    X = task.X[:30].copy()
    X[0, :5] = 0  # and zeros on both sides
    X[1, :5] = 0
    values = [[pair(x, y) for y in X] for x in X]
    np.testing.assert_allclose(values, PAIRS[name](X, dtype=np.float64), rtol=2e-5)


def test_counter_misses_no_thread(bench):
    counting = njit(bench.pairs.counting(bench.pairs.chi2))

    @njit(parallel=True)
    def run(X):
        total = 0.0
        for i in prange(len(X)):
            for j in range(len(X)):
                total += counting(X[i], X[j])
        return total

    X = np.random.default_rng(0).random((60, 4)).astype(np.float32)
    assert bench.pairs.counted(lambda: run(X)) == 60 * 60


def test_recall_is_the_plain_count(bench, task, truth):
    rng = np.random.default_rng(1)
    rows = np.where(rng.random(truth.ids.shape) < 0.6, truth.ids, rng.integers(0, 400, (40, K)))
    rows[0, :2] = rows[0, 0]  # the same row twice counts once
    rows[1, :] = -1
    values = task.kernel(task.Q, task.X, dtype=np.float64)
    shares = []
    for i in range(40):
        kth = np.sort(values[i])[-K]
        shares.append(len({r for r in rows[i] if r >= 0 and values[i, r] >= kth - 1e-6}) / K)
    assert bench.results.recall(task, rows, truth, K) == pytest.approx(np.mean(shares))
    assert bench.results.recall(task, truth.ids, truth, K) == 1


def test_ties_count_as_found(bench, task):
    twice = bench.task.Task(
        "tied", task.kernel, None, 1.0, np.concatenate([task.X, task.X]), task.Q
    )
    truth = evaluate.ground_truth(twice.kernel, twice.X, twice.Q, K)
    assert bench.results.recall(twice, (truth.ids + 400) % 800, truth, K) == 1


@pytest.mark.parametrize("name", ["exact", "kpca_lsh"])
@pytest.mark.parametrize("own", [False, True])
def test_ours_are_counted_inside_the_kernel(bench, task, truth, name, own):
    rival = bench.registry.RIVALS[f"{name}-own" if own else name](task, 2)
    rival.build()
    effort = {"candidates": 30}
    found = rival.index.search(task.Q, K, **effort)
    told = (found.evaluations + found.landmark_evaluations).mean()
    counted = rival.evaluations(task.Q, K, **effort)
    if own:
        # beyond what is told: k(q, q) twice, and the best ones once more in double precision
        assert told < counted <= told + 2 + K + 16
    else:
        assert counted == told
    assert bench.results.recall(task, rival.search(task.Q, K, **effort), truth, K) > 0.9


@pytest.mark.parametrize("name", ["root-ivf", "root-hnsw", "sampler-ivf", "sampler-hnsw"])
def test_mapped_rivals_score_their_candidates(bench, task, truth, name):
    rival = bench.registry.RIVALS[name](task, 1)
    rival.build()
    few, many = rival.efforts()[0], rival.efforts()[-1]
    recalls = [
        bench.results.recall(task, rival.search(task.Q, K, **effort), truth, K)
        for effort in (few, many)
    ]
    assert recalls[0] <= recalls[1] > 0.97
    assert K <= rival.evaluations(task.Q, K, **few) <= few["candidates"]
    best = rival.best(task.Q, np.tile(np.arange(400), (40, 1)), K)  # all rows as candidates
    assert bench.results.recall(task, best, truth, K) == 1


@pytest.mark.parametrize("name", ["sklearn", "sklearn-own", "brute_force", "brute_force-own"])
def test_brute_force_finds_everything(bench, task, truth, name):
    rival = bench.registry.RIVALS[name](task, 1)
    rival.build()
    Q = task.Q[:5]
    assert bench.results.recall(task, rival.search(Q, K), truth, K) == 1
    assert rival.evaluations(Q, K) == 400


def test_usearch_counts_as_its_metric_does(bench, task, truth):
    pytest.importorskip("usearch")
    plain, counted = (
        bench.registry.RIVALS[name](task, 1) for name in ("usearch", "usearch-counted")
    )
    plain.build()
    counted.build()
    effort = plain.efforts()[3]
    assert plain.evaluations(task.Q, K, **effort) == counted.evaluations(task.Q, K, **effort)
    rows = plain.search(task.Q, K, **effort)
    assert bench.results.recall(task, rows, truth, K) > 0.95


@pytest.mark.skipif(
    "MERCER_PEERS" not in os.environ, reason="compiles for a minute: MERCER_PEERS=1"
)
def test_pynndescent_is_counted_on_the_same_graph(bench, task, truth):
    pytest.importorskip("pynndescent")
    rival = bench.registry.RIVALS["pynndescent"](task, 2)
    rival.build()
    least, most = rival.efforts()[0], rival.efforts()[-1]
    before = rival.search(task.Q, K, **most)
    counts = [rival.evaluations(task.Q, K, **effort) for effort in (least, most)]
    assert K < counts[0] < counts[1] < 400
    np.testing.assert_array_equal(rival.twin.query(task.Q, K, **most)[0], before)
    assert bench.results.recall(task, before, truth, K) > 0.95


def test_datasketch_on_strings(bench):
    pytest.importorskip("datasketch")
    rng = np.random.default_rng(2)
    words = ["".join(rng.choice(list("abcd"), 12)) for _ in range(160)]
    kernel = kernels.from_function(bench.task.shared, psd=True)
    called = []

    def watched(x, y):
        called.append(x)
        return bench.task.shared(x, y)

    asked = bench.task.Task("made", kernel, watched, 1.0, words[20:], words[:20])
    rival = bench.registry.RIVALS["datasketch"](asked, 2)
    rival.build()
    truth = evaluate.ground_truth(kernel, asked.X, asked.Q, K)
    rows = rival.search(asked.Q, K, ef=80)
    assert bench.results.recall(asked, rows, truth, K) > 0.9
    called.clear()
    assert rival.evaluations(asked.Q, K, ef=80) == len(called) / 20 > K


def test_shingles(bench):
    assert bench.task.shingles("abcde") == {"abcd", "bcde"}
    assert bench.task.shingles("ab") == {"ab"}
    assert bench.task.shared("abcde", "abcdx") == pytest.approx(1 / 3)


def test_faiss_has_its_own_js(bench, task):
    asked = bench.task.Task("js", kernels.JensenShannon(), None, 1.0, task.X, task.Q)
    truth = evaluate.ground_truth(asked.kernel, asked.X, asked.Q, K)
    flat, graph = (bench.registry.RIVALS[n](asked, 1) for n in ("faiss-js", "faiss-js-hnsw"))
    for rival in (flat, graph):
        rival.build()
        rows = rival.search(asked.Q, K, **rival.efforts()[-1])
        assert bench.results.recall(asked, rows, truth, K) > 0.95
    assert flat.evaluations(asked.Q, K) == 400
    assert K < graph.evaluations(asked.Q, K, ef=16) < graph.evaluations(asked.Q, K, ef=64)


def test_fpsim2_finds_the_most_similar_fingerprints(bench):
    pytest.importorskip("FPSim2")
    rng = np.random.default_rng(3)
    bits = np.packbits(rng.random((220, 128)) < rng.random((220, 1)) * 0.5 + 0.05, axis=1)
    asked = bench.task.Task("tanimoto", kernels.Tanimoto(), None, 1.0, bits[20:], bits[:20])
    rival = bench.registry.RIVALS["fpsim2"](asked, 2)
    rival.build()
    truth = evaluate.ground_truth(asked.kernel, asked.X, asked.Q, K)
    assert bench.results.recall(asked, rival.search(asked.Q, K), truth, K) == 1
    assert rival.evaluations(asked.Q, K) == 200
    plain = 0
    for q in asked.Q:
        for x in asked.X:
            a, b = sorted(int(np.unpackbits(v).sum()) for v in (q, x))
            plain += a / b >= 0.4
    assert rival.evaluations(asked.Q, K, threshold=0.4) == plain / 20


def test_only_those_who_reach_the_recall_are_compared(bench):
    def point(rival, recall, speed, evaluations):
        return bench.results.Measurement(
            "t", 9, rival, True, 2, "", recall, speed, speed // 2, evaluations, 1.0, 1.0, 8, 8
        )

    points = [
        point("a", 0.94, 900, 10), point("a", 0.96, 500, 30), point("a", 0.97, 400, 20),
        point("b", 0.99, 600, 70), point("c", 0.9, 9999, 1),
    ]  # fmt: skip
    found = bench.results.best(points, 0.95)
    assert [(one.rival, one.queries_per_second, one.evaluations) for one in found] == [
        ("b", 600, 70), ("a", 500, 20),
    ]  # fmt: skip


def test_more_effort_is_tried_until_nearly_all_is_found(bench, task, truth):
    """The default comes last and is measured in any case; later rounds repeat the first ones."""
    asked = []
    efforts = [{"n": 1}, {"n": 3}, {"n": K}, {"n": K + 1}, {}]

    def search(effort, at_least):
        asked.append(effort)
        rows = truth.ids.copy()
        rows[:, effort.get("n", 2) :] = -1
        return [0.5, 0.25], rows

    worker = SimpleNamespace(
        search=search, evaluations=lambda effort: 7.0,
        built=SimpleNamespace(efforts=efforts, name="w", own=True, threads=2, seconds=1.0,
                              first_use=1.0, bytes_per_item=8.0, peak=8.0),
    )  # fmt: skip
    points = bench.peers.measure([worker], task, K, 2, 0.0)
    assert asked == 2 * [{"n": 1}, {"n": 3}, {"n": K}, {}]
    assert [point.recall for point in points] == [1 / K, 3 / K, 1.0, 2 / K]
    assert {point.queries_per_second for point in points} == {round(1 / 0.375)}


def test_latency_asks_all_queries_in_blocks(bench, task, monkeypatch):
    latency = importlib.import_module("benchmarks.latency")
    monkeypatch.setattr(latency, "BATCHES", (1, 16))
    monkeypatch.setattr(latency, "EFFORTS", {"inverted": {"candidates": 40}})
    monkeypatch.setattr(latency, "compare", lambda *calls, **_: [len(call()) for call in calls])
    rows = latency.measure(task, 1, K, 1)
    assert rows == [["mercer.inverted", 1, 1_000_000, 1_000_000, 0]]
    rival = SimpleNamespace(search=lambda Q, k: Q[:, 0].tolist())
    ask = latency.asking(rival, task.Q, 16, K, {})
    assert ask() + ask() + ask() == task.Q[:, 0].tolist()
    assert ask() == task.Q[:16, 0].tolist()


@pytest.mark.slow
def test_run_writes_all_points(bench, tmp_path, capsys):
    few = ["--task", "made", "--rows", "500", "--queries", "30", "-k", "5", "--rounds", "2"]
    few += ["--seconds", "0.001", "--rivals", "root-ivf,brute_force", "--output", str(tmp_path)]
    bench.peers.main(few)
    with (tmp_path / "peers_made.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["rival"] for row in rows} == {
        "faiss IVF fast-scan, square root", "mercer.evaluate.ground_truth",
    }  # fmt: skip
    assert rows[-1]["recall"] == "1.0"
    assert rows[-1]["evaluations"] == "500"
    assert all(float(row["queries_per_second"]) > 0 for row in rows)
    assert "faiss IVF" in (tmp_path / "peers_made.svg").read_text(encoding="utf-8")
    assert "the fastest with recall of at least 0.99" in capsys.readouterr().out


def test_missing_peers_are_skipped_with_a_line(bench, task, monkeypatch, capsys):
    absent = bench.registry.Entry("nothing", "Nothing", "no_such_package")
    monkeypatch.setitem(bench.registry.RIVALS, "absent", absent)
    assert bench.peers.start(["absent"], task, 1, K) == []
    assert capsys.readouterr().out == (
        "absent is skipped: it needs no_such_package (pip install mercer[peers])\n"
    )


def test_failures_are_told(bench, task):
    broken = bench.registry.Entry("sklearn_brute", "NoSuchClass", "sklearn")
    with pytest.raises(RuntimeError, match="NoSuchClass"):
        bench.process.Worker(broken, task, 1, K)
