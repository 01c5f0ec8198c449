"""Answers as text, HTML and tables of pandas."""

from __future__ import annotations

import re
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from zoo import HISTOGRAMS

import mercer
from mercer import evaluate
from mercer.errors import MissingPackageError

FOUND = evaluate.ground_truth("chi2", HISTOGRAMS, HISTOGRAMS[:6], 7)
NAMES = np.array([f"<{row}>" for row in range(3)])


@pytest.fixture(scope="module")
def named():
    """Return answers with ids of strings and empty places; one query finds nothing."""
    index = mercer.brute("chi2").fit(HISTOGRAMS[:3]).add(HISTOGRAMS[:3], NAMES)
    with pytest.warns(mercer.EmptyIndexWarning):
        nothing = index.empty().search(HISTOGRAMS[:1], 5)
    return mercer.Matches.concatenate([index.search(HISTOGRAMS[:2], 5), nothing])


def test_few_answers_are_printed():
    lines = repr(FOUND).splitlines()
    assert lines[0] == "Matches(6 queries, k=7, 6 exact, 70 evaluations each)"
    assert len(lines) == 7
    assert lines[1].startswith("  0: 0 (1), ")
    assert lines[1].endswith(", ...")
    assert lines[1].count("(") == 5
    many = evaluate.ground_truth("chi2", HISTOGRAMS, HISTOGRAMS[:9], 7)
    assert repr(many) == "Matches(9 queries, k=7, 9 exact, 70 evaluations each)"


def test_empty_places_are_not_printed(named):
    lines = repr(named).splitlines()
    assert lines[1].startswith("  0: '<0>' (1), ")
    assert lines[1].count("(") == 3
    assert lines[3] == "  2: nothing found"


def test_notebooks_show_a_table(named):
    page = ElementTree.fromstring(f"<div>{named._repr_html_().replace('<br>', '<br/>')}</div>")
    head, *rows = [list(row) for row in page.iter("tr")]
    assert [cell.text for cell in head] == ["query", "1", "2", "3", "found", "exact"]
    assert [cell.text for cell in rows[0]][:2] == ["0", "<0>"]
    assert [cell.text for cell in rows[2]] == ["2", None, None, None, "0", "yes"]
    many = evaluate.ground_truth("chi2", HISTOGRAMS, HISTOGRAMS[:20], 2)._repr_html_()
    assert many.count("<tr>") == 1 + 8
    assert re.search(r"and 12 more queries", many)


def test_tables_of_pandas_have_one_row_for_each_item_found(named):
    pytest.importorskip("pandas")
    table = FOUND.to_pandas()
    assert list(table.columns) == ["query", "rank", "id", "score", "distance", "exact"]
    assert len(table) == 6 * 7
    np.testing.assert_array_equal(table["id"].to_numpy().reshape(6, 7), FOUND.ids)
    np.testing.assert_array_equal(table["score"].to_numpy().reshape(6, 7), FOUND.scores)
    np.testing.assert_array_equal(table["distance"].to_numpy().reshape(6, 7), FOUND.distances)
    assert table["rank"].tolist() == list(range(1, 8)) * 6
    assert table["exact"].all()
    short = named.to_pandas()
    assert short["query"].tolist() == [0, 0, 0, 1, 1, 1]
    assert set(short["id"]) == set(NAMES)
    assert len(named[2:].to_pandas()) == len(FOUND[:0].to_pandas()) == 0
    assert list(FOUND[:0].to_pandas().columns) == list(table.columns)


def test_without_pandas_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackageError, match=r"pandas is not installed.*pip install pandas"):
        FOUND.to_pandas()
    with pytest.raises(ImportError):
        FOUND.to_pandas()
