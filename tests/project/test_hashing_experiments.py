"""The experiments of hashing measure what they say, on data made here and on a little real data."""

from __future__ import annotations

import csv
import importlib
import math
import os
import re
import subprocess
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import mercer
from mercer import kernels

ROOT = Path(__file__).parents[2]
REAL = Path(os.environ.get("MERCER_DATA", ROOT.parent / "shared" / "data"))
NAMES = ["klsh_parameters", "klsh_accuracy", "klsh_cover", "normality", "overlap", "low_rank"]
SHARED = ["collisions", "curves", "hashed", "labelled", "real_data", "report"]
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def experiments():
    """Return the modules by name."""
    found = {name: importlib.import_module(f"experiments.{name}") for name in [*NAMES, *SHARED]}
    return SimpleNamespace(**found)


@pytest.fixture(scope="module")
def histograms():
    """Return rows that sum to 1, and the centre each was drawn around."""
    rng = np.random.default_rng(3)
    centres = rng.dirichlet(np.full(24, 0.5), size=12)
    X = np.concatenate([rng.dirichlet(30 * c + 0.05, size=60) for c in centres]).astype(np.float32)
    order = rng.permutation(len(X))
    return X[order], np.repeat(np.arange(12), 60)[order]


@pytest.fixture(scope="module")
def labelled(experiments, histograms):
    X, y = histograms
    return experiments.labelled.Labelled(X[:600], y[:600], X[600:], y[600:])


def rising(values):
    return (np.diff(values) >= 0).all()


def test_more_candidates_find_more(experiments, labelled):
    module = experiments.klsh_parameters
    varied = {
        "epsilon": (0.05, 1.0, 3.0),
        "bits": (8, 64),
        "subset": (2, 30),
        "landmarks": (40, 99),
    }
    rows = list(module.measure(labelled, varied, n_runs=2))
    assert len(rows) == 2 * (3 * 2 + 3 * 2)
    for variant in (experiments.hashed.PAPER, experiments.hashed.OURS):
        scans = [r for r in rows if (r.searcher, r.variant) == (module.SCAN, variant)]
        assert [r.share for r in scans] == [1.0, 2 * 25 / 600, 2 * 5 / 600]
        assert rising([r.recall for r in scans][::-1])  # the same codes: candidates only end later
        assert scans[0].recall == 1
        assert scans[0].accuracy == scans[0].linear_scan
    few, many = (
        np.mean([r.recall for r in rows if (r.parameter, r.value) == ("bits", bits)])
        for bits in (8, 64)
    )
    assert many > few
    assert all(0 <= value <= 1 for r in rows for value in (r.accuracy, r.recall, r.linear_scan))


def test_hashing_reaches_the_linear_scan(experiments, labelled):
    module = experiments.klsh_accuracy
    rows = list(module.measure(labelled, (0.1, 1.0, 2.0), n_runs=1))
    assert len(rows) == 3 * (3 + 2)  # lists meet the same rows, whatever ranks them
    for row in rows:
        if row.share == 1:
            assert (row.accuracy, row.recall) == (row.linear_scan, 1)
        assert row.accuracy_sd == 0  # one run
    for variant in experiments.hashed.VARIANTS:
        line = [r for r in rows if (r.searcher, r.variant) == (module.SCAN, variant)]
        assert rising([r.share for r in line])
        assert rising([r.recall for r in line])
    assert rows[0].linear_scan > 0.8  # the classes are far apart


def test_votes(experiments):
    elect = experiments.labelled.elect
    assert [elect(np.array(v)) for v in ([4, 2, 2], [4, 2, 2, 4], [3], [0, 1, 2])] == [2, 4, 3, 0]


def test_covers_agree_at_equal_depth(experiments, histograms):
    module, X = experiments.klsh_cover, histograms[0]
    data = experiments.real_data.DataSet("made", kernels.RBF.for_data(X), X[:600], X[600:], None)
    rows = list(module.measure(data, (10, 20, 30, 100, 600, 9999), n_runs=1))
    covers = {(r.direction, r.variant, r.wanted, r.depth): r.cover for r in rows}
    assert len(covers) == 2 * 3 * 3 * 5  # no depth beyond the rows
    for direction, variant, wanted, _ in covers:
        line = [covers[direction, variant, wanted, depth] for depth in (10, 20, 30, 100, 600)]
        assert rising(line)
        assert line[-1] == 1
        # as many of each: what one covers of the other, the other covers of it
        other = covers[module.BY_TRUTH, variant, wanted, wanted]
        assert covers[module.BY_CODES, variant, wanted, wanted] == pytest.approx(other)


