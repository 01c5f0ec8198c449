"""What kernels made of other kernels have in common: pairs, and functions of one kernel."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from mercer.errors import KernelError
from mercer.kernels.facts import Facts
from mercer.kernels.prepared import Prepared, same
from mercer.runtime.arrays import Array, DType, Ids


class Pair(Facts):
    """A kernel made of two kernels of the same items."""

    _sign: str

    def __init__(self, left: Facts, right: Facts) -> None:
        self.left = left
        self.right = right
        self._validate()

    def _validate(self) -> None:
        kinds = {self.left.input, self.right.input} - {"any"}
        if len(kinds) > 1:
            raise KernelError(
                f"cannot join {self.left!r}, which takes {self.left.input}, and {self.right!r}, "
                f"which takes {self.right.input}. Both must compare the same items."
            )
        self.input = kinds.pop() if kinds else "any"
        self.psd = self.left.psd and self.right.psd
        self.symmetric = self.left.symmetric and self.right.symmetric
        self.nonnegative = self.left.nonnegative or self.right.nonnegative
        self.runs_python = self.left.runs_python or self.right.runs_python
        self.tile_shape = min(self.left.tile_shape, self.right.tile_shape)

    def suited(self, X: Any) -> Any:
        """Return this kernel with both parts suited to the data."""
        left, right = self.left.suited(X), self.right.suited(X)
        return self if left is self.left and right is self.right else type(self)(left, right)

    def _prepare(self, X: Any) -> dict[str, Any]:
        return {"left": self.left.prepared(X), "right": self.right.prepared(X)}

    def _tile(self, P: Prepared, R: Prepared, out: Array) -> None:
        right = np.empty(out.shape, out.dtype)
        self.left._tile(P.left, R.left, out)
        self.right._tile(P.right, R.right, right)
        self._join(out, right)

    def _gather(self, P: Prepared, R: Prepared, ids: Ids, dtype: DType) -> Array:
        return self._join(
            self.left._gather(P.left, R.left, ids, dtype),
            self.right._gather(P.right, R.right, ids, dtype),
        )

    def _diag(self, P: Prepared, dtype: DType) -> Array:
        return self._join(self.left._diag(P.left, dtype), self.right._diag(P.right, dtype))

    @abstractmethod
    def _join(self, a: Array, b: Array) -> Array:
        """Join the values of both kernels, in place of the first."""

    def _both(self, prepared: tuple[Prepared, ...], dtype: npt.DTypeLike) -> tuple[float, float]:
        """Return the tolerances of both kernels."""
        left, right = ([P.parts[name] for P in prepared] for name in ("left", "right"))
        return self.left.tolerance(*left, dtype=dtype), self.right.tolerance(*right, dtype=dtype)

    def __repr__(self) -> str:
        # Python groups a + b + c from the left, so the right side must bind more tightly
        left, right = grouped(self.left, self._binds), grouped(self.right, self._binds + 1)
        return f"{left} {self._sign} {right}"


class Wrapped(Facts):
    """A kernel made of one other kernel."""

    kernel: Facts

    def _validate(self) -> None:
        for fact in ("input", "psd", "symmetric", "nonnegative", "runs_python", "tile_shape"):
            setattr(self, fact, getattr(self.kernel, fact))
        self.wraps = self.kernel

    def suited(self, X: Any) -> Any:
        """Return this kernel with the kernel inside suited to the data."""
        inside = self.kernel.suited(X)
        if inside is self.kernel:
            return self
        return type(self)(**self.get_params(deep=False) | {"kernel": inside})

    @property
    def anchors(self) -> Prepared | None:
        """The anchors of the kernel inside."""
        inside = self.kernel.anchors
        return None if inside is None else self.prepare(inside)

    def _require_own(self, P: Prepared) -> Prepared:
        """Accept items prepared for the kernel inside as well."""
        if same(P.kernel, self):
            return P
        return Prepared(self, self._wrap(self.kernel.prepare(P)), P.form)

    def _prepare(self, X: Any) -> dict[str, Any]:
        return self._wrap(self.kernel.prepared(X))

    def as_kept(self, P: Prepared) -> Prepared:
        """Return items prepared for this kernel, from those prepared for the kernel inside."""
        return Prepared(self, self._wrap(P.under(self.kernel)), P.form)

    @property
    def changes(self) -> tuple[Any, ...]:
        """The changes of the kernel inside."""
        found: tuple[Any, ...] = self.kernel.changes
        return found

    def _wrap(self, P: Prepared) -> dict[str, Any]:
        """Return the parts of `Prepared` for items prepared for the kernel inside."""
        return {"inside": P}

    def _inner_tolerance(self, prepared: tuple[Prepared, ...], dtype: npt.DTypeLike) -> float:
        return self.kernel.tolerance(*(P.inside for P in prepared), dtype=dtype)


class Changed(Wrapped):
    """An increasing function of the values of one other kernel."""

    def _validate(self) -> None:
        super()._validate()
        self.ranks_as = self.kernel

    def _tile(self, P: Prepared, R: Prepared, out: Array) -> None:
        self.kernel._tile(P.inside, R.inside, out)
        self._change(out)

    def _gather(self, P: Prepared, R: Prepared, ids: Ids, dtype: DType) -> Array:
        return self._change(self.kernel._gather(P.inside, R.inside, ids, dtype))

    def _diag(self, P: Prepared, dtype: DType) -> Array:
        return self._change(self.kernel._diag(P.inside, dtype))

    @abstractmethod
    def _change(self, values: Array) -> Array:
        """Apply the function to values, in place."""


def grouped(kernel: Facts, binds: int) -> str:
    """Return the repr, in brackets where it binds less tightly than its context requires."""
    return f"({kernel!r})" if kernel._binds < binds else repr(kernel)
