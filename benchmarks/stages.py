"""What a search spends its time on, and what each step against the memory wall gives.

SIFT as bytes, and as float32 of the same values, so that both give the same answers. First the
re-ranking of real candidates alone, then whole searches.

scripts/bench stages
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from threadpoolctl import threadpool_limits

import mercer
from benchmarks.measure import compare, table
from experiments.real_data import data_folder
from mercer import kernels
from mercer.runtime import parallel
from mercer.runtime.machine import borrow, prefetch

K = 10
BLOCK = 64  # queries a task


@numba.njit(nogil=True, error_model="numpy", fastmath={"reassoc", "arcp", "contract"})
def rank_one_by_one(Q, X, ids, out, ahead):  # type: ignore[no-untyped-def]
    """Fill out[i, j] with χ² of Q[i] and X[ids[i, j]], fetching rows `ahead` of their turn."""
    for i in range(Q.shape[0]):
        x = borrow(Q, i)
        for j in range(ids.shape[1]):
            if j + ahead < ids.shape[1]:
                prefetch(X, ids[i, j + ahead])
            y, total = borrow(X, ids[i, j]), X.dtype.type(0)
            for d in range(x.shape[0]):
                total += x[d] * y[d] / max(x[d] + y[d], X.dtype.type(1e-30))
            out[i, j] = 2 * total


def without_mercer(Q: Any, X: Any, ids: Any, ahead: int, threads: int) -> Callable[[], Any]:
    """Return a loop over candidates that an expert would write."""
    out = np.empty(ids.shape, np.float32)

    def ranked() -> Any:
        parallel.run(
            lambda span: rank_one_by_one(Q[span], X, ids[span], out[span], ahead),
            [(span,) for span in parallel.spans(len(Q), BLOCK)], n_jobs=threads,
        )  # fmt: skip
        return out

    return ranked


def scoring(kernel: Any, Q: Any, X: Any, ids: Any, threads: int) -> Callable[[], Any]:
    """Return mercer's own loop over candidates."""
    P, R = kernel.prepare(Q), kernel.prepare(X)
    return lambda: kernel.score(P, R, ids, n_jobs=threads)


@dataclass(frozen=True)
class Stages:
    """One index, asked stage after stage: every stage for all queries, on all threads."""

    index: mercer.Index
    Q: Any
    candidates: int
    effort: int
    threads: int

    def embed(self) -> Any:
        """Return the vectors of all queries.

        BLAS gets one thread, as in searches: others of its threads would go on waiting, at full
        speed, where the next stage needs the cores.
        """
        with threadpool_limits(1, user_api="blas"):
            P = self.index.kernel.prepare(self.Q)
            return self.index.embedding_.query(P, n_jobs=self.threads)

    def look_up(self, Z: Any) -> Any:
        """Return the candidates of all queries."""
        find, rows = self.index.searcher_.candidates, self.index.segments_.members[0].rows
        return np.concatenate(parallel.run(
            lambda span: find(rows, Z[span], self.candidates, effort=self.effort).rows,
            [(span,) for span in parallel.spans(len(Z), BLOCK)], n_jobs=self.threads,
        ))  # fmt: skip

    def rank(self, rows: Any) -> Any:
        """Return the best of the candidates by the kernel."""
        items = self.index.segments_.members[0].items
        scores = self.index.kernel.score(self.Q, items, rows, n_jobs=self.threads)
        best = np.argsort(-scores, axis=1)[:, :K]
        return np.take_along_axis(rows, best, 1)

    def one_after_the_other(self) -> Any:
        """Return the best rows, each stage waiting for the one before."""
        return self.rank(self.look_up(self.embed()))

    def whole(self) -> Any:
        """Return the best rows as the index finds them: blocks of queries, thread by thread."""
        return self.index.search(
            self.Q, K, candidates=self.candidates, effort=self.effort, n_jobs=self.threads
        ).ids


def descriptors(n_rows: int, n_queries: int) -> tuple[Any, Any]:
    """Return SIFT descriptors and others to ask for, as bytes."""
    folder = data_folder() / "sift"
    parts = [np.load(folder / f"sift_base_{part}.npz")["X"] for part in range(3)]
    sets = np.load(folder / "sets_query.npz")
    asked = sets["desc"][sets["sift_query_rows"]]
    rows = np.random.default_rng(0).permutation(len(asked))[:n_queries]
    return np.concatenate(parts)[:n_rows], asked[rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=748_242)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--effort", type=int, default=48)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    X, Q = descriptors(options.rows, options.queries)
    Xf, Qf = X.astype(np.float32), Q.astype(np.float32)
    small, wide = (
        Stages(
            mercer.inverted("chi2").fit(rows).add(rows), asked, options.candidates, options.effort,
            options.threads,
        )
        for rows, asked in ((X, Q), (Xf, Qf))
    )  # fmt: skip
    Z = wide.embed()
    ids = wide.look_up(Z)
    near = np.sort(ids, axis=1)
    np.testing.assert_allclose(
        without_mercer(Qf, Xf, ids, 8, options.threads)(),
        kernels.Chi2().score(Qf, Xf, ids), rtol=1e-4,
    )  # fmt: skip
    print(
        f"{len(X)} SIFT rows, chi2, {len(Q)} queries, {options.candidates} candidates, "
        f"effort {options.effort}, {options.threads} threads"
    )
    chi2 = kernels.Chi2()
    _report("re-ranking", len(Q), {
        "float32, row after row": without_mercer(Qf, Xf, ids, options.candidates, options.threads),
        "the same, fetched ahead": without_mercer(Qf, Xf, ids, 8, options.threads),
        "mercer, float32": scoring(chi2, Qf, Xf, ids, options.threads),
        "mercer, float32, ids sorted": scoring(chi2, Qf, Xf, near, options.threads),
        "mercer, bytes": scoring(chi2, Q, X, ids, options.threads),
        "mercer, bytes, ids sorted": scoring(chi2, Q, X, near, options.threads),
        "mercer, float32, all in the cache": scoring(chi2, Qf, Xf, ids % 1000, options.threads),
    })  # fmt: skip
    _report("searching", len(Q), {
        "float32, stage after stage": wide.one_after_the_other,
        "float32, blocks overlapping": wide.whole,
        "bytes, blocks overlapping": small.whole,
        "embedding alone": wide.embed,
        "looking up candidates alone": lambda: wide.look_up(Z),
        "re-ranking alone": lambda: wide.rank(ids),
    })  # fmt: skip


def _report(name: str, n: int, calls: dict[str, Callable[[], Any]]) -> None:
    times = compare(*calls.values())
    rows = [[k, 1e6 * t / n, times[0] / t] for k, t in zip(calls, times, strict=True)]
    table([name, "µs a query", "times the first"], rows)


if __name__ == "__main__":
    main()
