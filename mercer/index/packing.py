"""An index as values and parts, as `mercer.store` writes them; `unpacking` goes back."""

from dataclasses import asdict
from typing import Any

import numpy as np

from mercer.index.recipe import Recipe
from mercer.index.segment import Segment
from mercer.index.state import State
from mercer.runtime.params import plain
from mercer.store import Part
from mercer.store.objects import pack_kernel, pack_object
from mercer.store.parts import Entry
from mercer.store.witness import samples


def pack(state: State, recipe: Recipe, disproof: str | None) -> dict[str, Any]:
    """Return an index as values and parts that `mercer.store` can write.

    What was learned is one part, what was measured another one, and so is every segment and, apart
    from it, which of its rows were removed: each is written again only when it is another one.

    Parameters
    ----------
    state : State
        All that it knows.
    recipe : Recipe
        Its kernel, embedding and searcher, learned or not.
    disproof : str, optional
        How its kernel broke its claims.
    """
    learned: tuple[object, ...] = (recipe.embedding, recipe.searcher)
    if state.queries is not None:
        learned += (state.queries,)
    measured = tuple(one for one in (state.curve, state.explanation) if one is not None)
    return {
        "base": Part(
            lambda: _pack_base(state, recipe),
            () if state.recipe is None else learned,  # users may change what has learned nothing
            repr((recipe, state.aim, state.columns)),
        ),
        "measured": Part(lambda: _pack_measured(state), measured) if measured else None,
        "segments": [_pack_segment(segment, recipe) for segment in state.segments.members],
        "facts": {
            "disproof_": disproof, "relaxation_": plain(state.relaxation),
            "probability_": plain(state.probability), "next_id": int(state.segments.next_id),
            "measures": state.measures,
            "unfinished": None if state.unfinished is None else list(state.unfinished),
            **{name: plain(value) for name, value in asdict(state.manner).items()},
        },
    }  # fmt: skip


def named(state: State, recipe: Recipe, manifest: dict[str, Any]) -> list[tuple[Part, Entry]]:
    """Return the parts of an index that was read, and how the manifest names them."""
    if manifest["format"] == 1:
        return []
    made, tree = pack(state, recipe, None), manifest["index"]
    pairs = [(made["base"], tree["base"]), (made["measured"], tree["measured"])]
    for segment, entry in zip(made["segments"], tree["segments"], strict=True):
        pairs += [(segment[name], entry[name]) for name in ("content", "removed")]
    return [(part, entry) for part, entry in pairs if part is not None and entry is not None]


def _pack_base(state: State, recipe: Recipe) -> dict[str, Any]:
    return {
        "kernel": pack_kernel(recipe.kernel),
        "embedding": pack_object(recipe.embedding, recipe.kernel),
        "searcher": pack_object(recipe.searcher, recipe.kernel),
        "keeps_items": recipe.keeps_items,
        "samples": samples(recipe.embedding.witnesses),
        "queries": None if state.queries is None else state.queries.pack(),
        "columns": state.columns,
        "aim": None if state.aim is None else state.aim.get_params(),
    }


def _pack_measured(state: State) -> dict[str, Any]:
    return {
        "recall": None if state.curve is None else state.curve.pack(),
        "choice": None if state.explanation is None else state.explanation.to_dict(),
    }


def _pack_segment(segment: Segment, recipe: Recipe) -> dict[str, Any]:
    rows = (segment.items, segment.rows, segment.ids)
    gone = Part(lambda: {"rows": np.flatnonzero(segment.removed)}, (segment.removed,))
    return {
        "rows": len(segment.ids),
        "content": Part(lambda: _pack_rows(segment, recipe), rows),
        "removed": gone if segment.removed.any() else None,
    }


def _pack_rows(segment: Segment, recipe: Recipe) -> dict[str, Any]:
    own = recipe.embedding.witnesses is None and len(segment.items)
    return {
        "items": segment.items.pack(),
        "own": segment.diag,
        "rows": {name: plain(value) for name, value in segment.rows.kept().items()},
        "ids": segment.ids,
        "payload": None if segment.payload is None else segment.payload.pack(),
        "samples": samples(segment.items) if own else None,
    }
