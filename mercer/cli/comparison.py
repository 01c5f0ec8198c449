"""Compare an index with brute force."""

import time
from collections.abc import Callable
from typing import Any

from mercer import evaluate
from mercer.index import Index


def compare(
    index: Index, X: Any, Q: Any, k: int, candidates: int | None, threads: int | None
) -> dict[str, Any]:
    """Return recall, work and speed of an index, and the speed of brute force, by name."""
    found, seconds = _timed(
        lambda some: index.search(some, k, candidates=candidates, n_jobs=threads), Q
    )
    truth, brute_seconds = _timed(
        lambda some: evaluate.ground_truth(index.kernel, X, some, k, n_jobs=threads), Q
    )
    return {
        f"recall@{k}": evaluate.recall(found, truth),
        "exact": float(found.exact.mean()),
        "evaluations": float(found.evaluations.mean()),
        "evaluations / items": float(found.evaluations.mean() / len(index)),
        "queries": len(found),
        "queries per second": round(len(found) / seconds, 1),
        "brute force per second": round(len(found) / brute_seconds, 1),
    }


def _timed(search: Callable[[Any], Any], Q: Any) -> tuple[Any, float]:
    search(Q[:1])  # compiled loops are loaded at the first call
    start = time.perf_counter()
    return search(Q), time.perf_counter() - start
