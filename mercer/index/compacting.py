"""Join all segments while others search, add and remove."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.index.recipe import Recipe
from mercer.index.segment import Segment
from mercer.index.segments import Segments
from mercer.index.state import State


def joined(recipe: Recipe, segments: Segments) -> Segment | None:
    """Return all live items as one segment; None if they are one already."""
    old = segments.members
    if len(old) > 1 or any(segment.removed.any() for segment in old):
        return recipe.join(old)
    return None


def changed(now: State, before: State, whole: Segment | None) -> State:
    """Return the state with one segment in place of those that it was made of.

    What was added since stays behind it, and what was removed since is removed from it. If the
    index learned anew in between, or its method was chosen again, all is joined as it is now.
    """
    if now.recipe is not before.recipe or not _has_only(now.segments, before.segments):
        whole, before = joined(now.fitted("compact")[0], now.segments), now
    if whole is None:
        return now
    there = {id(segment.ids): segment for segment in now.segments.members}
    old = before.segments.members
    gone = [_gone(segment, there.pop(id(segment.ids), None)) for segment in old]
    whole = whole.without(np.flatnonzero(np.concatenate(gone)))
    members = (whole, *there.values()) if len(whole) else tuple(there.values())
    return replace(now, segments=Segments(members, now.segments.next_id))


def _has_only(now: Segments, before: Segments) -> bool:
    """Whether segments are those of before, without some of their rows, and then new ones."""
    old = [id(segment.ids) for segment in before.members]
    found = [id(segment.ids) for segment in now.members]
    kept = [one for one in found if one in old]
    return found[: len(kept)] == kept and set(kept) <= set(old)


def _gone(before: Segment, now: Segment | None) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which of the rows that were live then are removed now."""
    live = before.live_rows
    return np.ones(len(live), bool) if now is None else now.removed[live]
