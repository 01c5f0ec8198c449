"""Random directions: drawn and stored, or computed entry by entry as sparse rows need them."""

from typing import Any

import numpy as np
import numpy.typing as npt

from mercer import items
from mercer.embeddings._walk_loops import project_rows
from mercer.runtime import parallel

Floats = npt.NDArray[np.float32]
DRAWS = ("orthogonal", "gaussian")
# Features above which sparse vectors are projected on Gaussian directions that are not stored.
# Their cosines are about 1/100 there, so orthogonal ones would hardly differ, and stored ones take
# more than 40 kB a bit, which a sparse row reads at random.
WIDE = 10_000


def drawn(how: str, d: int, n: int, seed: int) -> Floats:
    """Return n random directions of d dimensions, one per column.

    "orthogonal": in blocks of d, each a rotation; "gaussian": independent.
    """
    rng = np.random.default_rng(seed)
    if how == "gaussian":
        return rng.normal(size=(d, n)).astype(np.float32)
    blocks = [_orthogonal(d, span.stop - span.start, rng) for span in parallel.spans(n, max(d, 1))]
    return np.hstack(blocks).astype(np.float32)


def are_wide(rows: Any) -> bool:
    """Whether vectors are sparse and have so many features that directions are not stored."""
    return items.is_sparse(rows) and rows.shape[1] > WIDE


def projected(rows: Any, n: int, seed: int) -> Floats:
    """Return the products of sparse rows and n Gaussian directions, shape (len(rows), n).

    An entry of a direction is computed from the seed, its feature and its number; so the first
    directions of many are those of few, and more features leave them as they are.
    """
    X = rows.tocsr()
    out = np.empty((X.shape[0], n), np.float32)
    project_rows(X.indptr, X.indices, X.data, np.uint64(int(seed) % 2**64), out)
    return out


def _orthogonal(d: int, n: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Return n columns of an orthogonal matrix drawn uniformly at random.

    Signs are fixed after QR. Where d is 0, columns have no components.
    """
    if d == 0:
        return np.empty((0, n))
    Q, R = np.linalg.qr(rng.normal(size=(d, n)))
    return np.asarray(Q * np.sign(np.diag(R)))
