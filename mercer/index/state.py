"""Everything that an index knows at one moment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from mercer.errors import NotFittedError
from mercer.index.aim import Aim
from mercer.index.choosing import AGAIN, chosen
from mercer.index.curve import Curve
from mercer.index.explanation import Explanation
from mercer.index.manner import Manner, fastest
from mercer.index.measuring import measured
from mercer.index.recipe import Recipe
from mercer.index.segments import Segments
from mercer.kernels import Prepared
from mercer.kernels.announcing import announce
from mercer.kernels.memory import Memory, remembering
from mercer.runtime.lazy import lazy

EMPTY, UNMEASURED = Segments(), Manner()
SMALL = 1000  # items below which recall is not measured
CHANGED = 1.5  # times as many items, or as few, as there were: then it is measured again


@dataclass(frozen=True)
class State:
    """What was learned, what was added, the calibration and the recall for both.

    An index replaces its state as a whole: a search during a change sees all of it or none.
    """

    recipe: Recipe | None = None  # fitted; None before `fit`
    segments: Segments = EMPTY
    relaxation: float | None = None  # see `mercer.index.calibration`
    probability: float | None = None
    curve: Curve | None = None  # see `mercer.index.measuring`
    queries: Prepared | None = None  # a sample of what will be asked, if the user gave one
    measures: bool = True  # whether recall is to be measured
    aim: Aim | None = None  # what is to be reached, where the index chooses the method
    explanation: Explanation | None = None  # of the last choice
    manner: Manner = UNMEASURED  # how proofs are found
    memory: Memory = field(default_factory=Memory, compare=False)  # see `mercer.kernels.memory`
    columns: list[str] | None = None  # the names of the features, if a table was given to `fit`
    unfinished: tuple[str, int] | None = None  # a source that is being added, and rows of it so far

    def fitted(self, verb: str) -> tuple[Recipe, Segments]:
        """Return recipe and segments, or say that `fit` comes before this verb."""
        if self.recipe is None:
            raise NotFittedError(f"Index.{verb}: not fitted yet. Call index.fit(X) first.")
        return self.recipe, self.segments

    def emptied(self) -> State:
        """Return what was learned, without items."""
        return State(
            self.recipe, queries=self.queries, measures=self.measures, aim=self.aim,
            explanation=self.explanation, columns=self.columns,
        )  # fmt: skip

    @lazy
    def asked(self) -> Recipe:
        """The recipe that searches use."""
        return self.manner.of(self.fitted("search")[0])

    @contextmanager
    def adding(self, n: int) -> Iterator[None]:
        """Remember what Python functions return, while n items are added and until `fit`'s are."""
        memory, (recipe, _) = self.memory, self.fitted("add")
        foreign, memory.expected = n > memory.expected, max(0, memory.expected - n)
        with remembering(memory):
            if foreign:  # not announced by `fit`
                n_calls = n * recipe.embedding.n_landmarks_
                announce(recipe.kernel, n_calls, f"add, {n:,} items", inside=True)
            yield
        if not memory.expected:
            memory.forget()

    def changed(self, segments: Segments) -> State:
        """Return the state with other items; a calibration does not hold for them."""
        new = replace(self, segments=segments, relaxation=None, probability=None)
        return (new._with_choice() if new._must_choose() else new)._with_measures()

    def _must_choose(self) -> bool:
        """Whether there are twice as many items as when the method was chosen, or it never was."""
        known = self.explanation.n_items if self.explanation else 0
        return self.aim is not None and len(self.segments) >= max(1, AGAIN * known)

    def _with_choice(self) -> State:
        """Let the items be searched by the method that reaches the aim."""
        assert self.aim is not None
        kernel = self.fitted("add")[0].kernel
        choice = chosen(self.aim, kernel, self.segments, self.queries)
        return replace(
            self, recipe=choice.recipe, segments=choice.segments, curve=choice.curve,
            explanation=choice.explanation,
        )  # fmt: skip

    def _with_measures(self) -> State:
        """Measure again if there are many more items, or many fewer."""
        recipe, n = self.recipe, len(self.segments)
        assert recipe is not None
        measured_at_all = recipe.keeps_items and (self.measures or self.aim is not None)
        if n < SMALL or not measured_at_all or recipe.exhaustive:
            return replace(self, curve=None, manner=UNMEASURED)
        if recipe.bounded:
            if _alike(self.manner.n_items, n):
                return self
            return replace(self, curve=None, manner=fastest(recipe, self.segments))
        if self.curve and _alike(self.curve.n_items, n):
            return self
        thorough = self.aim is not None
        curve = measured(recipe, self.segments, self.queries, thorough)
        return replace(self, curve=curve, manner=UNMEASURED)


def _alike(before: int, now: int) -> bool:
    """Whether what was measured among so many items still holds."""
    return before / CHANGED < now < before * CHANGED
