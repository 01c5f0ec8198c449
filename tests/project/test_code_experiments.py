"""The experiments of product codes measure what they say, on data made here and a little real."""

from __future__ import annotations

import csv
import importlib
import os
import re
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import mercer
from mercer import kernels
from mercer.codes import Product
from mercer.embeddings import KernelPCA
from mercer.search import Scan

ROOT = Path(__file__).parents[2]
REAL = Path(os.environ.get("MERCER_DATA", ROOT.parent / "shared" / "data"))
NAMES = ["balance", "code_sizes", "growth"]
SHARED = ["found", "real_data", "report"]
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def experiments():
    """Return the modules by name."""
    found = {name: importlib.import_module(f"experiments.{name}") for name in [*NAMES, *SHARED]}
    return SimpleNamespace(**found)


@pytest.fixture(scope="module")
def data(experiments):
    rng = np.random.default_rng(3)
    centres = rng.dirichlet(np.full(24, 0.5), size=12)
    X = np.concatenate([rng.dirichlet(30 * c + 0.05, size=50) for c in centres]).astype(np.float32)
    X = X[rng.permutation(len(X))]
    return experiments.real_data.DataSet("made", kernels.Chi2(), X[:540], X[540:], None)


def nearest(data):
    """Return the true nearest row of each query, by a plain loop over pairs."""
    values = kernels.Chi2()(data.Q, data.X, dtype=np.float64)
    return values.argmax(axis=1)


def ranked_plainly(code, Z, Zq):
    """Return all rows by the distance to what their codes stand for, one query after the other."""
    decoded = code.decode(code.encode(Z)).astype(np.float64)
    return np.array([np.square(decoded - z).sum(axis=1).argsort(kind="stable") for z in Zq])


def test_recall_is_how_often_the_nearest_is_among_the_first(experiments, data):
    found = experiments.found.Found(data, (1, 3, 540, 9999))
    assert found.depths == [1, 3, 540]
    rows = np.array([np.random.default_rng(i).permutation(540) for i in range(60)])
    plain = [
        np.mean([t in r[:n] for t, r in zip(nearest(data), rows, strict=True)]) for n in (1, 3)
    ]
    assert found.recalls_of(rows) == [*plain, 1.0]


def test_tied_items_count_as_found(experiments, data):
    twice = replace(data, X=np.concatenate([data.X, data.X]))
    found = experiments.found.Found(twice, (1,))
    assert found.recalls_of(nearest(data)[:, None] + 540) == [1.0]


def test_balances_are_measured_by_the_plain_ranking(experiments, data, monkeypatch):
    module = experiments.balance
    monkeypatch.setattr(module, "COMPONENTS", 16)
    rows = list(module.measure(data, n_runs=2, n_landmarks=60))
    assert len(rows) == 5 * 3  # no depth beyond the rows
    assert {row.runs for row in rows} == {2}
    plain = []
    for seed in range(2):
        embedding = KernelPCA("chi2", 16, n_landmarks=60, center=True, seed=seed).fit(data.X)
        Z, Zq = embedding.transform(data.X), embedding.transform(data.Q)
        order = ranked_plainly(Product(8, "rotate", seed=seed).fit(Z), Z, Zq)
        plain.append(np.mean(order[:, 0] == nearest(data)))
    measured = next(row for row in rows if (row.balance, row.at) == ("rotation", 1))
    assert measured.recall == pytest.approx(np.mean(plain), abs=1.5 / 60)  # near ties by rounding
    assert measured.sd == pytest.approx(np.std(plain), abs=1.5 / 60)
    for balance in module.BALANCES.values():
        line = [row.recall for row in rows if row.balance == balance]
        assert line == sorted(line)


def test_codes_of_all_sizes_agree_with_the_index(experiments, data, monkeypatch):
    module = experiments.code_sizes
    monkeypatch.setattr(module, "BITS", (16, 32))
    monkeypatch.setattr(module, "DEPTHS", (1, 10, 540))
    monkeypatch.setattr(module, "PQ_COMPONENTS", 24)
    rows = list(module.measure(data, n_runs=1, p=60))
    assert len(rows) == (5 + 4) * 2 * 3
    assert all(row.sd == 0 for row in rows)
    assert all(row.recall == 1 for row in rows if row.at == 540)
    recalls = {(r.variant, r.code, r.bits, r.at): r.recall for r in rows}
    truth = mercer.evaluate.ground_truth("chi2", data.X, data.Q, 1)
    index = mercer.klsh("chi2", n_bits=32, n_landmarks=60, subset=30).fit(data.X).add(data.X)
    told = mercer.evaluate.recall_at(index, data.Q, truth, (1, 10))
    assert [recalls[module.OURS, module.KLSH, 32, at] for at in (1, 10)] == list(told.values())
    index = mercer.rmmh("chi2", n_bits=32, n_landmarks=60, codes="hamming")
    told = mercer.evaluate.recall_at(index.fit(data.X).add(data.X), data.Q, truth, (1, 10))
    assert [recalls[module.PAPER, module.RMMH, 32, at] for at in (1, 10)] == list(told.values())
    for code in (module.KLSH, module.KPCA_LSH):
        assert recalls[module.OURS, code, 32, 10] > recalls[module.PAPER, code, 32, 10]


