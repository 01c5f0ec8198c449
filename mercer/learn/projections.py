"""Metric learning by LogDet projections (Kulis, Jain and Grauman 2009, §3.2)."""

import math
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
    missed : ndarray of int64
        The others.
    infeasible : ndarray of int64
        Those of them that no metric of these coordinates can meet without slack.
    """

    gap: float
    n_iter: int
    satisfied: float
    missed: Ids
    infeasible: Ids


@dataclass(frozen=True)
class _State:
    """The state that projections change: the factor, and the dual variables of constraints.

    The rest stays as it is, and follows from the metric that learning starts from.
    """

    G: Matrix
    duals: Matrix
    pulls: Matrix
    prices: Matrix  # of triples
    pairs: Ids  # that can be projected on
    triples: Ids
    hopeless: Flags  # which constraints no metric can meet, unless they hold anyway


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
        The price of moving a bound: the larger, the more of them hold; all of them if it is
        infinite, where that is possible.
    """

    Z: Matrix
    constraints: Constraints
    bounds: Matrix
    rests: Matrix
    margins: Matrix
    slack: float

    def solve(self, G: Matrix, max_iter: int, tol: float, rng: np.random.Generator) -> Outcome:
        """Set G, in place, to the factor of the nearest metric that meets the constraints."""
        state = self._begun(G)
        gap, n_iter = self._gap(state), 0
        steps = max_iter * (len(state.pairs) + len(state.triples))
        quiet = np.errstate(over="ignore", invalid="ignore")
        with progress.bar("learning", steps) as advance, quiet:
            while gap > tol and n_iter < max_iter:
                before = G.copy()
                self._sweep(state, rng, advance)
                now = self._gap(state)
                if not math.isfinite(now):  # without slack, contradictions leave any range
                    G[:] = before
                    break
                gap, n_iter = now, n_iter + 1
        held = self._held(G)
        return Outcome(
            gap, n_iter, float(held.mean()), np.flatnonzero(~held),
            np.flatnonzero(state.hopeless & ~held),
        )  # fmt: skip

    def _begun(self, G: Matrix) -> _State:
        """Return the state before the first projection."""
        same, too_far, sound = self._same(G), self.rests >= self.bounds, self._sound(G)
        # without slack, the rest outside the coordinates decides by itself where it is too long
        learnable = ~same & ~(too_far & math.isinf(self.slack))
        return _State(
            G, np.zeros(len(self.bounds)), np.zeros(len(self.margins)), self._prices(G),
            np.flatnonzero(learnable), np.flatnonzero(sound),
            np.concatenate([same | (too_far & self.constraints.similar), ~sound]),
        )  # fmt: skip

    def _prices(self, G: Matrix) -> Matrix:
        """Return the price for missing a triple by 1: slack, in units of its own distances."""
        scales = self._distances(G)[1].mean(axis=0)
        return np.asarray(self.slack / np.maximum(scales, TINY) ** 2)

    def _sweep(
        self, state: _State, rng: np.random.Generator, advance: Callable[[int], None]
    ) -> None:
        """Project on every constraint once, in random order."""
        order = rng.permutation(state.pairs)
        for span in parallel.spans(len(order), BLOCK):
            _loops.project_pairs(
                state.G, self.Z, self.constraints.pairs, self._signs, self.bounds, self.rests,
                state.duals, order[span], float(self.slack),
            )  # fmt: skip
            advance(span.stop - span.start)
        order = rng.permutation(state.triples)
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
        kept, sound = state.pairs, state.triples
        behind = behind[sound] / (short + long)[sound]
        departures = [
            np.where(dual > 0, np.abs(miss), miss)
            for dual, miss in ((state.duals[kept], excess[kept]), (state.pulls[sound], behind))
        ]
        return float(np.max([d.max(initial=0.0) for d in departures]))  # NaN if any is

    # ---- what can be learned

    @lazy
    def _signs(self) -> Matrix:
        return np.where(self.constraints.similar, 1.0, -1.0)

    def _same(self, G: Matrix) -> Flags:
        """Return which pairs have the same coordinates, so that no metric moves them apart."""
        return np.asarray(self._distances(G)[0] <= _loops.FLAT * self.bounds)

    def _sound(self, G: Matrix) -> Flags:
        """Return on which triples a projection exists.

        Where the three lie in one line, every metric stretches both distances alike (theory:
        triples).
        """
        i, j, k = self.constraints.triples.T
        Y = self.Z @ G.T
        u, v = Y[i] - Y[j], Y[i] - Y[k]
        a, b, c = (np.einsum("ij,ij->i", x, y) for x, y in ((u, u), (u, v), (v, v)))
        on_a_line = a * c - b * b <= _loops.FLAT * (a + c) ** 2
        bounded = ((c - a) * self.margins > 0) & (np.abs(c - a) > _loops.EVEN * (a + c))
        return np.asarray(~on_a_line | bounded)

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
