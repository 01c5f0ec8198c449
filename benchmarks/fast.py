"""Inverted lists and graphs against what an expert would write with faiss for χ², in one run.

scripts/bench fast
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import faiss
import numpy as np

import mercer
from benchmarks.measure import compare, my_chi2, table
from experiments.real_data import sift
from mercer import evaluate, kernels

K = 10
Search = Callable[[], Any]


def expert(X: Any, Q: Any, threads: int) -> Callable[[int, int], Any]:
    """Return the search an expert would write: square roots, fast scan in lists, re-ranking."""
    chi2 = kernels.Chi2()
    P = chi2.prepare(X)
    faiss.omp_set_num_threads(threads)
    index = faiss.index_factory(X.shape[1], "IVF512,PQ64x4fs")
    index.by_residual = False
    index.train(np.sqrt(X[::4]))
    index.add(np.sqrt(X))

    def search(n_probe: int, candidates: int) -> Any:
        faiss.omp_set_num_threads(threads)
        index.nprobe = n_probe
        rows = index.search(np.sqrt(Q), candidates)[1]
        scores = chi2.score(Q, P, rows, n_jobs=threads)
        order = np.argsort(-scores, axis=1)[:, :K]
        return np.take_along_axis(rows, order, 1)

    return search


def built(made: mercer.Index, X: Any, name: str, threads: int) -> mercer.Index:
    start = time.perf_counter()
    made.fit(X[:5000])  # compiles a user's kernel, which is not what is measured
    middle = time.perf_counter()
    made.fit(X).add(X, n_jobs=threads)
    print(f"{name}: built in {time.perf_counter() - middle:.1f} s (first {middle - start:.1f} s)")
    return made


def contenders(X: Any, Q: Any, threads: int) -> dict[str, Search]:
    """Return a search for each line of the table."""
    searches: dict[str, Search] = {}
    by_hand = expert(X, Q, threads)
    for effort, candidates in ((24, 60), (48, 100)):
        searches[f"faiss by hand, {effort} lists, {candidates} candidates"] = (
            lambda e=effort, c=candidates: by_hand(e, c)
        )
    for name, made, settings in (
        ("inverted, chi2", mercer.inverted("chi2"), ((24, 60), (48, 80), (56, 100))),
        ("inverted, my_chi2", mercer.inverted(my_chi2), ((24, 40), (24, 60), (48, 80))),
        ("graph, my_chi2", mercer.graph(my_chi2), ((40, 40), (100, 60))),
    ):
        index = built(made, X, name, threads)
        for effort, candidates in settings:
            searches[f"{name}, effort {effort}, {candidates} candidates"] = (
                lambda i=index, e=effort, c=candidates: (
                    i.search(Q, K, candidates=c, effort=e, n_jobs=threads).ids
                )
            )
    return searches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    data = sift(options.rows, options.queries)
    searches = contenders(data.X, data.Q, options.threads)
    truth = evaluate.ground_truth("chi2", data.X, data.Q, K)
    recalls = [evaluate.recall(search(), truth) for search in searches.values()]
    times = compare(*searches.values(), rounds=options.rounds)
    print(f"{len(data.X)} SIFT rows, chi2, {len(data.Q)} queries, k={K}, {options.threads} threads")
    rows = [
        [name, f"{recall:.4f}", round(len(data.Q) / seconds)]
        for name, recall, seconds in zip(searches, recalls, times, strict=True)
    ]
    table(["search", "recall@10", "queries/s"], rows)


if __name__ == "__main__":
    main()
