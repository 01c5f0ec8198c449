"""Exact search: with a certificate, or by comparing everything."""

from mercer.embeddings import KernelPCA, NoVectors
from mercer.index import Index
from mercer.kernels import Kernel
from mercer.search import BoundScan, Everything


def exact(
    kernel: str | Kernel, *, n_landmarks: int | None = None, n_components: int = 128,
    landmarks: str = "random", seed: int = 0,
) -> Index:  # fmt: skip
    """Return an index whose answers are proven: no other item scores higher.

    Items are projected onto the span of landmarks in the kernel's space. The projection and the
    norm of its residual bound the kernel from above, in one inner product (Bourrier et al. 2015,
    appendix A); items are evaluated in the order of their bounds until no bound is left above the
    k-th best score.

    Parameters
    ----------
    kernel : str or Kernel
        A positive semi-definite similarity.
    n_landmarks : int, optional
        How many landmarks. More give tighter bounds, but every query is compared with all of them.
        By default 1024, or fewer where the kernel calls a Python function.
    n_components : int
        Dimensions of the projection. More give tighter bounds and take more memory.
    landmarks : {"random", "kmeans++", "farthest"}
        How landmarks are chosen among the items given to `fit`.
    seed : int
        Chooses the landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).dirichlet(np.ones(16), size=1000)
    >>> index = mercer.exact("chi2", n_landmarks=200, n_components=64).fit(X).add(X)
    >>> found = index.search(X[:100], k=5)
    >>> bool(found.exact.all()), bool(found.evaluations.mean() < 200)
    (True, True)
    """
    embedding = KernelPCA(
        kernel, n_components, n_landmarks=n_landmarks, landmarks=landmarks, residual=True, seed=seed
    )
    return Index(kernel, embedding, BoundScan())


def brute(kernel: str | Kernel) -> Index:
    """Return an index that compares every query with every item.

    Every answer is exact, for any kernel, positive semi-definite or not, and nothing is learned.
    The recall and speed of other methods are measured against it.

    Parameters
    ----------
    kernel : str or Kernel
        The similarity.

    Examples
    --------
    >>> import mercer
    >>> X = [[0.5, 0.5], [1.0, 0.0], [0.2, 0.8]]
    >>> index = mercer.brute("chi2").fit(X).add(X, ids=["a", "b", "c"])
    >>> index.search([[0.4, 0.6]], k=2).ids
    array([['a', 'c']], dtype=object)
    >>> index.within([[0.4, 0.6]], score=0.9)[0].ids
    array([['a', 'c']], dtype=object)
    """
    return Index(kernel, NoVectors(kernel), Everything())
