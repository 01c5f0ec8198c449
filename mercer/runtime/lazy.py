"""Values that are computed on first access."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

Value = TypeVar("Value")


class lazy(Generic[Value]):  # noqa: N801 - used as a decorator
    """A property that is computed once for each object and kept among its attributes.

    Like `functools.cached_property`, without the lock that Python 3.11 holds there: one for all
    objects of a class, so threads wait for each other and a child forked meanwhile waits forever.
    Two threads may both compute the value; both get the same one.

    Examples
    --------
    >>> from mercer.runtime.lazy import lazy
    >>> class Circle:
    ...     @lazy
    ...     def area(self):
    ...         print("computed")
    ...         return 3.14
    >>> circle = Circle()
    >>> circle.area, circle.area
    computed
    (3.14, 3.14)
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        return vars(instance).setdefault(self.name, self.compute(instance))


def forget(instance: Any) -> None:
    """Discard all lazy values of an object, after a change to what they depend on."""
    for cls in type(instance).__mro__:
        for name, value in vars(cls).items():
            if isinstance(value, lazy):
                vars(instance).pop(name, None)
