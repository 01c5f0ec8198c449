"""Exact search with a certificate."""

from __future__ import annotations

from mercer.embeddings import KernelPCA
from mercer.index import Index
from mercer.kernels import Kernel
from mercer.search import BoundScan

__all__ = ["exact"]


def exact(
    kernel: str | Kernel,
    *,
    n_landmarks: int = 1024,
    n_components: int = 128,
    landmarks: str = "random",
    seed: int = 0,
) -> Index:
    """Return an index whose answers are proven: no item outside scores higher (E appendix A).

    Items are projected on the span of landmarks in the kernel's space. The projection and the
    norm of what it loses bound the kernel from above, in one inner product; items are evaluated
    in the order of their bounds until no bound is left above the k-th best score.

    Parameters
    ----------
    kernel : str or Kernel
        A positive semi-definite similarity.
    n_landmarks : int
        How many items the projection goes through. More give tighter bounds, and each query
        costs as many kernel values.
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
