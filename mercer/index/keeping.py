"""An index and the folder that it is kept in."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from mercer import store
from mercer.errors import InputError, StoreError
from mercer.index import packing
from mercer.index.aim import Aim
from mercer.index.damage import Source, tells_damage
from mercer.index.looking import Readable
from mercer.index.state import State
from mercer.index.unpacking import Kept, unpacked
from mercer.runtime.border import border
from mercer.runtime.locks import Lock


class Keeping(Readable):
    """What an index does with folders; a base of `Index`."""

    aim: Aim | None
    _changing: Lock
    _origins: store.Origins
    _source: Source | None
    _kept: Kept | None = None  # the generation that this index was loaded from
    _writer: store.Writer | None = None  # of an index that is open
    _follows: bool = False

    @border
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this index to a folder, replacing any index there; `mercer.load` reads it.

        Whatever happens during the save, the folder holds either the old index or the new one. If
        somebody else has saved to it since this index was loaded from it, nothing is written. Where
        the index was loaded from, or saved to before, only what changed is written.

        Parameters
        ----------
        path : path
            A new or empty folder, or one that holds an index.

        Examples
        --------
        >>> import tempfile
        >>> import mercer
        >>> X = [[0.5, 0.5], [1.0, 0.0], [0.4, 0.6]]
        >>> folder = tempfile.mkdtemp()
        >>> mercer.exact("chi2").fit(X).add(X).save(folder)
        >>> len(mercer.load(folder))
        3
        """
        with self._changing.held():
            if self._writer is not None and _same(self._writer.folder, path):
                self._become(self._state)
                return
            tree = packing.pack(self._state, self._known, self.disproof_)
            tree = store.ready(tree, Path(path), self._origins)
            with store.Writer(path, "save") as writer:
                writer.commit(tree, self._origins)
                if self._kept is not None and _same(self._kept.opened.folder, path):
                    self._move(self._state)

    @border
    @tells_damage
    def reload(self) -> Self:
        """Move to the newest generation of the folder this index was loaded from; return self.

        Segments that did not change are kept, so it takes milliseconds. A generation that is in use
        stays on disk; this lets go of the one before. An index with changes that were not saved is
        not moved: that would lose them.

        Examples
        --------
        >>> import tempfile
        >>> import mercer
        >>> X = [[0.5, 0.5], [1.0, 0.0], [0.4, 0.6]]
        >>> folder = tempfile.mkdtemp()
        >>> mercer.exact("chi2").fit(X).add(X).save(folder)
        >>> reader = mercer.load(folder)
        >>> with mercer.open(folder) as writer:
        ...     _ = writer.remove([0])
        >>> len(reader), len(reader.reload())
        (3, 2)
        """
        with self._changing.held():
            kept = self._kept
            if kept is None:
                raise InputError("this index was not loaded from a folder. Use mercer.load.")
            if self._writer is not None or not kept.opened.is_old():
                return self
            if self._state is not kept.state:
                raise InputError(
                    "this index has changes that were not saved, which would be lost. Save it "
                    "elsewhere, or load the folder again as another index."
                )
            folder = kept.opened.folder
            new = store.read(folder, lambda new: unpacked(new, kept), "load", self._origins)
            if new.recipe is not kept.recipe:
                self.kernel, self.embedding, self.searcher, self.aim = new.made
            self._keep(new)
            kept.opened.release()
        return self

    def close(self) -> None:
        """Let others write to the folder of an index that is open; it cannot be changed any more.

        Of an index that was loaded, let the generation go that it was loaded from.
        """
        with self._changing.held():
            if self._writer is not None:
                self._writer.close()
            self._let_go()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()

    # ---- steps

    def _let_go(self) -> None:
        """Let a writer remove the generation that this index was loaded from."""
        if self._kept is not None:
            self._kept.opened.release()

    def _newest(self) -> State:
        """Return what a search is to see."""
        if self._follows:
            self.reload()
        return self._state

    def _become(self, state: State) -> None:
        """Take another state; of an index that is open, as soon as it is on disk."""
        if self._writer is None:
            self._state = state
            return
        if not self._writer.is_open:
            raise StoreError(
                f"{self._writer.folder}: this index was closed, or opened by the process that this "
                "one was forked from. Call mercer.open again."
            )
        recipe = state.recipe or self._known
        try:
            self._writer.commit(packing.pack(state, recipe, self.disproof_), self._origins)
        except BaseException:
            if self._writer.committed:  # it was interrupted after the change
                self._state = state
            raise
        self._state = state

    def _keep(self, kept: Kept) -> None:
        """Be the index that was read from a folder."""
        self._state, self.disproof_, self._kept = kept.state, kept.disproof, kept
        self._origins.note_parts(
            kept.opened.folder, packing.named(kept.state, kept.recipe, kept.opened.manifest)
        )

    def _map(self) -> None:
        """Read what was written, so that large parts of it are mapped and not held in memory."""
        if self._writer is None or self._kept is None:
            return
        before = self._kept
        new = store.read(self._writer.folder, lambda opened: unpacked(opened, before), "add")
        new.opened.release()  # the writer removes generations itself
        self._keep(new)

    def _move(self, state: State) -> None:
        """Need the generation that was written, and no longer the one before."""
        assert self._kept is not None
        before = self._kept.opened
        opened = store.read(before.folder, lambda new: new, "save")
        self._kept = self._kept._replace(opened=opened, state=state)
        before.release()


def _same(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
