"""What the command line says when it cannot, its help, and the reference made from that."""

from __future__ import annotations

import re
import runpy
import warnings
from pathlib import Path

import pytest
import terminal
from terminal import run

import mercer
from mercer import cli
from mercer.cli import answers, commands

ROOT = Path(__file__).parents[2]
COMMANDS = [command.callback.__name__ for command in commands.app.registered_commands]
SEARCH = ["search", "a.index", "queries.npy"]
BUILD = ["build", "items.npy", "b.index"]
ERRORS = {
    "no such command": (["serach"], "No such command 'serach'"),
    "no argument": (["search"], "Missing argument 'INDEX'. See mercer search --help."),
    "no such option": ([*SEARCH, "--nope"], "No such option: --nope"),
    "k is a word": ([*SEARCH, "-k", "ten"], "Invalid value for '-k'"),
    "k is zero": ([*SEARCH, "-k", "0"], "k is 0. Pass an integer of at least 1"),
    "no form": ([*SEARCH, "--format", "xml"], "Invalid value for '--format'"),
    "arrays to the terminal": ([*SEARCH, "--format", "npz"], "Pass --output FILE"),
    "no threads": ([*SEARCH, "--threads", "0"], "n_jobs is 0"),
    "no queries": (["search", "a.index", "no.npy"], "no.npy: No such file or directory"),
    "no index": (["search", "no.index", "queries.npy"], "no.index"),
    "no index here": (["info", "."], "not an index"),
    "a file": (["verify", "items.npy"], "items.npy"),
    "no place": ([*SEARCH, "--output", "no/such/place"], "there is no folder no/such"),
    "other width": (["search", "a.index", "-"], "2 features"),
    "standard input twice": (["search", "a.index", "-", "--where", "-"], "can be read once"),
    "no score": (["within", "a.index", "queries.npy"], "Missing option '--score'"),
    "score is nan": (["within", "a.index", "queries.npy", "--score", "nan"], "score is nan"),
    "no kernel": (BUILD, "Missing option '--kernel'"),
    "unknown kernel": ([*BUILD, "--kernel", "chi"], "no kernel is called 'chi'. Did you mean"),
    "no parameter": ([*BUILD, "--kernel", "chi2", "--param", "gamma=1"], "no parameter 'gamma'"),
    "bad parameter": ([*BUILD, "--kernel", "rbf", "--param", "gamma=-1"], "gamma is -1"),
    "no number": ([*BUILD, "--kernel", "rbf", "--param", "gamma=x"], "--param gamma=x: a name and"),
    "no name": ([*BUILD, "--kernel", "rbf", "--param", "0.5"], "such as gamma=0.5"),
    "no such method": (
        [*BUILD, "--kernel", "chi2", "--method", "best"],
        "methods are auto, brute, exact",
    ),
    "no such setting": (
        [*BUILD, "--kernel", "chi2", "--set", "n_bits=8"],
        "the settings of auto are recall, k, memory",
    ),
    "no landmarks": (
        [*BUILD, "--kernel", "chi2", "--method", "exact", "--set", "n_landmarks=0"],
        "n_landmarks is 0",
    ),
    "two aims": ([*BUILD, "--kernel", "chi2", "--proof", "--recall", "0.9"], "Leave out --recall"),
    "aim and method": (
        [*BUILD, "--kernel", "chi2", "--proof", "--method", "klsh"],
        "--method klsh names one",
    ),
    "no recall": ([*BUILD, "--kernel", "chi2", "--recall", "0"], "recall is 0.0"),
    "no way": (
        [*BUILD, "--kernel", "chi2", "--method", "exact", "--set", "landmarks=best"],
        "random, kmeans++",
    ),
    "not an index": (["build", "items.npy", ".", "--kernel", "chi2", "--replace"], "not an index"),
    "index exists": (["build", "items.npy", "a.index", "--kernel", "chi2"], "--replace"),
    "two sources of ids": (
        ["build", "-", "b.index", "--kernel", "chi2", "--ids", "ids.npy", "--id-column", "1"],
        "both give ids",
    ),
    "unknown file": (["build", "items.doc", "b.index", "--kernel", "chi2"], ".doc is unknown"),
    "id twice": (["remove", "a.index", "5", "5"], "given twice"),
    "no id": (["remove", "a.index"], "pass either ids, or a file"),
    "unknown id": (["remove", "a.index", "5", "300"], "300"),
    "other items": (["evaluate", "a.index", "queries.npy", "queries.npy"], "has 6 items but"),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Items, queries and two indexes, which no test changes."""
    return terminal.fill(tmp_path_factory.mktemp("cli"))


@pytest.fixture(autouse=True)
def _inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_one_line(case):
    args, text = ERRORS[case]
    done = run(*args, stdin=b"0.5,0.5\n")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("mercer: ")
    assert done.err.endswith("\n")
    assert done.err.count("\n") == 1
    assert text in done.err
    assert not Path("b.index").exists()


def test_interrupts_have_their_own_status(monkeypatch):
    def interrupt(path):
        raise KeyboardInterrupt

    monkeypatch.setattr(mercer, "load", interrupt)
    done = run("info", "a.index")
    assert (done.status, done.err) == (130, "mercer: interrupted\n")


def test_faults_of_the_program_keep_their_traceback(monkeypatch):
    def fail(path):
        raise RuntimeError("a bug")

    monkeypatch.setattr(mercer, "load", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        cli.main(["info", "a.index"])


def test_disproofs_are_one_line(monkeypatch):
    warned = mercer.CertificateWarning("no answer is certified")
    monkeypatch.setattr(
        answers, "print_facts", lambda facts, as_json: warnings.warn(warned, stacklevel=1)
    )
    assert run("info", "a.index").err == "mercer: warning: no answer is certified\n"


# ---- documentation


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example_and_plain_help(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("FORCE_COLOR", "1")
    text = run(name, "--help").out
    assert f"Examples:\n    mercer {name}" in text
    assert max(map(len, text.splitlines())) <= commands.WIDTH
    assert "\x1b" not in text


def words(text):
    """Leave out line breaks, and what versions of typer write differently."""
    return re.sub(r"<[\w\[\]]+>|\[required\]|[{}\[\]]|\.\.\.", "", text).split()


def test_reference_is_up_to_date(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    written = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    page = runpy.run_path(str(ROOT / "docs" / "cli_reference.py"))["page"]()
    assert words(page) == words(written), "docs/cli.md is old. Write it again: scripts/cli_docs"
