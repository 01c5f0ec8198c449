"""Every label of the theory resolves, and every letter of a paper."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "theory").glob("*.md"))
SOURCES = [
    path
    for folder in ("mercer", "tests", "experiments", "benchmarks", "docs")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".md") and path.name != Path(__file__).name
]
LABEL = re.compile(r"theory: ([a-z][a-z-]*[a-z])")
DEFINED = re.compile(r"^\(theory-([a-z-]+)\)=$", re.MULTILINE)
PAPER = re.compile(r"\b([KREPM]) (?:eq\.|§|section \d|Table \d|Fig\.|appendix|Theorem)")


def defined() -> list[str]:
    return [label for page in PAGES for label in DEFINED.findall(page.read_text())]


def test_labels_are_defined_once():
    assert len(set(defined())) == len(defined())
    assert len(defined()) > 25


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_labels_and_letters_resolve(path):
    text = path.read_text(encoding="utf-8")
    assert set(LABEL.findall(text)) <= set(defined())
    papers = (ROOT / "docs" / "theory" / "papers.md").read_text()
    for letter in set(PAPER.findall(text)):
        assert f"| {letter} | " in papers


def test_every_section_is_labelled():
    for page in PAGES:
        if page.stem not in ("index", "papers"):
            assert len(DEFINED.findall(page.read_text())) == page.read_text().count("\n## ")


def test_there_is_a_path_from_an_answer_to_its_proof():
    """Matches.exact, the page of exact search, the certificate."""
    from mercer import Matches

    assert "theory: settling" in Matches.__doc__
    assert "theory/certificate.md" in (ROOT / "docs" / "exact.md").read_text()


def test_nothing_refers_to_what_is_not_here():
    for path in SOURCES:
        assert "PROOFS" not in path.read_text(encoding="utf-8")
        assert not re.search(r"METHODS( §|\.md)", path.read_text(encoding="utf-8"))
