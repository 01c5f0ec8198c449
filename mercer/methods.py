"""The methods: each one joins an embedding and a searcher into an index."""

from __future__ import annotations

from mercer.codes import Sign
from mercer.embeddings import (
    FourierDirections,
    Identity,
    KernelPCA,
    KLSHDirections,
    LearnedDirections,
    LearnedMetric,
    MaxMarginDirections,
    PyramidDirections,
)
from mercer.embeddings.metric import has_directions
from mercer.errors import InputError
from mercer.index import Index
from mercer.kernels import Kernel, Learned, Mahalanobis, get
from mercer.kernels.learned import unwrapped
from mercer.search import BoundScan, Scan, Searcher, SortedLists

__all__ = ["exact", "fourier", "klsh", "kpca_lsh", "learned", "lsh", "pyramid", "rmmh"]


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
    epsilon: float | None = None,
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
    epsilon : float, optional
        With a number, candidates come from sorted lists (`mercer.search.SortedLists`) instead of
        a scan of all codes.
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
    return Index(kernel, directions, _searcher(Sign(None), asymmetric, epsilon))


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
    epsilon: float | None = None,
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
    epsilon : float, optional
        With a number, candidates come from sorted lists (`mercer.search.SortedLists`) instead of
        a scan of all codes.
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
    code = Sign(hyperplanes, n_bits, seed)
    return Index(kernel, embedding, _searcher(code, asymmetric, epsilon))


