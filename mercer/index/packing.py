"""Turn an index into a plain tree of values and arrays, and back."""

from dataclasses import asdict
from typing import Any

import numpy as np

from mercer.embeddings import Embedding
from mercer.errors import StoreError
from mercer.index.aim import Aim
from mercer.index.curve import Curve
from mercer.index.explanation import Explanation
from mercer.index.manner import Manner
from mercer.index.recipe import Recipe
from mercer.index.segment import Segment
from mercer.index.segments import Segments
from mercer.index.state import State
from mercer.kernels import Kernel, Prepared
from mercer.runtime.params import plain
from mercer.search import Rows, Searcher
from mercer.store.manifest import RESTORE
from mercer.store.objects import (
    pack_kernel,
    pack_object,
    require_lengths,
    unpack_kernel,
    unpack_object,
)
from mercer.store.witness import check_samples, samples

MANNER = asdict(Manner())  # for the first files


def pack(recipe: Recipe, segments: Segments, facts: dict[str, Any]) -> dict[str, Any]:
    """Return an index as a tree that `mercer.store` can write.

    Parameters
    ----------
    recipe : Recipe
        Its kernel, embedding and searcher.
    segments : Segments
        Its items.
    facts : dict
        Its own learned values: strings, numbers, lists of them and None.
    """
    return {
        "kernel": pack_kernel(recipe.kernel),
        "embedding": pack_object(recipe.embedding, recipe.kernel),
        "searcher": pack_object(recipe.searcher, recipe.kernel),
        "segments": [_pack_segment(segment) for segment in segments.members],
        "samples": samples(_witness(recipe.embedding, segments)),
        "facts": {name: plain(value) for name, value in facts.items()}
        | {"keeps_items": recipe.keeps_items},
    }


def pack_recall(state: State) -> dict[str, Any]:
    """Return what is to be reached, and what is known of the recall, as parts of a tree."""
    parts = {"recall": state.curve, "queries": state.queries}
    packed = {name: None if part is None else part.pack() for name, part in parts.items()}
    if state.aim is not None:
        packed["aim"] = state.aim.get_params()
    if state.explanation is not None:
        packed["choice"] = state.explanation.to_dict()
    return packed


def unpack_recall(tree: dict[str, Any], kernel: Kernel) -> dict[str, Any]:
    """Return fields of `State`; the first files had none of these."""
    curve, queries = tree.get("recall"), tree.get("queries")
    aim, choice = tree.get("aim"), tree.get("choice")
    return {
        "curve": None if curve is None else Curve.unpack(curve),
        "queries": None if queries is None else Prepared.unpack(queries, kernel),
        "measures": tree["facts"].get("measures", True),
        "aim": None if aim is None else Aim(**aim),
        "explanation": None if choice is None else Explanation.from_dict(choice),
        "manner": Manner(*(tree["facts"].get(name, default) for name, default in MANNER.items())),
    }


def unpack_columns(facts: dict[str, Any]) -> list[str] | None:
    """Return the names of the features; the first files had none."""
    names = facts.get("columns")
    if names is None or (isinstance(names, list) and all(isinstance(one, str) for one in names)):
        return names
    raise StoreError(f"the names of its columns are {names!r}, not strings. {RESTORE}")


def _pack_segment(segment: Segment) -> dict[str, Any]:
    return {
        "items": segment.items.pack(),
        "own": segment.diag,
        "rows": {name: plain(value) for name, value in segment.rows.kept().items()},
        "ids": segment.ids,
        "removed": segment.removed,
    }


def _witness(embedding: Embedding, segments: Segments) -> Prepared | None:
    """Return the items whose kernel values are stored."""
    first = segments.members[0].items if segments.members else None
    first = first if first else None  # no items may be kept
    return first if embedding.witnesses is None else embedding.witnesses


def unpack_recipe(tree: dict[str, Any]) -> Recipe:
    """Return the kernel, the embedding and the searcher of a tree."""
    kernel = unpack_kernel(tree["kernel"])
    return Recipe(
        kernel,
        unpack_object(tree["embedding"], kernel, Embedding),
        unpack_object(tree["searcher"], kernel, Searcher),
        tree["facts"].get("keeps_items", True) is True,
    )


def unpack_segments(tree: dict[str, Any], recipe: Recipe) -> Segments:
    """Return the segments of a tree."""
    members = [_unpack_segment(one, recipe) for one in tree["segments"]]
    _require_alike(recipe, members)
    next_id = tree["facts"].get("next_id")
    if next_id is None:  # missing in the first files of this format
        next_id = max((one.next_id for one in members), default=0)
    return Segments(tuple(members), next_id)


def _require_alike(recipe: Recipe, members: list[Segment]) -> None:
    """Raise InputError unless all items have the form of the landmarks, or of the first items."""
    held = [P for P in (recipe.embedding.witnesses, *(one.items for one in members)) if P]
    for P in held[1:]:
        recipe.kernel.require_alike(P, held[0], ("items of a segment", "those before"))


def _unpack_segment(tree: dict[str, Any], recipe: Recipe) -> Segment:
    P = Prepared.unpack(tree["items"], recipe.kernel)
    rows: Rows = recipe.searcher.read(tree["rows"])
    diag, ids, removed = tree["own"], tree["ids"], tree["removed"]
    require_lengths("a segment", rows=len(rows), ids=len(ids), removed=len(removed))
    n = len(ids) if recipe.keeps_items else 0
    require_lengths("the items of a segment", items=len(P), own=len(diag), expected=n)
    if diag.dtype != np.float64 or removed.dtype != bool or ids.dtype.kind not in "iU":
        raise StoreError(
            f"a segment has k(x, x) as {diag.dtype}, ids as {ids.dtype} and its mask as "
            f"{removed.dtype}, not as float64, integers or strings, and bool. {RESTORE}"
        )
    return Segment(P, diag, rows, ids, removed)


def check_kernel(
    tree: dict[str, Any], recipe: Recipe, segments: Segments, same_version: bool
) -> None:
    """Raise StoreError where the kernel is not the one that the index was saved with."""
    check_samples(_witness(recipe.embedding, segments), tree["samples"], same_version)
