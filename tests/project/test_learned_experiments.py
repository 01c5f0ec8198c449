"""The experiments of learned metrics measure what they say, on data made here and a little real."""

from __future__ import annotations

import csv
import importlib
import os
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

import mercer

ROOT = Path(__file__).parents[2]
REAL = Path(os.environ.get("MERCER_DATA", ROOT.parent / "shared" / "data"))
NAMES = ["learned_tables", "learned_defaults", "learned_pose", "learned_text", "learned_patches"]
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def experiments():
    """Return the modules by name."""
    more = ["labelled", "learned_sets"]
    found = {name: importlib.import_module(f"experiments.{name}") for name in [*NAMES, *more]}
    return SimpleNamespace(**found)


def two_classes(n, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), rng.integers(0, 2, n)
    X[:, 0] = 0.3 * X[:, 0] + y
    return X, y


def test_tables_compare_three_ways(experiments):
    module = experiments.learned_tables
    X, y = two_classes(240)
    data = module.standardised(X, y, np.arange(160), np.arange(160, 240))
    np.testing.assert_allclose(data.X.std(axis=0), 1, atol=1e-5)
    result = module.compare(data, seed=0)
    assert len(result.accuracies) == 3
    assert result.share <= module.SHARE
    assert result.slack in module.SLACKS
    rows = list(module.summary("made", (240, 6), [result, module.compare(data, seed=1)]))
    assert [row.method for row in rows] == list(module.METHODS)
    assert [row.share for row in rows] == [1, 1, result.share]
    assert rows[0].gain == 0
    assert rows[1].gain == pytest.approx(rows[1].accuracy - rows[0].accuracy)
    assert rows[2].gain == pytest.approx(rows[2].accuracy - rows[1].accuracy)


def test_defaults_are_compared_with_euclidean_distances(experiments):
    module = experiments.learned_defaults
    splits = []
    for seed in range(3):
        X, y = two_classes(200, seed=seed)
        tables = experiments.learned_tables
        splits.append(tables.standardised(X, y, np.arange(140), np.arange(140, 200)))
    rows = list(module.compare(module.CHOOSING, "made", splits))
    assert [row.price for row in rows] == [*module.PRICES, module.FIXED]
    assert (rows[0].rows, rows[0].features) == (200, 6)
    assert rows[-1].slack == 1
    for row in rows:
        errors, left = 1 - row.euclidean, 1 - row.accuracy
        assert row.removed == pytest.approx((errors - left) / errors)
        assert row.price in (module.FIXED, pytest.approx(row.slack * 984 / 6, rel=0.1))
    assert rows[2].removed > 0.2
    assert rows[2].p_value < 0.2


def test_the_price_whose_worst_table_is_best_is_taken(experiments):
    module = experiments.learned_defaults

    def row(part, table, price, removed):
        return module.Measurement(part, table, 9, 2, price, 0.1, 3, 0.9, 0.9, 0, removed, 1, 0)

    worst = {1.0: -0.1, 3.0: 0.2, 10.0: 0.1}
    rows = [row(module.CHOOSING, "a", price, worst.get(price, -1)) for price in module.PRICES]
    rows += [row(module.CHOOSING, "b", price, 0.5) for price in module.PRICES]
    rows += [row(module.REPORTING, "c", price, -9 if price == 3 else 9) for price in module.PRICES]
    assert module.best(rows) == 3


def test_splits_keep_the_classes(experiments):
    y = np.repeat([0, 1, 2], [70, 20, 10])
    for _, (base, asked) in experiments.learned_tables.stratified(y, 3):
        assert np.bincount(y[asked]).tolist() == [21, 6, 3]
        assert not set(base) & set(asked)


def test_joints_move_with_the_pose(experiments):
    module = experiments.learned_pose
    joints = np.zeros((3, 8))
    joints[1, ::2] = 3  # three pixels down
    joints[2] = 4 / np.sqrt(2)
    poses = module.Poses(scipy.sparse.eye_array(3, format="csr"), joints)
    found = module.errors(np.array([[1, 2]]), poses, poses[:1])
    assert found == pytest.approx([(3 + 4) / 2])


