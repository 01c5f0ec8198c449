"""How much of the truth an answer contains."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mercer.errors import InputError, RecallWarning
from mercer.index import Index, Matches
from mercer.runtime.border import border
from mercer.runtime.params import check_count

TIE = 1e-6  # relative difference below which scores count as equal


@border
def recall(found: Matches | npt.ArrayLike, truth: Matches, k: int | None = None) -> float:
    """Return the share of the true k best that was found, averaged over the queries.

    Parameters
    ----------
    found : Matches or array_like of int, shape (n_queries, R)
        An answer with R items per query. In `Matches`, every item counts whose score is at most a
        millionth of it below that of the k-th true one (theory: ties); plain ids, and those of
        `Matches` whose scores are estimates, count if they are among the true k.
    truth : Matches
        The answer of `ground_truth`, with at least k items per query.
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
    check_count("k", k)
    if k > truth.ids.shape[1]:
        raise InputError(
            f"k is {k} but the truth has {truth.ids.shape[1]} items a query. "
            "Compute the truth with a larger k."
        )
    ids = found.ids if isinstance(found, Matches) else np.asarray(found)
    plain = not isinstance(found, Matches)
    if ids.ndim != 2 or len(ids) != len(truth) or (plain and ids.dtype.kind not in "iu"):
        raise InputError(
            f"found has shape {ids.shape} and type {ids.dtype} but the truth has "
            f"{len(truth)} queries. Pass one row of ids per query."
        )
    if isinstance(found, Matches) and not found.estimated:
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
        The answer of `ground_truth` to these queries.
    counts : sequence of int
        The values of R to report.
    n_jobs : int, optional
        How many threads; see `mercer.runtime.parallel.count`.

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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecallWarning)  # that few candidates find little is known
        return {
            int(count): recall(index.search(Q, 1, candidates=count, n_jobs=n_jobs), truth, 1)
            for count in counts
        }


def _require_same_kernel(found: Matches, truth: Matches) -> None:
    if found.kernel != truth.kernel:
        raise InputError(
            f"found has scores of {found.kernel} but the truth those of {truth.kernel}. "
            "Pass found.ids to compare the items alone."
        )


def _floor(truth: Matches, k: int) -> npt.NDArray[np.float64]:
    """Return, for each query, the least score that counts as one of the true k.

    `Matches.tolerance` is no part of it: it is relative to √(k(q, q) k(x, x)), which for a sharp
    kernel is far above all scores.
    """
    scores = truth.scores[:, :k].astype(np.float64)
    last = np.where(truth.ids[:, :k] == -1, np.inf, scores).min(axis=1)
    return np.asarray(last * (1 - TIE * np.sign(last)))  # stays infinite where nothing is true
