"""What an index knows, as a plain tree of values and arrays, and back.

Nothing is imported or run on the way back: classes and kernels are looked up by name.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from mercer import items, kernels
from mercer.arrays import Array
from mercer.codes import Code, Product, Sign
from mercer.embeddings import (
    AdditiveMap,
    Embedding,
    Euclidean,
    FeatureKPCA,
    FourierDirections,
    Identity,
    KernelPCA,
    KLSHDirections,
    LearnedDirections,
    LearnedMetric,
    MaxMarginDirections,
    PyramidDirections,
    SquareRoot,
)
from mercer.embeddings.landmark_map import LandmarkMap
from mercer.errors import KernelError, StoreError
from mercer.kernels import Kernel, Prepared
from mercer.params import Params, plain
from mercer.ragged import Ragged
from mercer.search import BoundScan, Graph, Inverted, Scan, Searcher, SortedLists
from mercer.segment import Segment
from mercer.segments import Segments
from mercer.store.items import pack_part, unpack_part
from mercer.store.manifest import RESTORE

__all__ = [
    "check_samples",
    "pack",
    "unpack_embedding",
    "unpack_kernel",
    "unpack_searcher",
    "unpack_segments",
]

# all classes that a saved index may name, and what each must have learned to be of use
Known = dict[str, tuple[type[Params], set[str]]]
MAP = {"landmarks_", "weights_", "offsets_", "n_landmarks_"}
EMBEDDINGS: Known = {
    "KernelPCA": (KernelPCA, MAP | {"reach_", "mean_", "departure_", "rounding_"}),
    "KLSHDirections": (KLSHDirections, MAP),
    "MaxMarginDirections": (MaxMarginDirections, MAP),
    "FourierDirections": (FourierDirections, {"weights_", "offsets_", "shifts_", "n_landmarks_"}),
    "Identity": (Identity, {"n_features_"}),
    "PyramidDirections": (PyramidDirections, {"n_features_"}),
    "LearnedMetric": (LearnedMetric, {"offsets_", "height_"}),
    "LearnedDirections": (LearnedDirections, {"directions_", "weights_", "n_landmarks_"}),
    "SquareRoot": (SquareRoot, {"n_features_"}),
    "AdditiveMap": (AdditiveMap, {"n_features_", "interval_"}),
    "FeatureKPCA": (FeatureKPCA, {"n_features_", "landmarks_", "weights_"}),
    "Euclidean": (Euclidean, {"map_", "mean_", "axes_", "top_"}),
}
CODES: Known = {
    "Sign": (Sign, {"n_bits_", "directions_"}),
    "Product": (Product, {"rotation_", "centroids_"}),
}
SEARCHERS: Known = {
    "BoundScan": (BoundScan, {"vectors_"}),
    "Scan": (Scan, {"codes_"}),
    "Inverted": (Inverted, {"codes_", "rows_", "offsets_", "centroids_", "reach_"}),
    "Graph": (Graph, {"codes_", "scale_", "levels_", "links_", "entry_"}),
    "SortedLists": (SortedLists, {"codes_", "permutations_", "lists_", "directories_"}),
}
LEARNED = re.compile(r"[a-z][a-z0-9_]*_")
SAMPLES = 16  # items whose kernel values are kept, to know the kernel again
TINY = 1e-37  # values below count as 0


# ---- to a tree


def pack(
    kernel: Kernel, embedding: Embedding, searcher: Searcher, segments: Segments,
    facts: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """Return an index as a tree that `mercer.store` can write.

    Parameters
    ----------
    kernel, embedding, searcher, segments
        The parts of the index.
    facts : dict
        Its own learned values: strings, numbers and None.
    """
    spec, witness = _spec(kernel), _witness(embedding, segments)
    return {
        "kernel": spec,
        "embedding": _pack_object(embedding, EMBEDDINGS, kernel),
        "searcher": _pack_object(searcher, SEARCHERS, kernel),
        "segments": [_pack_segment(segment, kernel) for segment in segments.members],
        "samples": None if witness is None else _gram(_few(witness)),
        "facts": {name: plain(value) for name, value in facts.items()},
    }


def _spec(kernel: Kernel) -> dict[str, Any]:
    try:
        spec: dict[str, Any] = _pack_spec(kernels.to_spec(kernel))
        return spec
    except KernelError as error:
        raise KernelError(f"save: {error}") from None


def _pack_spec(value: Any) -> Any:
    """Return a kernel as plain data, with the items among its parameters as trees."""
    if isinstance(value, dict):
        return {key: _pack_spec(inner) for key, inner in value.items()}
    is_items = isinstance(value, (list, Ragged)) or items.is_sparse(value)
    return {"items": pack_part(value)} if is_items else value


def _unpack_spec(value: Any) -> Any:
    """Return what `_pack_spec` was given."""
    if not isinstance(value, dict):
        return value
    if "items" in value:
        return unpack_part(value["items"])
    return {key: _unpack_spec(inner) for key, inner in value.items()}


def _pack_object(part: Params, known: dict[str, Any], kernel: Kernel) -> dict[str, Any]:
    """Return an object by the name of its class, with its parameters and what it learned."""
    name = type(part).__name__
    if name not in known or type(part) is not known[name][0]:
        raise StoreError(
            f"save: cannot store {part!r}: classes that can be stored are {', '.join(known)}."
        )
    learned = {key: value for key, value in vars(part).items() if LEARNED.fullmatch(key)}
    return {
        "class": name,
        "params": {key: _pack_param(value, kernel)
                   for key, value in part.get_params(deep=False).items()},
        "state": {key: _pack_learned(value, kernel) for key, value in learned.items()},
    }  # fmt: skip


def _pack_param(value: Any, kernel: Kernel) -> Any:
    if isinstance(value, Kernel):  # None stands for the kernel of the index itself
        return {"kernel": None if value == kernel else _spec(value)}
    return {"code": _pack_object(value, CODES, kernel)} if isinstance(value, Code) else plain(value)


def _pack_learned(value: Any, kernel: Kernel) -> Any:
    if isinstance(value, Embedding):
        return {"embedding": _pack_object(value, EMBEDDINGS, kernel)}
    return {"items": _pack_items(value)} if isinstance(value, Prepared) else plain(value)


def _pack_segment(segment: Segment, kernel: Kernel) -> dict[str, Any]:
    return {
        "items": _pack_items(segment.items),
        "own": segment.own,
        "searcher": _pack_object(segment.searcher, SEARCHERS, kernel),
        "ids": segment.ids,
        "removed": segment.removed,
    }


def _pack_items(P: Prepared) -> dict[str, Any]:
    form = None if P.form is None else list(P.form)
    return {"form": form, "parts": [_pack_nested(part, P.kernel) for part in P.parts]}


def _pack_nested(part: Any, kernel: Kernel) -> dict[str, Any]:
    """Return one part of prepared items; those of a kernel inside are stored under its place."""
    if not isinstance(part, Prepared):
        return pack_part(part)
    for place, value in kernel.get_params(deep=False).items():
        if value is part.kernel:
            return {"prepared": {"kernel": place, "items": _pack_items(part)}}
    raise StoreError(
        f"save: {kernel!r} prepares items for {part.kernel!r}, which is not one of its "
        "parameters. Keep the kernels it is made of as arguments of its constructor."
    )


def _witness(embedding: Embedding, segments: Segments) -> Prepared | None:
    """Return the items whose kernel values are kept."""
    first = segments.members[0].items if segments.members else None
    found: Prepared | None = getattr(embedding, "landmarks_", first)
    return found


def _few(P: Prepared) -> Prepared:
    return P.take(np.arange(min(SAMPLES, len(P))))


def _gram(P: Prepared) -> Array:
    values: Array = P.kernel(P, P[:], dtype=np.float64, n_jobs=1)
    return values


# ---- and back


def unpack_kernel(tree: dict[str, Any]) -> Kernel:
    """Return the kernel of a tree."""
    return kernels.from_spec(_unpack_spec(tree["kernel"]))


def unpack_embedding(tree: dict[str, Any], kernel: Kernel) -> Embedding:
    """Return the embedding of a tree, with what it learned."""
    embedding: Embedding = _unpack_object(tree["embedding"], EMBEDDINGS, kernel)
    found = getattr(embedding, "map_", embedding)
    if isinstance(found, LandmarkMap) and "landmarks_" in vars(found):
        _require_lengths(
            "the embedding", landmarks=len(found.landmarks_), weights=len(found.weights_),
            n_landmarks_=found.n_landmarks_,
        )  # fmt: skip
    return embedding


def unpack_searcher(tree: dict[str, Any], kernel: Kernel) -> Searcher:
    """Return the searcher that new segments of the index are built like."""
    searcher: Searcher = _unpack_object(tree["searcher"], SEARCHERS, kernel)
    return searcher


def unpack_segments(tree: dict[str, Any], kernel: Kernel) -> Segments:
    """Return the segments of a tree."""
    return Segments(tuple(_unpack_segment(one, kernel) for one in tree["segments"]))


def _unpack_object(tree: dict[str, Any], known: dict[str, Any], kernel: Kernel) -> Any:
    name = tree["class"]
    if name not in known:
        raise StoreError(
            f"it was saved with the class {name!r}, which this version does not know (it knows "
            f"{', '.join(known)}). Load it with the version of mercer that saved it."
        )
    cls, needed = known[name]
    params = {key: _unpack_param(value, kernel) for key, value in tree["params"].items()}
    part = cls(**params)
    inner = part.compared if isinstance(part, LandmarkMap) else kernel
    for key, value in tree["state"].items():
        if not LEARNED.fullmatch(key):
            raise StoreError(f"{name} cannot have learned {key!r}. {RESTORE}")
        setattr(part, key, _unpack_learned(value, inner))
    missing = needed - set(tree["state"])
    if tree["state"] and missing:
        raise StoreError(f"{name} lacks {', '.join(sorted(missing))}. {RESTORE}")
    return part


def _unpack_param(value: Any, kernel: Kernel) -> Any:
    if not isinstance(value, dict):
        return value
    if "code" in value:
        return _unpack_object(value["code"], CODES, kernel)
    return kernel if value["kernel"] is None else unpack_kernel(value)


def _unpack_learned(value: Any, kernel: Kernel) -> Any:
    if not isinstance(value, dict):
        return value
    if "embedding" in value:
        return _unpack_object(value["embedding"], EMBEDDINGS, kernel)
    return _unpack_items(value["items"], kernel)


def _unpack_segment(tree: dict[str, Any], kernel: Kernel) -> Segment:
    P = _unpack_items(tree["items"], kernel)
    searcher = _unpack_object(tree["searcher"], SEARCHERS, kernel)
    own, ids, removed = tree["own"], tree["ids"], tree["removed"]
    _require_lengths(
        "a segment", items=len(P), searcher=len(searcher), own=len(own), ids=len(ids),
        removed=len(removed),
    )  # fmt: skip
    if own.dtype != np.float64 or removed.dtype != bool or ids.dtype.kind not in "iU":
        raise StoreError(
            f"a segment has k(x, x) as {own.dtype}, ids as {ids.dtype} and its mask as "
            f"{removed.dtype}, not as float64, integers or strings, and bool. {RESTORE}"
        )
    return Segment(P, own, searcher, ids, removed)


def _unpack_items(tree: dict[str, Any], kernel: Kernel) -> Prepared:
    parts = tuple(_unpack_nested(part, kernel) for part in tree["parts"])
    _require_lengths("items", **{f"part {i}": items.length(part) for i, part in enumerate(parts)})
    return Prepared(kernel, parts, None if tree["form"] is None else tuple(tree["form"]))


def _unpack_nested(tree: dict[str, Any], kernel: Kernel) -> Any:
    if "prepared" not in tree:
        return unpack_part(tree)
    place = tree["prepared"]["kernel"]
    inner = kernel.get_params(deep=False).get(place)
    if not isinstance(inner, Kernel):
        raise StoreError(
            f"its items were prepared for a kernel with a kernel {place!r} inside, but {kernel!r} "
            "has none. Register the kernel that it was saved with before loading."
        )
    return _unpack_items(tree["prepared"]["items"], inner)


def _require_lengths(what: str, **lengths: int) -> None:
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise StoreError(f"{what} should be as long in all parts ({told}). {RESTORE}")


# ---- the kernel must be the same


def check_samples(
    tree: dict[str, Any], embedding: Embedding, segments: Segments, same_version: bool
) -> None:
    """Raise StoreError where the kernel gives other values than when the index was saved.

    Built-in kernels of the same version are the same; to wake the compiler for them would take
    longer than all the rest of loading.
    """
    P, expected = _witness(embedding, segments), tree["samples"]
    if P is None or (same_version and not registered_names(kernels.to_spec(P.kernel))):
        return
    few = _few(P)
    if np.shape(expected) != (len(few), len(few)):
        raise StoreError(f"it lacks the kernel values of {len(few)} items. {RESTORE}")
    _compare(few, expected)


def _compare(few: Prepared, expected: Array) -> None:
    kernel: Kernel = few.kernel
    try:
        found = _gram(few)
    except Exception as error:  # the code of a user may raise anything
        raise StoreError(
            f"{_stranger(kernel)}: it fails on saved items ({error}). {_cure(kernel)}"
        ) from error
    own = np.sqrt(np.abs(np.outer(np.diag(expected), np.diag(expected))))
    slack = 2 * kernel.tolerance(few) * np.maximum(own, np.abs(expected)) + TINY
    wrong = ~(np.abs(found - expected) <= slack)
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise StoreError(
            f"{_stranger(kernel)}: k(item {i}, item {j}) = {found[i, j]:.6g} instead of "
            f"{expected[i, j]:.6g}. {_cure(kernel)}"
        )


def _stranger(kernel: Kernel) -> str:
    mine = registered_names(kernels.to_spec(kernel))
    called = f"registered as {' or '.join(map(repr, mine))}" if mine else repr(kernel)
    return f"the kernel {called} is not the one this index was saved with"


def _cure(kernel: Kernel) -> str:
    if registered_names(kernels.to_spec(kernel)):
        return "Register the kernel that it was saved with, under the same name, before loading."
    return "Build and save the index again."


def registered_names(spec: dict[str, Any]) -> list[str]:
    """Return the names in a kernel's spec that stand for code of the user.

    Examples
    --------
    >>> from mercer.store.state import registered_names
    >>> registered_names({"name": "scaled", "factor": 2.0, "kernel": {"name": "rbf"}})
    []
    """
    inside = [registered_names(value) for value in spec.values() if isinstance(value, dict)]
    own = set(kernels.names()) - set(kernels.NAMES)
    found = [spec["name"]] if spec["name"] in own else []
    return found + [name for names in inside for name in names]
