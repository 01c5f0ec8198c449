"""Methods with binary codes: hash functions for any kernel."""

from mercer.codes import Sign
from mercer.embeddings import (
    FourierDirections,
    Hyperplanes,
    KernelPCA,
    KLSHDirections,
    MaxMarginDirections,
)
from mercer.index import Index
from mercer.kernels import Kernel
from mercer.methods.coded import over_codes
from mercer.search import Searcher


def klsh(
    kernel: str | Kernel, *, n_bits: int = 256, n_landmarks: int | None = None,
    subset: int | str | None = "auto", rank: int | None = None, scale: float | None = None,
    center: str = "both", normalize: bool = True, codes: str | Searcher = "asymmetric",
    seed: int = 0,
) -> Index:  # fmt: skip
    """Return an index with kernelized LSH: one bit per random direction in the kernel's space.

    Codes are compared first, and the kernel ranks the most promising items (Kulis and Grauman
    2012).

    Parameters
    ----------
    kernel : str or Kernel
        The similarity; it need not be positive semi-definite.
    n_bits : int
        Bits per code.
    n_landmarks, subset, rank, scale, center, normalize
        As in `mercer.embeddings.KLSHDirections`.
    codes : {"asymmetric", "hamming", "lists"} or Searcher
        How codes are searched; see `mercer.methods.coded`.
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
    return Index(kernel, directions, over_codes(Sign(None), codes))


def kpca_lsh(
    kernel: str | Kernel, *, n_bits: int = 256, n_components: int | None = None,
    n_landmarks: int | None = None, hyperplanes: str = "orthogonal", landmarks: str = "random",
    normalize: bool = True, codes: str | Searcher = "asymmetric", seed: int = 0,
) -> Index:  # fmt: skip
    """Return an index with hyperplanes through centred kernel PCA (Bourrier et al. 2015, §4.1).

    In §5.2.2 they compare it with Kernelized LSH, maximum margin hashing and product codes.

    Parameters
    ----------
    kernel : str or Kernel
        The similarity.
    n_bits : int
        Bits per code.
    n_components : int, optional
        Dimensions of the projection; as many as bits by default, as in the paper.
    n_landmarks, landmarks, normalize
        As in `mercer.embeddings.KernelPCA`.
    hyperplanes : {"orthogonal", "gaussian"}
        How the hyperplanes are drawn; see `mercer.codes.Sign`.
    codes : {"asymmetric", "hamming", "lists"} or Searcher
        How codes are searched; see `mercer.methods.coded`.
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
    return Index(kernel, embedding, over_codes(code, codes))


def lsh(
    kernel: str | Kernel = "cosine", *, n_bits: int = 256, hyperplanes: str = "orthogonal",
    codes: str | Searcher = "asymmetric", seed: int = 0,
) -> Index:  # fmt: skip
    """Return an index of vectors with random hyperplanes, Charikar's LSH.

    Parameters
    ----------
    kernel : str or Kernel
        A kernel with known vectors (`mercer.embeddings.Explicit`): cosine, linear, RBF, χ², ...
    n_bits : int
        Bits per code.
    hyperplanes : {"orthogonal", "gaussian"}
        How the hyperplanes are drawn. Those of sparse items with more than 10,000 features are
        always Gaussian, and are not stored; see `mercer.embeddings.Hyperplanes`.
    codes : {"asymmetric", "hamming", "lists"} or Searcher
        How codes are searched; see `mercer.methods.coded`.
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
    directions = Hyperplanes(kernel, n_bits, hyperplanes=hyperplanes, seed=seed)
    return Index(kernel, directions, over_codes(Sign(None), codes))


def rmmh(
    kernel: str | Kernel, *, n_bits: int = 256, n_landmarks: int | None = None, n_items: int = 32,
    C: float = 1000.0, normalize: bool = True, codes: str | Searcher = "asymmetric", seed: int = 0,
) -> Index:  # fmt: skip
    """Return an index with random maximum margin hashing (Bourrier et al. 2015, §3.2).

    Each bit splits a few randomly labelled items with a wide margin.

    Parameters
    ----------
    kernel : str or Kernel
        The similarity.
    n_bits : int
        Bits per code.
    n_landmarks, n_items, C, normalize
        As in `mercer.embeddings.MaxMarginDirections`.
    codes : {"asymmetric", "hamming", "lists"} or Searcher
        How codes are searched; see `mercer.methods.coded`.
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
    return Index(kernel, directions, over_codes(Sign(None), codes))


def fourier(
    kernel: str | Kernel, *, n_bits: int = 256, scale: float | None = None, n_components: int = 64,
    n_landmarks: int | None = None, codes: str | Searcher = "asymmetric", seed: int = 0,
) -> Index:  # fmt: skip
    """Return an index with binary Fourier codes: signs of random cosines.

    Kulis and Grauman (2012) compare with these codes in §6.7.

    Parameters
    ----------
    kernel : str or Kernel
        The similarity. RBF and Laplacian on dense vectors need no landmark.
    n_bits : int
        Bits per code.
    scale, n_components, n_landmarks
        As in `mercer.embeddings.FourierDirections`.
    codes : {"asymmetric", "hamming", "lists"} or Searcher
        How codes are searched; see `mercer.methods.coded`.
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
    return Index(kernel, directions, over_codes(Sign(None), codes))
