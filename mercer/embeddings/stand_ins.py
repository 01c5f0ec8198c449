"""Maps of vectors that may rank as a given kernel does, tried on a sample."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from mercer.embeddings.explicit import Explicit
from mercer.kernels import Cosine, Hellinger, Kernel, Linear, Prepared
from mercer.runtime.arrays import Array, Ids

Floats = npt.NDArray[np.float32]
ROWS, QUERIES = 4000, 100  # of a trial, at most
WANTED = 10  # nearest items of each query
LOOKED_AT = 60  # nearest of 4,000 vectors, which should include them; fewer of fewer vectors,
LEAST = 30  # but at least this many


def stand_ins(kernel: Kernel, sample: Prepared) -> Iterator[Explicit]:
    """Yield maps whose distances may rank as a kernel of dense vectors does, the cheapest first."""
    yield Explicit(Linear())
    yield Explicit(Cosine())
    if kernel.nonnegative or sample.kept.min() >= 0:
        yield Explicit(Hellinger())


class Trial:
    """The nearest items of some queries by the kernel, to measure how many of them vectors find.

    Parameters
    ----------
    kernel : Kernel
        The similarity.
    sample : Prepared
        Items, at least two; some of them are also the queries.
    seed : int
        Chooses the items of the trial.
    """

    def __init__(self, kernel: Kernel, sample: Prepared, seed: int = 0) -> None:
        order = np.random.default_rng(seed).permutation(len(sample))
        self.items = sample.take(order[:ROWS])
        self.queries = self.items[: min(QUERIES, len(self.items))]
        values = kernel(self.queries, self.items[:])
        self.best = _first(-values, WANTED)

    def share(self, Z: Floats, Zq: Floats | None = None) -> float:
        """Return the share of the nearest items that are among the nearest vectors.

        Z are the vectors of the items, Zq those of the queries if they differ.
        """
        Zq = Z[: len(self.queries)] if Zq is None else Zq
        squares = np.einsum("ij,ij->i", Z, Z) - 2 * (Zq @ Z.T)
        n = max(LEAST, LOOKED_AT * len(Z) // ROWS)
        near = np.zeros(squares.shape, bool)
        np.put_along_axis(near, _first(squares, n), True, axis=1)
        return float(np.take_along_axis(near, self.best, 1).mean())


def _first(values: Array, n: int) -> Ids:
    """Return the columns of the n least values of each row, itself excluded."""
    np.fill_diagonal(values, np.inf)
    n = min(n, values.shape[1] - 1)
    return np.asarray(np.argpartition(values, n, axis=1)[:, :n])
