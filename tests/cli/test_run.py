"""The command line where the system is hostile: closed streams, other encodings, no memory."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import terminal

import mercer
from mercer.cli import commands

RUN = [sys.executable, "-m", "mercer"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = terminal.fill(tmp_path_factory.mktemp("items"))
    X = np.eye(3, dtype=np.float32)
    mercer.brute("linear").fit(X).add(X, ids=["ä", "β", "日本"]).save(folder / "greek.index")
    np.save(folder / "three.npy", X)
    return folder


def told(folder, *args, shell="", **options):
    """Run a command in a shell, with something done to its streams; return status and errors."""
    line = " ".join([*RUN, *args, shell])
    done = subprocess.run(line, shell=True, cwd=folder, capture_output=True, text=True, **options)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def test_closed_standard_input(place):
    status, _, err = told(place, "search", "a.index", "-", shell="<&-")
    assert status == 2
    assert "standard input is closed" in err


def test_closed_standard_output(place):
    status, _, err = told(place, "search", "a.index", "queries.npy", shell=">&-")
    assert status == 2
    assert "standard output is closed" in err
    assert told(place, "info", "a.index", shell=">&-")[0] == 0


def test_output_that_cannot_be_written(place):
    ascii_only = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    for form in ("table", "jsonl"):
        status, _, err = told(place, "search", "greek.index", "three.npy", "--format", form,
                              env=ascii_only)  # fmt: skip
        assert status == 2
        assert "cannot be written as ascii" in err
        assert "--output" in err
    status, _, err = told(place, "search", "greek.index", "three.npy", "--output", "out.jsonl",
                          "--format", "jsonl", env=ascii_only)  # fmt: skip
    assert (status, err) == (0, "")
    assert "日本" in (place / "out.jsonl").read_text(encoding="utf-8")


def test_very_many_items_are_all_of_them(place):
    status, out, _ = told(place, "search", "greek.index", "three.npy", "-k", str(10**30))
    assert status == 0
    assert out.count("日本") == 3


def test_no_memory_is_one_line(monkeypatch):
    def greedy(args):
        raise MemoryError("Unable to allocate 75.0 GiB")

    monkeypatch.setattr(commands, "call", greedy)
    done = terminal.run("info", "a.index")
    assert done.status == 2
    assert done.err == (
        "mercer: there is not enough memory (Unable to allocate 75.0 GiB). Ask for less.\n"
    )


INTERRUPTS = """
import os, signal, sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
from mercer.cli import main
main(["info", "a.index", "--import", "pip"])
"""


@pytest.mark.parametrize("name", ["mercer.cli.run", "numba", "mercer.index.searching", "pip"])
def test_interrupts_at_any_time_are_one_line(place, name):
    code = INTERRUPTS.format(name=name)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=place, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "mercer: interrupted\n")
