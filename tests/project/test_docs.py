"""The code in the documentation runs, and prints what the documentation says."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import mercer
from mercer.kernels import registry
from mercer.kernels.registry import ALIASES, NAMES

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
# a block of Python and, right after it, perhaps a block of what it prints
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```$(?:\s*^```text\n(?P<printed>.*?)^```$)?", re.M | re.S
)


# commands and, right after each, what it prints
CONSOLE = re.compile(r"^```console\n(?P<lines>.*?)^```$", re.M | re.S)


class Block(NamedTuple):
    line: int  # how many lines stand before the code
    code: str
    printed: str | None


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    return [
        Block(text.count("\n", 0, found.start("code")), found["code"], found["printed"])
        for found in BLOCK.finditer(text)
    ]


def commands_of(page: Path) -> list[tuple[int, str, str]]:
    """Return the commands whose output is shown: line, command and what it prints."""
    text, found = page.read_text(encoding="utf-8"), []
    for block in CONSOLE.finditer(text):
        line = text.count("\n", 0, block.start("lines"))
        for one in block["lines"].split("$ ")[1:]:
            command, _, printed = one.partition("\n")
            found += [(line, command, printed)] if printed.strip() else []
    return found


def run_command(command: str) -> str:
    """Run a command of this environment, and return what it printed."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=True,
        env={**os.environ, "PATH": path},
    )  # fmt: skip
    return done.stdout.strip()


def run(block: Block, page: Path, namespace: dict[str, Any]) -> str:
    """Run one block, with the line numbers of its page, and return what it printed."""
    code = compile("\n" * block.line + block.code, str(page), "exec", dont_inherit=True)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, namespace)
    return printed.getvalue().strip()


def agrees(printed: str, expected: str) -> bool:
    """Whether both are the same, ``...`` standing for anything."""
    pattern = ".*".join(re.escape(part) for part in expected.strip().split("..."))
    return re.fullmatch(pattern, printed, re.S) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # names registered by a page end with it
    monkeypatch.setattr(registry, "_registered", {})
    module = types.ModuleType(page.stem)  # so that what a page defines can be pickled
    monkeypatch.setitem(sys.modules, page.stem, module)
    namespace = vars(module)
    commands = commands_of(page)
    for block in blocks_of(page):
        while commands and commands[0][0] < block.line:
            check_command(page, *commands.pop(0))
        printed = run(block, page, namespace)
        if block.printed is not None and not agrees(printed, block.printed):
            pytest.fail(f"{page.name}:{block.line} printed\n{printed}\nnot\n{block.printed}")
    for command in commands:
        check_command(page, *command)


def check_command(page: Path, line: int, command: str, expected: str) -> None:
    printed = run_command(command)
    if not agrees(printed, expected):
        pytest.fail(f"{page.name}:{line}: {command} printed\n{printed}\nnot\n{expected}")


@pytest.mark.parametrize("cls", NAMES.values(), ids=lambda cls: cls.__name__)
def test_every_kernel_is_described(cls):
    text = (ROOT / "docs" / "kernels.md").read_text(encoding="utf-8")
    names = [name for name, found in NAMES.items() if found is cls]
    names += [alias for alias, name in ALIASES.items() if name in names]
    assert cls.__name__ in mercer.kernels.__all__
    assert [name for name in (cls.__name__, *names) if f"`{name}`" not in text] == []


@pytest.mark.parametrize("name", ["items", "kernels"])  # the others list their names themselves
def test_every_public_name_is_in_the_reference(name):
    section = (ROOT / "docs" / "api" / f"{name}.md").read_text(encoding="utf-8")
    public = set(getattr(mercer, name).__all__) - {"Ragged"}  # of mercer itself
    assert [word for word in sorted(public) if not re.search(rf"\b{word}\b", section)] == []
