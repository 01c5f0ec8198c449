"""The methods: each one joins an embedding and a searcher into an index."""

from __future__ import annotations

from mercer.codes import Sign
from mercer.embeddings import Identity, KernelPCA, KLSHDirections
from mercer.index import Index
from mercer.kernels import Kernel
from mercer.search import BoundScan, Scan

__all__ = ["exact", "klsh", "kpca_lsh", "lsh"]


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


def klsh(
    kernel: str | Kernel,
    *,
    n_bits: int = 256,
    n_landmarks: int = 300,
    subset: int | None = 30,
    rank: int | None = None,
    scale: float | None = None,
    center: str = "both",
    normalize: bool = True,
    asymmetric: bool = True,
    seed: int = 0,
) -> Index:
    """Return an index by Kernelized LSH: one bit for each random direction in the kernel's space.

    Bits are compared first, and the most promising items by the kernel itself.

    Parameters
    ----------
    kernel : str or Kernel
        The similarity; it need not be positive semi-definite.
    n_bits : int
        How many bits an item is kept as.
    n_landmarks, subset, rank, scale, center, normalize
        As in `mercer.embeddings.KLSHDirections`.
    asymmetric : bool
        Whether the query keeps its projections; see `mercer.search.Scan`.
    seed : int
        Chooses landmarks and directions.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).dirichlet(np.ones(16), size=1000)
    >>> index = mercer.klsh("chi2", n_bits=64).fit(X).add(X)
    >>> index.search(X[:3], k=2, candidates=50).ids[:, 0]
    array([0, 1, 2])
    """
    directions = KLSHDirections(
        kernel, n_bits, n_landmarks=n_landmarks, subset=subset, rank=rank, scale=scale,
        center=center, normalize=normalize, seed=seed,
    )  # fmt: skip
    return Index(kernel, directions, Scan(Sign(None), asymmetric))


def kpca_lsh(
    kernel: str | Kernel,
    *,
    n_bits: int = 256,
    n_components: int | None = None,
    n_landmarks: int = 1024,
    hyperplanes: str = "orthogonal",
    landmarks: str = "random",
    normalize: bool = True,
    asymmetric: bool = True,
    seed: int = 0,
) -> Index:
    """Return an index by kernel PCA and hyperplanes through its centred vectors (E §3).

    Parameters
    ----------
    kernel : str or Kernel
        The similarity.
    n_bits : int
        How many bits an item is kept as.
    n_components : int, optional
        Dimensions of the projection; as many as bits by default, as in the paper.
    n_landmarks, landmarks, normalize
        As in `mercer.embeddings.KernelPCA`.
    hyperplanes : {"orthogonal", "gaussian"}
        How they are drawn; see `mercer.codes.Sign`.
    asymmetric : bool
        Whether the query keeps its projections; see `mercer.search.Scan`.
    seed : int
        Chooses landmarks and hyperplanes.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).dirichlet(np.ones(16), size=1000)
    >>> index = mercer.kpca_lsh("chi2", n_bits=64, n_landmarks=200).fit(X).add(X)
    >>> index.search(X[:3], k=2, candidates=50).ids[:, 0]
    array([0, 1, 2])
    """
    embedding = KernelPCA(
        kernel, n_components or n_bits, n_landmarks=n_landmarks, landmarks=landmarks, center=True,
        normalize=normalize, seed=seed,
    )  # fmt: skip
    return Index(kernel, embedding, Scan(Sign(hyperplanes, n_bits, seed), asymmetric))


def lsh(
    kernel: str | Kernel = "cosine",
    *,
    n_bits: int = 256,
    hyperplanes: str = "orthogonal",
    asymmetric: bool = True,
    seed: int = 0,
) -> Index:
    """Return an index of dense vectors by random hyperplanes, Charikar's LSH for cosines.

    Parameters
    ----------
    kernel : str or Kernel
        "cosine" or "linear".
    n_bits : int
        How many bits an item is kept as.
    hyperplanes : {"orthogonal", "gaussian"}
        How they are drawn; see `mercer.codes.Sign`.
    asymmetric : bool
        Whether the query keeps its projections; see `mercer.search.Scan`.
    seed : int
        Chooses the hyperplanes.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(1000, 16))
    >>> mercer.lsh(n_bits=64).fit(X).add(X).search(X[:3], k=1).ids.ravel()
    array([0, 1, 2])
    """
    return Index(kernel, Identity(kernel), Scan(Sign(hyperplanes, n_bits, seed), asymmetric))
