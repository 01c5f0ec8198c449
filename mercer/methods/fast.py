"""Fast approximate methods: product codes, inverted lists, graphs."""

from mercer.codes import Product
from mercer.embeddings import Euclidean
from mercer.embeddings.kpca import USUAL
from mercer.index import Index
from mercer.kernels import Kernel, get
from mercer.search import Graph, Inverted, Scan


def kpca_pq(
    kernel: str | Kernel, *, n_bytes: int = 8, n_landmarks: int | None = None,
    n_components: int = 64, balance: str = "permute", seed: int = 0,
) -> Index:  # fmt: skip
    """Return an index with product codes of kernel PCA vectors (Bourrier et al. 2015, §4).

    Every query is compared with all codes, and the kernel ranks the most promising items. The
    index keeps the items beside the codes, because scores are values of the kernel;
    ``index.info()["bytes"]`` says what each part takes.

    Parameters
    ----------
    kernel : str or Kernel
        The similarity.
    n_bytes : int
        Bytes per code, which come on top of those of the item.
    n_landmarks : int, optional
        How many landmarks; every query is compared with all of them. By default 1024, or where the
        kernel calls a Python function, a quarter of the items and at most 256.
    n_components : int
        Dimensions of the projection.
    balance : {"permute", "deal", "none", "rotate", "opq"}
        How dimensions are mixed before they are cut into groups; see `mercer.codes.Product`.
    seed : int
        Chooses landmarks, mixing and first centroids.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).dirichlet(np.ones(16), size=1000)
    >>> index = mercer.kpca_pq("chi2", n_bytes=4, n_components=16).fit(X).add(X)
    >>> index.search(X[:3], k=1, candidates=50).ids.ravel()
    array([0, 1, 2])
    """
    kernel = get(kernel)
    if n_landmarks is None and not kernel.runs_python:
        n_landmarks = USUAL
    vectors = Euclidean(
        kernel, "kpca", n_components=n_components, n_landmarks=n_landmarks, seed=seed
    )
    return Index(kernel, vectors, Scan(Product(n_bytes, balance, seed=seed)))


def inverted(
    kernel: str | Kernel, *, embedding: str = "auto", n_landmarks: int | None = None,
    n_components: int | None = None, n_lists: int | None = None, n_bytes: int | None = None,
    n_probe: int | None = None, seed: int = 0,
) -> Index:  # fmt: skip
    """Return an index with inverted lists, the fastest way to nearly all of the true answer.

    Items become vectors whose distances rank them as the kernel does, kept as short codes in many
    lists. A query scans the codes of the nearest lists, and the kernel ranks the best of them.

    Parameters
    ----------
    kernel : str or Kernel
        The similarity; it need not be positive semi-definite.
    embedding : {"auto", "kpca", "explicit", "additive"}
        How items become vectors; see `mercer.embeddings.Euclidean`.
    n_landmarks, n_components : int, optional
        As there; by default chosen from the number of items and the spectrum.
    n_lists : int, optional
        How many lists; near √n by default.
    n_bytes : int, optional
        Bytes per code; by default one for every four components, or two where that loses too many.
    n_probe : int, optional
        How many lists a query scans, on average; `search(..., effort=)` changes it for one
        search. See `mercer.search.Inverted`.
    seed : int
        Chooses landmarks and centroids.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).dirichlet(np.ones(16), size=6000)
    >>> index = mercer.inverted("chi2").fit(X).add(X)
    >>> index.search(X[:3], k=2, candidates=50, effort=16).ids[:, 0]
    array([0, 1, 2])
    """
    vectors = Euclidean(
        kernel, embedding, n_components=n_components, n_landmarks=n_landmarks, seed=seed
    )
    code = Product(n_bytes, "deal", bits=4, seed=seed)
    return Index(kernel, vectors, Inverted(code, n_lists, n_probe, seed))


def graph(
    kernel: str | Kernel, *, embedding: str = "auto", n_landmarks: int | None = None,
    n_components: int | None = None, n_links: int = 16, ef_build: int = 60, ef: int | None = None,
    seed: int = 0,
) -> Index:  # fmt: skip
    """Return an index with a navigable graph over vectors of one byte per dimension.

    Parameters
    ----------
    kernel : str or Kernel
        The similarity; it need not be positive semi-definite.
    embedding : {"auto", "kpca", "explicit", "additive"}
        How items become vectors; see `mercer.embeddings.Euclidean`.
    n_landmarks, n_components : int, optional
        As there; by default chosen from the number of items and the spectrum.
    n_links, ef_build : int
        How many links a row has, and how thoroughly they are chosen; see `mercer.search.Graph`.
    ef : int, optional
        How many rows a query keeps track of; `search(..., effort=)` changes it for one search.
    seed : int
        Chooses landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).dirichlet(np.ones(16), size=6000)
    >>> index = mercer.graph("chi2").fit(X).add(X)
    >>> index.search(X[:3], k=2, candidates=50).ids[:, 0]
    array([0, 1, 2])
    """
    vectors = Euclidean(
        kernel, embedding, n_components=n_components, n_landmarks=n_landmarks, seed=seed
    )
    return Index(kernel, vectors, Graph(n_links, ef_build, ef))
