"""What was read from a folder as the state of an index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

import mercer
from mercer import store
from mercer.embeddings import Embedding
from mercer.errors import KernelError, StoreError
from mercer.index.aim import Aim
from mercer.index.curve import Curve
from mercer.index.explanation import Explanation
from mercer.index.manner import Manner
from mercer.index.payload import Payload
from mercer.index.recipe import Recipe
from mercer.index.segment import Segment
from mercer.index.segments import Segments
from mercer.index.state import State
from mercer.index.ways import WAYS
from mercer.kernels import Kernel, Prepared
from mercer.runtime.arrays import Array
from mercer.search import Rows, Searcher
from mercer.search.base import Mask
from mercer.store.objects import require_lengths, unpack_kernel, unpack_object
from mercer.store.values import RESTORE
from mercer.store.witness import check_samples

MANNER = asdict(Manner())  # for the first files


class Kept(NamedTuple):
    """An index as it is in a folder; nothing in it is changed."""

    opened: store.Opened  # which keeps the files
    recipe: Recipe  # learned or not
    state: State
    disproof: str | None

    @property
    def made(self) -> tuple[Kernel, Embedding, Searcher, Aim | None]:
        """The arguments of the index; one with an aim begins by comparing everything."""
        kernel, aim = self.recipe.kernel, self.state.aim
        parts = self.recipe.unlearned() if aim is None else WAYS["brute"].parts(kernel, aim.seed)
        return kernel, *parts, aim

    @property
    def segments(self) -> dict[str, tuple[Segment, Any]]:
        """The segments by the names of their parts, and what says which rows were removed."""
        if self.opened.manifest["format"] == 1:
            return {}
        named = self.opened.manifest["index"]["segments"]
        pairs = zip(named, self.state.segments.members, strict=True)
        return {one["content"]["part"]: (segment, one["removed"]) for one, segment in pairs}


def unpacked(opened: store.Opened, before: Kept | None = None) -> Kept:
    """Return the index of a folder, with all that is the same as before.

    Parameters
    ----------
    opened : Opened
        What is read.
    before : Kept, optional
        What was read of this folder earlier.
    """
    manifest, told = opened.manifest, f"load: {opened.folder}"
    try:
        same_version = manifest["mercer"] == mercer.__version__
        return READERS[manifest["format"]](opened, before, same_version)
    except (StoreError, KernelError) as error:
        text = str(error).rstrip(".")
        raise StoreError(f"{text}." if text.startswith(told) else f"{told}: {text}.") from error
    except (OSError, MemoryError):  # the system's own
        raise
    except Exception as error:
        raise StoreError(
            f"{told} does not describe an index of this version ({type(error).__name__}: {error}). "
            f"It was saved by mercer {manifest['mercer']}; this is {mercer.__version__}. Build and "
            "save the index again."
        ) from error


# ---- the format written


def _read_format_2(opened: store.Opened, before: Kept | None, same_version: bool) -> Kept:
    tree = opened.index
    old = {} if before is None else before.opened.manifest["index"]
    if before is not None and old["base"] == tree["base"]:
        recipe, learned = before.recipe, _learned(before.state)
    else:
        before = None
        recipe, learned = _unpack_base(opened.part(tree["base"]), same_version)
    segments, samples = _unpack_segments(opened, recipe, before)
    if samples is not None:
        check_samples(segments.members[0].items, *samples, same_version)
    if before is not None and old["measured"] == tree["measured"]:
        learned |= {"curve": before.state.curve, "explanation": before.state.explanation}
    elif tree["measured"] is not None:
        learned |= _unpack_measured(opened.part(tree["measured"]))
    return Kept(opened, recipe, _state(recipe, segments, tree["facts"], learned),
                _disproof(tree["facts"]))  # fmt: skip


def _learned(state: State) -> dict[str, Any]:
    return {"queries": state.queries, "columns": state.columns, "aim": state.aim}


def _unpack_base(tree: dict[str, Any], same_version: bool) -> tuple[Recipe, dict[str, Any]]:
    """Return the recipe, and fields of `State` that do not change as items do."""
    recipe = _unpack_recipe(tree, tree["keeps_items"])
    if recipe.embedding.witnesses is not None:
        check_samples(recipe.embedding.witnesses, tree["samples"], same_version)
    return recipe, {
        "queries": _unpack_queries(tree["queries"], recipe.kernel),
        "columns": unpack_columns(tree["columns"]),
        "aim": None if tree["aim"] is None else Aim(**tree["aim"]),
    }


def _unpack_measured(tree: dict[str, Any]) -> dict[str, Any]:
    curve, choice = tree["recall"], tree["choice"]
    return {
        "curve": None if curve is None else Curve.unpack(curve),
        "explanation": None if choice is None else Explanation.from_dict(choice),
    }


def _unpack_segments(
    opened: store.Opened, recipe: Recipe, before: Kept | None
) -> tuple[Segments, tuple[Array | None] | None]:
    """Return the segments, and the kernel values that were stored with the first one."""
    known = {} if before is None else before.segments
    samples = None
    members: list[Segment] = []
    for described in opened.index["segments"]:
        segment, removed = known.get(described["content"]["part"], (None, None))
        if segment is None:
            tree = opened.part(described["content"])
            segment = _unpack_segment(tree, recipe)
            if not members and recipe.embedding.witnesses is None and len(segment.items):
                samples = (tree["samples"],)
        require_lengths("a segment", rows=len(segment.ids), expected=described["rows"])
        if described["removed"] != removed:
            segment = segment.with_removed(_unpack_removed(opened, described, len(segment.ids)))
        members.append(segment)
    _require_alike(recipe, members)
    return Segments(tuple(members), _next_id(opened.index["facts"], members)), samples


def _unpack_removed(opened: store.Opened, described: dict[str, Any], n: int) -> Mask:
    """Return which of the rows were removed."""
    removed = np.zeros(n, bool)
    if described["removed"] is None:
        return removed
    rows = opened.part(described["removed"])["rows"]
    sound = rows.dtype == np.int64 and rows.ndim == 1 and ((rows >= 0) & (rows < n)).all()
    if not sound:
        raise StoreError(f"rows are removed that a segment does not have. {RESTORE}")
    removed[rows] = True
    return removed


# ---- the first format


def _read_format_1(opened: store.Opened, before: Kept | None, same_version: bool) -> Kept:
    tree = opened.index
    facts = tree["facts"]
    recipe = _unpack_recipe(tree, facts.get("keeps_items", True))
    members = []
    for one in tree["segments"]:
        segment, removed = _unpack_segment(one, recipe), one["removed"]
        require_lengths("a segment", rows=len(segment.ids), removed=len(removed))
        if removed.dtype != bool:
            raise StoreError(f"a segment has its mask as {removed.dtype}, not as bool. {RESTORE}")
        members.append(segment.with_removed(removed))
    _require_alike(recipe, members)
    first = members[0].items if members and len(members[0].items) else None
    witnesses = recipe.embedding.witnesses
    check_samples(first if witnesses is None else witnesses, tree["samples"], same_version)
    aim = tree.get("aim")
    learned = {
        **_unpack_measured({name: tree.get(name) for name in ("recall", "choice")}),
        "queries": _unpack_queries(tree.get("queries"), recipe.kernel),
        "columns": unpack_columns(facts.get("columns")),
        "aim": None if aim is None else Aim(**aim),
    }
    segments = Segments(tuple(members), _next_id(facts, members))
    return Kept(opened, recipe, _state(recipe, segments, facts, learned), _disproof(facts))


# ---- both


def _unpack_recipe(tree: dict[str, Any], keeps_items: Any) -> Recipe:
    """Return the kernel, the embedding and the searcher of a tree."""
    kernel = unpack_kernel(tree["kernel"])
    return Recipe(
        kernel,
        unpack_object(tree["embedding"], kernel, Embedding),
        unpack_object(tree["searcher"], kernel, Searcher),
        keeps_items is True,
    )


def _state(
    recipe: Recipe, segments: Segments, facts: dict[str, Any], learned: dict[str, Any]
) -> State:
    fitted = recipe.embedding.is_fitted and recipe.searcher.is_fitted
    if segments.members and not fitted:
        raise StoreError("it has items but has learned nothing")
    return State(
        recipe if recipe.embedding.is_fitted else None, segments,
        facts["relaxation_"], facts["probability_"], measures=facts.get("measures", True),
        manner=Manner(*(facts.get(name, default) for name, default in MANNER.items())),
        unfinished=_unfinished(facts), **learned,
    )  # fmt: skip


def _unfinished(facts: dict[str, Any]) -> tuple[str, int] | None:
    """Return which source was being added, and how many rows of it are there."""
    match facts.get("unfinished"):
        case None:
            return None
        case [str(source), int(rows)] if rows >= 0:
            return source, rows
        case strange:
            raise StoreError(f"what was being added is {strange!r}. {RESTORE}")


def _disproof(facts: dict[str, Any]) -> str | None:
    found = facts["disproof_"]
    if found is None or isinstance(found, str):
        return found
    raise StoreError(f"the claim its kernel broke is {found!r}. {RESTORE}")


def _next_id(facts: dict[str, Any], members: list[Segment]) -> int:
    """Return the next id, which is above all that there are; the first files had none."""
    least = max((one.next_id for one in members), default=0)
    told = facts.get("next_id", least)
    if not isinstance(told, int) or told < 0:
        raise StoreError(f"the next id is {told!r}. {RESTORE}")
    return max(told, least)


def _unpack_queries(tree: Any, kernel: Kernel) -> Prepared | None:
    return None if tree is None else Prepared.unpack(tree, kernel)


def unpack_columns(names: Any) -> list[str] | None:
    """Return the names of the features."""
    if names is None or (isinstance(names, list) and all(isinstance(one, str) for one in names)):
        return names
    raise StoreError(f"the names of its columns are {names!r}, not strings. {RESTORE}")


def _require_alike(recipe: Recipe, members: list[Segment]) -> None:
    """Raise InputError unless all items have the form of the landmarks, or of the first items."""
    held = [P for P in (recipe.embedding.witnesses, *(one.items for one in members)) if P]
    for P in held[1:]:
        recipe.kernel.require_alike(P, held[0], ("items of a segment", "those before"))


def _unpack_segment(tree: dict[str, Any], recipe: Recipe) -> Segment:
    P = Prepared.unpack(tree["items"], recipe.kernel)
    rows: Rows = recipe.searcher.read(tree["rows"])
    diag, ids = tree["own"], tree["ids"]
    require_lengths("a segment", rows=len(rows), ids=len(ids))
    n = len(ids) if recipe.keeps_items else 0
    require_lengths("the items of a segment", items=len(P), own=len(diag), expected=n)
    if diag.dtype != np.float64 or ids.dtype.kind not in "iU":
        raise StoreError(
            f"a segment has k(x, x) as {diag.dtype} and ids as {ids.dtype}, not as float64, and "
            f"integers or strings. {RESTORE}"
        )
    payload = Payload.unpack(tree.get("payload"), len(ids))
    return Segment(P, diag, rows, ids, np.zeros(len(ids), bool), payload)


READERS: dict[int, Callable[[store.Opened, Kept | None, bool], Kept]] = {
    1: _read_format_1,
    2: _read_format_2,
}
