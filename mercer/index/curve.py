"""How much of the truth candidates hold: recall by effort and number of candidates, measured."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mercer.errors import StoreError
from mercer.runtime.arrays import Array
from mercer.runtime.lazy import lazy

CONFIDENCE = 2.8  # standard deviations of the lower bound: 99.7 %, and 99 % for one of four
STEP = 1.15  # between numbers of candidates that are considered
NEVER = np.iinfo(np.uint16).max  # the rank of an item that is not among the candidates


class Setting(NamedTuple):
    """How to search, and what to expect of it."""

    effort: int | None
    candidates: int | None  # None to compare everything
    recall: float
    seconds: float  # for one query, when it was measured


@dataclass(frozen=True, eq=False)
class Curve:
    """Recall of an index on sample queries, by effort and number of candidates.

    Attributes
    ----------
    efforts : ndarray of int64, shape (n_efforts,)
        The efforts that were tried, increasing; a single 0 for searchers that take none.
    depths : ndarray of int64, shape (n_efforts,)
        How many candidates were found with each effort.
    ranks : ndarray of uint16, shape (n_efforts, n_queries, n_true)
        How many candidates of a query come no later than each of its true best items; `NEVER` if
        the item is not among them.
    counted : ndarray of uint16, shape (n_queries, n_true)
        How many of the true best items score at least as high as the k-th, for each k.
    seconds : ndarray of float64, shape (n_efforts + 2,)
        What finding the candidates of a query took with each effort, then evaluating one item, and
        then comparing everything.
    n_items : int
        How many items there were.
    foreign : bool
        Whether the queries were given by the user; otherwise they are items.
    """

    efforts: npt.NDArray[np.int64]
    depths: npt.NDArray[np.int64]
    ranks: npt.NDArray[np.uint16]
    counted: npt.NDArray[np.uint16]
    seconds: npt.NDArray[np.float64]
    n_items: int
    foreign: bool

    def pack(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def unpack(cls, tree: dict[str, Any]) -> Curve:
        """Return the curve that `pack` described, from a file that may be damaged."""
        curve = cls(**tree)
        n_efforts, n_queries, n_true = curve.ranks.shape
        if (
            curve.efforts.shape != (n_efforts,)
            or curve.depths.shape != (n_efforts,)
            or curve.counted.shape[0] != n_queries
            or not 0 < curve.counted.shape[1] <= n_true
            or curve.seconds.shape != (n_efforts + 2,)
        ):
            raise StoreError("what it says of its recall does not fit together.")
        return curve

    @property
    def largest_k(self) -> int:
        """The largest k that recall is known for."""
        return int(self.counted.shape[1])

    @property
    def n_queries(self) -> int:
        """How many queries were asked."""
        return int(self.ranks.shape[1])

    def shares(self, k: int, candidates: int, level: int) -> Array:
        """Return, for each query, the share of its k best among so many candidates."""
        places = np.arange(self.ranks.shape[2])
        there = places < self.counted[:, k - 1 : k]
        found = (there & (self.ranks[level] <= candidates)).sum(axis=1)
        possible = np.minimum(k, self.counted[:, -1])
        return np.asarray(np.minimum(found, possible) / np.maximum(possible, 1))

    def recall(self, k: int, candidates: int, effort: int | None) -> float | None:
        """Return the recall to expect; None where k is larger than any that was measured.

        Of more candidates than were found with the effort, no more is expected.
        """
        asked = k, candidates, effort
        if asked not in self._expected:
            self._expected[asked] = self._recall(*asked)
        return self._expected[asked]

    @lazy
    def _expected(self) -> dict[tuple[int, int, int | None], float | None]:
        return {}

    def _recall(self, k: int, candidates: int, effort: int | None) -> float | None:
        if k > self.largest_k:
            return None
        level = self._level(effort)
        return float(self.shares(k, min(candidates, int(self.depths[level])), level).mean())

    def effort(self, candidates: int) -> int | None:
        """Return the least effort tried that nearly always finds so many candidates."""
        enough = (effort for effort, depth in self._reached if depth >= candidates)
        return next(enough, self._reached[-1][0]) or None

    @lazy
    def _reached(self) -> list[tuple[int, int]]:
        """Every effort and its depth, as every search needs them."""
        return list(zip(self.efforts.tolist(), self.depths.tolist(), strict=True))

    def _level(self, effort: int | None) -> int:
        """Return the largest effort tried that is not above the one given."""
        return max(0, int(np.searchsorted(self.efforts, effort or 0, side="right")) - 1)

    def frontier(self, k: int) -> list[list[float]]:
        """Return pairs of recall and queries per second, of settings that none surpasses in both.

        The fastest comes first.
        """
        k = min(k, self.largest_k)
        tried = [
            self._at(k, candidates, level)
            for level, depth in enumerate(self.depths.tolist())
            for candidates in {min(depth, k << i) for i in range(10)}
        ]
        best, kept = -1.0, []
        for one in sorted(tried, key=_seconds):
            if one.recall > best:
                best = one.recall
                kept.append([one.recall, 1 / one.seconds])
        return kept

    # ---- choosing

    @lazy
    def _chosen(self) -> dict[tuple[int, float, bool, int | None], Setting]:
        return {}

    def setting(
        self, k: int, recall: float, sure: bool = False, effort: int | None = None
    ) -> Setting:
        """Return the cheapest setting with this recall, or the one with the largest recall.

        What is cheapest is told by the seconds measured if the answer must be `sure`, and then
        comparing everything is a setting, too; otherwise it is told by counting, so that the same
        data gives the same answers.

        Parameters
        ----------
        k : int
            How many items are wanted.
        recall : float
            The share of them to find.
        sure : bool
            Whether the lower confidence bound must reach it, not just the estimate.
        effort : int, optional
            The effort, where only the number of candidates is to be chosen.
        """
        k = min(k, self.largest_k)
        asked = k, recall, sure, effort
        if asked not in self._chosen:
            self._chosen[asked] = self._choose(*asked)
        return self._chosen[asked]

    def _choose(self, k: int, recall: float, sure: bool, effort: int | None) -> Setting:
        levels = range(len(self.efforts)) if effort is None else [self._level(effort)]
        found = [self._least(k, recall, sure, level) for level in levels]
        good = [one for one in found if self._reaches(one, k, recall, sure)]
        if sure:
            good.append(Setting(None, None, 1.0, float(self.seconds[-1])))
        cost = _seconds if sure else _work
        return min(good, key=cost) if good else max(found, key=lambda one: round(one.recall, 3))

    def can_be_sure(self, k: int, recall: float) -> bool:
        """Whether the lower bound reaches a recall with the most candidates of some effort."""
        k = min(k, self.largest_k)
        return any(
            lower_bound(self.shares(k, depth, level)) >= recall
            for level, depth in enumerate(self.depths.tolist())
        )

    def _least(self, k: int, recall: float, sure: bool, level: int) -> Setting:
        """Return the fewest candidates that reach the recall with one effort, or all of them."""
        depth = int(self.depths[level])
        low, high = min(k, depth), depth
        while low < high:  # more candidates never find less
            middle = max(low, min(high - 1, int(np.sqrt(low * high))))
            if self._reaches(self._at(k, middle, level), k, recall, sure):
                high = middle
            else:
                low = middle + 1
        return self._at(k, high, level)

    def _at(self, k: int, candidates: int, level: int) -> Setting:
        seconds = float(self.seconds[level] + candidates * self.seconds[-2])
        effort = int(self.efforts[level]) or None
        recall = float(self.shares(k, candidates, level).mean())
        return Setting(effort, candidates, recall, seconds)

    def _reaches(self, one: Setting, k: int, recall: float, sure: bool) -> bool:
        if not sure:
            return one.recall >= recall
        assert one.candidates is not None
        return lower_bound(self.shares(k, one.candidates, self._level_of(one))) >= recall

    def _level_of(self, one: Setting) -> int:
        return int(np.flatnonzero(self.efforts == (one.effort or 0))[0])


def _seconds(one: Setting) -> float:
    return one.seconds


def _work(one: Setting) -> int:
    """Return what a setting costs, the same on every machine and at every time.

    Twice the effort must save half of the candidates.
    """
    return (one.effort or 1) * (one.candidates or 1)


def lower_bound(shares: Array) -> float:
    """Return a lower confidence bound of the mean of shares, at `CONFIDENCE` (theory: recall).

    The normal one, as if one more query had found half: where all queries found everything, the
    sample itself shows no spread.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.index.curve import lower_bound
    >>> round(lower_bound(np.ones(400)), 3), round(lower_bound(np.ones(100)), 3)
    (0.995, 0.981)
    """
    seen = np.append(shares, 0.5)
    return float(seen.mean() - CONFIDENCE * seen.std() / np.sqrt(len(seen)))
