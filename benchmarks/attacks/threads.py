"""Eight searching threads beside one that adds, removes and compacts."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

from benchmarks.attacks.base import METHODS, Outcome, Q, X
from mercer import kernels

SEARCHERS = 8
STAY = 30  # items that are always there
VALUES = kernels.Chi2()(Q, X, dtype=np.float64)


def attack(seconds: float) -> Outcome:
    """Count answers whose ids do not have the scores of their items, and exceptions."""
    outcome = Outcome("threads")
    for method in ("exact", "brute", "inverted", "klsh"):
        index = METHODS[method]().fit(X).add(_items(np.arange(200)), ids=np.arange(200))
        until = time.perf_counter() + seconds / 4
        threads = [
            threading.Thread(target=_search, args=(index, method, until, outcome))
            for _ in range(SEARCHERS)
        ]
        for thread in threads:
            thread.start()
        _change(index, until)
        for thread in threads:
            thread.join()
    return outcome


def _items(ids: Any) -> Any:
    return X[ids % len(X)]


def _search(index: Any, method: str, until: float, outcome: Outcome) -> None:
    while time.perf_counter() < until:
        try:
            found = index.search(Q, 5, n_jobs=1)
            there = found.ids >= 0
            expected = np.take_along_axis(VALUES, found.ids % len(X), 1)
            wrong = (np.abs(found.scores - expected) > 1e-5) & there
            missing = method in ("exact", "brute") and not there.all()
            bad = bool(wrong.any() or missing)
            outcome.count(1, int(bad), f"{method}: other scores than those of its ids")
        except Exception as error:
            outcome.count(1, 1, f"{method}: {type(error).__name__}: {error}")


def _change(index: Any, until: float) -> None:
    rng, new = np.random.default_rng(0), 1000
    while time.perf_counter() < until:
        ids = np.arange(new, new + int(rng.integers(1, 40)))
        new += len(ids)
        index.add(_items(ids), ids=ids)
        extra = index.ids[index.ids >= STAY]
        index.remove(rng.choice(extra, min(len(extra) - 20, int(rng.integers(1, 40))), False))
        if rng.random() < 0.1:
            index.compact()
