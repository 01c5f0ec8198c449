"""What an index tells of itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mercer.embeddings import Embedding
from mercer.errors import InputError
from mercer.index.damage import tells_damage
from mercer.index.description import describe
from mercer.index.estimating import require_items
from mercer.index.expecting import expectations
from mercer.index.explanation import Explanation
from mercer.index.recipe import Recipe
from mercer.index.segments import Segments
from mercer.index.sizes import describe_bytes
from mercer.index.state import State
from mercer.items import require_columns
from mercer.kernels import Kernel
from mercer.runtime.arrays import Array
from mercer.runtime.border import border
from mercer.runtime.params import Params
from mercer.search import Searcher


class Readable(Params):
    """What can be read of an index; the base of `Index`."""

    kernel: Kernel
    embedding: Embedding
    searcher: Searcher
    disproof_: str | None
    _state: State

    @border
    @tells_damage
    def encode(self, X: Any, *, n_jobs: int | None = None) -> Array:
        """Return the codes of items, for methods that have codes.

        Parameters
        ----------
        X : items
            Items like those given to `fit`; they are not added.

        Returns
        -------
        ndarray of uint8, shape (len(X), n_bytes)
            Bits are packed as ``numpy.packbits`` does.

        Examples
        --------
        >>> import mercer
        >>> X = [[0.5, 0.5], [1.0, 0.0], [0.4, 0.6]]
        >>> mercer.klsh("chi2", n_bits=20).fit(X).encode(X).shape
        (3, 3)
        """
        recipe, _ = self._state.fitted("encode")
        require_columns(self._state.columns, X)
        return recipe.encode(X)

    def __len__(self) -> int:
        return len(self._state.segments)

    def __bool__(self) -> bool:
        return True  # an empty index is still an index

    def __repr__(self) -> str:
        """Return the parameters, as for every object with parameters, and what was added."""
        told = super().__repr__()
        if not self.is_fitted:
            return told
        n, [*held] = len(self), self._state.segments.members
        form = held[0].items.form if held else None
        width = f" of {form[1]} features" if form and held else ""
        return f"{told} with {n} items{width}" if n else f"{told}, fitted, without items"

    def __hash__(self) -> int:
        return hash((type(self), super().__repr__()))

    # ---- items by their ids

    def __contains__(self, name: object) -> bool:
        return self._state.segments.holds(name)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the ids, as a dict does over its keys."""
        return iter(self.ids.tolist())

    @border
    @tells_damage
    def __getitem__(self, name: int | str) -> Any:
        """Return the item with this id, in the form in which items are kept (`mercer.items`).

        Kernels that keep only what they compare, such as those of pyramids, raise KernelError.
        """
        require_items(self._known, "looking at items")
        return self._state.segments.items([name]).given[0]

    @property
    @tells_damage
    def ids(self) -> Array:
        """The ids of all items, in the order they were added."""
        return self._state.segments.ids

    @property
    def is_fitted(self) -> bool:
        """Whether `fit` was called."""
        return self._state.recipe is not None

    @property
    def columns_(self) -> list[str] | None:
        """The names of the features, if a table was given to `fit`; later tables must agree."""
        return self._state.columns

    @property
    def kernel_(self) -> Kernel:
        """The kernel of the scores: `kernel`, with what it leaves open chosen by `fit`."""
        return self._state.fitted("kernel_")[0].kernel

    @property
    def embedding_(self) -> Embedding:
        """The embedding, fitted."""
        return self._state.fitted("embedding_")[0].embedding

    @property
    def searcher_(self) -> Searcher:
        """The searcher, fitted."""
        return self._state.fitted("searcher_")[0].searcher

    @property
    def segments_(self) -> Segments:
        """The items, in frozen segments."""
        return self._state.segments

    @property
    def relaxation_(self) -> float | None:
        """The share of residuals that `calibrate` chose, or None."""
        return self._state.relaxation

    @tells_damage
    def info(self) -> dict[str, Any]:
        """Return a description of this index as plain values.

        `bytes` are those of every part: in memory, and on disk if they are read from files.

        Examples
        --------
        >>> import mercer
        >>> mercer.exact("chi2").info()["kernel"]
        'Chi2()'
        """
        state, recipe = self._state, self._known
        return {
            **describe(recipe, state.segments),
            **describe_bytes(recipe, state.segments),
            "columns": state.columns,
            "fitted": self.is_fitted,
            "certified": self.disproof_ is None
            and (recipe.exhaustive or (recipe.bounded and self.kernel.psd)),
            "disproof": self.disproof_,
            "relaxed probability": state.probability,
            **expectations(state, self._planner),
            **({} if state.explanation is None else {"choice": state.explanation.to_dict()}),
        }

    @tells_damage
    def explain(self) -> Explanation:
        """Return what an index made by `mercer.auto` tried, what it took and why.

        It prints as a table, draws itself (`plot`) and turns into plain values (`to_dict`).

        Examples
        --------
        >>> import numpy as np
        >>> import mercer
        >>> X = np.random.default_rng(0).dirichlet(np.ones(16), size=100)
        >>> index = mercer.auto("chi2").fit(X).add(X)
        >>> index.explain().why
        'fewer than 1000 items: all are compared'
        """
        found = self._state.explanation
        if found is None:
            raise InputError(
                "there was nothing to choose. Make an index with mercer.auto, and add items: the "
                "choice is made then."
            )
        return found

    # ---- steps

    @property
    def _known(self) -> Recipe:
        """The recipe, fitted or not."""
        return self._state.recipe or Recipe(self.kernel, self.embedding, self.searcher)

    @property
    def _planner(self) -> Searcher:
        """The searcher whose parameters say what a search does; users may change those."""
        recipe = self._state.recipe
        return self.searcher if self._state.aim is None or recipe is None else recipe.searcher