def test_uncentred_klsh_says_the_same_of_all_items(experiments, data):
    # E eq. 15 as printed: sums of positive numbers with mostly positive weights
    module = experiments.code_sizes
    printed, _, centred, _ = (directions for *_, directions in module.implicit(0, 60))
    shares = (printed.fit(data.X).transform(data.X) >= 0).mean(axis=0)
    balanced = (centred.fit(data.X).transform(data.X) >= 0).mean(axis=0)
    assert np.mean(np.minimum(shares, 1 - shares) < 0.05) > 0.9
    assert np.mean(np.minimum(balanced, 1 - balanced) < 0.05) < 0.1


def test_copies_are_as_near_as_neighbours(experiments, data, monkeypatch):
    module = experiments.growth
    monkeypatch.setattr(module, "BLOCK", 200)
    sigma = module.spread(data.X)
    parts = list(module.blocks(data.X, (300, 1000), sigma))
    assert [start for start, _ in parts] == [0, 200, 300, 400, 600, 800]
    X = np.concatenate([rows for _, rows in parts])
    assert X.shape == (1000, 24)
    np.testing.assert_array_equal(X[:540], data.X)
    assert X[540:].sum(axis=1) == pytest.approx(1, abs=1e-5)
    chi2 = kernels.Chi2()
    copies = np.diag(chi2(X[540:], data.X[:460]))
    near = np.sort(chi2(data.X), axis=1)[:, -2]
    assert 1 - np.median(copies) == pytest.approx(1 - np.median(near), rel=0.15)


def test_growth_is_the_plain_ranking(experiments, data, monkeypatch):
    module = experiments.growth
    monkeypatch.setattr(module, "BLOCK", 200)
    monkeypatch.setattr(module, "COMPONENTS", 16)
    monkeypatch.setattr(module, "DEPTHS", (1, 10, 300))
    rows = list(module.measure(data, (300, 800), n_learn=400, n_landmarks=60))
    assert [(r.rows, r.copies, r.at) for r in rows[::3]] == [(300, 0, 1), (800, 260, 1)]
    X = np.concatenate([part for _, part in module.blocks(data.X, (800,), module.spread(data.X))])
    embedding = KernelPCA("chi2", 16, n_landmarks=60, center=True)
    code = Product(16, "permute").fit(embedding.fit_transform(data.X[:400]))
    order = ranked_plainly(code, embedding.transform(X), embedding.transform(data.Q))
    best = kernels.Chi2()(data.Q, X, dtype=np.float64).argmax(axis=1)
    for row in rows[3:]:
        plain = np.mean([b in o[: row.at] for b, o in zip(best, order, strict=True)])
        assert row.recall == pytest.approx(plain, abs=1.5 / 60)


def test_table_shows_deviations(experiments):
    module, report = experiments.balance, experiments.report
    rows = [module.Measurement("d", 9, 9, 2, "none", at, 0.5, at / 100) for at in (1, 10)]
    turned = report.table(rows, across=("at", "recall", "sd")).splitlines()
    assert turned[0].split()[-4:] == ["at", "1", "at", "10"]
    assert turned[1].endswith("0.5 ± 0.01  0.5 ± 0.1")


def test_scans_of_the_experiments_are_asymmetric_distances(experiments, data):
    found = experiments.found.Found(data, (5,))
    Z, Zq = found.vectors(KernelPCA("chi2", 16, n_landmarks=60, center=True))
    scan = Scan(Product(4, "permute")).fit(Z)
    rows = scan.candidates(scan.build(Z), Zq, 5).rows
    plain = ranked_plainly(scan.code_, Z, Zq)[:, :5]
    agree = [len(set(a) & set(b)) for a, b in zip(rows, plain, strict=True)]
    assert np.mean(agree) > 4.8  # equal codes tie


@pytest.mark.slow
@pytest.mark.skipif(not REAL.is_dir(), reason="needs the real data: set MERCER_DATA")
@pytest.mark.parametrize("name", NAMES)
def test_runs_on_real_data(experiments, name, tmp_path, capsys):
    module = getattr(experiments, name)
    module.main(["--quick", "--output", str(tmp_path / "out")])
    with (tmp_path / "out" / f"{name}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [field.name for field in fields(module.Measurement)]
    assert all(0 <= float(row["recall"]) <= 1 for row in rows)
    text = (tmp_path / "out" / f"{name}.svg").read_text(encoding="utf-8")
    assert re.search(r">(permutation|KPCA\+PQ|recall@10)<", text)
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1].endswith(str(tmp_path / "out"))
    assert len(printed) > 3
