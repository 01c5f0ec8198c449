"""Ground truth by brute force."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer import items, kernels
from mercer.errors import KernelError
from mercer.index import Matches
from mercer.index.comparison import Comparison
from mercer.index.pace import Pace
from mercer.index.ranking import TILE_ROWS, Ranking
from mercer.index.recipe import Recipe
from mercer.index.searching import Search, places
from mercer.index.segment import Segment
from mercer.index.segments import Segments
from mercer.index.views import DOUBLE, SINGLE, Doubles, View
from mercer.kernels import Kernel, Prepared
from mercer.kernels.announcing import announce
from mercer.methods import brute
from mercer.runtime import parallel, progress
from mercer.runtime.arrays import Array, DType, Ids
from mercer.runtime.border import about, border
from mercer.search.everything import AllRows

BLOCK_BYTES = 1 << 26  # of items read and compared at a time, at most
USUAL = 4096  # items, at least, whose median length is that of a usual one
BLOCK_PAIRS = 100_000_000  # pairs compared before the progress bar moves


@border
def ground_truth(
    kernel: str | Kernel, X: Any, Q: Any, k: int, *, n_jobs: int | None = None,
    show_progress: bool | None = None,
) -> Matches:  # fmt: skip
    """Find the k most similar items for every query by comparing all pairs.

    Items are read block by block, so memory-mapped arrays stay on disk. All pairs are compared in
    float32, and the best of them once more in double precision.

    Parameters
    ----------
    kernel : str or Kernel
        The similarity. What it leaves open, such as the gamma of ``"rbf"``, is chosen from the
        items, as by `Index.fit`.
    X : items
        The items to search.
    Q : items
        The queries.
    k : int
        How many items to find for each query. If X has fewer, the rest is -1.
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
    with about("the queries"):
        Q = items.rows_of(Q)
    X = items.rows_of(X)
    suited: Kernel = kernels.get(kernel).suited(X)
    with about("the queries"):
        P = suited.prepare(Q)
    k = places(k, items.length(X))
    made = brute(suited)
    recipe = Recipe(suited, made.embedding, made.searcher)
    n = items.length(X)
    announce(suited, len(P) * n, f"comparing {len(P):,} queries with {n:,} items")
    comparison = Comparison(recipe, P, min(k, items.length(X)))
    seen = _Seen(items.length(X))
    with progress.bar("comparing all pairs", items.length(X)) as advance:
        for first_row, block in items.blocks(X, _block_rows(suited, X, len(P))):
            R = suited.prepare(block, first_row=first_row)
            suited.require_alike(P, R, ("the queries", "the items"))
            view = View(_segment(R, seen.diag[first_row : first_row + len(R)]), first_row)
            seen.note(P, view)
            comparison.compare(view, seen.look)
            advance(len(R))
    search = Search(recipe, _RowNumbers(), Pace())
    found = [
        search.settled(ranking, [_Read(suited, X, ranking, seen)], k)
        for ranking in comparison.merged()
    ]
    return Matches.concatenate(found)


class _Seen:
    """What is kept of all items, as they are read: lengths, and the rounding of kernel values."""

    def __init__(self, n: int) -> None:
        self.diag = np.zeros(n)  # an upper bound of k(x, x) for each item, 0 before it is read
        self.tolerances: dict[DType, float] = {SINGLE: 0.0, DOUBLE: 0.0}

    def note(self, P: Prepared, view: View) -> None:
        """Keep the tolerances of one block."""
        for dtype, known in self.tolerances.items():
            self.tolerances[dtype] = max(known, view.tolerance(P, dtype))

    def look(self, first_row: int, R: Prepared) -> None:
        """Keep the lengths of some rows."""
        rows = slice(first_row, first_row + len(R))
        self.diag[rows] = np.abs(_diag(R)) * (1 + 2 * self.tolerances[SINGLE])


def _diag(R: Prepared) -> Array:
    """Return k(x, x): in float32, which is faster, unless values are too large for it."""
    try:
        return np.asarray(R.kernel.diagonal(R, SINGLE))
    except KernelError:
        return np.asarray(R.kernel.diagonal(R, DOUBLE))


class _RowNumbers(Segments):
    """Items whose ids are their row numbers."""

    def names(self, rows: Array) -> Array:
        """Return the rows themselves."""
        return rows


class _Read(View):
    """All items, but only those that a ranking found are in memory."""

    def __init__(self, kernel: Kernel, X: Any, ranking: Ranking, seen: _Seen) -> None:
        self.found = np.unique(ranking.ids[ranking.ids >= 0])
        held = kernel.prepare(items.take(X, self.found))
        super().__init__(_segment(held, kernel.diag(held, dtype=DOUBLE)))
        self.kernel, self.X, self.seen = kernel, X, seen
        self.largest = float(np.sqrt(seen.diag.max()))
        few = seen.diag[:: max(1, len(seen.diag) // USUAL)]
        self.usual = float(np.sqrt(np.median(few)))

    def tolerance(self, P: Prepared, dtype: DType = SINGLE) -> float:
        """Return the largest tolerance of all blocks."""
        return self.seen.tolerances[dtype]

    def find(self, ids: Ids) -> Ids:
        """Return the places of rows among those in memory."""
        return np.where(ids >= 0, np.searchsorted(self.found, ids), -1)

    def longer_than(self, length: float, step: int) -> Iterator[tuple[Ids, Prepared, Doubles]]:
        """Yield the rows with √k(x, x) above `length`, which are read once more."""
        rows = np.flatnonzero(self.seen.diag > length**2)
        for span in parallel.spans(len(rows), step):
            some = rows[span]
            P = self.kernel.prepare(items.take(self.X, some))
            yield some, P, self.kernel.diag(P, dtype=DOUBLE)


def _segment(R: Prepared, diag: Array) -> Segment:
    rows = np.arange(len(R))
    return Segment(R, diag, AllRows(len(R)), rows, np.zeros(len(R), bool))


def _block_rows(kernel: Kernel, X: Any, n_queries: int) -> int:
    width = min(TILE_ROWS, kernel.tile_shape[1])
    if kernel.runs_python:  # Python code runs for every pair: the bar should still move
        return 4 * width
    features = X.shape[1] if hasattr(X, "shape") and len(X.shape) == 2 else 64
    rows = min(BLOCK_BYTES // (4 * features), BLOCK_PAIRS // n_queries)
    return max(width, rows // width * width)
