"""Information-theoretic metric learning: LogDet projections until they agree (M section 3.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mercer import parallel, progress
from mercer.arrays import Ids
from mercer.learn import _loops
from mercer.learn.constraints import Constraints

__all__ = ["Outcome", "Problem"]

Matrix = npt.NDArray[np.float64]
BLOCK = 20_000  # constraints between two steps of the progress bar
FULFILLED = 1e-6  # of a bound: what rounding leaves open


@dataclass(frozen=True)
class Outcome:
    """How far learning came.

    Attributes
    ----------
    gap : float
        The largest departure from the conditions of optimality, see `Problem.gap`.
    n_iter : int
        Sweeps over all constraints.
    satisfied : float
        The share of constraints that hold, without slack.
    infeasible : ndarray of int64
        Constraints that no metric of these coordinates can meet; they were left out.
    """

    gap: float
    n_iter: int
    satisfied: float
    infeasible: Ids


@dataclass(frozen=True)
class Problem:
    """Constraints on squared distances of coordinates, of which a metric may be learned.

    Attributes
    ----------
    Z : ndarray of float64, shape (n_items, d)
        The coordinates of the items that constraints name.
    constraints : Constraints
        What is asked for.
    bounds : ndarray of float64, shape (n_pairs,)
        How near similar pairs are to be at most, and dissimilar ones at least: less what of
        their distance the coordinates do not have (PROOFS B13).
    margins : ndarray of float64, shape (n_triples,)
        By how much the second distance is to be larger, less the same.
    slack : float
        The price of moving a bound: the larger, the more of them hold.
    """

    Z: Matrix
    constraints: Constraints
    bounds: Matrix
    margins: Matrix
    slack: float

    def solve(
        self, G: Matrix, max_iter: int, tol: float, rng: np.random.Generator, show: bool | None
    ) -> Outcome:
        """Change the factor G, in place, to that of the nearest metric that obeys."""
        duals, pulls = np.zeros(len(self.bounds)), np.zeros(len(self.margins))
        gap, n_iter = self.gap(G, duals, pulls), 0
        steps = max_iter * (len(self._learnable) + len(self._sound))
        with progress.bar("learning", steps, show) as advance:
            while gap > tol and n_iter < max_iter:
                self._sweep(G, duals, pulls, rng, advance)
                gap, n_iter = self.gap(G, duals, pulls), n_iter + 1
        return Outcome(gap, n_iter, self._satisfied(G), self._infeasible(G))

    def _sweep(
        self, G: Matrix, duals: Matrix, pulls: Matrix, rng: np.random.Generator,
        advance: Callable[[int], None],
    ) -> None:  # fmt: skip
        """Project on every constraint once, in random order."""
        order = rng.permutation(self._learnable)
        for span in parallel.spans(len(order), BLOCK):
            _loops.project_pairs(
                G, self.Z, self.constraints.pairs, self._signs, self.bounds, duals, order[span],
                float(self.slack),
            )  # fmt: skip
            advance(span.stop - span.start)
        order = rng.permutation(self._sound)
        for span in parallel.spans(len(order), BLOCK):
            _loops.project_triples(
                G, self.Z, self.constraints.triples, self.margins, pulls, order[span]
            )
            advance(span.stop - span.start)

    def gap(self, G: Matrix, duals: Matrix, pulls: Matrix) -> float:
        """Return the largest departure from the Karush–Kuhn–Tucker conditions (PROOFS B11).

        A constraint with a dual variable above 0 must hold with equality, any other must hold.
        What is missing is told as a share of the bound that slack has moved; of triples, as a
        share of their two distances.
        """
        near, far = self._distances(G)
        p, kept = near[self._learnable], self._learnable
        moved = 1 / (1 / self.bounds[kept] - self._signs[kept] * duals[kept] / self.slack)
        excess = self._signs[kept] * (p - moved) / moved
        short, long = far[:, self._sound]
        behind = (short + self.margins[self._sound] - long) / (short + long)
        departures = [
            np.where(dual > 0, np.abs(miss), miss)
            for dual, miss in ((duals[kept], excess), (pulls[self._sound], behind))
        ]
        return float(max(0.0, *(d.max(initial=0.0) for d in departures)))

    # ---- what can be learned

    @cached_property
    def _signs(self) -> Matrix:
        return np.where(self.constraints.similar, 1.0, -1.0)

    @cached_property
    def _unlearned(self) -> tuple[Matrix, Matrix]:
        return self._distances(np.eye(self.Z.shape[1]))

    @cached_property
    def _same(self) -> npt.NDArray[np.bool_]:
        """Which pairs have the same coordinates."""
        return self._unlearned[0] <= _loops.FLAT * np.abs(self.bounds)

    @cached_property
    def _learnable(self) -> Ids:
        """The pairs that a metric can move towards their bounds."""
        return np.flatnonzero((self.bounds > 0) & ~self._same)

    @cached_property
    def _sound(self) -> Ids:
        """The triples whose two differences are not parallel, so that a projection exists."""
        i, j, k = self.constraints.triples.T
        u, v = self.Z[i] - self.Z[j], self.Z[i] - self.Z[k]
        a, b, c = (np.einsum("ij,ij->i", x, y) for x, y in ((u, u), (u, v), (v, v)))
        return np.flatnonzero(a * c - b * b > _loops.FLAT * (a + c) ** 2)

    def _infeasible(self, G: Matrix) -> Ids:
        """Return the constraints that were left out and do not hold."""
        left_out = np.ones(len(self.constraints), bool)
        left_out[self._learnable] = False
        left_out[len(self.bounds) + self._sound] = False
        return np.flatnonzero(left_out & ~self._fulfilled(G))

    # ---- what holds

    def _satisfied(self, G: Matrix) -> float:
        return float(self._fulfilled(G).mean())

    def _fulfilled(self, G: Matrix) -> npt.NDArray[np.bool_]:
        p, (short, long) = self._distances(G)
        excess = self._signs * (p - self.bounds)
        pairs = excess <= FULFILLED * np.abs(self.bounds)
        return np.concatenate([pairs, short + self.margins - long <= FULFILLED * (short + long)])

    def _distances(self, G: Matrix) -> tuple[Matrix, Matrix]:
        """Return the squared distances of pairs (n_pairs,), and both of triples (2, n_triples)."""
        Y = self.Z @ G.T
        near, far = np.empty(len(self.bounds)), np.empty((2, len(self.margins)))
        _loops.squared_distances(Y, self.constraints.pairs, near)
        for place, ends in enumerate(([0, 1], [0, 2])):
            rows = np.ascontiguousarray(self.constraints.triples[:, ends])
            _loops.squared_distances(Y, rows, far[place])
        return near, far