def test_statistic_is_the_printed_sum(experiments):
    samples = np.random.default_rng(0).gamma(2.0, size=(3, 40))
    for sample, value in zip(samples, experiments.normality.statistics(samples), strict=True):
        z = np.sort((sample - sample.mean()) / sample.std(ddof=1))
        phi = [0.5 * math.erfc(-x / math.sqrt(2)) for x in z]
        terms = [(2 * i + 1) * (math.log(phi[i]) + math.log(1 - phi[-1 - i])) for i in range(40)]
        plain = -40 - sum(terms) / 40
        assert value == pytest.approx(plain * (1 + 0.75 / 40 + 2.25 / 1600), rel=1e-9)


def test_gaussian_samples_pass_as_often_as_the_level_says(experiments):
    module = experiments.normality
    values = module.statistics(np.random.default_rng(1).normal(size=(20_000, 128)))
    assert (values < module.CRITICAL).mean() == pytest.approx(0.95, abs=0.006)


def test_directions_of_klsh_are_gaussian_and_plain_weights_are_not(experiments):
    module = experiments.normality
    # coordinates of many sizes: a weighted sum of rows keeps them, K^(-1/2) takes them away
    X = np.random.default_rng(2).random((2000, 32)) * np.linspace(1, 30, 32) ** 2
    with threadpool_limits(1, user_api="blas"):  # as `report.publish` does: small eigenproblems
        measured = list(module.measure(X, (80, 120), n_trials=150))
    rows = {(r.landmarks, r.directions): r for r in measured}
    assert len(rows) == 6
    assert rows[120, module.KLSH].subset == 24
    for p in (80, 120):
        klsh, weights = rows[p, module.KLSH].success, rows[p, module.WEIGHTS].success
        assert klsh > 0.95 - 4 * math.sqrt(0.95 * 0.05 / 150)
        assert weights < klsh - 0.15
    assert all(r.low <= r.median <= r.high for r in rows.values())


def test_directions_are_whitened(experiments):
    X = np.random.default_rng(5).random((500, 30))
    for trial in range(5):
        r = experiments.normality._vectors(X, 20, trial)[experiments.normality.KLSH]
        # 20 landmarks are independent in 30 dimensions: |r| is |e_S| less its mean, t (p - t) / p
        assert r @ r == pytest.approx(4 * 16 / 20)


def test_longer_codes_keep_fewer_pairs(experiments, histograms):
    module, X = experiments.overlap, histograms[0]
    bits = (4, 8, 16, 32, 64)
    rows = list(module.measure("made", X[:300], X[300:], bits, n_runs=2))
    assert len(rows) == 3 * len(bits)
    for method in module.METHODS:
        line = [row for row in rows if row.method == method]
        assert rising([-row.pairs for row in line])  # a code begins as a shorter one does
        assert rising([-row.found for row in line])
        assert line[-1].even > line[0].even  # and longer ones know more
        assert all(math.isnan(row.overlap) == (row.pairs == 0) for row in line)
        assert all(0 <= row.found <= 1 and 0 <= row.even <= 1 for row in line)


def test_distances_are_counted_pair_by_pair(experiments):
    rng = np.random.default_rng(4)
    Z, Zq, near = rng.normal(size=(7, 12)), rng.normal(size=(5, 12)), rng.random((5, 7)) < 0.4
    counts = np.zeros((2, 13), int)
    for q in range(5):
        for x in range(7):
            counts[int(near[q, x]), ((Zq[q] >= 0) != (Z[x] >= 0)).sum()] += 1
    assert (experiments.overlap.distance_counts(Z, Zq, near) == counts).all()


