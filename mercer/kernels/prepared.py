"""Items prepared for one kernel: checked, converted and measured once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer import items
from mercer.errors import StoreError
from mercer.runtime.arrays import Ids


class Prepared:
    """Items prepared by ``kernel.prepare(X)``: named parts, each with one row per item.

    Parameters
    ----------
    kernel : Kernel
        The kernel that the items are prepared for.
    parts : dict
        Arrays, sparse matrices, lists, or other `Prepared` where a kernel is made of kernels; the
        items themselves first. Each is also an attribute.
    form : tuple, optional
        The type and width of the original items; see `mercer.items.form`.

    Examples
    --------
    >>> from mercer import kernels
    >>> cosine = kernels.Cosine()
    >>> P = cosine.prepare([[3.0, 4.0], [1.0, 0.0]])
    >>> len(P), len(P[:1]), P.measures
    (2, 1, array([0.2, 1. ]))
    """

    kernel: Any
    parts: dict[str, Any]
    form: tuple[str, int] | None
    _length: int

    def __init__(
        self, kernel: Any, parts: dict[str, Any], form: tuple[str, int] | None = None
    ) -> None:
        first = next(iter(parts.values()))
        length = len(first) if isinstance(first, Prepared) else items.length(first)
        vars(self).update(parts, kernel=kernel, parts=parts, form=form, _length=length)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"items prepared for {vars(self).get('kernel')!r} have no {name!r}")

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, rows: slice) -> Prepared:
        """Return a slice of the items; dense parts share the memory."""
        return self._with({name: part[rows] for name, part in self.parts.items()})

    def take(self, rows: Ids) -> Prepared:
        """Return the items with these row numbers, in this order."""
        return self._with({name: items.take(part, rows) for name, part in self.parts.items()})

    @classmethod
    def join(cls, several: Sequence[Prepared]) -> Prepared:
        """Return all items, one after the other."""
        first = several[0]
        if len(several) == 1:
            return first
        return first._with(
            {name: items.join([one.parts[name] for one in several]) for name in first.parts}
        )

    def replaced(self, **parts: Any) -> Prepared:
        """Return the same items with other parts in place of those named."""
        return self._with(self.parts | parts)

    def _with(self, parts: dict[str, Any]) -> Prepared:
        return Prepared(self.kernel, parts, self.form)

    def under(self, kernel: Any) -> Prepared:
        """Return the same items prepared for another kernel, without checking them again.

        Examples
        --------
        >>> from mercer import kernels
        >>> kernels.RBF().normalized().prepare([[3.0, 4.0]]).under(kernels.Linear())
        Prepared(1 items for Linear())
        """
        P = self
        while not same(P.kernel, kernel):
            if "inside" not in P.parts:
                return kernel.as_kept(self)  # type: ignore[no-any-return]
            P = P.inside
        return P

    def kept_for(self, kernel: Any) -> Any:
        """Return the items, with negative values set to 0 if the kernel does not take them."""
        if kernel.nonnegative and not self.kernel.nonnegative:
            return np.maximum(self.kept, 0)
        return self.kept

    @property
    def kept(self) -> Any:
        """The items themselves, as the innermost kernel keeps them."""
        first = next(iter(self.parts.values()))
        return first.kept if isinstance(first, Prepared) else first

    @property
    def given(self) -> Any:
        """The items as they were checked; KernelError if the innermost kernel does not keep them.

        Examples
        --------
        >>> from mercer import kernels
        >>> kernels.Cosine().normalized().prepare([[3.0, 4.0]]).given
        array([[3., 4.]], dtype=float32)
        """
        first = next(iter(self.parts.values()))
        return first.given if isinstance(first, Prepared) else self.kernel.given(self)

    def pack(self) -> dict[str, Any]:
        """Return the items, without the kernel, as plain values and arrays that can be stored."""
        return {
            "form": None if self.form is None else list(self.form),
            "parts": {name: self._pack_part(part) for name, part in self.parts.items()},
        }

    def _pack_part(self, part: Any) -> dict[str, Any]:
        """Return one part; items of a kernel inside go under the parameter with that kernel."""
        if not isinstance(part, Prepared):
            return items.pack(part)
        for place, value in self.kernel.get_params(deep=False).items():
            if value is part.kernel:
                return {"prepared": {"kernel": place, "items": part.pack()}}
        raise StoreError(
            f"save: {self.kernel!r} prepares items for {part.kernel!r}, which is not one of its "
            "parameters. Keep the kernels it is made of as arguments of its constructor."
        )

    @classmethod
    def unpack(cls, tree: dict[str, Any], kernel: Any) -> Prepared:
        """Return the items that `pack` described, for the kernel they were prepared for."""
        parts = {name: cls._unpack_part(part, kernel) for name, part in tree["parts"].items()}
        lengths = {name: items.length(part) for name, part in parts.items()}
        if len(set(lengths.values())) != 1:
            raise StoreError(f"the parts of its items are missing or not equally long ({lengths}).")
        P = cls(kernel, parts, None if tree["form"] is None else tuple(tree["form"]))
        try:
            sound = _is_form(P.form, kernel.input) and kernel.sound(P)
        except (AttributeError, LookupError, TypeError, ValueError):  # missing parts
            sound = False
        if not sound:  # compiled loops would read outside the arrays
            raise StoreError(f"its items are not what {kernel!r} keeps of them.")
        return P

    @classmethod
    def _unpack_part(cls, tree: dict[str, Any], kernel: Any) -> Any:
        if "prepared" not in tree:
            return items.unpack(tree)
        place = tree["prepared"]["kernel"]
        if place not in kernel.get_params(deep=False):
            raise StoreError(
                f"its items were prepared for a kernel with a kernel {place!r} inside, but "
                f"{kernel!r} has none. Register the kernel that it was saved with before loading."
            )
        return cls.unpack(tree["prepared"]["items"], getattr(kernel, place))

    def __repr__(self) -> str:
        return f"Prepared({len(self)} items for {self.kernel!r})"


def _is_form(form: Any, kind: str) -> bool:
    """Whether a form read from a file can be that of items of a kind."""
    if form is None:
        return True
    name, width = form
    known = name == "sets" if kind == "sets" else isinstance(name, str)
    return known and isinstance(width, int) and width >= 0


def same(kernel: Any, other: Any) -> bool:
    """Whether two kernels are equal; most are one object, or differ in class."""
    return kernel is other or (type(kernel) is type(other) and kernel == other)
