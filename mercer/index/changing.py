"""What changes the items of an index: add, update, remove, compact."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from mercer.index import compacting, streaming
from mercer.index.damage import tells_damage
from mercer.index.keeping import Keeping
from mercer.index.payload import Payload
from mercer.index.segments import Segments
from mercer.items import require_columns
from mercer.runtime import parallel
from mercer.runtime.border import border
from mercer.runtime.locks import Lock


class Changing(Keeping):
    """The verbs that change items; a base of `Index`.

    Threads that change an index wait for each other, but for `compact`, which holds up the others
    only at its end. Searches wait for nobody.
    """

    _compacting: Lock
    _compacts: bool  # whether segments are being joined, so that they must stay

    @border
    @tells_damage
    @parallel.without_blas_threads
    def add(
        self, X: Any, ids: Any = None, *, payload: Any = None, memory: int | None = None,
        n_jobs: int | None = None, show_progress: bool | None = None,
    ) -> Self:  # fmt: skip
        """Add items and return self.

        Parameters
        ----------
        X : items, path or iterator
            Items like those given to `fit`. Read-only arrays of the right type, such as mapped
            files, are not copied. A table must have the columns of one given to `fit`. A path is
            that of a file of items; an iterator yields blocks of them.
        ids : array_like of int or str, shape (len(X),), optional
            The ids of the items, all different; by default numbers, from 0 or from the largest on.
            Not for iterators.
        payload : list of dict, optional
            A record for each item, of values that JSON knows: returned with answers
            (`Matches.payload`), and asked for by `where`. Not for iterators.
        memory : int, optional
            Bytes that adding to an index that is open (`mercer.open`) may take, 1 GiB by default.
            Mapped files and iterators are then added in blocks, each a change of its own. If that
            is interrupted, adding the same file once more goes on after the last block.
        """
        with self._changing.held():
            self._state.fitted("add")
            source = streaming.source(
                X, ids, payload, self._state.recipe, memory, self._writer is not None
            )
            if source is None:
                self._add((X, ids, payload), self._state.segments, self._state.unfinished)
            else:
                self._add_all(source)
        return self

    @border
    @tells_damage
    @parallel.without_blas_threads
    def update(
        self, X: Any, ids: Any, *, payload: Any = None, n_jobs: int | None = None,
        show_progress: bool | None = None,
    ) -> Self:  # fmt: skip
        """Replace the items that have these ids, all at once, and return self.

        Parameters
        ----------
        X : items
            What to put in their places.
        ids : array_like of int or str, shape (len(X),)
            Which items, each once; unknown ids are an error.
        payload : list of dict, optional
            Their records, in place of those they had.

        Examples
        --------
        >>> import mercer
        >>> X = [[0.5, 0.5], [1.0, 0.0], [0.4, 0.6]]
        >>> index = mercer.exact("chi2").fit(X).add(X)
        >>> index.update([[0.0, 1.0]], [1])[1]
        array([0., 1.], dtype=float32)
        """
        with self._changing.held():
            kept = self._state.fitted("update")[1].without(ids)
            self._add((X, ids, payload), kept, self._state.unfinished)
        return self

    @border
    @tells_damage
    @parallel.without_blas_threads
    def remove(self, ids: Any) -> Self:
        """Remove items by their ids and return self; unknown ids are an error.

        Parameters
        ----------
        ids : array_like of int or str
            Which items, each once.
        """
        with self._changing.held():
            state = self._state
            self._become(state.changed(state.segments.without(ids)))
        return self

    @border
    @tells_damage
    @parallel.without_blas_threads
    def compact(self, *, n_jobs: int | None = None, show_progress: bool | None = None) -> Self:
        """Rebuild all items as one segment, without removed items, and return self.

        Other threads can search, add and remove meanwhile.
        """
        with self._compacting.held():
            with self._changing.held():
                state, self._compacts = self._state, True
            try:
                recipe, segments = state.fitted("compact")
                joined = compacting.joined(recipe, segments)
                with self._changing.held():
                    self._become(compacting.changed(self._state, state, joined))
            finally:
                self._compacts = False
        return self

    # ---- steps

    def _add(
        self, new: streaming.New, segments: Segments, unfinished: streaming.Unfinished,
        joins: bool = True,
    ) -> None:  # fmt: skip
        """Add items to these segments."""
        X, ids, payload = new
        recipe, _ = self._state.fitted("add")
        require_columns(self._state.columns, X)
        P = recipe.kernel.prepare(X, copy=True)
        names, records = segments.new_ids(ids, len(P)), Payload.of(payload, len(P))
        with self._state.adding(len(P)):
            built = replace(recipe.build(P, names), payload=records)
            grown = segments.with_last(built)
            if joins and not self._compacts:
                grown = recipe.tidied(grown, self._writer is not None)
            state = replace(self._state, unfinished=unfinished).changed(grown)
        self._become(state)

    def _add_all(self, source: streaming.Source) -> None:
        """Add the blocks of a source, those that are there already excepted."""
        for new, unfinished in source.blocks(self._state.unfinished):
            self._add(new, self._state.segments, unfinished, not source.large)
            self._map()
