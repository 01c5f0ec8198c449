"""Turn kernels and parts into plain trees of values and arrays, and back.

Nothing is imported or run on the way back: classes and kernels are looked up by name among those
that were registered (`mercer.runtime.params.stored`, `mercer.register`).
"""

from typing import Any

from mercer import items, kernels
from mercer.errors import KernelError, StoreError
from mercer.kernels import Kernel, Prepared
from mercer.runtime.params import Params, plain, stored_class, stored_name
from mercer.store.values import RESTORE

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
    is_items = isinstance(value, list) or items.kind_of(value).name not in ("vectors", "any")
    return {"items": items.pack(value)} if is_items else value


def _unpack_spec(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "items" in value:
        return items.unpack(value["items"])
    return {key: _unpack_spec(inner) for key, inner in value.items()}


# ---- parts: embeddings, codes, searchers


def pack_object(part: Params, kernel: Kernel) -> dict[str, Any]:
    """Return a part as plain data: its name, its parameters and what it learned."""
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
    params = {key: _unpack_value(value, kernel) for key, value in tree["params"].items()}
    if params.get("kernel") in kernels.NAMES:
        params["kernel"] = _meant(params["kernel"], kernel)
    part = cls(**params)
    if set(tree["learned"]) not in (set(), set(part.learned)):
        raise StoreError(
            f"{name} has learned {', '.join(sorted(tree['learned']))} instead of "
            f"{', '.join(sorted(part.learned))}. {RESTORE}"
        )
    inner = getattr(part, "compared", kernel)  # landmarks have a kernel of their own
    for key, value in tree["learned"].items():
        setattr(part, key, _unpack_value(value, inner))
    return part


def _pack_values(values: dict[str, Any], kernel: Kernel) -> dict[str, Any]:
    return {key: _pack_value(value, kernel) for key, value in values.items()}


def _pack_value(value: Any, kernel: Kernel) -> Any:
    if kernels.is_kernel(value):  # None stands for the kernel of the index itself
        return {"kernel": None if value == kernel else pack_kernel(value)}
    if hasattr(value, "pack"):  # prepared items
        return {"items": value.pack()}
    return {"part": pack_object(value, kernel)} if isinstance(value, Params) else plain(value)


def _unpack_value(value: Any, kernel: Kernel) -> Any:
    if not isinstance(value, dict):
        return value
    [(kind, inside)] = value.items()
    if kind == "kernel":
        return kernel if inside is None else unpack_kernel(inside)
    return unpack_object(inside, kernel) if kind == "part" else Prepared.unpack(inside, kernel)


def _meant(name: str, kernel: Kernel) -> str | Kernel:
    """Return the kernel of the index if a name meant it: its defaults may have changed since."""
    now = kernels.get(name)
    return kernel if type(now) is type(kernel) and now != kernel else name


def require_lengths(what: str, **lengths: int) -> None:
    """Raise StoreError unless all lengths are equal."""
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise StoreError(f"{what} should be as long in all parts ({told}). {RESTORE}")
