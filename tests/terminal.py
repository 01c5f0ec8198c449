"""A terminal for tests of the command line: commands run in this process, on small files."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import types
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import mercer
from mercer import cli

rng = np.random.default_rng(5)
X = rng.dirichlet(np.full(12, 0.4), size=300).astype(np.float32)
Q = rng.dirichlet(np.full(12, 0.4), size=6).astype(np.float32)
NAMES = [f"n{i}" for i in range(300)]


class Done(NamedTuple):
    status: int
    out: str
    err: str


def run(*args: Any, stdin: bytes = b"") -> Done:
    """Run a command and return its status and what it printed."""
    given = types.SimpleNamespace(buffer=io.BytesIO(stdin))
    out, err = io.StringIO(), io.StringIO()
    status = None
    with (
        mock.patch.object(sys, "stdin", given),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            cli.main([str(arg) for arg in args])
        except SystemExit as done:
            status = done.code
    return Done(status, out.getvalue(), err.getvalue())


def fill(folder: Path) -> Path:
    """Write items, queries, and an index of them with numbers and one with names."""
    np.save(folder / "items.npy", X)
    np.save(folder / "queries.npy", Q)
    index = mercer.exact("chi2", n_landmarks=60, n_components=16).fit(X)
    index.add(X).save(folder / "a.index")
    index.empty().add(X, NAMES).save(folder / "named.index")
    return folder


def csv(rows: list[list[Any]]) -> bytes:
    return "".join(",".join(map(str, row)) + "\n" for row in rows).encode()


def jsonl(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]
