"""Metric learning by LogDet projections (Kulis, Jain and Grauman 2009, §3.2)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mercer.learn import _loops
from mercer.learn.constraints import Constraints
from mercer.runtime import parallel, progress
from mercer.runtime.arrays import Ids
from mercer.runtime.lazy import lazy

Matrix = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
BLOCK = 20_000  # constraints between two steps of the progress bar
TINY = 1e-150  # squares of distances below would be 0
ROUNDING = 1e-6  # of a bound: how far rounding may miss it


@dataclass(frozen=True)
class Outcome:
    """The outcome of learning.

    Attributes
    ----------
    gap : float
        The largest departure from the conditions of optimality.
    n_iter : int
        Sweeps over all constraints.
    satisfied : float
        The share of constraints that hold, without slack.
    infeasible : ndarray of int64
        Constraints that no metric of these coordinates can meet without slack.
    """

    gap: float
    n_iter: int
    satisfied: float
    infeasible: Ids


@dataclass(frozen=True)
class _State:
    """The state that projections change: the factor, and the dual variables of constraints."""

    G: Matrix
    duals: Matrix
    pulls: Matrix
    prices: Matrix  # of triples; not changed


@dataclass(frozen=True)
class Problem:
    """Constraints on squared distances of coordinates, from which to learn a metric.

    Attributes
    ----------
    Z : ndarray of float64, shape (n_items, d)
        The coordinates of the items that constraints name.
    constraints : Constraints
        The constraints.
    bounds : ndarray of float64, shape (n_pairs,)
        The largest distance of each similar pair, and the smallest of each dissimilar pair.
    rests : ndarray of float64, shape (n_pairs,)
        The part of each distance that lies outside the coordinates, so that no metric changes it
        (theory: outside).
    margins : ndarray of float64, shape (n_triples,)
        By how much the second distance of a triple must exceed the first, both inside the
        coordinates.
    slack : float
        The price of moving a bound: the larger, the more of them hold.
    """

    Z: Matrix
    constraints: Constraints
    bounds: Matrix
    rests: Matrix
    margins: Matrix
    slack: float

    def solve(self, G: Matrix, max_iter: int, tol: float, rng: np.random.Generator) -> Outcome:
        """Set G, in place, to the factor of the nearest metric that meets the constraints."""
        state = _State(G, np.zeros(len(self.bounds)), np.zeros(len(self.margins)), self._prices(G))
        gap, n_iter = self._gap(state), 0
        steps = max_iter * (len(self._learnable) + len(self._sound))
        with progress.bar("learning", steps) as advance:
            while gap > tol and n_iter < max_iter:
                self._sweep(state, rng, advance)
                gap, n_iter = self._gap(state), n_iter + 1
        held = self._held(G)
        return Outcome(gap, n_iter, float(held.mean()), np.flatnonzero(self._hopeless & ~held))

    def _prices(self, G: Matrix) -> Matrix:
        """Return the price for missing a triple by 1: slack, in units of its own distances."""
        scales = self._distances(G)[1].mean(axis=0)
        return np.asarray(self.slack / np.maximum(scales, TINY) ** 2)

    def _sweep(
        self, state: _State, rng: np.random.Generator, advance: Callable[[int], None]
    ) -> None:
        """Project on every constraint once, in random order."""
        order = rng.permutation(self._learnable)
        for span in parallel.spans(len(order), BLOCK):
            _loops.project_pairs(
                state.G, self.Z, self.constraints.pairs, self._signs, self.bounds, self.rests,
                state.duals, order[span], float(self.slack),
            )  # fmt: skip
            advance(span.stop - span.start)
        order = rng.permutation(self._sound)
        for span in parallel.spans(len(order), BLOCK):
            _loops.project_triples(
                state.G, self.Z, self.constraints.triples, self.margins, state.prices,
                state.pulls, order[span],
            )  # fmt: skip
            advance(span.stop - span.start)

    def _gap(self, state: _State) -> float:
        """Return the largest departure from the conditions of optimality (theory: projections).

        A constraint with a dual variable above 0 must hold with equality, any other must hold.
        Departures are shares of the bound that slack has moved; for triples, of the sum of their
        two distances.
        """
        near, (short, long) = self._distances(state.G)
        moved = 1 / (1 / self.bounds - self._signs * state.duals / self.slack)
        excess = self._signs * (near + self.rests - moved) / moved
        behind = short + self.margins - long - state.pulls / state.prices
        kept, sound = self._learnable, self._sound
        behind = behind[sound] / (short + long)[sound]
        departures = [
            np.where(dual > 0, np.abs(miss), miss)
            for dual, miss in ((state.duals[kept], excess[kept]), (state.pulls[sound], behind))
        ]
        return float(max(0.0, *(d.max(initial=0.0) for d in departures)))

    # ---- what can be learned

    @lazy
    def _signs(self) -> Matrix:
        return np.where(self.constraints.similar, 1.0, -1.0)

    @lazy
    def _same(self) -> Flags:
        """Which pairs have the same coordinates, so that no metric moves them apart."""
        return self._distances(np.eye(self.Z.shape[1]))[0] <= _loops.FLAT * self.bounds

    @lazy
    def _learnable(self) -> Ids:
        return np.flatnonzero(~self._same)

    @lazy
    def _sound(self) -> Ids:
        """The triples whose two differences are not parallel, so that a projection exists."""
        i, j, k = self.constraints.triples.T
        u, v = self.Z[i] - self.Z[j], self.Z[i] - self.Z[k]
        a, b, c = (np.einsum("ij,ij->i", x, y) for x, y in ((u, u), (u, v), (v, v)))
        return np.flatnonzero(a * c - b * b > _loops.FLAT * (a + c) ** 2)

    @property
    def _hopeless(self) -> Flags:
        """Which constraints no metric of these coordinates can meet, unless they hold anyway."""
        parallel_ = np.ones(len(self.margins), bool)
        parallel_[self._sound] = False
        too_far = self.constraints.similar & (self.rests >= self.bounds)
        return np.concatenate([self._same | too_far, parallel_])

    # ---- what holds

    def _held(self, G: Matrix) -> Flags:
        """Return which constraints hold, without slack."""
        near, (short, long) = self._distances(G)
        excess = self._signs * (near + self.rests - self.bounds)
        behind = short + self.margins - long
        return np.concatenate(
            [excess <= ROUNDING * self.bounds, behind <= ROUNDING * (short + long)]
        )

    def _distances(self, G: Matrix) -> tuple[Matrix, Matrix]:
        """Return the squared distances of pairs (n_pairs,), and both of triples (2, n_triples)."""
        Y = self.Z @ G.T
        near, far = np.empty(len(self.bounds)), np.empty((2, len(self.margins)))
        _loops.squared_distances(Y, self.constraints.pairs, near)
        for place, ends in enumerate(([0, 1], [0, 2])):
            rows = np.ascontiguousarray(self.constraints.triples[:, ends])
            _loops.squared_distances(Y, rows, far[place])
        return near, far
