"""Ways to mix dimensions so that groups of them carry similar variance."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mercer.runtime import parallel

Floats = npt.NDArray[np.float32]
Matrix = npt.NDArray[np.float64]
ROUNDS = 20  # rounds of learning a rotation: centroids and rotation in turn


class Groups(NamedTuple):
    """How dimensions are cut: `number` groups of `size` dimensions, each kept in `bits` bits."""

    number: int
    size: int
    bits: int

    @property
    def width(self) -> int:
        """The total number of dimensions."""
        return self.number * self.size


def balanced(Z: Floats, groups: Groups, how: str, seed: int) -> Floats:
    """Return a matrix with orthonormal rows, shape (d, groups.width), that mixes dimensions.

    Parameters
    ----------
    Z : ndarray of float32, shape (n, d)
        Vectors to learn from, for ways that learn.
    groups : Groups
        How the dimensions are cut; together at least d.
    how : str
        One of `BALANCES`.
    seed : int
        Chooses the permutation or rotation.
    """
    axes = BALANCES[how](Z, groups, np.random.default_rng(seed))
    return np.ascontiguousarray(axes[: Z.shape[1]], np.float32)


def _kept(Z: Floats, groups: Groups, rng: np.random.Generator) -> Matrix:
    return np.eye(groups.width)


def _permuted(Z: Floats, groups: Groups, rng: np.random.Generator) -> Matrix:
    return np.asarray(np.eye(groups.width)[:, rng.permutation(groups.width)])


def _rotated(Z: Floats, groups: Groups, rng: np.random.Generator) -> Matrix:
    Q, R = np.linalg.qr(rng.normal(size=(groups.width, groups.width)))
    return np.asarray(Q * np.sign(np.diag(R)))


def _dealt(Z: Floats, groups: Groups, rng: np.random.Generator) -> Matrix:
    """Return principal axes, dealt to the groups in turn, every other turn backwards."""
    d = Z.shape[1]
    spread = np.cov(Z.astype(np.float64), rowvar=False) if len(Z) > 1 else np.eye(d)
    axes = np.linalg.eigh(spread.reshape(d, d))[1][:, ::-1]
    axes = np.hstack([axes, np.zeros((d, groups.width - d))])
    turns = np.arange(groups.width).reshape(groups.size, groups.number)
    turns[1::2] = turns[1::2, ::-1]
    return np.asarray(axes[:, turns.T.ravel()])


def _learned(Z: Floats, groups: Groups, rng: np.random.Generator) -> Matrix:
    """Return faiss's optimised rotation."""
    D = groups.width
    padded = np.zeros((max(len(Z), 1 << groups.bits), D), np.float32)
    padded[:, : Z.shape[1]] = np.resize(Z, (len(padded), Z.shape[1]))
    with parallel.one_faiss_thread() as faiss:
        learner = faiss.OPQMatrix(D, groups.number)
        quantiser = faiss.ProductQuantizer(D, groups.number, groups.bits)
        quantiser.cp.min_points_per_centroid = 1  # otherwise faiss only warns
        learner.niter, learner.pq = ROUNDS, quantiser
        learner.train(padded)
        rotation = faiss.vector_to_array(learner.A).reshape(D, D)
    return np.asarray(rotation.T, np.float64)


BALANCES: dict[str, Callable[[Floats, Groups, np.random.Generator], Matrix]] = {
    "permute": _permuted,
    "deal": _dealt,
    "none": _kept,
    "rotate": _rotated,
    "opq": _learned,
}
