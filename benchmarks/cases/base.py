"""What a case is: items, fresh queries and a kernel, drawn by a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer import items
from mercer.kernels import Kernel

QUERIES = 300


class Data(NamedTuple):
    """Items to search, queries of the same origin, and the kernel to search by."""

    X: Any
    Q: Any
    kernel: Kernel | str


@dataclass(frozen=True)
class Case:
    """A kind of data and a kernel.

    Attributes
    ----------
    name : str
        What tables call it.
    draw : callable
        ``draw(rng)`` returns `Data`; each seed gives other items and queries.
    reported : bool
        Whether figures are reported on it. On the other half, constants are chosen.
    """

    name: str
    draw: Callable[[np.random.Generator], Data]
    reported: bool

    def data(self, seed: int) -> Data:
        """Return the items and queries of one trial."""
        return self.draw(np.random.default_rng(1000 + seed))


CASES: dict[str, Case] = {}


def case(name: str) -> Callable[[Callable[[np.random.Generator], Data]], Any]:
    """Add a case; every other one, in the order they are written, is reported."""

    def add(draw: Callable[[np.random.Generator], Data]) -> Any:
        CASES[name] = Case(name, draw, reported=len(CASES) % 2 == 1)
        return draw

    return add


def parted(X: Any, rng: np.random.Generator, n: int, kernel: Kernel | str) -> Data:
    """Return n random items and `QUERIES` others as queries."""
    order = rng.permutation(items.length(X))[: n + QUERIES]
    return Data(items.take(X, order[QUERIES:]), items.take(X, order[:QUERIES]), kernel)
