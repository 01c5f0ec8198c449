"""Hash functions that carry a learned metric."""

from mercer.codes import Sign
from mercer.embeddings import Explicit, LearnedDirections
from mercer.embeddings.metric import has_directions
from mercer.errors import InputError
from mercer.index import Index
from mercer.kernels import Kernel, get
from mercer.methods.coded import over_codes
from mercer.methods.hashing import kpca_lsh
from mercer.search import Searcher


def learned(
    kernel: str | Kernel, *, n_bits: int = 256, hyperplanes: str = "orthogonal",
    n_landmarks: int | None = None, codes: str | Searcher = "asymmetric", seed: int = 0,
) -> Index:  # fmt: skip
    """Return an index with hash functions for a learned metric (Kulis, Jain and Grauman 2009, §3).

    A metric of vectors hashes by the signs of rᵀGx (`mercer.embeddings.Explicit`). One learned
    over the linear or the cosine kernel, or over a pyramid of sets, hashes by rᵀGφ(x), without a
    matrix of all features (`LearnedDirections`). Over any other kernel φ(x) is not known: then
    bits are signs of hyperplanes through kernel PCA vectors of the learned kernel, with the basis
    among the landmarks (`mercer.kpca_lsh`).

    Parameters
    ----------
    kernel : Kernel
        A learned kernel, `mercer.learn.ITML(...).fit(X, y).kernel_`, or its ``.normalized()`` to
        rank by angles, or its ``.radial(gamma)`` to rank by distances.
    n_bits : int
        Bits per code.
    hyperplanes : {"orthogonal", "gaussian"}
        How the hyperplanes are drawn; see `mercer.codes.Sign`. Those of `LearnedDirections` are
        Gaussian.
    n_landmarks : int, optional
        Landmarks of kernel PCA, see `mercer.embeddings.KernelPCA`; not used otherwise.
    codes : {"asymmetric", "hamming", "lists"} or Searcher
        How codes are searched; see `mercer.methods.coded`.
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
    if not kernel.innermost.is_learned:
        raise InputError(
            f"learned: {kernel!r} is not a learned kernel. Pass "
            "mercer.learn.ITML(...).fit(X, y).kernel_."
        )
    if Explicit.of(kernel) is not None:
        code = Sign(hyperplanes, n_bits, seed)
        return Index(kernel, Explicit(kernel, angles=True), over_codes(code, codes))
    if has_directions(kernel):
        directions = LearnedDirections(kernel, n_bits, seed=seed)
        return Index(kernel, directions, over_codes(Sign(None), codes))
    return kpca_lsh(
        kernel, n_bits=n_bits, hyperplanes=hyperplanes, n_landmarks=n_landmarks, codes=codes,
        seed=seed,
    )  # fmt: skip
