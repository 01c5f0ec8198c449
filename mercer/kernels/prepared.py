"""Items as one kernel wants them: checked, converted and measured once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mercer import items
from mercer.runtime.arrays import Ids

__all__ = ["Prepared"]


@dataclass(frozen=True)
class Prepared:
    """What ``kernel.prepare(X)`` returns: aligned parts, one row per item in each.

    Attributes
    ----------
    kernel : Kernel
        The kernel they are prepared for.
    parts : tuple
        Arrays, sparse matrices, lists, or other `Prepared` where a kernel is made of kernels.
    form : tuple, optional
        ("dense", "sparse" or "sets", width) of the items they were made from, see
        `mercer.items.form`.

    Examples
    --------
    >>> from mercer import kernels
    >>> chi2 = kernels.Chi2()
    >>> histograms = chi2.prepare([[0.5, 0.5], [1.0, 0.0]])
    >>> len(histograms), len(histograms[:1])
    (2, 1)
    """

    kernel: Any
    parts: tuple[Any, ...]
    form: tuple[str, int] | None = None

    def __len__(self) -> int:
        return items.length(self.parts[0])

    def __getitem__(self, rows: slice) -> Prepared:
        """Return a slice of the items; dense parts share the memory."""
        return Prepared(self.kernel, tuple(part[rows] for part in self.parts), self.form)

    def take(self, rows: Ids) -> Prepared:
        """Return the items with these row numbers, in this order."""
        return Prepared(
            self.kernel, tuple(items.take(part, rows) for part in self.parts), self.form
        )

    @classmethod
    def join(cls, several: Sequence[Prepared]) -> Prepared:
        """Return all items, one after the other."""
        first = several[0]
        if len(several) == 1:
            return first
        columns = zip(*(one.parts for one in several), strict=True)
        parts = tuple(
            cls.join(column) if isinstance(column[0], Prepared) else items.join(column)
            for column in columns
        )
        return cls(first.kernel, parts, first.form)

    def __repr__(self) -> str:
        return f"Prepared({len(self)} items for {self.kernel!r})"
