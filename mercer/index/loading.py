"""Load a saved index, or open it as its writer."""

import os

from mercer import store
from mercer.index.damage import Source
from mercer.index.index import Index
from mercer.index.unpacking import Kept, unpacked
from mercer.runtime.border import border


def load(path: str | os.PathLike[str], *, follow: bool = False) -> Index:
    """Return the index that `Index.save` wrote to a folder.

    Arrays stay on disk and are read where a search needs them, so opening takes no longer for a
    large index. Nothing in the folder is run: your own kernels are found by the names given to
    `mercer.register` or declared by installed packages, and a few of their values are compared with
    those saved.

    Parameters
    ----------
    path : path
        The folder.
    follow : bool
        Whether each search first looks for a newer generation, as `Index.reload` does. Otherwise
        the index stays as it is now, whatever is written to the folder.

    Returns
    -------
    Index
        It answers as the saved index did, and can be changed and saved again.

    Examples
    --------
    >>> import tempfile
    >>> import mercer
    >>> X = [[0.5, 0.5], [1.0, 0.0], [0.4, 0.6]]
    >>> folder = tempfile.mkdtemp()
    >>> mercer.exact("chi2").fit(X).add(X, ids=["a", "b", "c"]).save(folder)
    >>> mercer.load(folder).search([[0.9, 0.1]], k=1).ids
    array([['b']], dtype=object)
    """
    origins = store.Origins()
    index = _index(store.read(path, unpacked, "load", origins), origins)
    index._follows = follow
    return index


@border
def open(path: str | os.PathLike[str]) -> Index:
    """Open a saved index as its only writer: every change is on disk when its call returns.

    `add`, `remove`, `update` and `compact` write what they change and nothing else. After an error,
    or if the process dies, the folder holds all that was there before the call, or all of the
    change. Other processes can load the folder meanwhile, and see a change when they `reload`.

    Parameters
    ----------
    path : path
        A folder that `Index.save` wrote. ``fit(sample).save(path)`` makes one without items.

    Returns
    -------
    Index
        Close it, or use it in a ``with`` statement: until then nobody else can write there.

    Examples
    --------
    >>> import tempfile
    >>> import mercer
    >>> X = [[0.5, 0.5], [1.0, 0.0], [0.4, 0.6]]
    >>> folder = tempfile.mkdtemp()
    >>> mercer.exact("chi2").fit(X).save(folder)
    >>> with mercer.open(folder) as store:
    ...     _ = store.add(X, ids=["a", "b", "c"]).remove(["a"])
    >>> len(mercer.load(folder))
    2
    """
    store.read(path, lambda opened: None, "open")  # nothing is made where there is no index
    writer = store.Writer(path, "open")
    try:
        origins = store.Origins()
        index = _index(store.read(path, unpacked, "open", origins), origins)
        index._writer = writer
        index._let_go()  # it removes generations itself
        return index
    except BaseException:
        writer.close()
        raise


def _index(kept: Kept, origins: store.Origins) -> Index:
    """Return the index as it was made, with what is in the folder."""
    index = Index(*kept.made)
    index._origins, index._source = origins, Source(os.fspath(kept.opened.folder))
    index._keep(kept)
    return index
