"""Product codes: each group of dimensions as its nearest centroid (Bourrier et al. 2015, §4.2)."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mercer.codes.balance import BALANCES, Groups, balanced
from mercer.codes.base import Code
from mercer.errors import InputError
from mercer.runtime import parallel
from mercer.runtime.params import check_count, stored

Floats = npt.NDArray[np.float32]
BLOCK = 16_384  # vectors encoded in one task
POINTS = 256  # the most vectors that a centroid is learned from
ROWS, QUERIES = 4000, 100  # vectors that are searched by their codes, and queries, to see whether
NEAREST, AMONG = 10, 50  # the nearest ones are among so many of the first
ENOUGH = 0.9  # share of them; with less, codes of one dimension for each centroid are better


@stored
class Product(Code):
    """Groups of dimensions, each kept as the number of its nearest centroid.

    Queries are not rounded: a distance is the sum, over the groups, of the distances from the
    query's own part to the centroids (asymmetric distances).

    Parameters
    ----------
    n_bytes : int, optional
        Bytes per code; None for as many as give each centroid two dimensions, or only one, where
        codes with two lose too many of the nearest vectors of the sample.
    balance : {"permute", "deal", "none", "rotate", "opq"}
        How dimensions are mixed before they are cut into groups. Principal components decrease,
        so the first groups would have the largest errors. "permute": a random order (as in
        Bourrier et al. 2015). "deal": principal components dealt out like cards, so that all
        groups vary alike. "rotate": a random rotation. "opq": a rotation learned together with the
        centroids.
    bits : {8, 4}
        Bits per group: 8 for 256 centroids, one byte; or 4 for 16 centroids, two groups to a byte,
        which faiss scans much faster.
    seed : int
        Chooses the mixing and the first centroids.

    Attributes
    ----------
    rotation_ : ndarray of float32, shape (d, D)
        Orthonormal rows: vectors are mixed as ``Z @ rotation_``. D is d, or a little more if
        the groups do not divide d evenly.
    centroids_ : ndarray of float32, shape (n_groups, 2 ** bits, D / n_groups)
        The centroids of every group.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.codes import Product
    >>> Z = np.random.default_rng(0).normal(size=(1000, 16)).astype(np.float32)
    >>> code = Product(n_bytes=4).fit(Z)
    >>> code.encode(Z).shape
    (1000, 4)
    >>> bool(np.square(code.decode(code.encode(Z)) - Z).mean() < 0.5)
    True
    """

    learned = ("rotation_", "centroids_")

    distance = "product"

    def __init__(
        self, n_bytes: int | None = 8, balance: str = "permute", bits: int = 8, seed: int = 0
    ) -> None:
        self.n_bytes = n_bytes
        self.balance = balance
        self.bits = bits
        self.seed = seed
        self._validate()

    def _validate(self) -> None:
        check_count("n_bytes", self.n_bytes, optional=True)
        if self.balance not in BALANCES:
            raise InputError(f"balance is {self.balance!r}. Ways are: {', '.join(BALANCES)}.")
        if self.bits not in (4, 8):
            raise InputError(f"bits is {self.bits!r}. Pass 8 or 4.")
        check_count("seed", self.seed, at_least=0)

    def fit(self, Z: Floats) -> Self:
        """Learn the mixing and the centroids from vectors, and return self."""
        self._learn(Z, self._groups(Z.shape[1], self.n_bytes))
        if self.n_bytes is None and self.centroids_.shape[2] > 1 and self._share(Z) < ENOUGH:
            self._learn(Z, self._groups(Z.shape[1], -(-Z.shape[1] * self.bits // 8)))
        return self

    def _learn(self, Z: Floats, groups: Groups) -> None:
        self.rotation_ = balanced(Z, groups, self.balance, self.seed)
        self.centroids_ = self._centroids(Z @ self.rotation_, groups)

    def _share(self, Z: Floats) -> float:
        """Return the share of the nearest vectors that are among the first by their codes."""
        some = Z[:: -(-len(Z) // ROWS)]
        asked = slice(None, None, -(-len(some) // QUERIES))
        V = self.query(some)
        near = _first(V, V, asked, NEAREST)
        found = _first(V, self.decode_mixed(self.encode_mixed(V)), asked, AMONG)
        same = [len(np.intersect1d(a, b)) for a, b in zip(near, found, strict=True)]
        return sum(same) / near.size if near.size else 1.0

    def _groups(self, d: int, n_bytes: int | None) -> Groups:
        """Return how d dimensions are cut, into an even number of groups where two share a byte."""
        per_byte = 8 // self.bits
        n_bytes = -(-d // (2 * per_byte)) if n_bytes is None else n_bytes
        number = max(1, n_bytes) * per_byte
        return Groups(number, max(1, -(-d // number)), self.bits)

    def _centroids(self, V: Floats, groups: Groups) -> Floats:
        """Return the centroids that k-means finds in every group."""
        least = 1 << self.bits  # faiss needs as many vectors as centroids
        V = np.resize(V, (max(least, len(V)), groups.width))
        with parallel.one_faiss_thread() as faiss:
            quantiser = faiss.ProductQuantizer(groups.width, groups.number, self.bits)
            quantiser.cp.seed = self.seed
            quantiser.cp.min_points_per_centroid = 1  # otherwise faiss only warns
            quantiser.cp.max_points_per_centroid = POINTS
            quantiser.train(V)
            found: Floats = faiss.vector_to_array(quantiser.centroids)
        return found.reshape(groups.number, least, groups.size)

    def query(self, Z: Floats) -> Floats:
        """Return the vectors with their dimensions mixed, shape (n, D)."""
        self._require_fitted()
        return np.asarray(Z @ self.rotation_, np.float32)

    def encode(self, Z: Floats) -> npt.NDArray[np.uint8]:
        """Return the numbers of the nearest centroids, in the order of the groups.

        Of two groups in one byte, the first has the lower bits.
        """
        self._require_fitted()
        n_bytes = len(self.centroids_) * self.bits // 8
        codes = np.empty((len(Z), n_bytes), np.uint8)
        tasks = [(codes[span], Z[span]) for span in parallel.spans(len(Z), BLOCK)]
        parallel.run(self._encode, tasks, label="encoding")
        return codes

    def _encode(self, codes: npt.NDArray[np.uint8], Z: Floats) -> None:
        codes[:] = self.encode_mixed(self.query(Z))

    def encode_mixed(self, V: Floats) -> npt.NDArray[np.uint8]:
        """Return the codes of vectors in the form that `query` returns, on one thread."""
        with parallel.one_faiss_thread() as faiss:
            codes: npt.NDArray[np.uint8] = self.quantiser(faiss).compute_codes(
                np.ascontiguousarray(V)
            )
        return codes

    def decode(self, codes: npt.NDArray[np.uint8]) -> Floats:
        """Return the vectors that codes stand for, shape (n, d)."""
        return np.asarray(self.decode_mixed(codes) @ self.rotation_.T)

    def decode_mixed(self, codes: npt.NDArray[np.uint8]) -> Floats:
        """Return the centroids that codes name, as vectors in the form that `query` returns."""
        self._require_fitted()
        with parallel.one_faiss_thread() as faiss:
            vectors: Floats = self.quantiser(faiss).decode(np.ascontiguousarray(codes))
        return vectors

    def quantiser(self, faiss: Any) -> Any:
        """Return faiss's own product quantiser with these centroids."""
        n_groups, _, size = self.centroids_.shape
        quantiser = faiss.ProductQuantizer(n_groups * size, n_groups, self.bits)
        faiss.copy_array_to_vector(self.centroids_.ravel(), quantiser.centroids)
        return quantiser


def _first(V: Floats, W: Floats, asked: slice, n: int) -> npt.NDArray[np.int64]:
    """Return the rows of W nearest to some rows of V, the row itself excluded."""
    squares = np.einsum("ij,ij->i", W, W) - 2 * (V[asked] @ W.T)
    squares[np.arange(len(squares)), np.arange(len(V))[asked]] = np.inf
    n = min(n, len(W) - 1)
    return np.asarray(np.argpartition(squares, n, axis=1)[:, :n])
