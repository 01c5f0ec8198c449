"""Inverted lists: rows by their nearest centroid, kept as product codes that faiss scans fast."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple, Self, cast

import numpy as np
import numpy.typing as npt

from mercer import parallel
from mercer.arrays import Array, Ids
from mercer.codes import Code, Product
from mercer.errors import InputError, StoreError
from mercer.params import check_count
from mercer.search._list_choice import choose_lists
from mercer.search.base import Candidates, Floats, Mask, Searcher
from mercer.search.decoded import allowed_rows, nearest

__all__ = ["Inverted"]

ROUNDS, POINTS = 8, 64  # of k-means, and vectors it learns a centroid from
BLOCK = 16_384  # rows assigned and encoded in one task
SAMPLE = 1000  # rows that tell how far the nearest lists are
LARGE = 1 << 22  # bytes of codes that a cache has no room for
SPARE = 4  # times √n more rows than are asked for, where some are not allowed


class Inverted(Searcher):
    """Rows in lists, one for each of many centroids; a query looks into the nearest lists.

    How many lists differs from query to query: all whose centroid is, in squared distance, at
    most so much farther than the nearest. That much is chosen so that there are `n_probe` on
    average, and finds more than the same number for every query.

    Parameters
    ----------
    code : Product
        Turns vectors into codes of 4 bits a group.
    n_lists : int, optional
        How many lists; by default the power of two next to √n, and one up to 5,000 rows.
    n_probe : int, optional
        How many lists a query looks into, on average. More find more and take longer. By default
        about n_lists^(2/3) / 2.
    seed : int
        Chooses the first centroids.

    Attributes
    ----------
    centroids_ : ndarray of float32, shape (n_lists, D)
        The centroids, of vectors as `code.query` returns them.
    reach_ : ndarray of float32, shape (n_lists,)
        How much farther than the nearest centroid, in squared distance, the others may be for
        1, 2, ... lists on average.
    codes_ : ndarray of uint8, shape (n, n_bytes)
        The codes of all rows, list by list.
    rows_ : ndarray of uint32, shape (n,)
        Their row numbers.
    offsets_ : ndarray of int64, shape (n_lists + 1,)
        Where each list begins.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.codes import Product
    >>> from mercer.search import Inverted
    >>> Z = np.random.default_rng(0).normal(size=(6000, 8)).astype(np.float32)
    >>> lists = Inverted(Product(None, "deal", bits=4)).fit(Z).build(Z)
    >>> len(lists.centroids_), lists.codes_.shape
    (64, (6000, 2))
    >>> bool((lists.candidates(Z[:9], n=60).rows == np.arange(9)[:, None]).any(axis=1).all())
    True
    """

    learns = True
    knob = "n_probe"

    def __init__(
        self, code: Code, n_lists: int | None = None, n_probe: int | None = None, seed: int = 0
    ) -> None:
        self.code = code
        self.n_lists = n_lists
        self.n_probe = n_probe
        self.seed = seed
        self._validate()

    def _validate(self) -> None:
        if not isinstance(self.code, Product) or self.code.bits != 4:
            raise InputError(
                f"Inverted: code is {self.code!r}. Pass a product code of 4 bits a group, such as "
                "Product(None, 'deal', bits=4)."
            )
        for name in ("n_lists", "n_probe"):
            if getattr(self, name) is not None:
                check_count("Inverted", name, getattr(self, name))
        check_count("Inverted", "seed", self.seed, at_least=0)

    @property
    def _code(self) -> Product:
        return cast(Product, self.code)

    # ---- building

    def fit(self, Z: Floats) -> Self:
        """Let the code learn from vectors; return self."""
        self.code.fit(Z)
        return self

    def build(self, Z: Floats) -> Self:
        """Divide the rows into lists and encode them; return self."""
        n_lists = min(self.n_lists or _usual_lists(len(Z)), max(1, len(Z)))
        for derived in ("_fast", "_lengths", "_place"):
            self.__dict__.pop(derived, None)
        self.centroids_ = self._centroids(Z, n_lists)
        codes, lists = self._encoded(Z)
        order = np.argsort(lists, kind="stable")
        self.codes_, self.rows_ = codes[order], order.astype(np.uint32)
        sizes = np.bincount(lists, minlength=n_lists)
        self.offsets_ = np.concatenate([[0], np.cumsum(sizes)])
        self.reach_ = self._reaches(Z)
        return self

    def _centroids(self, Z: Floats, n_lists: int) -> Floats:
        if n_lists == 1:
            return np.asarray(self.code.query(Z).mean(axis=0, keepdims=True))
        rng = np.random.default_rng(self.seed)
        some = rng.choice(len(Z), min(len(Z), POINTS * n_lists), replace=False)
        V = np.ascontiguousarray(self.code.query(Z[np.sort(some)]))
        with parallel.one_faiss_thread() as faiss:
            means = faiss.Kmeans(
                V.shape[1], n_lists, niter=ROUNDS, seed=self.seed, min_points_per_centroid=1,
                max_points_per_centroid=POINTS,
            )  # fmt: skip
            means.train(V)
            found: Floats = means.centroids
        return found

    def _encoded(self, Z: Floats) -> tuple[npt.NDArray[np.uint8], Ids]:
        """Return the code and the list of every row."""
        n_bytes = self._code.centroids_.shape[0] // 2
        codes, lists = np.empty((len(Z), n_bytes), np.uint8), np.empty(len(Z), np.int64)

        def fill(span: slice) -> None:
            V = np.ascontiguousarray(self.code.query(Z[span]))
            codes[span] = self._code.encode_mixed(V)
            with parallel.one_faiss_thread() as faiss:
                lists[span] = faiss.knn(V, self.centroids_, 1)[1][:, 0]

        tasks = [(span,) for span in parallel.spans(len(Z), BLOCK)]
        parallel.run(fill, tasks, label="building lists")
        return codes, lists

    def _reaches(self, Z: Floats) -> Floats:
        """Return how much farther centroids may be for 1, 2, ... lists on average."""
        some = Z[:: max(1, len(Z) // SAMPLE)]
        squares = self._squares(self.code.query(some))
        squares -= squares.min(axis=1, keepdims=True)
        return np.ascontiguousarray(np.sort(squares, axis=None)[len(some) - 1 :: len(some)])

    def _squares(self, V: Floats) -> Floats:
        """Return squared distances to all centroids, less the length of the query itself."""
        squares = V @ self.centroids_.T
        squares *= -2
        squares += self._lengths
        return np.asarray(squares)

    @cached_property
    def _lengths(self) -> Floats:
        """The squared length of every centroid."""
        return np.asarray(np.einsum("ij,ij->i", self.centroids_, self.centroids_))

    def __len__(self) -> int:
        return len(self.codes_)

    # ---- searching

    def candidates(
        self, Zq: Floats, n: int, allowed: Mask | None = None, effort: int | None = None
    ) -> Candidates:
        """Return n rows with the nearest codes, of the lists that are looked into.

        Values are minus the squared distance to what a code stands for. `effort` takes the place
        of `n_probe`.
        """
        V = self.code.query(Zq)
        rows = allowed_rows(len(self), n, allowed)
        if rows is not None:
            return nearest(V, rows, self._decoded, n)
        n_probe = effort or self.n_probe or _usual_probes(len(self.centroids_))
        if allowed is None:
            return self._nearest(V, n, n_probe)
        return self._allowed(V, n, allowed, n_probe, len(self) / np.count_nonzero(allowed))

    def _allowed(self, V: Floats, n: int, allowed: Mask, n_probe: int, times: float) -> Candidates:
        """Look at so many times more rows and lists, and more again where too few are allowed."""
        asked = min(len(self), math.ceil(times * (n + SPARE * math.sqrt(n))))
        found = _only(self._nearest(V, asked, math.ceil(times * n_probe)), allowed, n)
        short = np.flatnonzero(found.rows[:, -1] < 0)
        if len(short) and asked < len(self):
            more = self._allowed(V[short], n, allowed, n_probe, 4 * times)
            found.rows[short], found.values[short] = more.rows, more.values
        return found

    def _nearest(self, V: Floats, n: int, n_probe: int) -> Candidates:
        lists = self._probed(V, self._enough(n, n_probe))
        with parallel.one_faiss_thread():
            distances, rows = self._fast.index.search_preassigned(
                np.ascontiguousarray(V), min(n, len(self)), lists, np.zeros(lists.shape, np.float32)
            )
        return Candidates(rows, np.where(rows >= 0, -distances, -np.inf).astype(np.float32))

    def _enough(self, n: int, n_probe: int) -> int:
        """Return n_probe, or more where so few lists would rarely have n rows."""
        n_lists = len(self.centroids_)
        return min(n_lists, max(n_probe, math.ceil(2 * n * n_lists / len(self))))

    def _probed(self, V: Floats, n_probe: int) -> Ids:
        """Return the lists that each query looks into, and -1."""
        lists = np.empty((len(V), len(self.centroids_)), np.int64)
        choose_lists(self._squares(V), self.reach_[n_probe - 1], lists)
        return lists

    @cached_property
    def _place(self) -> Ids:
        """The place of every row among the codes."""
        places = np.empty(len(self), np.int64)
        places[self.rows_] = np.arange(len(self))
        return places

    def _decoded(self, rows: Ids) -> Floats:
        return self._code.decode_mixed(self.codes_[self._place[rows]])

    # ---- faiss

    @cached_property
    def _fast(self) -> _Fast:
        self._require_sound()
        with parallel.one_faiss_thread() as faiss:
            return _fast_lists(faiss, self)

    def _require_sound(self) -> None:
        """Refuse lists from a damaged file, which faiss would follow anywhere."""
        n, n_lists = len(self.codes_), len(self.centroids_)
        n_groups, _, size = self._code.centroids_.shape
        if not (
            self.codes_.shape == (n, n_groups // 2)
            and self.centroids_.shape == (n_lists, n_groups * size)
            and self.rows_.shape == (n,)
            and self.reach_.shape == (n_lists,)
            and self.offsets_.shape == (n_lists + 1,)
            and self.offsets_[0] == 0
            and self.offsets_[-1] == n
            and (np.diff(self.offsets_) >= 0).all()
            and (np.bincount(self.rows_, minlength=n) == 1).all()
        ):
            raise StoreError(
                "Inverted: the lists do not fit together: their files are damaged. Run mercer "
                "verify on the index, and restore it from a copy or build it again."
            )


class _Fast(NamedTuple):
    """faiss's lists, and the quantiser that must live as long as they do."""

    index: Any
    quantiser: Any