def test_low_rank_agrees_with_the_index(experiments, histograms, monkeypatch):
    module, X = experiments.low_rank, histograms[0]
    monkeypatch.setattr(module, "DEPTHS", (1, 10, 100))
    data = experiments.real_data.DataSet("made", kernels.Chi2(), X[:500], X[500:600], X[600:])
    rows = list(module.measure(data, (8, 16), (1.0, 5.0), n_landmarks=60))
    assert len(rows) == 2 * 2 * (1 + 2 + 2) * 3
    for i in range(0, len(rows), 3):
        assert [row.at for row in rows[i : i + 3]] == [1, 10, 100]
        assert rising([row.recall for row in rows[i : i + 3]])
    for step in (module.VANILLA, module.LOW_RANK, module.TRANSFORMED):
        assert sum(r.chosen for r in rows if r.step == step) == 2 * 2 * 3  # one of each
    truth = mercer.evaluate.ground_truth("chi2", X[:500], X[500:600], 1)
    for row in rows[3:6]:
        index = mercer.klsh(
            "chi2", n_landmarks=60, rank=8, center="landmarks", codes="hamming"
        ).fit(X[:500]).add(X[:500])  # fmt: skip
        found = index.search(X[500:600], 1, candidates=row.at)
        assert row.recall == pytest.approx(mercer.evaluate.recall(found, truth, 1))


def test_bits_agree_as_theory_says(experiments, histograms, tmp_path):
    module = experiments.collisions
    rows = list(module.measure(histograms[0][:300], n_bits=1024))
    assert {row.code for row in rows} == set(module.LABELS)
    for name in ("lsh", "kpca_lsh", "fourier"):  # exact theories; others are told by the limit
        line = [row for row in rows if row.code == name]
        # the same bits serve all pairs: one of them has a standard deviation of 1/64
        assert max(abs(row.mean - row.expected) for row in line) < 4 / 64
        assert all(row.low <= row.mean <= row.high for row in line)


def test_every_code_has_a_picture_of_its_own(experiments, tmp_path):
    module = experiments.collisions
    module.main(["--quick", "--output", str(tmp_path)])
    names = ["collisions", *module.LABELS]
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{name}.{end}" for name in names for end in ("csv", "svg")
    }
    rows = experiments.report.read_csv(tmp_path / "klsh.csv", module.Measurement)
    assert {row.code for row in rows} == {"klsh"}


def test_table_turns_a_column(experiments):
    report, overlap = experiments.report, experiments.overlap
    rows = [overlap.Measurement("a", m, b, 1, 2.0, 0.5, 0.25, 0.5) for m in "xy" for b in (8, 16)]
    assert len(report.table(rows).splitlines()) == 5
    turned = report.table(rows, across=("bits", "overlap")).splitlines()
    assert len(turned) == 3
    assert turned[0].split()[-4:] == ["bits", "8", "bits", "16"]
    assert turned[1].split()[-2:] == ["0.5", "0.5"]


def test_names_stand_apart_inside_the_panel(experiments):
    heights = experiments.curves._apart([0.1, 0.99, 0.995, 1.0], 0, 1)
    assert (np.diff(heights) > 0.99 * experiments.curves.LINE_OF_TEXT).all()
    assert heights[0] == 0.1  # far from the others
    assert heights[-1] <= 1


def test_script_names_all_experiments():
    shown = subprocess.run(
        [ROOT / "scripts" / "experiment"], capture_output=True, text=True, check=False
    )
    assert shown.returncode == 2
    assert {*NAMES, "collisions"} < set(shown.stdout.split())
    assert "curves" not in shown.stdout


@pytest.mark.slow
@pytest.mark.skipif(not REAL.is_dir(), reason="needs the real data: set MERCER_DATA")
@pytest.mark.parametrize("name", NAMES)
def test_runs_on_real_data(experiments, name, tmp_path, capsys):
    module = getattr(experiments, name)
    module.main(["--quick", "--output", str(tmp_path / "out")])
    with (tmp_path / "out" / f"{name}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [field.name for field in fields(module.Measurement)]
    for row in rows:
        for column in ("share", "accuracy", "recall", "cover", "success", "overlap", "found"):
            value = float(row.get(column, 0))
            assert 0 <= value <= 1 or math.isnan(value)
    text = (tmp_path / "out" / f"{name}.svg").read_text(encoding="utf-8")
    assert re.search(
        r">(mercer&apos;s default|mercer's default|KLSH|as the papers|KLSH, paper)<", text
    )
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1].endswith(str(tmp_path / "out"))
    assert len(printed) > 5
