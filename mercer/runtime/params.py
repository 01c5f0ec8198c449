"""Parameters of an object: read, set, print and compare them as scikit-learn does."""

import inspect
import math
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from mercer.errors import InputError, NotFittedError
from mercer.runtime.border import border
from mercer.runtime.lazy import forget

Part = TypeVar("Part", bound="Params")


class Params:
    """An object that is described by the arguments of its constructor.

    The constructor stores each argument under its own name; everything else follows from that:
    ``get_params``, ``set_params``, a ``repr`` that is valid code, and equality. What the object
    learns later is kept under the names in `learned`, which end in an underscore; only parameters
    and learned values are stored and pickled.
    """

    learned: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        if "_validate" in vars(cls):  # errors about a parameter begin with the class name
            cls._validate = border(cls._validate)  # type: ignore[method-assign]

    @property
    def is_fitted(self) -> bool:
        """Whether every name in `learned` has a value."""
        return all(map(vars(self).__contains__, self.learned))

    def _require_fitted(self) -> None:
        if not self.is_fitted:
            name = type(self).__name__
            raise NotFittedError(f"{name}: not fitted yet. Call {name}.fit(X) first.")

    def __getstate__(self) -> dict[str, Any]:
        kept = vars(self)
        return {
            name: kept[name] for name in (*signature(type(self)), *self.learned) if name in kept
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        params = {name: state.pop(name) for name in signature(type(self))}
        self.__init__(**params)  # type: ignore[misc]
        vars(self).update(state)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments; nested ones as ``outer__inner`` if `deep`."""
        found: dict[str, Any] = {}
        for name in signature(type(self)):
            value = getattr(self, name)
            found[name] = value
            if deep and isinstance(value, Params):
                found |= {f"{name}__{key}": inner for key, inner in value.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set arguments by name (``outer__inner`` reaches inside) and return self."""
        known = signature(type(self))
        for key, value in params.items():
            name, _, inner = key.partition("__")
            if name not in known:
                raise InputError(
                    f"{type(self).__name__} has no parameter {name!r}. "
                    f"Its parameters are: {', '.join(known) or 'none'}."
                )
            if inner:
                getattr(self, name).set_params(**{inner: value})
            else:
                setattr(self, name, value)
        forget(self)
        self._validate()
        return self

    def fresh(self) -> Self:
        """Return an object with the same parameters that has learned nothing."""
        return type(self)(**self.get_params(deep=False))

    def _validate(self) -> None:
        """Raise InputError where a parameter is out of range; constructors call it last."""

    def __repr__(self) -> str:
        shown = [
            f"{name}={plain(getattr(self, name))!r}"
            for name, default in signature(type(self)).items()
            if not is_same(getattr(self, name), default)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        return all(
            self._same(getattr(self, name), getattr(other, name)) for name in signature(type(self))
        )

    def _same(self, left: Any, right: Any) -> bool:
        """Whether two values of a parameter are equal."""
        return is_same(left, right)

    def __hash__(self) -> int:
        values = (getattr(self, name) for name in signature(type(self)))
        return hash(
            (type(self), *(hash(v) if isinstance(v, (Real, Params)) else 0 for v in values))
        )


def check_number(
    name: str, value: Any, *, above: float = -math.inf, at_least: float = -math.inf,
    optional: bool = False,
) -> None:  # fmt: skip
    """Raise InputError unless `value` is a finite real number in its range, or None if optional."""
    if optional and value is None:
        return
    fits = not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)
    if not fits or value <= above or value < at_least:
        bound = f"above {above}" if above > -math.inf else f"of at least {at_least}"
        raise InputError(f"{name} is {value!r}. Pass a finite number {bound}.")


def check_count(name: str, value: Any, at_least: int = 1, *, optional: bool = False) -> None:
    """Raise InputError unless `value` is an integer >= `at_least`, or None if optional."""
    if (optional and value is None) or (type(value) is int and value >= at_least):
        return
    if isinstance(value, bool) or not isinstance(value, Integral) or value < at_least:
        raise InputError(f"{name} is {value!r}. Pass an integer of at least {at_least}.")


def plain(value: Any) -> Any:
    """Return NumPy scalars as Python numbers, and anything else unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def is_same(left: Any, right: Any) -> bool:
    """Whether two parameters are equal; arrays are compared by shape and content."""
    if left is right:
        return True
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(is_same, left, right))
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        return np.array_equal(left, right)
    return bool(left == right)


def signature(cls: type) -> dict[str, Any]:
    """Return the arguments of a constructor with their defaults; empty where there is none."""
    if cls not in _signatures:  # needed in every search, to compare kernels
        _signatures[cls] = _read_signature(cls)
    return _signatures[cls]


_signatures: dict[type, dict[str, Any]] = {}


def _read_signature(cls: type) -> dict[str, Any]:
    arguments = inspect.signature(cls).parameters.values()
    return {a.name: a.default for a in arguments}


# ---- classes by name

_stored: dict[str, type[Params]] = {}


def stored(cls: type[Part], name: str | None = None) -> type[Part]:
    """Register a class under a name, by which saved objects find it; use it as a decorator.

    Nothing is imported by a name from a file: a class that was not registered is refused.
    """
    _stored[name or cls.__name__] = cls
    return cls


def stored_class(name: str) -> type[Params] | None:
    """Return the class registered under this name, or None."""
    return _stored.get(name)


def stored_classes() -> list[type[Params]]:
    """Return all registered classes."""
    return list(_stored.values())


def stored_name(cls: type[Params]) -> str | None:
    """Return the name that a class is registered under, or None."""
    return next((name for name, known in _stored.items() if known is cls), None)
