"""Several processes that load, add and save the same folder: nothing is lost without a word."""

from __future__ import annotations

import multiprocessing
import tempfile
from pathlib import Path
from typing import Any

import mercer
from benchmarks.attacks.base import Outcome, X, trials

WRITERS = 4


def attack(seconds: float) -> Outcome:
    """Count items that were saved, as a writer was told, and are not there."""
    outcome = Outcome("writers")
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as place, context.Pool(WRITERS) as pool:
        for number, _ in enumerate(trials(seconds)):
            folder = Path(place) / str(number)
            mercer.brute("chi2").fit(X).add(X[:20]).save(folder)
            told = pool.starmap(_add, [(str(folder), 100 + i) for i in range(WRITERS)])
            there = set(mercer.load(folder).ids.tolist())
            wanted = {*range(20), *(one for one, _ in told if one is not None)}
            strange = [text for one, text in told if one is None and "sav" not in text]
            outcome.count(WRITERS, len(wanted ^ there) + len(strange), str(strange or told))
    return outcome


def _add(folder: str, name: int) -> tuple[Any, str]:
    try:
        mercer.load(folder).add(X[:1], ids=[name]).save(folder)
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"
    return name, ""
