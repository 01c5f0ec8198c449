"""Choose landmarks among items, by the kernel's own distances."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from mercer.errors import InputError
from mercer.kernels import Kernel, Prepared
from mercer.runtime.arrays import Ids

Pick = Callable[[npt.NDArray[np.float64], np.random.Generator], int]


def choose(kernel: Kernel, P: Prepared, n: int, how: str, rng: np.random.Generator) -> Ids:
    """Return the row numbers of at most n landmarks, increasing; fewer if items are duplicates.

    "random": each item is as likely as any other. "kmeans++": far items are likelier, in
    proportion to the squared distance k(x, x) + k(y, y) - 2 k(x, y) from the landmarks chosen
    before. "farthest": always the farthest item.
    """
    if how == "random":
        return np.sort(rng.choice(len(P), min(n, len(P)), replace=False))
    if how not in _PICKS:
        raise InputError(f"landmarks is {how!r}. Ways to choose them are: {', '.join(WAYS)}.")
    return _spread(kernel, P, min(n, len(P)), _PICKS[how], rng)


def _spread(kernel: Kernel, P: Prepared, n: int, pick: Pick, rng: np.random.Generator) -> Ids:
    """Choose landmarks one by one, by squared distance to the nearest of those chosen before."""
    own = kernel.diag(P, dtype=np.float64)
    values = np.empty((1, len(P)))
    row = int(rng.integers(len(P)))
    chosen = [row]
    nearest = np.full(len(P), np.inf)
    while len(chosen) < n:
        kernel.tile(P[row : row + 1], P, values, (row, 0))
        np.minimum(nearest, own + own[row] - 2 * values[0], out=nearest)
        nearest[chosen] = 0
        if nearest.max() <= 1e-12 * abs(own).max():
            break  # every other item equals a landmark
        row = pick(np.maximum(nearest, 0), rng)
        chosen.append(row)
    return np.sort(np.array(chosen))


def _pick_farthest(squares: npt.NDArray[np.float64], rng: np.random.Generator) -> int:
    return int(squares.argmax())


def _pick_far(squares: npt.NDArray[np.float64], rng: np.random.Generator) -> int:
    totals = squares.cumsum()
    return int(np.searchsorted(totals, rng.random() * totals[-1], side="right"))


_PICKS: dict[str, Pick] = {"kmeans++": _pick_far, "farthest": _pick_farthest}
WAYS = ["random", *_PICKS]
