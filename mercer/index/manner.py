"""How an index with bounds finds its proofs fastest: by bounds, of one kind or another, or not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mercer.index.measuring import sample
from mercer.index.pace import Pace
from mercer.index.recipe import Recipe
from mercer.index.searching import Search
from mercer.index.segments import Segments
from mercer.kernels import Prepared
from mercer.kernels.memory import clock
from mercer.search import BoundScan

K = 10  # items asked for
MOST, LEAST, PAIRS = 256, 16, 20_000_000  # queries, and pairs compared if these are enough
LEAST_TURNS, TURNS = 2, 5  # that count, after the first ones
SPENT = 0.1  # seconds after which there are no more turns than needed
LONG = 0.1  # seconds of a turn beside which compiling and fetching do not matter
FAR = 4  # times slower than the fastest: even if that was a disturbed turn, there is no further one
WORTH = 1.2  # times as fast as comparing everything: less is not told from chance


@dataclass(frozen=True)
class Manner:
    """How proofs are found.

    Attributes
    ----------
    n_items : int
        How many items there were when it was measured; 0 if it was not.
    everything : bool
        Whether all items are compared, because that is faster than using bounds.
    head : bool
        Whether there is a first, cheaper bound; see `mercer.search.heads`.
    """

    n_items: int = 0
    everything: bool = False
    head: bool = True

    def of(self, recipe: Recipe) -> Recipe:
        """Return the recipe that searches use."""
        if self.head or not isinstance(recipe.searcher, BoundScan) or recipe.searcher.n_head:
            return recipe
        return replace(recipe, searcher=BoundScan(n_head=0))

    def told(self) -> str:
        """Say it in words."""
        if self.everything:
            return "all items are compared, which is faster here than bounds"
        return "by bounds" if self.head else "by bounds, without a first, cheaper one"


def fastest(recipe: Recipe, segments: Segments) -> Manner:
    """Return the manner in which a sample of the items finds its nearest ones fastest."""
    n = len(segments)
    P = sample(segments, max(LEAST, min(MOST, PAIRS // n)))
    manners = [Manner(n), Manner(n, everything=True)]
    if recipe.kernel.runs_python:
        return manners[_fewest(recipe, segments, P)]
    if isinstance(recipe.searcher, BoundScan) and recipe.searcher.n_head is None:
        manners.append(Manner(n, head=False))
    times = _times(manners, recipe, segments, P)
    times[1] /= WORTH
    return manners[times.index(min(times))]


def _times(manners: list[Manner], recipe: Recipe, segments: Segments, P: Prepared) -> list[float]:
    """Return the least seconds that each manner takes, in turns so that drifts hit all alike.

    The first turn does not count, unless it is long: it compiles, and fetches from memory what the
    others find there.
    """
    searches = [Search(manner.of(recipe), segments, Pace()) for manner in manners]

    def ask(place: int) -> float:
        started = clock()
        searches[place].best(P, K, None, everything=manners[place].everything)
        return clock() - started

    places = range(len(manners))
    first = [ask(place) for place in places]
    if min(first) > LONG:
        return first
    least = [ask(place) for place in places]
    asked = [place for place, once in enumerate(least) if once <= FAR * min(least)]
    turns: list[list[float]] = []
    while len(turns) < LEAST_TURNS or (len(turns) < TURNS and sum(map(sum, turns)) < SPENT):
        turns.append([ask(place) for place in asked])
    for place, column in zip(asked, zip(*turns, strict=True), strict=True):
        least[place] = min(least[place], *column)
    return least


def _fewest(recipe: Recipe, segments: Segments, P: Prepared) -> int:
    """Return 1 if proofs take more kernel values than there are items, else 0."""
    found = Search(recipe, segments, Pace()).best(P[:LEAST], K, None)
    values: Any = found.evaluations + found.landmark_evaluations
    return int(values.mean() > len(segments))
