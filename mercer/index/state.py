"""Everything that an index knows at one moment."""

from dataclasses import dataclass

from mercer.errors import NotFittedError
from mercer.index.recipe import Recipe
from mercer.index.segments import Segments

EMPTY = Segments()


@dataclass(frozen=True)
class State:
    """What was learned, what was added, and the calibration for both.

    An index replaces its state as a whole: a search during a change sees all of it or none.
    """

    recipe: Recipe | None = None  # fitted; None before `fit`
    segments: Segments = EMPTY
    relaxation: float | None = None  # see `mercer.index.calibration`
    probability: float | None = None

    def fitted(self, verb: str) -> tuple[Recipe, Segments]:
        """Return recipe and segments, or say that `fit` comes before this verb."""
        if self.recipe is None:
            raise NotFittedError(f"Index.{verb}: not fitted yet. Call index.fit(X) first.")
        return self.recipe, self.segments
