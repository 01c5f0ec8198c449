"""What a search returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from mercer.errors import InputError
from mercer.index.answer import Answer
from mercer.index.tables import MOST_LINES, as_frame, as_html, as_text
from mercer.runtime import topk
from mercer.runtime.arrays import Array, Ids
from mercer.runtime.border import border

WHOLE = ("kernel", "recall", "estimated")  # fields that hold for all queries
SOME = "payload"  # a field that may be None


@dataclass(frozen=True)
class Matches:
    """The most similar items of each query, best first.

    ``matches[3]`` is the answer to one query (`Answer`), ``matches[2:5]`` those to several, and
    iterating yields one answer after the other.

    Attributes
    ----------
    ids : ndarray of int64 or str, shape (n_queries, k)
        The items found; if there are fewer than k, the rest is -1, or None where ids are strings.
    scores : ndarray of float32, shape (n_queries, k)
        Their true kernel values, decreasing; minus infinity where there is no item.
    distances : ndarray of float32, shape (n_queries, k)
        ``sqrt(k(q, q) + k(x, x) - 2 k(q, x))``, the distance in the kernel's own space.
    exact : ndarray of bool, shape (n_queries,)
        Whether it is proven that no other item scores above the last one by more than `tolerance`;
        the proof is under "theory: settling".
    evaluations : ndarray of int64, shape (n_queries,)
        The number of items for which the kernel was evaluated, not counting landmarks.
    landmark_evaluations : ndarray of int64, shape (n_queries,)
        The number of landmarks for which the kernel was evaluated.
    tolerance : ndarray of float32, shape (n_queries,)
        How far rounding can move another item past the last one; see `exact`. In addition, each
        score is rounded to float32.
    probability : ndarray of float32, shape (n_queries,)
        A lower bound on the probability that the most similar item was found: 1 where `exact`, the
        calibrated probability where bounds were relaxed, 0 otherwise.
    kernel : str
        The ``repr`` of the kernel whose values the scores are.
    recall : float or None
        The share of the true items that such a search is expected to find, as measured on a sample
        of the items (or on the `queries` given to `Index.fit`); 1 if all answers are exact, None if
        it is not known.
    payload : ndarray of object, shape (n_queries, k), optional
        The record of each item that was found, a dict, as it was given to `Index.add`; None where
        there is no item. None itself if no item of the index has a record.
    estimated : bool
        Whether scores are estimates by codes, because the index does not keep its items: larger is
        more similar, but they are not kernel values, and there are no distances.

    Examples
    --------
    >>> import mercer
    >>> found = mercer.evaluate.ground_truth("linear", [[1.0], [3.0], [2.0]], [[1.0]], k=2)
    >>> found.ids, found.scores
    (array([[1, 2]]), array([[3., 2.]], dtype=float32))
    >>> found
    Matches(1 queries, k=2, 1 exact, 3 evaluations each)
      0: 1 (3), 2 (2)
    >>> for answer in found:
    ...     print(answer.ids, answer.scores, answer.exact)
    [1 2] [3. 2.] True
    """

    ids: Array
    scores: npt.NDArray[np.float32]
    distances: npt.NDArray[np.float32]
    exact: npt.NDArray[np.bool_]
    evaluations: Ids
    landmark_evaluations: Ids
    tolerance: npt.NDArray[np.float32]
    probability: npt.NDArray[np.float32]
    kernel: str
    recall: float | None = None
    estimated: bool = False
    payload: Array | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, key: int) -> Answer: ...
    @overload
    def __getitem__(self, key: slice | Array) -> Matches: ...
    def __getitem__(self, key: Any) -> Answer | Matches:
        """Return the answer to one query, or those to a slice, an array or a mask of queries."""
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            return self._answer(int(key))
        rows = key if isinstance(key, slice) else np.asarray(key)
        cut = None if self.payload is None else self.payload[rows]
        arrays = {name: getattr(self, name)[rows] for name in self._arrays()}
        return replace(self, payload=cut, **arrays)

    def __iter__(self) -> Iterator[Answer]:
        return (self._answer(query) for query in range(len(self)))

    @property
    def found(self) -> Ids:
        """How many items were found for each query, shape (n_queries,).

        Where that is less than k, the places after them hold no item: the last ``k - found`` of
        ``ids[query]`` are -1 or None, and must not be used as row numbers.
        """
        return np.asarray(self._taken.sum(axis=1))

    @property
    def _taken(self) -> npt.NDArray[np.bool_]:
        """Which places hold an item."""
        return ~np.isneginf(self.scores)

    def _answer(self, query: int) -> Answer:
        values = {name: getattr(self, name)[query] for name in self._arrays()}
        taken = self._taken[query]
        lists = {name: values.pop(name)[taken] for name in ("ids", "scores", "distances")}
        records = None if self.payload is None else self.payload[query][taken].tolist()
        rest = {name: value.item() for name, value in values.items()}
        return Answer(**lists, **rest, payload=records)

    @classmethod
    def _arrays(cls) -> list[str]:
        """Return the names of what has one row for each query."""
        return [field.name for field in fields(cls) if field.name not in (*WHOLE, SOME)]

    def to_list(self) -> list[list[tuple[Any, float]]]:
        """Return ``(id, score)`` pairs, query by query, without the empty places.

        Examples
        --------
        >>> import mercer
        >>> mercer.evaluate.ground_truth("linear", [[1.0], [3.0]], [[1.0]], k=5).to_list()
        [[(1, 3.0), (0, 1.0)]]
        """
        return [list(one) for one in self]

    def to_pandas(self) -> Any:
        """Return a pandas table with one row for each item found.

        Its columns are query (the row number of the query), rank (from 1), id, score, distance and
        exact. Queries for which nothing was found have no rows.

        Examples
        --------
        >>> import mercer
        >>> found = mercer.evaluate.ground_truth("linear", [[1.0], [3.0]], [[1.0]], k=5)
        >>> found.to_pandas()
           query  rank  id  score  distance  exact
        0      0     1   1    3.0       2.0   True
        1      0     2   0    1.0       0.0   True
        """
        return as_frame(list(self))

    @classmethod
    def concatenate(cls, blocks: Sequence[Matches]) -> Matches:
        """Return the answers to several blocks of queries as one.

        Examples
        --------
        >>> import mercer
        >>> blocks = [mercer.evaluate.ground_truth("linear", [[1.0]], [[q]], 1) for q in (2, 3)]
        >>> mercer.Matches.concatenate(blocks).scores.ravel()
        array([2., 3.], dtype=float32)
        """
        if len(blocks) == 1:
            return blocks[0]
        arrays = {
            name: np.concatenate([getattr(block, name) for block in blocks])
            for name in cls._arrays()
        }
        first = blocks[0]
        return cls(
            **arrays, kernel=first.kernel, recall=_least(blocks), estimated=first.estimated,
            payload=_records(blocks, 0),
        )  # fmt: skip

    @classmethod
    @border
    def merge(cls, answers: Sequence[Matches], k: int) -> Matches:
        """Return the k best of several answers to the same queries, from different items.

        Examples
        --------
        >>> import mercer
        >>> left = mercer.evaluate.ground_truth("linear", [[1.0], [4.0]], [[1.0]], 2)
        >>> right = mercer.evaluate.ground_truth("linear", [[3.0], [2.0]], [[1.0]], 2)
        >>> mercer.Matches.merge([left, right], k=3).scores
        array([[4., 3., 2.]], dtype=float32)
        """
        if len({(len(one), one.kernel, one.estimated) for one in answers}) != 1:
            raise InputError("the answers are to other queries or kernels.")
        ids, scores, distances = (
            np.concatenate([getattr(one, name) for one in answers], axis=1)
            for name in ("ids", "scores", "distances")
        )
        places = np.tile(np.arange(ids.shape[1]), (len(ids), 1))
        order = topk.ordered(places, scores)[0][:, :k]
        records = _records(answers, 1)
        return cls(
            ids=np.take_along_axis(ids, order, 1),
            scores=np.take_along_axis(scores, order, 1),
            distances=np.take_along_axis(distances, order, 1),
            exact=np.all([one.exact for one in answers], axis=0),
            evaluations=np.sum([one.evaluations for one in answers], axis=0),
            landmark_evaluations=np.sum([one.landmark_evaluations for one in answers], axis=0),
            tolerance=np.max([one.tolerance for one in answers], axis=0),
            probability=np.min([one.probability for one in answers], axis=0),
            kernel=answers[0].kernel,
            recall=_least(answers),
            estimated=answers[0].estimated,
            payload=None if records is None else np.take_along_axis(records, order, 1),
        )

    def __repr__(self) -> str:
        """Return a summary and, if there are few queries, the best items of each."""
        return "\n".join(
            [self._summary, *([as_text(list(self))] if 0 < len(self) <= MOST_LINES else [])]
        )

    def _repr_html_(self) -> str:
        return as_html(self._summary, list(self[:MOST_LINES]), len(self))

    @property
    def _summary(self) -> str:
        queries, k = self.ids.shape
        share = f"{int(self.exact.sum())} exact, " if queries else ""
        share = "estimated by codes, " if self.estimated else share
        work = f"{self.evaluations.mean():.0f} evaluations each" if queries else "no queries"
        return f"Matches({queries} queries, k={k}, {share}{work})"


def _records(several: Sequence[Matches], axis: int) -> Array | None:
    """Return the records of several answers, below each other or beside each other."""
    if all(one.payload is None for one in several):
        return None
    held = [np.full(one.ids.shape, None) if one.payload is None else one.payload
            for one in several]  # fmt: skip
    return np.concatenate(held, axis=axis)


def _least(answers: Sequence[Matches]) -> float | None:
    """Return the smallest recall that is expected of several answers, if it is known of all."""
    known = [one.recall for one in answers]
    return None if None in known else min(filter(None, known), default=None)
