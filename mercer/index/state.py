"""Everything that an index knows at one moment."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mercer.errors import NotFittedError
from mercer.index.curve import Curve
from mercer.index.measuring import measured
from mercer.index.recipe import Recipe
from mercer.index.segments import Segments
from mercer.kernels import Prepared

EMPTY = Segments()
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

    def fitted(self, verb: str) -> tuple[Recipe, Segments]:
        """Return recipe and segments, or say that `fit` comes before this verb."""
        if self.recipe is None:
            raise NotFittedError(f"Index.{verb}: not fitted yet. Call index.fit(X) first.")
        return self.recipe, self.segments

    def emptied(self) -> State:
        """Return what was learned, without items."""
        return State(self.recipe, queries=self.queries, measures=self.measures)

    def changed(self, segments: Segments) -> State:
        """Return the state with other items; a calibration does not hold for them."""
        return replace(self, segments=segments, relaxation=None, probability=None)._with_recall()

    def _with_recall(self) -> State:
        """Measure the recall again if there are many more items, or many fewer."""
        recipe, n = self.recipe, len(self.segments)
        assert recipe is not None
        if n < SMALL or not self.measures or recipe.bounded or recipe.exhaustive:
            return replace(self, curve=None)
        known = self.curve.n_items if self.curve else 0
        if known and known / CHANGED < n < known * CHANGED:
            return self
        return replace(self, curve=measured(recipe, self.segments, self.queries))
