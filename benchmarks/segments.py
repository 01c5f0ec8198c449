"""An index that grew piece by piece, and filters: what both cost a query.

χ² on SIFT. The first table adds rows in many pieces and compares with the same index compacted; the
second asks with filters that allow fewer and fewer rows, by ids and by a mask.

scripts/bench segments
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

import numpy as np

import mercer
from benchmarks.measure import compare, table
from experiments.real_data import sift
from mercer.runtime import parallel

METHODS: dict[str, Callable[[], mercer.Index]] = {
    "inverted": lambda: mercer.inverted("chi2"),
    "graph": lambda: mercer.graph("chi2"),
    "exact": lambda: mercer.exact("chi2"),
    "klsh": lambda: mercer.klsh("chi2"),
    "kpca_pq": lambda: mercer.kpca_pq("chi2"),
}
SHARES = (0.5, 0.1, 0.01, 0.0001)
BATCHES = (1, 1000)
K = 10


def grown(make: Callable[[], mercer.Index], X: Any, n_pieces: int) -> mercer.Index:
    """Return an index that was given its rows in so many pieces."""
    index = make().fit(X)
    for piece in np.array_split(X, n_pieces):
        index.add(piece)
    return index


def asking(index: mercer.Index, Q: Any, batch: int, where: Any = None) -> Callable[[], Any]:
    """Return a search of the next queries, so many at each call, on one thread."""
    blocks = cycle([Q[span] for span in parallel.spans(len(Q), batch)])
    return lambda: index.search(next(blocks), K, where=where, n_jobs=1)


def growth(X: Any, Q: Any, names: Sequence[str], n_pieces: int, rounds: int) -> list[list[Any]]:
    """Return rows of the first table: microseconds a query, in pieces, compacted, and the ratio."""
    rows = []
    for name in names:
        pieces = grown(METHODS[name], X, n_pieces)
        whole = METHODS[name]().fit(X).add(X)
        for batch in BATCHES:
            calls = [asking(index, Q, batch) for index in (pieces, whole)]
            slow, fast = compare(*calls, rounds=rounds, at_least=0.2)
            rows.append([
                name, len(pieces.segments_.members), batch, 1e6 * slow / batch, 1e6 * fast / batch,
                slow / fast,
            ])  # fmt: skip
    return rows


def filtered(X: Any, Q: Any, names: Sequence[str], rounds: int) -> list[list[Any]]:
    """Return rows of the second table: microseconds a query, of each share and way to say it."""
    rng = np.random.default_rng(0)
    rows = []
    for name in names:
        index = METHODS[name]().fit(X).add(X)
        for batch in BATCHES:
            calls = [asking(index, Q, batch)]
            for share in SHARES:
                ids = np.sort(rng.choice(len(X), max(1, round(share * len(X))), replace=False))
                mask = np.isin(np.arange(len(X)), ids)
                calls += [asking(index, Q, batch, where) for where in (ids, mask)]
            times = compare(*calls, rounds=rounds, at_least=0.2)
            rows.append([name, batch, *(round(1e6 * t / batch) for t in times)])
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--pieces", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--methods", default=",".join(METHODS))
    asked = parser.parse_args(arguments)
    data, names = sift(asked.rows, BATCHES[-1]), asked.methods.split(",")
    print(f"{len(data.X)} rows in {asked.pieces} pieces: microseconds a query, on one thread")
    table(
        ["", "segments", "at a time", "in pieces", "compacted", "ratio"],
        growth(data.X, data.Q, names, asked.pieces, asked.rounds),
    )
    print(f"\n{len(data.X)} rows, filters by ids and by mask: microseconds a query, on one thread")
    head = [f"{share:.2%}{how}" for share in SHARES for how in ("", " mask")]
    table(["", "at a time", "all", *head], filtered(data.X, data.Q, names, asked.rounds))


if __name__ == "__main__":
    main()