def _fast_lists(faiss: Any, lists: Inverted) -> _Fast:
    """Return faiss's inverted file over the codes, packed for its fast scan."""
    n_lists, width = lists.centroids_.shape
    quantiser = faiss.IndexFlatL2(width)
    slow = faiss.IndexIVFPQ(quantiser, width, n_lists, len(lists._code.centroids_), 4)
    slow.pq, slow.by_residual, slow.is_trained = lists._code.quantiser(faiss), False, True
    codes, rows = np.ascontiguousarray(lists.codes_), lists.rows_.astype(np.int64)
    for i, (start, stop) in enumerate(zip(lists.offsets_, lists.offsets_[1:], strict=False)):
        if start < stop:
            slow.invlists.add_entries(
                i, int(stop - start), faiss.swig_ptr(rows[start:stop]),
                faiss.swig_ptr(codes[start:stop]),
            )  # fmt: skip
    slow.ntotal = len(codes)
    fast = faiss.IndexIVFPQFastScan(slow)
    fast.nprobe = n_lists  # places for the numbers of lists: searches at the same time share it
    # list by list, each read once for all queries; or query by query, while the codes stay in cache
    fast.implem = 13 if codes.nbytes > LARGE else 11
    return _Fast(fast, quantiser)


def _only(found: Candidates, allowed: Mask, n: int) -> Candidates:
    """Return the first n candidates that are allowed."""
    good = (found.rows >= 0) & allowed[found.rows]
    order = np.argsort(~good, axis=1, kind="stable")[:, :n]
    rows: Array = np.where(good, found.rows, -1)
    values = np.where(good, found.values, -np.inf).astype(np.float32)
    return Candidates(np.take_along_axis(rows, order, 1), np.take_along_axis(values, order, 1))


def _usual_lists(n: int) -> int:
    return 1 if n <= 5000 else int(2 ** round(math.log2(n) / 2))


def _usual_probes(n_lists: int) -> int:
    return max(1, round(math.pow(n_lists, 2 / 3) / 2))
