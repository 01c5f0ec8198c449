"""The answer to one query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mercer.runtime.arrays import Array


@dataclass(frozen=True, eq=False)
class Answer:
    """The items found for one query, best first, without empty places: one row of `Matches`.

    Attributes
    ----------
    ids : ndarray of int64 or str, shape (n_found,)
        The items found.
    scores, distances : ndarray of float32, shape (n_found,)
        Their kernel values, and their distances in the kernel's space.
    exact : bool
        As in `Matches`.
    evaluations, landmark_evaluations : int
        As in `Matches`.
    tolerance, probability : float
        As in `Matches`.
    payload : list of dict, optional
        The records of the items; None if no item of the index has one.

    Examples
    --------
    >>> import mercer
    >>> found = mercer.evaluate.ground_truth("linear", [[1.0], [3.0], [2.0]], [[1.0]], k=2)
    >>> list(found[0])
    [(1, 3.0), (2, 2.0)]
    """

    ids: Array
    scores: npt.NDArray[np.float32]
    distances: npt.NDArray[np.float32]
    exact: bool
    evaluations: int
    landmark_evaluations: int
    tolerance: float
    probability: float
    payload: list[dict[str, Any]] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[tuple[Any, float]]:
        """Iterate over pairs ``(id, score)``."""
        return zip(self.ids.tolist(), self.scores.tolist(), strict=True)
