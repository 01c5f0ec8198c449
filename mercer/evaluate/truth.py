"""Truth by brute force."""

from typing import Any

import numpy as np

from mercer import items, kernels
from mercer.index import Matches
from mercer.index.comparison import Comparison
from mercer.index.pace import Pace
from mercer.index.parts import Part
from mercer.index.ranking import TILE_ROWS, Ranking
from mercer.index.recipe import Recipe
from mercer.index.searching import Search
from mercer.index.segment import Segment
from mercer.index.segments import Segments
from mercer.kernels import Kernel, Prepared
from mercer.methods import brute
from mercer.runtime import progress
from mercer.runtime.arrays import Array, Ids
from mercer.runtime.border import about, border
from mercer.runtime.params import check_count
from mercer.search.everything import AllRows

BLOCK_BYTES = 1 << 26  # items read and compared in one go, at most
BLOCK_PAIRS = 100_000_000  # pairs compared before the progress bar moves


@border
def ground_truth(
    kernel: str | Kernel, X: Any, Q: Any, k: int, *, n_jobs: int | None = None,
    show_progress: bool | None = None,
) -> Matches:  # fmt: skip
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
    n_jobs, show_progress
        As in `Index`.

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
    X = items.rows_of(X)
    with about("the queries"):
        P = kernel.prepare(Q)
    check_count("k", k)
    made = brute(kernel)
    recipe = Recipe(kernel, made.embedding, made.searcher)
    comparison = Comparison(recipe, P, min(k, items.length(X)))
    with progress.bar("comparing all pairs", items.length(X)) as advance:
        for first_row, block in items.blocks(X, _block_rows(kernel, X, len(P))):
            R = kernel.prepare(block, first_row=first_row)
            kernel.require_alike(P, R, ("the queries", "the items"))
            comparison.compare(Part(_segment(R, np.arange(len(R)), np.zeros(len(R))), first_row))
            advance(len(R))
    return Matches.concatenate([_settled(recipe, X, one, k) for one in comparison.merged()])


def _settled(recipe: Recipe, X: Any, ranking: Ranking, k: int) -> Matches:
    """Score the best of some queries once more, which are the only items held for that."""
    rows = np.unique(ranking.ids[ranking.ids >= 0])
    R = recipe.kernel.prepare(items.take(X, rows))
    segment = _segment(R, rows, recipe.kernel.diag(R, dtype=np.float64))
    ranking.ids = np.where(ranking.ids >= 0, np.searchsorted(rows, ranking.ids), -1)
    search = Search(recipe, Segments((segment,)), Pace())
    return search.settled(ranking, [Part(segment)], k)


def _segment(R: Prepared, rows: Ids, own: Array) -> Segment:
    """Return items that go by their rows."""
    return Segment(R, own, AllRows(len(rows)), rows, np.zeros(len(rows), bool))


def _block_rows(kernel: Kernel, X: Any, n_queries: int) -> int:
    width = min(TILE_ROWS, kernel.tile_shape[1])
    if kernel.runs_python:  # Python code runs for every pair: the bar should still move
        return 4 * width
    features = X.shape[1] if hasattr(X, "shape") and len(X.shape) == 2 else 64
    rows = min(BLOCK_BYTES // (4 * features), BLOCK_PAIRS // n_queries)
    return max(width, rows // width * width)
