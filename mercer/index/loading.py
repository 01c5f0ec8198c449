"""Load a saved index."""

import os
from collections.abc import Callable
from typing import Any

import mercer
from mercer import store
from mercer.errors import KernelError, StoreError
from mercer.index import packing
from mercer.index.aim import Aim
from mercer.index.damage import Source
from mercer.index.index import Index
from mercer.index.recipe import Recipe
from mercer.index.state import State
from mercer.index.ways import WAYS


def load(path: str | os.PathLike[str]) -> Index:
    """Return the index that `Index.save` wrote to a folder.

    Arrays stay on disk and are read where a search needs them, so opening takes no longer for a
    large index. Nothing in the folder is run: your own kernels are found by the names given to
    `mercer.register` or declared by installed packages, and a few of their values are compared with
    those saved.

    Parameters
    ----------
    path : path
        The folder.

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
    manifest = store.read(path, origins)
    try:
        read = READERS[manifest["format"]]
        index = read(manifest["index"], manifest["mercer"] == mercer.__version__)
        index._origins, index._source = origins, Source(os.fspath(path))
        return index
    except (StoreError, KernelError) as error:
        raise StoreError(f"load: {os.fspath(path)}: {str(error).rstrip('.')}.") from error
    except (OSError, MemoryError):  # the system's own
        raise
    except Exception as error:
        raise StoreError(
            f"load: {os.fspath(path)} does not describe an index of this version "
            f"({type(error).__name__}: {error}). It was saved by mercer {manifest['mercer']}; "
            f"this is {mercer.__version__}. Build and save the index again."
        ) from error


def _read_format_1(tree: dict[str, Any], same_version: bool) -> Index:
    recipe = packing.unpack_recipe(tree)
    segments, facts = packing.unpack_segments(tree, recipe), tree["facts"]
    packing.check_kernel(tree, recipe, segments, same_version)
    recall = packing.unpack_recall(tree, recipe.kernel)
    index = _unlearned(recipe, recall["aim"])
    fitted = recipe.embedding.is_fitted and recipe.searcher.is_fitted
    if segments.members and not fitted:
        raise StoreError("it has items but has learned nothing")
    learned = recipe if recipe.embedding.is_fitted else None
    index._state = State(
        learned, segments, facts["relaxation_"], facts["probability_"],
        columns=packing.unpack_columns(facts), **recall,
    )  # fmt: skip
    index.disproof_ = facts["disproof_"]
    return index


def _unlearned(recipe: Recipe, aim: Aim | None) -> Index:
    """Return the index as it was made; one with an aim begins by comparing everything."""
    if aim is None:
        return Index(recipe.kernel, *recipe.unlearned())
    return Index(recipe.kernel, *WAYS["brute"].parts(recipe.kernel, aim.seed), aim)


READERS: dict[int, Callable[[dict[str, Any], bool], Index]] = {1: _read_format_1}
