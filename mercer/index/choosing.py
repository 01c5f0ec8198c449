"""Choose the method and the settings that reach an aim fastest, by trying them on the items."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mercer.embeddings.affordable import n_affordable
from mercer.errors import InputError
from mercer.index.aim import Aim
from mercer.index.curve import Curve, Setting, lower_bound
from mercer.index.explanation import Explanation, Tried
from mercer.index.measuring import Truth, climbed, found
from mercer.index.pace import Pace
from mercer.index.payload import joined
from mercer.index.recipe import Recipe
from mercer.index.searching import Search
from mercer.index.segments import Segments
from mercer.index.sizes import held
from mercer.index.ways import WAYS, Way, suitable
from mercer.kernels import Kernel, Prepared
from mercer.kernels.announcing import announce
from mercer.kernels.memory import clock
from mercer.runtime.arrays import Array

SMALL = 1000  # items below which everything is compared
AGAIN = 2  # times as many items as there were: then the choice is made again
TRIED = 20_000  # items on which methods are compared with each other
ASKED, CHECKED = 100, 400  # queries by which a method is chosen, and by which it is checked
PAIRS = 100_000_000  # pairs compared for them, at most, but at least `ASKED` queries
FEWEST, ITEMS = 16, 16  # where Python runs for every pair: queries at least, and items for each
FEW, MANY = 16, 1024  # items compared to see what a kernel value takes
LANDMARKS = 1024  # values that embedding an item takes, at most
TURN, TURNS = 0.1, 10  # seconds for which a method is timed, and turns, at most
BUDGET, PART = 10.0, 0.25  # seconds for trying, or this share of building, if that is more
SLOW = "slower than comparing everything"
CLOSE = 1.1  # times slower up to which another method is not looked at again


class Choice(NamedTuple):
    """What an index becomes."""

    recipe: Recipe
    segments: Segments
    curve: Curve | None
    explanation: Explanation


@dataclass
class _Trial:
    """A method on some of the items, or all."""

    way: Way
    recipe: Recipe
    segments: Segments
    build_seconds: float  # for all items
    n_bytes: int  # for all items
    curve: Curve | None = None
    setting: Setting | None = None  # None for methods that prove their answers
    seconds: float = np.inf  # for one query among all items
    note: str = ""

    @property
    def reaches(self) -> bool:
        """Whether it is sure to find enough, within all limits."""
        return not self.note


def chosen(aim: Aim, kernel: Kernel, segments: Segments, queries: Prepared | None) -> Choice:
    """Return the fastest index over all live items that reaches an aim.

    Parameters
    ----------
    aim : Aim
        What to reach.
    kernel : Kernel
        The similarity, with nothing left open.
    segments : Segments
        The items.
    queries : Prepared, optional
        A sample of what will be asked; by default some of the items.
    """
    return _Choosing(aim, kernel, segments, queries).run()


class _Choosing:
    """The items that methods are tried on, and the queries that they are asked."""

    def __init__(
        self, aim: Aim, kernel: Kernel, segments: Segments, queries: Prepared | None
    ) -> None:
        self.aim, self.kernel, self.next_id = aim, kernel, segments.next_id
        self.started = time.perf_counter()
        self.P = Prepared.join([segment.live_items() for segment in segments.members])
        self.ids = segments.ids
        self.records = joined([(one.payload, one.live_rows) for one in segments.members])
        self.foreign = queries is not None
        drawn = self._drawn(queries)
        n_asked = max(1, min(ASKED, len(drawn) // 3))
        self.asked, self.checked = drawn[:n_asked], drawn[n_asked:] if len(drawn) > 1 else drawn
        rows = np.unique(np.linspace(0, len(self.P) - 1, self._n_tried()).astype(int))
        self.whole = len(rows) == len(self.P)
        self.some = self.P if self.whole else self.P.take(rows)
        self.times = len(self.P) / len(rows)
        self.n_drawn = len(drawn)

    def _drawn(self, queries: Prepared | None) -> Prepared:
        """Return sample queries in random order, and note what methods learn from.

        Items that are asked are not learned from: a landmark, for one, is embedded without error.
        """
        n, rng = len(self.P), np.random.default_rng(0)
        wanted = max(ASKED * 2, min(ASKED + CHECKED, PAIRS // n))
        if self.kernel.runs_python:
            wanted = max(2 * FEWEST, min(wanted, n // ITEMS))
        self.learned = self.P
        if queries is not None:
            return queries.take(rng.permutation(len(queries))[:wanted])
        rows = np.unique(np.linspace(0, n - 1, min(n, wanted)).astype(int))
        if SMALL <= n <= TRIED:  # among more items, few landmarks are among the queries
            self.learned = self.P.take(np.setdiff1d(np.arange(n), rows))
        return self.P.take(rng.permutation(rows))

    def _n_tried(self) -> int:
        """Return how many items methods are tried on: so many that there is time for all."""
        compared = self.P[: FEW if self.kernel.runs_python else MANY]
        few = self.P[:FEW]
        self.kernel(few, compared)  # whatever is compiled
        started = clock()
        self.kernel(few, compared)
        each = (clock() - started) / (len(few) * len(compared))
        n_ways = len(suitable(self.kernel, proof=False))
        affordable = BUDGET / 2 / (each * LANDMARKS * n_ways)  # as long again to learn and measure
        return min(len(self.P), TRIED, max(SMALL, int(affordable)))

    # ---- the walk of a choice

    def run(self) -> Choice:
        """Try all methods, then check the fastest ones at full size."""
        brute = self._built(WAYS["brute"])
        if len(self.P) < SMALL:
            return self._choice(brute, [brute])
        self._announce()
        self.truth = found(brute.recipe, brute.segments, self.asked, not self.foreign)
        self._time(brute)
        trials = [brute]
        for way in suitable(self.kernel, self.aim.recall == 1):
            if way.name != "brute" and self._has_time(trials):
                trials.append(self._tried(way))
        self._limit(trials)
        return self._choice(self._checked(trials), trials)

    def _announce(self) -> None:
        """Say how often Python functions will be called, if that takes long."""
        n = len(self.P)
        each = n_affordable(self.kernel, self.P, None, LANDMARKS) + self.n_drawn
        announce(self.kernel, min(n * (n - 1) // 2, n * each), f"auto, {n:,} items", True)

    def _has_time(self, trials: list[_Trial]) -> bool:
        spent = time.perf_counter() - self.started
        limit = max(BUDGET, PART * max(t.build_seconds for t in trials))
        return spent < min(limit, self.aim.build_seconds or np.inf)

    def _tried(self, way: Way) -> _Trial:
        trial = self._built(way)
        if not way.proves:
            self._measure(trial, self.truth)
        if trial.reaches:
            self._time(trial)
        return trial

    def _checked(self, trials: list[_Trial]) -> _Trial:
        """Check methods at full size, until one is hardly slower than the others may be."""
        left = sorted((one for one in trials if one.reaches), key=lambda one: one.seconds)
        done: list[_Trial] = []
        while left:
            trial = left.pop(0)
            self._complete(trial)
            done += [trial] if trial.reaches else []
            best = min(done, key=lambda one: one.seconds, default=None)
            if best and (not left or best.seconds <= CLOSE * left[0].seconds):
                return best
        raise AssertionError("brute force reaches every aim")

    # ---- steps

    def _built(self, way: Way, whole: bool = False) -> _Trial:
        """Return a method over the items that are tried, or over all."""
        P = self.P if whole else self.some
        learned = self.learned if whole or self.whole else P
        times = 1.0 if whole else self.times
        started = clock()
        recipe = Recipe.fitted(self.kernel, *way.parts(self.kernel, self.aim.seed), learned)
        ids = self.ids if len(P) == len(self.ids) else np.arange(len(P))
        payload = self.records if ids is self.ids else None
        segments = Segments((replace(recipe.build(P, ids), payload=payload),), self.next_id)
        seconds = clock() - started
        return _Trial(way, recipe, segments, times * seconds, int(times * held(segments)))

    def _measure(self, trial: _Trial, truth: Truth) -> None:
        """Find the settings that are sure to find enough."""
        views = trial.segments.views(None)
        trial.curve = climbed(trial.recipe, views, truth, self.foreign, fast=True)
        trial.setting = trial.curve.setting(self.aim.k, self.aim.recall, sure=True)
        if trial.setting.candidates is None:
            trial.setting = trial.curve.setting(self.aim.k, self.aim.recall)
            possible = trial.curve.can_be_sure(self.aim.k, self.aim.recall)
            trial.note = SLOW if possible else "not sure to find so much"
        trial.seconds = trial.setting.seconds

    def _time(self, trial: _Trial) -> None:
        """Measure how long a query takes, and guess how long among all items."""
        search = Search(trial.recipe, trial.segments, Pace())
        setting = trial.setting or Setting(None, None, 1.0, 0.0)

        def ask(P: Prepared) -> float:
            started = clock()
            search.best(P, self.aim.k, None, setting.candidates, setting.effort)
            return (clock() - started) / len(P)

        if not self.kernel.runs_python:
            ask(self.asked[:1])  # whatever is compiled or made once
            turns = [ask(self.asked), ask(self.asked)]
            while len(turns) < TURNS and sum(turns) * len(self.asked) < TURN:
                turns.append(ask(self.asked))
            seconds = min(turns)
        elif trial.way.name == "brute":
            seconds = self.truth.seconds
        else:
            seconds = ask(self.asked[:FEWEST])
        trial.seconds = seconds * (len(self.P) / len(trial.segments)) ** trial.way.growth
        if search.disproof and not trial.way.any_kernel:
            trial.note = "the kernel is not positive semi-definite"

    def _complete(self, trial: _Trial) -> None:
        """Build a method over all items, and check what it finds with queries of its own."""
        if not self.whole:
            full = self._built(trial.way, whole=True)
            trial.recipe, trial.segments = full.recipe, full.segments
            trial.build_seconds, trial.n_bytes = full.build_seconds, full.n_bytes
        if trial.way.proves:
            if not self.whole:
                self._time(trial)
            return
        self._measure(trial, self._full_truth())
        if trial.reaches:
            self._time(trial)

    def _full_truth(self) -> Truth:
        """Return the truth for the queries that methods are checked by, among all items."""
        kernel = self.kernel
        brute = Recipe.fitted(kernel, *WAYS["brute"].parts(kernel, self.aim.seed), self.P)
        segments = Segments((brute.build(self.P, self.ids),), self.next_id)
        return found(brute, segments, self.checked, not self.foreign)

    # ---- limits

    def _limit(self, trials: list[_Trial]) -> None:
        """Note which methods exceed a limit; brute force needs the least of everything."""
        memory, seconds = self.aim.memory, self.aim.build_seconds
        if memory is not None and trials[0].n_bytes > memory:
            raise InputError(
                f"memory={memory} cannot be met: the items alone take {trials[0].n_bytes} bytes. "
                "Allow more, or add fewer items."
            )
        for trial in trials[1:]:
            if memory is not None and trial.n_bytes > memory:
                trial.note = trial.note or "takes more memory"
            if seconds is not None and trial.build_seconds > seconds:
                trial.note = trial.note or "takes longer to build"

    # ---- the outcome

    def _choice(self, best: _Trial, trials: list[_Trial]) -> Choice:
        rows = [self._row(trial) for trial in trials]
        left = [w.name for w in suitable(self.kernel, self.aim.recall == 1)]
        left = left[len(trials) :] if len(self.P) >= SMALL else []
        told = Explanation(
            self.aim.get_params(), len(self.P), rows, best.way.name, self._why(best, trials),
            left, time.perf_counter() - self.started,
        )  # fmt: skip
        segments = replace(best.segments, next_id=self.next_id)
        return Choice(best.recipe, segments, best.curve, told)

    def _row(self, trial: _Trial) -> Tried:
        setting, sure = trial.setting, 1.0
        if trial.curve is not None and setting is not None and setting.candidates is not None:
            sure = lower_bound(_shares(trial.curve, self.aim.k, setting))
        return Tried(
            trial.way.name,
            {} if setting is None else {"effort": setting.effort, "candidates": setting.candidates},
            1.0 if setting is None else setting.recall,
            sure,
            1 / trial.seconds if np.isfinite(trial.seconds) else None,
            trial.n_bytes / len(self.P),
            trial.build_seconds,
            trial.note,
            [] if trial.curve is None else trial.curve.frontier(self.aim.k),
        )

    def _why(self, best: _Trial, trials: list[_Trial]) -> str:
        if len(self.P) < SMALL:
            return f"fewer than {SMALL} items: all are compared"
        if best.way.name == "brute":
            return "nothing that reaches the aim is faster than comparing everything"
        proof = "whose answers are all proven" if best.way.proves else "sure to find enough"
        return f"the fastest of {len(trials)} methods tried, and {proof}"


def _shares(curve: Curve, k: int, setting: Setting) -> Array:
    level = int(np.flatnonzero(curve.efforts == (setting.effort or 0))[0])
    return curve.shares(min(k, curve.largest_k), setting.candidates or 0, level)