def test_edges_tell_directions_apart(experiments):
    module = experiments.learned_pose
    picture = np.zeros((module.SIDE, module.SIDE))
    picture[:, 32:] = 1
    row = module.edges(picture)
    assert row.shape == (1, 8 * (32**2 + 16**2 + 8**2))
    directions = row.indices[row.indices < 8 * 32**2] // 32**2
    assert set(directions) == {0}  # all gradients point right
    assert 2 * (row @ module.edges(picture.T).T).toarray()[0, 0] < 0.1


def test_texts_are_learned_and_updated(experiments):
    module = experiments.learned_text
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    counts = rng.poisson(0.3, size=(300, 40)) + rng.poisson(0.5, size=(300, 40)) * (
        (np.arange(40) < 4) == y[:, None]
    )
    X = scipy.sparse.csr_array(counts.astype(np.float32))
    data = experiments.labelled.Labelled(X[:200], y[:200], X[200:], y[200:])
    plain, learned = module.measure(data, (20,), (500,))
    assert plain.basis == plain.constraints == 0
    assert learned.basis == 20
    assert 400 < learned.constraints <= 500
    assert all(value > 0 for value in (learned.seconds, learned.megabytes, learned.update))


def test_false_positives_are_counted_at_95_percent(experiments):
    module = experiments.learned_patches
    same = np.repeat([True, False], [100, 200])
    distances = np.concatenate([np.arange(100), np.arange(200) + 0.5])
    assert module.false_positives(distances, same) == pytest.approx(94 / 200, abs=0.006)


def test_pairs_of_patches_are_half_true(experiments):
    made = experiments.learned_patches.Patches(np.zeros((50, 2)), np.ones((50, 2)))
    pairs, same = made.pairs(40, seed=0)
    assert (pairs[:, 1] - pairs[:, 0] == 50).tolist() == same.tolist()
    assert same.sum() == 20
    assert pairs[:, 0].max() < 50 <= pairs[:, 1].min()


def test_sets_are_searched_scanned_and_hashed(experiments, monkeypatch):
    module = experiments.learned_sets
    rng = np.random.default_rng(0)
    points = rng.random((60 * 12, 8)) * 255
    sets = mercer.Ragged(points.astype(np.uint8), np.arange(0, 721, 12), rng.random((720, 2)))
    y = np.arange(60) % 3
    pyramid = module.kernels.VocabularyPyramid.for_data(sets, branching=3, n_levels=2)
    monkeypatch.setattr(module, "with_position", lambda data: data)
    monkeypatch.setitem(module.MADE, module.PYRAMID, lambda X: pyramid)
    monkeypatch.setitem(module.MADE, module.PROXIMITY, lambda X: pyramid)
    rows = list(module.measure(module.Photos(sets[:40], y[:40], sets[40:], y[40:])))
    assert len(rows) == 3 * 2 * (1 + len(module.EPSILONS)) + 2 * len(module.EPSILONS)
    assert {row.search for row in rows if row.kernel == module.PYRAMID} == {
        module.SCAN, module.KPCA, module.WALKS,
    }  # fmt: skip
    assert [row.share for row in rows[:3]] == [1, pytest.approx(24 / 40), pytest.approx(14 / 40)]
    assert {row.metric for row in rows} == {module.PLAIN, module.LEARNED}
    assert all(0 <= row.rate <= 1 for row in rows)


def test_rates_are_means_over_classes(experiments):
    module = experiments.learned_sets
    base = module.Rows(None, np.array([0, 1]))
    asked = module.Rows(None, np.array([0, 0, 0, 1]))
    assert module.rate(np.array([[0], [0], [1], [1]]), base, asked) == pytest.approx(
        (2 / 3 + 1) / 2
    )


@pytest.mark.slow
@pytest.mark.skipif(not REAL.is_dir(), reason="needs the real data: set MERCER_DATA")
@pytest.mark.parametrize("name", NAMES)
def test_runs_on_real_data(experiments, name, tmp_path, capsys):
    if name == "learned_patches":
        pytest.importorskip("cv2")
    module = getattr(experiments, name)
    module.main(["--quick", "--output", str(tmp_path / "out")])
    with (tmp_path / "out" / f"{name}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [field.name for field in fields(module.Measurement)]
    for row in rows:
        for column in ("share", "accuracy", "recall", "fpr", "scanned", "hashed", "satisfied"):
            assert 0 <= float(row.get(column, 0)) <= 1
    assert "<svg" in (tmp_path / "out" / f"{name}.svg").read_text(encoding="utf-8")
    assert capsys.readouterr().out.splitlines()[-1].endswith(str(tmp_path / "out"))
