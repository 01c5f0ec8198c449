"""Words and phrases that a native technical writer would not use do not come back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
AVOIDED = (
    r"\bdear(er|est)?\b", r"\bof now\b", "the kernel likes", "nothing is known of", "strangers",
    "source of all chance", "rest on your word", "is content with", "whoever else", "nobody asks",
    "nothing tells when", "how hard to look", "at least so much",
)  # fmt: skip
TEXTS = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
TEXTS += sorted((ROOT / "docs").glob("*.md")) + sorted((ROOT / "docs" / "theory").glob("*.md"))
for _folder in ("mercer", "experiments", "benchmarks", "scripts"):
    TEXTS += sorted((ROOT / _folder).rglob("*.py"))


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_phrases_to_avoid(path):
    text = path.read_text(encoding="utf-8")
    for phrase in AVOIDED:
        assert not re.search(phrase, text, re.IGNORECASE), phrase
