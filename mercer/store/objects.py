"""Kernels, parts and prepared items as plain trees of values and arrays, and back.

Nothing is imported or run on the way back: classes and kernels are looked up by name, among those
that were made known (`mercer.runtime.params.stored`, `mercer.register`).
"""

from __future__ import annotations

from typing import Any

from mercer import items, kernels
from mercer.errors import KernelError, StoreError
from mercer.items import Ragged
from mercer.kernels import Kernel, Prepared
from mercer.runtime.params import Params, plain, stored_class, stored_name
from mercer.store.items import pack_part, unpack_part
from mercer.store.manifest import RESTORE

__all__ = [
    "pack_items",
    "pack_kernel",
    "pack_object",
    "require_lengths",
    "unpack_items",
    "unpack_kernel",
    "unpack_object",
]


# ---- kernels


def pack_kernel(kernel: Kernel) -> dict[str, Any]:
    """Return a kernel as plain data, with the items among its parameters as trees."""
    try:
        spec: dict[str, Any] = _pack_spec(kernels.to_spec(kernel))
        return spec
    except KernelError as error:
        raise KernelError(f"save: {error}") from None


def unpack_kernel(spec: dict[str, Any]) -> Kernel:
    """Return the kernel that `pack_kernel` described."""
    return kernels.from_spec(_unpack_spec(spec))


def _pack_spec(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _pack_spec(inner) for key, inner in value.items()}
    is_items = isinstance(value, (list, Ragged)) or items.is_sparse(value)
    return {"items": pack_part(value)} if is_items else value


def _unpack_spec(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "items" in value:
        return unpack_part(value["items"])
    return {key: _unpack_spec(inner) for key, inner in value.items()}


# ---- parts: embeddings, codes, searchers


def pack_object(part: Params, kernel: Kernel) -> dict[str, Any]:
    """Return a part by its name, with its parameters and what it learned."""
    name = stored_name(type(part))
    if name is None:
        own = type(part).__name__
        raise StoreError(
            f"save: cannot store {part!r}: its class has no name to be found by. Make it known "
            f"with mercer.register({own!r}, {own}) before saving and before loading."
        )
    learned = {key: getattr(part, key) for key in part.learned} if part.is_fitted else {}
    return {
        "class": name,
        "params": _pack_values(part.get_params(deep=False), kernel),
        "learned": _pack_values(learned, kernel),
    }


def unpack_object(tree: dict[str, Any], kernel: Kernel, family: type[Params] = Params) -> Any:
    """Return the part that `pack_object` described; it must be of this family."""
    name = tree["class"]
    cls = stored_class(name)
    if cls is None or not issubclass(cls, family):
        raise StoreError(
            f"it was saved with the class {name!r}, which is not known here as "
            f"{family.__name__}. If it is your own, "
            f"call mercer.register({name!r}, {name}) before loading; otherwise load it with the "
            "version of mercer that saved it."
        )
    part = cls(**{key: _unpack_value(value, kernel) for key, value in tree["params"].items()})
    if set(tree["learned"]) not in (set(), set(part.learned)):
        raise StoreError(
            f"{name} has learned {', '.join(sorted(tree['learned']))} instead of "
            f"{', '.join(sorted(part.learned))}. {RESTORE}"
        )
    inner = getattr(part, "compared", kernel)  # landmarks are prepared for what compares them
    for key, value in tree["learned"].items():
        setattr(part, key, _unpack_value(value, inner))
    return part


def _pack_values(values: dict[str, Any], kernel: Kernel) -> dict[str, Any]:
    return {key: _pack_value(value, kernel) for key, value in values.items()}


def _pack_value(value: Any, kernel: Kernel) -> Any:
    if isinstance(value, Kernel):  # None stands for the kernel of the index itself
        return {"kernel": None if value == kernel else pack_kernel(value)}
    if isinstance(value, Prepared):
        return {"items": pack_items(value)}
    return {"part": pack_object(value, kernel)} if isinstance(value, Params) else plain(value)


def _unpack_value(value: Any, kernel: Kernel) -> Any:
    if not isinstance(value, dict):
        return value
    [(kind, inside)] = value.items()
    if kind == "kernel":
        return kernel if inside is None else unpack_kernel(inside)
    return unpack_object(inside, kernel) if kind == "part" else unpack_items(inside, kernel)


# ---- prepared items


def pack_items(P: Prepared) -> dict[str, Any]:
    """Return prepared items as a tree; their kernel is not in it."""
    form = None if P.form is None else list(P.form)
    return {"form": form, "parts": [_pack_nested(part, P.kernel) for part in P.parts]}


def unpack_items(tree: dict[str, Any], kernel: Kernel) -> Prepared:
    """Return what `pack_items` described, for the kernel that it was prepared for."""
    parts = tuple(_unpack_nested(part, kernel) for part in tree["parts"])
    require_lengths("items", **{f"part {i}": items.length(part) for i, part in enumerate(parts)})
    return Prepared(kernel, parts, None if tree["form"] is None else tuple(tree["form"]))


def _pack_nested(part: Any, kernel: Kernel) -> dict[str, Any]:
    """Return one part of prepared items; those of a kernel inside are stored under its place."""
    if not isinstance(part, Prepared):
        return pack_part(part)
    for place, value in kernel.get_params(deep=False).items():
        if value is part.kernel:
            return {"prepared": {"kernel": place, "items": pack_items(part)}}
    raise StoreError(
        f"save: {kernel!r} prepares items for {part.kernel!r}, which is not one of its "
        "parameters. Keep the kernels it is made of as arguments of its constructor."
    )


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
    return unpack_items(tree["prepared"]["items"], inner)


def require_lengths(what: str, **lengths: int) -> None:
    """Raise StoreError unless all are the same."""
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise StoreError(f"{what} should be as long in all parts ({told}). {RESTORE}")
