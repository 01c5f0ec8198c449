"""The experiments with sets measure what they say, on sets made here and on a few real photos."""

from __future__ import annotations

import csv
import importlib
import math
import os
import subprocess
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import spearmanr

import mercer
from experiments.matching import partial_matching
from mercer import Ragged, evaluate, kernels

ROOT = Path(__file__).parents[2]
REAL = Path(os.environ.get("MERCER_DATA", ROOT.parent / "shared" / "data"))
NAMES = ["pyramid_clutter", "pyramid_retrieval", "pyramid_bits", "pyramid_matching",
         "pyramid_exact", "set_accuracy", "matched_features"]  # fmt: skip
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def experiments():
    """Return the modules by name."""
    found = {
        name: importlib.import_module(f"experiments.{name}")
        for name in [*NAMES, "photos", "windows"]
    }
    return SimpleNamespace(**found)


@pytest.fixture(scope="module")
def made(experiments):
    """Return 'photos' of six classes, each a common set of points that moves a little."""
    rng = np.random.default_rng(1)
    models = 200 * rng.random((6, 25, 3))
    y = np.repeat(np.arange(6), 25)
    sets = [models[c] + 12 * rng.normal(size=(25, 3)) for c in y]
    order = rng.permutation(len(y))
    base, asked = order[:110], order[110:]
    X, Q = (Ragged.from_list([sets[i].astype(np.float32) for i in some]) for some in (base, asked))
    X, Q = (Ragged(S.values, S.offsets, S.values[:, :2]) for S in (X, Q))
    return experiments.photos.Photos(X, y[base], Q, y[asked])


def test_windows_are_rectangles_of_one_photo(experiments, made, monkeypatch):
    """Every histogram is that of the words in some rectangle; one photo alone: its own words."""
    words = made.base.values[:40].astype(np.float32)
    one = made.base[3:4]
    D = np.square(one.values[:, None] - words).sum(axis=2)
    whole = np.bincount(D.argmin(axis=1), minlength=40)
    monkeypatch.setattr(experiments.windows, "LEAST", 5)
    rows = experiments.windows.histograms(one, words, 30, np.random.default_rng(0))
    np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=1e-5)
    sizes = np.array(
        [round(1 / row[row > 0].min()) for row in rows]
    )  # the rarest word is there once
    counts = rows * sizes[:, None]
    assert (np.abs(counts - counts.round()) < 1e-3).all()
    assert (counts <= whole + 0.5).all()
    assert sizes.min() >= 5
    assert len(np.unique(rows, axis=0)) > 20


def test_windows_hold_what_is_inside(experiments):
    grid = np.stack(np.meshgrid(np.arange(40.0), np.arange(20.0)), axis=2).reshape(-1, 2)
    shares = []
    for seed in range(50):
        seen = grid[experiments.windows.inside(grid, np.random.default_rng(seed))]
        assert len(seen) == np.prod([len(np.unique(column)) for column in seen.T])
        shares.append([len(np.unique(column)) for column in seen.T])
    assert (np.min(shares, axis=0) >= [11, 5]).all()
    assert (np.max(shares, axis=0) >= [35, 18]).all()


def test_clutter_has_the_range_it_should(experiments):
    module = experiments.pyramid_clutter
    clean, wide = module.made_sets(10, 0), module.made_sets(10, 900)
    assert set(np.diff(clean.offsets)) == {module.PARTS}
    extra = np.diff(wide.offsets) - module.PARTS
    assert extra.min() >= 0
    assert 50 < extra.max() <= module.CLUTTER
    assert 700 < np.ptp(wide.values, axis=0).max() <= 9 * module.RANGE + 30
    assert np.ptp(clean.values, axis=0).max() < 1.3 * module.RANGE


def test_clutter_disturbs_the_matching_of_equal_mass(experiments):
    module = experiments.pyramid_clutter
    rows = list(module.measure(20, 40, (0, 900)))
    rank = {(row.clutter, row.similarity): row.spearman for row in rows}
    assert len(rows) == 6
    assert rank[900, module.PYRAMID] > 0.7
    assert rank[900, module.BIJECTIVE] < rank[900, module.PYRAMID] - 0.2
    assert rank[0, module.BIJECTIVE] > 0.5


def test_best_similarity_weighs_pairs_by_distance(experiments):
    Y, Z = np.array([[0.0], [10.0]]), np.array([[0.0], [14.0], [99.0]])
    found = experiments.pyramid_clutter.best_similarity(Y, Z, finest=2.0)
    assert found == pytest.approx((1 + 2 / 4) / math.sqrt(6))
    pairs = experiments.pyramid_clutter.random_pairs(6, 100)
    assert len(set(pairs)) == 15
    assert all(i < j for i, j in pairs)


def test_retrieval_agrees_with_the_index(experiments, made):
    module = experiments.pyramid_retrieval
    rows = list(module.measure(made, (module.BY_DATA, 32), (16, 64), 1))
    assert len(rows) == 2 * 2 * 2
    chosen = kernels.PyramidMatch.for_data(made.base)
    assert (rows[0].finest, rows[0].levels) == (chosen.finest, chosen.n_levels)
    truth = evaluate.ground_truth(chosen.normalized(), made.base, made.queries, 1)
    for row in rows[2:4]:  # by the data, a scan of codes
        assert row.searcher == module.SCAN
        index = mercer.pyramid(chosen.normalized(), n_bits=row.bits).fit(made.base).add(made.base)
        found = index.search(made.queries, 1, candidates=22)  # 2 ⌈√110⌉
        assert row.found == pytest.approx(evaluate.recall(found, truth))
        assert row.share == pytest.approx(22 / 110)
    for row in rows:
        assert 0 <= row.found <= row.within_tenth <= row.guarantee <= 1
        assert row.vacuous <= row.guarantee
        assert 0 < row.relevance <= 1
        assert row.percentile >= row.percentile_of_5 > 50


