"""What is promised on any data: a recall that is kept, warnings, proofs that cost nothing.

Every pair of data and kernel in `benchmarks.cases`; fresh queries, other data for every seed.

scripts/bench promise --part auto        one index a trial, asked for .90, .95 and .99
scripts/bench promise --part defaults    every method with its defaults: recall, and the warning
scripts/bench promise --part exact       proofs against comparing everything
scripts/bench promise --read a.csv b.csv   the table of what was measured before
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from benchmarks.cases import CASES, Case
from benchmarks.measure import table
from mercer.errors import MercerError, RecallWarning
from mercer.evaluate import ground_truth, recall
from mercer.runtime import parallel

TARGETS = (0.90, 0.95, 0.99)
METHODS = ("inverted", "graph", "klsh", "kpca_lsh", "rmmh", "fourier", "kpca_pq")
EFFORTS = {"inverted": (1, 2, 4, 8, 16, 32, 64, 128), "graph": (16, 32, 64, 128, 256, 512)}
COUNTS = (20, 50, 100, 200, 500, 1000)  # candidates of the grid made by hand
K = 10
LONG = 0.5  # seconds of a call that need not be timed again

Row = dict[str, Any]


def seconds_of(call: Callable[[], Any], turns: int = 3) -> float:
    """Return the least time of a call, after one that does not count unless it takes long."""
    started = time.perf_counter()
    call()
    once = time.perf_counter() - started
    if once > LONG:
        return once
    times = []
    for _ in range(turns):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times)


# ---- one index, three targets


def auto_rows(case: Case, seed: int, grid: bool) -> Iterator[Row]:
    X, Q, kernel = case.data(seed)
    truth = ground_truth(kernel, X, Q, K)
    index = mercer.auto(kernel, recall=TARGETS[1], k=K, seed=seed).fit(X)
    started = time.perf_counter()
    index.add(X)
    whole = time.perf_counter() - started
    told = index.explain()
    [taken] = [one for one in told.tried if one.method == told.taken]
    best = best_by_hand(X, Q, kernel, truth) if grid else {}
    for target in TARGETS:
        found = index.search(Q, K, recall=target)
        spent = seconds_of(lambda target=target: index.search(Q, K, recall=target)) / len(found)
        yield {
            "case": case.name,
            "reported": case.reported,
            "seed": seed,
            "target": target,
            "taken": told.taken,
            "recall": recall(found, truth),
            "evaluations": float(found.evaluations.mean()),
            "queries/s": 1 / spent,
            "best by hand": best.get(target, ("", None))[0],
            "best queries/s": best.get(target, ("", None))[1],
            "build s": taken.build_seconds,
            "tuning s": max(0.0, whole - taken.build_seconds),
        }


def best_by_hand(X: Any, Q: Any, kernel: Any, truth: Any) -> dict[float, tuple[str, float]]:
    """Return the fastest settings that reach each target, of a grid: name and queries/s."""
    tried: list[tuple[str, float, float]] = []
    for name, index, options in grid_of(X, kernel):
        found = index.search(Q, K, **options)
        spent = seconds_of(lambda i=index, o=options: i.search(Q, K, **o), 2)
        tried.append((name, recall(found, truth), len(Q) / spent))
    found_best = {}
    for target in TARGETS:
        good = [(speed, name) for name, share, speed in tried if share >= target]
        speed, name = max(good)
        found_best[target] = name, speed
    return found_best


def grid_of(X: Any, kernel: Any) -> Iterator[tuple[str, Any, dict[str, int]]]:
    """Yield names, indexes and options of searches."""
    yield "brute", mercer.brute(kernel).fit(X).add(X), {}
    if mercer.kernels.get(kernel).psd:
        yield "exact", mercer.exact(kernel).fit(X).add(X), {}
    for name, efforts in EFFORTS.items():
        index = getattr(mercer, name)(kernel).fit(X, measure=False).add(X)
        for effort in efforts:
            for count in COUNTS:
                yield f"{name} {effort}/{count}", index, {"effort": effort, "candidates": count}


# ---- defaults


def default_rows(case: Case, seed: int, grid: bool) -> Iterator[Row]:
    X, Q, kernel = case.data(seed)
    truth = ground_truth(kernel, X, Q, K)
    for method in METHODS:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                index = getattr(mercer, method)(kernel, seed=seed).fit(X).add(X)
                found = index.search(Q, K)
            except MercerError as error:
                yield {"case": case.name, "method": method, "refused": str(error)}
                continue
        yield {
            "case": case.name,
            "reported": case.reported,
            "seed": seed,
            "method": method,
            "recall": recall(found, truth),
            "expected": found.recall,
            "warned": any(issubclass(one.category, RecallWarning) for one in said),
            "evaluations": float(found.evaluations.mean()),
        }


# ---- proofs


def exact_rows(case: Case, seed: int, grid: bool) -> Iterator[Row]:
    X, Q, kernel = case.data(seed)
    if not mercer.kernels.get(kernel).psd:
        return
    brute = mercer.brute(kernel).fit(X).add(X)
    exact = mercer.exact(kernel, seed=seed).fit(X).add(X)
    found = exact.search(Q, K)
    turns = [
        (seconds_of(lambda: brute.search(Q, K), 1), seconds_of(lambda: exact.search(Q, K), 1))
        for _ in range(5)
    ]
    slow, fast = np.median(turns, axis=0)
    alone = seconds_of(lambda: exact.search(Q, K, n_jobs=1))
    yield {
        "case": case.name,
        "reported": case.reported,
        "seed": seed,
        "parts": seconds_of_parts(exact, Q, found) / alone,
        "brute q/s": len(found) / slow,
        "exact q/s": len(found) / fast,
        "times": slow / fast,
        "share evaluated": float(found.evaluations.mean()) / len(exact),
        "proven": float(found.exact.mean()),
        "manner": exact.info().get("manner", ""),
    }


def seconds_of_parts(index: Any, Q: Any, found: Any) -> float:
    """Return what embedding, bounds and kernel values take by themselves, on one thread."""
    kernel, [segment] = index.kernel_, index.segments_.members
    P = kernel.prepare(Q)
    Zq = index.embedding_.query(P, n_jobs=1)
    floors = np.full(len(Zq), np.inf, np.float32)
    n = max(1, round(float(found.evaluations.mean())))
    rows = np.random.default_rng(0).integers(len(segment), size=(len(P), n))

    def bounds() -> None:
        for span in parallel.spans(len(Zq), 256):
            index.searcher_.reaching(segment.rows, Zq[span], floors[span])

    return (
        seconds_of(lambda: index.embedding_.query(P, n_jobs=1))
        + seconds_of(bounds)
        + seconds_of(lambda: kernel.score(P, segment.items, rows, n_jobs=1))
    )


PARTS: dict[str, Callable[[Case, int, bool], Iterator[Row]]] = {
    "auto": auto_rows,
    "defaults": default_rows,
    "exact": exact_rows,
}


# ---- tables


def summary_of_auto(rows: list[Row]) -> None:
    """Print how often each target was met, and the speed beside the best of the grid."""
    printed = []
    for name in dict.fromkeys(row["case"] for row in rows):
        mine = [row for row in rows if row["case"] == name]
        cells: list[Any] = [name, "reported" if mine[0]["reported"] else ""]
        cells.append("/".join(sorted({row["taken"] for row in mine})))
        for target in TARGETS:
            some = [row for row in mine if row["target"] == target]
            met = sum(row["recall"] >= target for row in some)
            cells.append(f"{met}/{len(some)} ({min(row['recall'] for row in some):.3f})")
        ratios = [r["best queries/s"] / r["queries/s"] for r in mine if r.get("best queries/s")]
        cells.append(" ".join(f"{ratio:.2f}" for ratio in ratios))
        cells.append(max(row["tuning s"] for row in mine))
        printed.append(cells)
    table(["", "", "taken", *(f"{t:.2f}" for t in TARGETS), "best/ours", "tuning s"], printed)
    met = [row["recall"] >= row["target"] for row in rows]
    print(f"met in {sum(met)} of {len(met)} trials")


def summary_of_defaults(rows: list[Row]) -> None:
    """Print the recall of every method; `!` marks a warning."""
    printed = []
    for name in dict.fromkeys(row["case"] for row in rows):
        cells = [name]
        for method in METHODS:
            some = [r for r in rows if r["case"] == name and r["method"] == method]
            cells.append(" ".join("refused" if "refused" in r else _told(r) for r in some))
        printed.append(cells)
    table(["", *METHODS], printed)
    good = [row for row in rows if "refused" not in row]
    silent = [row for row in good if row["recall"] < 0.88 and not row["warned"]]
    false = [row for row in good if row["recall"] > 0.93 and row["warned"]]
    print(f"{len(good)} trials: {len(silent)} below .88 without a warning, {len(false)} above .93 "
          "with one")  # fmt: skip


def _told(row: Row) -> str:
    return f"{row['recall']:.2f}" + ("!" if row["warned"] else "")


def summary_of_exact(rows: list[Row]) -> None:
    """Print proofs against brute force."""
    names = ["case", "brute q/s", "exact q/s", "times", "share evaluated", "parts", "manner"]
    table(names, [[row[name] for name in names] for row in rows])
    slower = [row for row in rows if row["times"] < 0.9]
    print(f"{len(rows)} trials, {len(slower)} below 0.9 times brute force")


SUMMARIES = {
    "auto": summary_of_auto,
    "defaults": summary_of_defaults,
    "exact": summary_of_exact,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=list(PARTS), default="auto")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--half", choices=["all", "chosen", "reported"], default="all")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--grid", action="store_true", help="also the grid made by hand, seed 0")
    parser.add_argument("--output", type=Path, help="a csv file of all rows")
    parser.add_argument("--read", type=Path, nargs="+", help="files of rows, instead of measuring")
    asked = parser.parse_args(arguments)
    if asked.read:
        SUMMARIES[asked.part]([row for path in asked.read for row in read(path)])
        return
    cases = [c for c in CASES.values() if asked.only in c.name]
    if asked.half != "all":
        cases = [case for case in cases if case.reported == (asked.half == "reported")]
    rows: list[Row] = []
    for case in cases:
        for seed in range(asked.first_seed, asked.first_seed + asked.seeds):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                grid = asked.grid and seed == asked.first_seed
                rows += PARTS[asked.part](case, seed, grid)
            if asked.output:
                write(asked.output, rows)
    SUMMARIES[asked.part](rows)


def write(path: Path, rows: list[Row]) -> None:
    """Write all rows; what was measured is kept even if the next trial fails."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)


def read(path: Path) -> list[Row]:
    """Return the rows that `write` wrote."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [{name: _value(text) for name, text in row.items() if text != ""} for row in rows]


def _value(text: str) -> Any:
    if text in ("True", "False"):
        return text == "True"
    try:
        return float(text)
    except ValueError:
        return text


if __name__ == "__main__":
    main()