def lsh(
    kernel: str | Kernel = "cosine",
    *,
    n_bits: int = 256,
    hyperplanes: str = "orthogonal",
    asymmetric: bool = True,
    epsilon: float | None = None,
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
    epsilon : float, optional
        With a number, candidates come from sorted lists (`mercer.search.SortedLists`) instead of
        a scan of all codes.
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
    code = Sign(hyperplanes, n_bits, seed)
    return Index(kernel, Identity(kernel), _searcher(code, asymmetric, epsilon))


def rmmh(
    kernel: str | Kernel,
    *,
    n_bits: int = 256,
    n_landmarks: int = 1024,
    n_items: int = 32,
    C: float = 1000.0,
    normalize: bool = True,
    asymmetric: bool = True,
    epsilon: float | None = None,
    seed: int = 0,
) -> Index:
    """Return an index by random maximum margin hashing: bits that split items widely (E §3.2).

    Parameters
    ----------
    kernel : str or Kernel
        The similarity.
    n_bits : int
        How many bits an item is kept as.
    n_landmarks, n_items, C, normalize
        As in `mercer.embeddings.MaxMarginDirections`.
    asymmetric : bool
        Whether the query keeps its projections; see `mercer.search.Scan`.
    epsilon : float, optional
        With a number, candidates come from sorted lists (`mercer.search.SortedLists`) instead of
        a scan of all codes.
    seed : int
        Chooses landmarks, draws and labels.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).dirichlet(np.ones(16), size=500)
    >>> index = mercer.rmmh("chi2", n_bits=64, n_landmarks=200).fit(X).add(X)
    >>> index.search(X[:3], k=1, candidates=50).ids.ravel()
    array([0, 1, 2])
    """
    directions = MaxMarginDirections(
        kernel, n_bits, n_landmarks=n_landmarks, n_items=n_items, C=C, normalize=normalize,
        seed=seed,
    )  # fmt: skip
    return Index(kernel, directions, _searcher(Sign(None), asymmetric, epsilon))


def fourier(
    kernel: str | Kernel,
    *,
    n_bits: int = 256,
    scale: float | None = None,
    n_components: int = 64,
    n_landmarks: int = 300,
    asymmetric: bool = True,
    epsilon: float | None = None,
    seed: int = 0,
) -> Index:
    """Return an index by binary Fourier codes: signs of random cosines (K §6.7).

    Parameters
    ----------
    kernel : str or Kernel
        The similarity. RBF and Laplacian on dense vectors need no landmark.
    n_bits : int
        How many bits an item is kept as.
    scale, n_components, n_landmarks
        As in `mercer.embeddings.FourierDirections`.
    asymmetric : bool
        Whether the query keeps its projections; see `mercer.search.Scan`.
    epsilon : float, optional
        With a number, candidates come from sorted lists (`mercer.search.SortedLists`) instead of
        a scan of all codes.
    seed : int
        Chooses landmarks and waves.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).dirichlet(np.ones(16), size=500)
    >>> index = mercer.fourier("chi2", n_bits=128).fit(X).add(X)
    >>> index.search(X[:3], k=1, candidates=50).ids.ravel()
    array([0, 1, 2])
    """
    directions = FourierDirections(
        kernel, n_bits, scale=scale, n_components=n_components, n_landmarks=n_landmarks, seed=seed
    )
    return Index(kernel, directions, _searcher(Sign(None), asymmetric, epsilon))


def pyramid(
    kernel: str | Kernel,
    *,
    n_bits: int = 256,
    mode: str = "walk",
    asymmetric: bool = True,
    epsilon: float | None = None,
    seed: int = 0,
) -> Index:
    """Return an index of sets by pyramid match hashing (P): no landmark, nothing learned.

    Parameters
    ----------
    kernel : Kernel
        A pyramid: `mercer.kernels.PyramidMatch`, `VocabularyPyramid`, `SpatialPyramid` or
        `ProximityDistribution`, or one of them ``.normalized()``. Bits know angles, which are
        those of the normalised kernel.
    n_bits : int
        How many bits a set is kept as.
    mode : {"walk", "paper"}
        How bits are drawn; see `mercer.embeddings.PyramidDirections`.
    asymmetric : bool
        Whether the query keeps its projections; see `mercer.search.Scan`.
    epsilon : float, optional
        With a number, candidates come from sorted lists (`mercer.search.SortedLists`) instead of
        a scan of all codes.
    seed : int
        Chooses the directions.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> rng = np.random.default_rng(0)
    >>> sets = mercer.Ragged.from_list([rng.random((20, 2)) for _ in range(500)])
    >>> kernel = mercer.kernels.PyramidMatch.for_data(sets).normalized()
    >>> index = mercer.pyramid(kernel, n_bits=64).fit(sets).add(sets)
    >>> index.search(sets[:3], k=1, candidates=50).ids.ravel()
    array([0, 1, 2])
    """
    directions = PyramidDirections(kernel, n_bits, mode=mode, seed=seed)
    return Index(kernel, directions, _searcher(Sign(None), asymmetric, epsilon))


def learned(
    kernel: str | Kernel,
    *,
    n_bits: int = 256,
    hyperplanes: str = "orthogonal",
    n_landmarks: int = 1024,
    asymmetric: bool = True,
    epsilon: float | None = None,
    seed: int = 0,
) -> Index:
    """Return an index by hash functions that carry a learned metric (M section 3).

    A metric of vectors hashes by the signs of rᵀGx (`mercer.embeddings.LearnedMetric`). One learned
    over the linear or the cosine kernel hashes by rᵀGφ(x), without a matrix of all features
    (`LearnedDirections`). Over any other kernel φ(x) is not known: then bits are signs of
    hyperplanes through kernel PCA vectors of the learned kernel, with the basis among the
    landmarks (`mercer.kpca_lsh`).

    Parameters
    ----------
    kernel : Kernel
        A learned kernel, `mercer.learn.ITML(...).fit(X, y).kernel_`, or ``.normalized()`` of it to
        rank by angles, or ``.radial(gamma)`` to rank by distances.
    n_bits : int
        How many bits an item is kept as.
    hyperplanes : {"orthogonal", "gaussian"}
        How they are drawn; see `mercer.codes.Sign`. Those of `LearnedDirections` are Gaussian.
    n_landmarks : int
        Of kernel PCA; not used elsewhere.
    asymmetric : bool
        Whether the query keeps its projections; see `mercer.search.Scan`.
    epsilon : float, optional
        With a number, candidates come from sorted lists (`mercer.search.SortedLists`) instead of
        a scan of all codes.
    seed : int
        Chooses landmarks and hyperplanes.

    Examples
    --------
    >>> import mercer
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> kernel = mercer.learn.ITML().fit(X, y).kernel_.radial(1.0)
    >>> index = mercer.learned(kernel, n_bits=64).fit(X).add(X)
    >>> index.search(X[:3], k=1, candidates=20).ids.ravel()
    array([0, 1, 2])
    """
    kernel = get(kernel)
    inner, code = unwrapped(kernel), Sign(hyperplanes, n_bits, seed)
    if isinstance(inner, Mahalanobis):
        return Index(kernel, LearnedMetric(kernel), _searcher(code, asymmetric, epsilon))
    if not isinstance(inner, Learned):
        raise InputError(
            f"learned: {kernel!r} is not a learned kernel. Pass "
            "mercer.learn.ITML(...).fit(X, y).kernel_."
        )
    if has_directions(kernel):
        directions = LearnedDirections(kernel, n_bits, seed=seed)
        return Index(kernel, directions, _searcher(Sign(None), asymmetric, epsilon))
    return kpca_lsh(
        kernel, n_bits=n_bits, hyperplanes=hyperplanes, n_landmarks=n_landmarks,
        asymmetric=asymmetric, epsilon=epsilon, seed=seed,
    )  # fmt: skip


def _searcher(code: Sign, asymmetric: bool, epsilon: float | None) -> Searcher:
    """Return a scan of all codes, or sorted lists where there is an epsilon."""
    if epsilon is None:
        return Scan(code, asymmetric)
    return SortedLists(code, epsilon=epsilon, asymmetric=asymmetric)