def test_judge_on_a_case_done_by_hand(experiments):
    module = experiments.pyramid_retrieval
    data = SimpleNamespace(asked=np.array([1]), y=np.array([1, 0, 1, 1]))
    truth = module.Truth.of(np.array([[0.9, 0.8, 0.2, 0.1]]), data)
    scores = truth.judge(np.array([[1, 3]]))
    share, guarantee, guarantee_1p, vacuous, tenth, found, best, five, relevance = scores
    assert (share, found, vacuous) == (0.5, 0, 0)
    assert (guarantee, guarantee_1p, tenth) == (1, 1, 0)  # arccos .8 is 1.43 times arccos .9
    assert best == pytest.approx(200 / 3)  # two of the other three score less
    assert five == pytest.approx(100 / 3)
    assert relevance == pytest.approx(1 / 3)


def test_walks_agree_and_the_shortcut_agrees_too_often(experiments, made):
    module = experiments.pyramid_bits
    walk, paper = module.measure(made, (64,), 80, 8)
    assert (walk.mode, paper.mode, walk.functions) == ("walk", "paper", 640)
    assert abs(walk.mean) < 0.02  # directions are common to all pairs: sd of about .008
    assert paper.mean > walk.mean + 0.01
    assert walk.sd == pytest.approx(walk.chance, rel=0.35)


def test_pyramids_rank_as_matchings(experiments):
    module = experiments.pyramid_matching
    sets = module.made_sets(30, 2, equal=False)
    rows = list(module.measure("made", sets, 50, (16.0,)))
    assert [row.chosen for row in rows] == [True, False]
    assert all(row.spearman > 0.6 for row in rows)
    kernel = kernels.PyramidMatch(16.0, 6).normalized()
    pairs = experiments.pyramid_clutter.random_pairs(30, 50)
    found = [kernel(sets[i][None], sets[j][None])[0, 0] for i, j in pairs]
    best = [
        (1 / np.maximum(partial_matching(sets[i], sets[j]).distances / 16, 1)).sum()
        / math.sqrt(len(sets[i]) * len(sets[j]))
        for i, j in pairs
    ]
    assert rows[1].spearman == pytest.approx(spearmanr(found, best).statistic, abs=0.01)


def test_proofs_are_complete(experiments, made):
    rows = list(experiments.pyramid_exact.measure(made, (64,), (8, 60), 80))
    assert [row.exact for row in rows] == [1, 1]
    assert rows[1].share <= rows[0].share <= 1
    assert rows[1].relaxed_share < rows[1].share
    assert rows[1].relaxed_found > 0.7


def test_accuracy_by_scan_and_by_hashing(experiments, made, monkeypatch):
    module = experiments.set_accuracy
    monkeypatch.setattr(module, "reduced", lambda data: data)
    rows = list(module.measure(made, [module.UNIFORM, "SumMatch", "Corr"], 60))
    assert len(rows) == 9
    for scan, few, many in zip(rows[::3], rows[1::3], rows[2::3], strict=True):
        assert (scan.share, scan.found) == (1, 1)
        assert scan.accuracy > 0.9
        assert few.share < many.share < 1
        assert few.found <= many.found + 0.05
        assert many.accuracy > 0.8


def test_pairs_meet_on_the_level_of_their_bins(experiments, tmp_path):
    module = experiments.matched_features
    pyramid = kernels.PyramidMatch(1.0, 4, shift=None)
    levels = module.meeting_levels(
        np.float32([[0.1], [0.1], [0.1], [0.1]]), np.float32([[0.9], [1.5], [7.0], [8.5]]), pyramid
    )
    assert levels.tolist() == [0, 1, 3, -1]
    places = np.float32([[0, 0], [5, 9]])
    more = np.float32([[0, 0], [5, 9], [100, 7]])
    left, right = Ragged(places, [0, 2], places), Ragged(more + 0.25, [0, 3], more)
    *pairs, alone = module.matched(left, right, pyramid)
    assert [(pair.left_x, pair.right_x, pair.level) for pair in pairs] == [(0, 0, 0), (5, 5, 0)]
    assert (alone.right_x, alone.right_y, alone.level) == (100, 7, -1)
    assert math.isnan(alone.left_x)
    module.draw([*pairs, alone], tmp_path / "a.svg")
    assert "blue: the finest bins, 2 pairs" in (tmp_path / "a.svg").read_text(encoding="utf-8")


def test_script_names_all_experiments():
    shown = subprocess.run(
        [ROOT / "scripts" / "experiment"], capture_output=True, text=True, check=False
    )
    assert set(NAMES) < set(shown.stdout.split())


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
        for column in ("share", "accuracy", "found", "guarantee", "relevance", "exact"):
            assert 0 <= float(row.get(column, 0)) <= 1
    assert (tmp_path / "out" / f"{name}.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert capsys.readouterr().out.splitlines()[-1].endswith(str(tmp_path / "out"))
