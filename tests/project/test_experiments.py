"""The experiments count what they say, on data made here; real data is used where there is some."""

from __future__ import annotations

import csv
import importlib
import os
import re
from pathlib import Path

import numpy as np
import pytest

from mercer import kernels

ROOT = Path(__file__).parents[2]
REAL = Path(os.environ.get("MERCER_DATA", ROOT.parent / "shared" / "data"))
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def experiment():
    """Return the module."""
    return importlib.import_module("experiments.exact_bounds")


@pytest.fixture(scope="module")
def measured(experiment):
    rng = np.random.default_rng(3)
    centres = rng.dirichlet(np.full(16, 0.5), size=12)
    X = np.concatenate([rng.dirichlet(60 * c + 0.05, size=60) for c in centres]).astype(np.float32)
    rng.shuffle(X)
    data = experiment.DataSet("made", kernels.Chi2(), X[:600], X[600:660], X[660:])
    return list(experiment.measure(data, landmarks=(64,), components=(4, 16, 48, 100)))


def counted(measured, rule, k=1):
    return [row.mean for row in measured if (row.rule, row.k) == (rule, k)]


def test_rules_are_ordered(experiment, measured):
    for k in experiment.WANTED:
        paper, ours, both = (
            np.array(counted(measured, rule, k))
            for rule in (experiment.PAPER, experiment.OURS, experiment.HELLINGER)
        )
        assert len(ours) == 3  # 100 components do not fit in 64 landmarks
        assert (paper >= ours).all()
        assert (ours >= both).all()
        assert (both >= k).all()
        assert ours[0] > 2 * ours[-1]  # more components, tighter bounds


def test_only_relaxed_rules_miss_anything(experiment, measured):
    for row in measured:
        if row.rule in (experiment.RELAXED, experiment.RELAXED_SEARCH):
            assert 0.8 <= row.recall <= 1
            assert 0 <= row.relaxation < 1
        else:
            assert (row.recall, row.relaxation) == (1, 1)


def test_search_needs_little_more_than_the_least(experiment, measured):
    for k in experiment.WANTED:
        least = np.array(counted(measured, experiment.HELLINGER, k))
        plain = np.array(counted(measured, experiment.OURS, k))
        search = np.array(counted(measured, experiment.SEARCH, k))
        assert (search >= least).all()
        assert (search <= plain + 32).all()  # rounds of 32 look at the threshold once


@pytest.mark.parametrize("k", [1, 3])
def test_descent_is_the_plain_loop(experiment, k):
    rng = np.random.default_rng(0)
    scores = rng.random((5, 40)).astype(np.float32)
    u = scores + rng.random((5, 40)).astype(np.float32) * 0.3
    counts, best = experiment.count_descent(u, scores, k)
    for query in range(5):
        seen = []
        for row in np.argsort(-u[query]):
            if len(seen) >= k and sorted(seen)[-k] > u[query, row]:
                break
            seen.append(scores[query, row])
        assert counts[query] == len(seen)
        assert best[query].tolist() == sorted(seen)[::-1][:k]
        assert (
            best[query].tolist() == sorted(scores[query])[::-1][:k]
        )  # u bounds, so nothing is lost


def test_paper_rule_takes_the_kth_lower_bound(experiment):
    u = np.array([[0.9, 0.8, 0.5, 0.3]])
    lower = np.array([[0.6, 0.4, 0.1, 0.2]])
    assert experiment.count_paper(u, lower, 1).tolist() == [2]
    assert experiment.count_paper(u, lower, 2).tolist() == [3]
    assert experiment.count_paper(u, lower, 4).tolist() == [4]


def test_results_are_written(experiment, measured, tmp_path):
    experiment.report.write_csv(measured, tmp_path / "rows.csv")
    rows = experiment.report.read_csv(tmp_path / "rows.csv", experiment.Measurement)
    assert rows == measured
    assert len(rows) == 3 * 2 * 6
    lines = experiment.table(measured).splitlines()
    assert len(lines) == 1 + 3 * 2
    experiment.draw(measured, tmp_path / "a.svg")
    experiment.draw(rows, tmp_path / "b.svg")
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert text == (tmp_path / "b.svg").read_text(encoding="utf-8")  # no dates, no random names
    for rule in (experiment.PAPER, experiment.OURS, experiment.RELAXED, experiment.HELLINGER):
        assert re.search(rf">{re.escape(rule)}<", text)


@pytest.mark.slow
@pytest.mark.skipif(not REAL.is_dir(), reason="needs the real data: set MERCER_DATA")
def test_runs_on_real_data(experiment, tmp_path, capsys):
    few = ["--rows", "300", "--queries", "30", "--landmarks", "64", "--components", "16"]
    experiment.main([*few, "--output", str(tmp_path / "out")])
    with (tmp_path / "out" / "exact_bounds.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["data"] for row in rows} == {"SIFT", "GIST", "bag of words"}
    assert {row["rows"] for row in rows} == {"300"}
    assert "bag of words" in capsys.readouterr().out
