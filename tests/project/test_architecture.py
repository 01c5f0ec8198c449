"""The tree of docs/architecture.md lists exactly the files there are."""

from __future__ import annotations

import re
from pathlib import Path

import mercer

ROOT = Path(mercer.__file__).parent
PAGE = ROOT.parent / "docs" / "architecture.md"


def listed(text: str) -> set[str]:
    """Return the files that the tree names, by their folders."""
    tree = re.search(r"```text\nmercer/\n(.*?)```", text, re.DOTALL).group(1)
    found, folders = set(), []
    for line in tree.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2 - 1
        names = re.split(r"\s{2,}", line.strip())[0].split()
        for name in names:
            if name.endswith("/"):
                folders = [*folders[:depth], name]
            elif name.endswith(".py"):
                found.add("".join(folders[:depth]) + name)
    return found


def there() -> set[str]:
    """Return the files of the package; what only gathers names need not be listed."""
    paths = (path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))
    return {path for path in paths if not path.endswith("/__init__.py")}


def test_the_tree_lists_the_files_there_are():
    assert listed(PAGE.read_text()) == there()


def test_a_file_that_is_not_there_is_noticed():
    changed = PAGE.read_text().replace("  errors.py  ", "  error.py  ")
    assert listed(changed) - there() == {"error.py"}
    assert there() - listed(changed) == {"errors.py"}
