"""Constraints on a metric: which items should be near, which far, and which nearer than others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mercer.errors import InputError
from mercer.runtime.arrays import Array, Ids
from mercer.runtime.border import border
from mercer.runtime.params import check_count, check_number

PER_PAIR_OF_CLASSES = 20  # similar pairs, and as many dissimilar pairs, by default
SAMPLE = 1000  # pairs whose median distance tells what is far in a space of parameters
DRAWS = 20  # rounds of drawing items that are far


@dataclass(frozen=True, eq=False)
class Constraints:
    """Pairs that should be near or far, and triples of which one pair should be nearer.

    Made by `from_labels`, `from_pairs`, `from_triples` and `from_nearness`; joined with ``+``.

    Attributes
    ----------
    pairs : ndarray of int64, shape (n_pairs, 2)
        Rows of the items given to `fit`.
    similar : ndarray of bool, shape (n_pairs,)
        Whether a pair should be near; otherwise it should be far.
    triples : ndarray of int64, shape (n_triples, 3)
        Rows (i, j, k): i should be nearer to j than to k.
    margins : ndarray of float64, shape (n_triples,)
        By how much, in squared distances.

    Examples
    --------
    >>> from mercer import learn
    >>> learn.from_pairs([(0, 1)], [(0, 2)]) + learn.from_triples([(0, 1, 2)])
    Constraints(1 similar and 1 dissimilar pairs, 1 triples)
    """

    pairs: Ids
    similar: npt.NDArray[np.bool_]
    triples: Ids
    margins: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.pairs) + len(self.triples)

    def __add__(self, other: object) -> Constraints:
        if not isinstance(other, Constraints):
            return NotImplemented
        return Constraints(
            np.concatenate([self.pairs, other.pairs]),
            np.concatenate([self.similar, other.similar]),
            np.concatenate([self.triples, other.triples]),
            np.concatenate([self.margins, other.margins]),
        )

    def __repr__(self) -> str:
        near = int(self.similar.sum())
        return (
            f"Constraints({near} similar and {len(self.pairs) - near} dissimilar pairs, "
            f"{len(self.triples)} triples)"
        )

    def describe(self, constraint: int) -> str:
        """Return one constraint in words; triples are counted after the pairs."""
        if constraint >= len(self.pairs):
            i, j, k = self.triples[constraint - len(self.pairs)]
            return f"item {i} nearer to {j} than to {k}"
        i, j = self.pairs[constraint]
        return f"items {i} and {j} {'near' if self.similar[constraint] else 'far'}"

    def renumbered(self) -> tuple[Ids, Constraints]:
        """Return the rows that are named, and constraints that name their places among these."""
        rows, places = np.unique(
            np.concatenate([self.pairs.ravel(), self.triples.ravel()]), return_inverse=True
        )
        n = self.pairs.size
        pairs, triples = places[:n].reshape(-1, 2), places[n:].reshape(-1, 3)
        return rows, Constraints(pairs, self.similar, triples, self.margins)

    @property
    def largest(self) -> int:
        """The largest row number in the constraints."""
        return int(max(self.pairs.max(initial=-1), self.triples.max(initial=-1)))


@border
def from_labels(y: npt.ArrayLike, n_constraints: int | None = None, seed: int = 0) -> Constraints:
    """Return random pairs of items: similar where labels agree, dissimilar where they do not.

    Parameters
    ----------
    y : array_like, shape (n_items,)
        The label of every item.
    n_constraints : int, optional
        How many pairs at most, half of them similar; duplicates are dropped. By default 40
        for each pair of classes, at least 1,000.
    seed : int
        Chooses the pairs.

    Examples
    --------
    >>> from mercer import learn
    >>> learn.from_labels(["cat", "cat", "dog", "dog"], n_constraints=100)
    Constraints(2 similar and 4 dissimilar pairs, 0 triples)
    """
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise InputError(f"y has shape {labels.shape}. Pass one label per item.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InputError("y contains NaN or infinity. Leave out unlabelled items.")
    classes, members = np.unique(labels, return_inverse=True)
    if n_constraints is None:
        n_constraints = max(1000, 2 * PER_PAIR_OF_CLASSES * len(classes) * (len(classes) - 1))
    check_count("n_constraints", n_constraints)
    rng = np.random.default_rng(seed)
    near = _near_pairs(members, (n_constraints + 1) // 2, rng)
    far = _far_pairs(members, n_constraints // 2, rng)
    if not len(near) and not len(far):
        raise InputError("no pair can be made of these labels. Pass at least 2 items.")
    return from_pairs(near, far)


def _near_pairs(members: Ids, n: int, rng: np.random.Generator) -> Ids:
    """Draw pairs of the same class: an item, then another one of its class."""
    order = np.argsort(members, kind="stable")
    sizes = np.bincount(members)
    starts = np.cumsum(sizes) - sizes
    places = np.flatnonzero(sizes[members[order]] > 1)
    if not len(places):
        return np.empty((0, 2), np.int64)
    first = rng.choice(places, n)
    size, start = sizes[members[order[first]]], starts[members[order[first]]]
    # a step of 1 to size - 1 around the class never comes back to the item itself
    second = start + (first - start + rng.integers(1, size)) % size
    return _different(order[np.column_stack([first, second])])


def _far_pairs(members: Ids, n: int, rng: np.random.Generator) -> Ids:
    """Draw pairs of different classes: an item, then one that is not of its class."""
    order = np.argsort(members, kind="stable")
    sizes = np.bincount(members)
    starts = np.cumsum(sizes) - sizes
    if len(sizes) < 2:
        return np.empty((0, 2), np.int64)
    first = rng.integers(0, len(members), n)
    size, start = sizes[members[order[first]]], starts[members[order[first]]]
    # a random number of places after the end of the class, wrapping around
    second = (start + size + rng.integers(0, len(members) - size)) % len(members)
    return _different(order[np.column_stack([first, second])])


def _different(pairs: Ids) -> Ids:
    """Return every pair once, the smaller row first."""
    return np.unique(np.sort(pairs, axis=1), axis=0)


@border
def from_pairs(
    similar: npt.ArrayLike | Sequence[Any] = (), dissimilar: npt.ArrayLike | Sequence[Any] = ()
) -> Constraints:
    """Return pairs that should be near, and pairs that should be far.

    Parameters
    ----------
    similar, dissimilar : array_like of int, shape (n, 2)
        Rows of the items given to `fit`.

    Examples
    --------
    >>> from mercer import learn
    >>> learn.from_pairs(similar=[(0, 1), (2, 3)], dissimilar=[(0, 2)])
    Constraints(2 similar and 1 dissimilar pairs, 0 triples)
    """
    near, far = _rows(similar, 2, "similar pairs"), _rows(dissimilar, 2, "dissimilar pairs")
    marks = np.repeat([True, False], [len(near), len(far)])
    return Constraints(np.concatenate([near, far]), marks, np.empty((0, 3), np.int64), np.empty(0))


@border
def from_triples(triples: npt.ArrayLike, margin: float = 0.0) -> Constraints:
    """Return triples (i, j, k): item i should be nearer to j than to k.

    Parameters
    ----------
    triples : array_like of int, shape (n, 3)
        Rows of the items given to `fit`.
    margin : float
        By how much, at least 0, in squared distances.

    Examples
    --------
    >>> from mercer import learn
    >>> learn.from_triples([(0, 1, 2)], margin=0.5)
    Constraints(0 similar and 0 dissimilar pairs, 1 triples)
    """
    check_number("margin", margin, at_least=0)
    rows = _rows(triples, 3, "triples")
    pairs = np.empty((0, 2), np.int64)
    return Constraints(pairs, np.empty(0, bool), rows, np.full(len(rows), float(margin)))


@border
def from_nearness(
    parameters: npt.ArrayLike, n_near: int = 10, n_far: int = 10, threshold: float | None = None,
    seed: int = 0,
) -> Constraints:  # fmt: skip
    """Return pairs by nearness in a space of parameters, such as poses.

    Each item is similar to the items with the nearest parameters, and dissimilar to random ones
    whose parameters are farther than a threshold (Kulis, Jain and Grauman 2009, §4.2).

    Parameters
    ----------
    parameters : array_like, shape (n_items, n_parameters)
        The parameters of every item.
    n_near, n_far : int
        How many similar and dissimilar pairs to form from each item.
    threshold : float, optional
        The Euclidean distance of parameters beyond which items are far; by default the median
        over a sample.
    seed : int
        Chooses the far items.

    Examples
    --------
    >>> from mercer import learn
    >>> learn.from_nearness([[0.0], [0.1], [5.0], [5.1]], n_near=1, n_far=2, threshold=1.0)
    Constraints(2 similar and 4 dissimilar pairs, 0 triples)
    """
    P = np.asarray(parameters, np.float64)
    if P.ndim != 2 or len(P) < 2 or not np.isfinite(P).all():
        raise InputError(
            f"parameters have shape {P.shape}. Pass finite numbers, one row for "
            "each of at least 2 items."
        )
    check_count("n_near", n_near, at_least=0)
    check_count("n_far", n_far, at_least=0)
    rng = np.random.default_rng(seed)
    far = _median_distance(P, rng) if threshold is None else threshold
    check_number("threshold", far, at_least=0)
    return from_pairs(_nearest(P, min(n_near, len(P) - 1)), _distant(P, n_far, far, rng))


def _median_distance(P: Array, rng: np.random.Generator) -> float:
    first, second = rng.integers(0, len(P), (2, SAMPLE))
    return float(np.median(np.linalg.norm(P[first] - P[second], axis=1)))


def _nearest(P: Array, n: int) -> Ids:
    from scipy.spatial import cKDTree  # type: ignore[import-untyped]

    if n == 0:
        return np.empty((0, 2), np.int64)
    found = cKDTree(P).query(P, n + 1)[1]
    pairs = np.column_stack([np.repeat(np.arange(len(P)), n + 1), found.ravel()])
    return _different(pairs[pairs[:, 0] != pairs[:, 1]].astype(np.int64))


def _distant(P: Array, n: int, threshold: float, rng: np.random.Generator) -> Ids:
    """Draw n far items for each item; fewer if few are far."""
    first = np.repeat(np.arange(len(P)), n)
    second = rng.integers(0, len(P), len(first))
    for _ in range(DRAWS):
        near = np.flatnonzero(np.linalg.norm(P[first] - P[second], axis=1) <= threshold)
        if not len(near):
            break
        second[near] = rng.integers(0, len(P), len(near))
    kept = np.linalg.norm(P[first] - P[second], axis=1) > threshold
    return _different(np.column_stack([first[kept], second[kept]]))


def _rows(given: Any, width: int, what: str) -> Ids:
    rows = np.asarray(given)
    if rows.size == 0:
        return np.empty((0, width), np.int64)
    if rows.ndim != 2 or rows.shape[1] != width or rows.dtype.kind not in "iu":
        raise InputError(
            f"{what} have shape {rows.shape} and type {rows.dtype}. Pass {width} row "
            f"numbers each: integers of shape (n, {width})."
        )
    if rows.min() < 0:
        raise InputError(f"{what} name row {rows.min()}. Rows are counted from 0.")
    for left, right in ((0, 1), (0, 2), (1, 2))[: 1 if width == 2 else 3]:
        same = rows[:, left] == rows[:, right]
        if same.any():
            place = int(np.argmax(same))
            raise InputError(
                f"{what} number {place} names item {rows[place, left]} twice. Pass different items."
            )
    return rows.astype(np.int64)
