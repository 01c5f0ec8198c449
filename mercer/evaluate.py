"""Truth by brute force, and how much of it an answer contains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mercer import items, kernels, parallel, progress, topk
from mercer.arrays import Array, Ids
from mercer.errors import InputError
from mercer.index import Index
from mercer.kernels import Kernel, Prepared
from mercer.matches import Matches
from mercer.params import check_count

__all__ = ["ground_truth", "recall", "recall_at"]

BLOCK_BYTES = 1 << 26  # items read and compared in one go, at most
BLOCK_PAIRS = 100_000_000  # pairs compared before the progress bar moves
SPARE = 16  # items kept beyond k, so that double precision can settle what float32 left close
RESCORED_ROWS = 1 << 16  # items scored again in one go
TASKS_PER_THREAD = 4  # so that no thread waits long for the last one
LEAST_QUERIES = 32  # compared together: fewer would read the items too often
TILE = (256, 1024)  # queries and items compared before the best are kept: they fit in the cache
TIE = 1e-6  # scores closer than this, relatively, are equal


def ground_truth(
    kernel: str | Kernel,
    X: Any,
    Q: Any,
    k: int,
    *,
    n_jobs: int | None = None,
    show_progress: bool | None = None,
) -> Matches:
    """Find the k most similar items of every query by comparing all pairs.

    Items are read block by block, so memory-mapped arrays stay on disk. All pairs are compared in
    float32, and the best of them once more in double precision.

    Parameters
    ----------
    kernel : str or Kernel
        The similarity.
    X : items
        What is searched.
    Q : items
        The queries.
    k : int
        How many items to find for each. Where X has fewer, the rest is -1.
    n_jobs : int, optional
        How many threads; see `mercer.parallel.count`.
    show_progress : bool, optional
        Whether to show a progress bar; by default on terminals, for work of over a second.

    Returns
    -------
    Matches
        Best first; among equal scores the smaller row comes first.

    Examples
    --------
    >>> import mercer
    >>> X = [[0.5, 0.5], [1.0, 0.0], [0.2, 0.8]]
    >>> mercer.evaluate.ground_truth("chi2", X, [[0.4, 0.6]], k=2).ids
    array([[0, 2]])
    """
    kernel = kernels.get(kernel)
    X = X if isinstance(X, Prepared) else items.rows_of(X, "ground_truth")
    P = kernel.prepare(Q, where="ground_truth (queries)")
    n_items = items.length(X)
    check_count("ground_truth", "k", k)
    kept = min(k + SPARE, n_items)
    ids = _scan(kernel, X, P, kept, n_jobs, show_progress)
    return _rescored(kernel, X, P, ids, k, n_items)


def recall(found: Matches | npt.ArrayLike, truth: Matches, k: int | None = None) -> float:
    """Return the share of the true k best that was found, averaged over the queries.

    Parameters
    ----------
    found : Matches or array_like of int, shape (n_queries, R)
        An answer with R items a query. Of `Matches`, every item counts that scores at least as
        the k-th true one, up to rounding; of plain ids, those that are among the true k.
    truth : Matches
        The answer of `ground_truth`, with at least k items a query.
    k : int, optional
        How many of the true items to look for; all of them by default.

    Returns
    -------
    float
        Between 0 and 1. With k = 1 it is the papers' recall@R.

    Examples
    --------
    >>> import mercer
    >>> X = [[1.0], [2.0], [3.0]]
    >>> truth = mercer.evaluate.ground_truth("linear", X, [[1.0]], k=2)
    >>> mercer.evaluate.recall([[2, 0]], truth)
    0.5
    """
    k = truth.ids.shape[1] if k is None else k
    check_count("recall", "k", k)
    if k > truth.ids.shape[1]:
        raise InputError(
            f"recall: k is {k} but the truth has {truth.ids.shape[1]} items a query. "
            "Compute the truth with a larger k."
        )
    ids = found.ids if isinstance(found, Matches) else np.asarray(found)
    plain = not isinstance(found, Matches)
    if ids.ndim != 2 or len(ids) != len(truth) or (plain and ids.dtype.kind not in "iu"):
        raise InputError(
            f"recall: found has shape {ids.shape} and type {ids.dtype} but the truth has "
            f"{len(truth)} queries. Pass one row of ids per query."
        )
    if isinstance(found, Matches):
        _require_same_kernel(found, truth)
        hits = found.scores >= _floor(truth, k)[:, None]
    else:
        hits = (ids[:, :, None] == truth.ids[:, None, :k]).any(axis=2)
    possible = (truth.ids[:, :k] != -1).sum(axis=1)
    counts = [len(set(row[hit].tolist()) - {-1, None}) for row, hit in zip(ids, hits, strict=True)]
    return float(np.mean(np.minimum(counts, possible) / np.maximum(possible, 1)))


def recall_at(
    index: Index, Q: Any, truth: Matches, counts: Sequence[int] = (1, 10, 100, 1000), *,
    n_jobs: int | None = None,
) -> dict[int, float]:  # fmt: skip
    """Return the papers' recall@R: how often the nearest item is among the first R candidates.

    Parameters
    ----------
    index : Index
        The index whose candidates are measured, before the kernel ranks them.
    Q : items
        The queries.
    truth : Matches
        The answer of `ground_truth` to them.
    counts : sequence of int
        Which R to tell it for.
    n_jobs : int, optional
        How many threads; see `mercer.parallel.count`.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).dirichlet(np.ones(16), size=500)
    >>> index = mercer.klsh("chi2", n_bits=64).fit(X[50:]).add(X[50:])
    >>> truth = mercer.evaluate.ground_truth("chi2", X[50:], X[:50], k=1)
    >>> found = mercer.evaluate.recall_at(index, X[:50], truth, [10, 450])
    >>> found[10] <= found[450], found[450]
    (True, 1.0)
    """
    return {
        int(count): recall(index.search(Q, 1, candidates=count, n_jobs=n_jobs), truth, 1)
        for count in counts
    }


def _require_same_kernel(found: Matches, truth: Matches) -> None:
    if found.kernel != truth.kernel:
        raise InputError(
            f"recall: found has scores of {found.kernel} but the truth those of {truth.kernel}. "
            "Pass found.ids to compare the items alone."
        )


def _floor(truth: Matches, k: int) -> npt.NDArray[np.float64]:
    """Return the least score of each query that counts as one of the true k."""
    last = np.where(truth.ids[:, :k] == -1, np.inf, truth.scores[:, :k]).min(axis=1)
    return np.asarray(last - np.maximum(TIE * np.abs(last), truth.tolerance), np.float64)


def _scan(
    kernel: Kernel, X: Any, P: Prepared, k: int, n_jobs: int | None, show: bool | None
) -> Ids:
    """Return the rows of the k best by float32 scores."""
    threads = parallel.count(n_jobs) if kernel._threads else 1
    height = max(LEAST_QUERIES, -(-len(P) // (TASKS_PER_THREAD * threads)))
    groups = parallel.spans(len(P), min(height, TILE[0], kernel._tile_shape[0]))
    n_cuts = -(-threads // len(groups))  # few queries: the rows are cut as well
    heaps = [topk.empty(len(P), k) for _ in range(n_cuts)]
    with progress.bar("comparing all pairs", items.length(X), show) as advance:
        for first_row, block in items.blocks(X, _block_rows(kernel, X, len(P))):
            R = kernel.prepare(block, where="ground_truth", first_row=first_row)
            kernel._require_alike(P, R, ("the queries", "the items"))
            cuts = parallel.spans(len(R), -(-len(R) // n_cuts))
            tasks = [
                (kernel, P, group, R, cut, first_row, heap)
                for group in groups
                for cut, heap in zip(cuts, heaps, strict=False)
            ]
            parallel.run(_scan_tiles, tasks, n_jobs=threads, show=False)
            advance(len(R))
    return topk.merge(heaps, k)[0]


def _scan_tiles(
    kernel: Kernel,
    P: Prepared,
    group: slice,
    R: Prepared,
    cut: slice,
    first_row: int,
    heap: topk.Best,
) -> None:
    """Compare a group of queries with a cut of the block, tile by tile, and keep the best."""
    queries, ids, scores = P[group], heap[0][group], heap[1][group]
    width = min(TILE[1], kernel._tile_shape[1], cut.stop - cut.start)
    tile = np.empty((len(queries), width), np.float32)
    for start in range(cut.start, cut.stop, width):
        rows = R[start : min(start + width, cut.stop)]
        part = tile[:, : len(rows)]
        kernel.tile(queries, rows, part, (group.start, first_row + start))
        topk.update(ids, scores, part, first_row + start)


def _block_rows(kernel: Kernel, X: Any, n_queries: int) -> int:
    width = min(TILE[1], kernel._tile_shape[1])
    if not kernel._threads:  # Python code runs for every pair: the bar should still move
        return 4 * width
    features = X.shape[1] if hasattr(X, "shape") and len(X.shape) == 2 else 64
    rows = min(BLOCK_BYTES // (4 * features), BLOCK_PAIRS // n_queries)
    return max(width, rows // width * width)


def _rescored(kernel: Kernel, X: Any, P: Prepared, ids: Ids, k: int, n_items: int) -> Matches:
    """Score the kept items in double precision and return the k best of them."""
    step = max(1, RESCORED_ROWS // ids.shape[1])
    parts = [_rescore(kernel, X, P[span], ids[span], k) for span in parallel.spans(len(P), step)]
    best, scores, distances, tolerance = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    return Matches(
        ids=_padded(best, k, -1),
        scores=_padded(scores, k, -np.inf).astype(np.float32),
        distances=_padded(distances, k, np.inf).astype(np.float32),
        exact=np.ones(len(P), bool),
        evaluations=np.full(len(P), n_items, np.int64),
        landmark_evaluations=np.zeros(len(P), np.int64),
        probability=np.ones(len(P), np.float32),
        tolerance=tolerance.astype(np.float32),
        kernel=repr(kernel),
    )


def _rescore(kernel: Kernel, X: Any, P: Prepared, ids: Ids, k: int) -> tuple[Array, ...]:
    double = np.dtype(np.float64)
    rows, places = np.unique(ids, return_inverse=True)
    R = kernel.prepare(items.take(X, rows))
    scores = kernel.gather(P, R, places.reshape(ids.shape), double)
    ids, scores = topk.merge([(ids, scores)], k)
    own, own_query = kernel.diag(R, dtype=double), kernel.diag(P, dtype=double)
    selves = own_query[:, None], own[np.searchsorted(rows, ids)]
    distances = np.sqrt(np.maximum(selves[0] + selves[1] - 2 * scores, 0))
    # two scores are compared and each may be off by the kernel's tolerance
    scale = np.maximum(np.sqrt(np.abs(selves[0] * selves[1])), np.abs(scores)).max(axis=1)
    return ids, scores, distances, 2 * kernel.tolerance(P, R) * scale


def _padded(values: Array, k: int, filler: float) -> Array:
    missing = k - values.shape[1]
    return np.pad(values, ((0, 0), (0, max(0, missing))), constant_values=filler)
