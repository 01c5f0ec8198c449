"""A recall instead of a method."""

from mercer.embeddings import NoVectors
from mercer.index import Index
from mercer.index.aim import Aim
from mercer.kernels import Kernel
from mercer.search import Everything


def auto(
    kernel: str | Kernel, *, recall: float = 0.95, k: int = 10, memory: int | None = None,
    build_seconds: float | None = None, seed: int = 0,
) -> Index:  # fmt: skip
    """Return an index that chooses its own method and settings, to reach a recall on your data.

    When items are added, brute force, `exact`, `inverted` and `graph` are tried on them. The
    fastest is taken of those whose recall is sure to reach the aim, with 99 % confidence, on
    sample queries: `queries` of `Index.fit`, or items that are left out of their own answers. When
    the number of items has doubled, the choice is made again. `Index.explain` tells what was tried.

    Parameters
    ----------
    kernel : str or Kernel
        The similarity; it need not be positive semi-definite.
    recall : float
        The share of the true items to find, on average; 1 for a proof of every answer. A search
        can ask for another one: ``index.search(Q, k, recall=0.99)``.
    k : int
        How many items are usually asked for; searches may ask for other numbers.
    memory : int, optional
        The most bytes that the index may take, with its items.
    build_seconds : float, optional
        How long building may take. Methods that take longer are not used.
    seed : int
        Chooses whatever methods draw at random.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).dirichlet(np.ones(16), size=3000)
    >>> index = mercer.auto("chi2", recall=0.9).fit(X).add(X)
    >>> bool(index.search(X[:100], k=10).recall >= 0.9)
    True
    """
    aim = Aim(recall, k, memory, build_seconds, seed)
    return Index(kernel, NoVectors(kernel), Everything(), aim)
