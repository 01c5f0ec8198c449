"""A first, cheap bound of every row, from the leading components of its vector.

Vectors end with the residual R. Components come in order of energy, so the first few of them with
their own residual bound the kernel as well as the whole vector does, a little less tightly, and
most rows need not be looked at again.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mercer.kernels.similarity import unit
from mercer.runtime import parallel
from mercer.search import _bytes, _loops
from mercer.search.base import Floats

LEAST_COMPONENTS = 64  # with fewer, a first bound costs as much as the whole product
FLOAT_SHARE = 1 / 4  # of the components that the first bound uses, as floats
BYTE_SHARE = 1 / 2  # and as bytes
ROWS = 1 << 14  # turned into bytes in one go


class Head(ABC):
    """Bounds of all rows from their leading components.

    Attributes
    ----------
    together : int
        How many adjacent rows count as one where `fill` skips rows.
    """

    together = 1

    @abstractmethod
    def queries(self, Zq: Floats, residual: float = 1.0) -> object:
        """Return what `fill` needs of queries; `residual` scales the product of residuals."""

    @abstractmethod
    def fill(self, q: object, rows: slice, tile: Floats) -> Floats:
        """Return the bounds of these rows, shape (n_queries, n_rows), in `tile` if it fits.

        With a step, only every so many groups of adjacent rows are meant.
        """


def choose(Z: Floats, n_head: int | None) -> Head | None:
    """Return the head that pays on this machine, or None where the whole vector is cheaper."""
    n_components = Z.shape[1] - 1
    if n_head == 0 or (n_head is None and n_components < LEAST_COMPONENTS):
        return None
    kind, share = (ByteHead, BYTE_SHARE) if _bytes.AVAILABLE else (FloatHead, FLOAT_SHARE)
    n_head = n_head or round(share * n_components / 16) * 16
    return kind(Z, n_head) if n_head < n_components else None


def residual_of_head(Z: Floats, n_head: int) -> Floats:
    """Return the norm of the stored numbers after the head, rounded up."""
    tail = Z[:, n_head:]
    lost = np.sqrt(np.einsum("ij,ij->i", tail, tail, dtype=np.float64) * (1 + 1e-12))
    return np.asarray(np.nextafter(lost.astype(np.float32), np.float32(np.inf)))


class FloatHead(Head):
    """The leading components as they are: a shorter matrix product."""

    def __init__(self, Z: Floats, n_head: int) -> None:
        self.n_head = n_head
        self.matrix = np.column_stack([Z[:, :n_head], residual_of_head(Z, n_head)])

    def queries(self, Zq: Floats, residual: float = 1.0) -> Floats:
        """Return the heads of queries."""
        lost = residual_of_head(Zq, self.n_head) * np.float32(residual)
        return np.column_stack([Zq[:, : self.n_head], lost])

    def fill(self, q: object, rows: slice, tile: Floats) -> Floats:
        """Return the bounds, as a product of floats."""
        return np.matmul(q, self.matrix[rows].T, out=tile)  # type: ignore[call-overload, no-any-return]


class _Codes(NamedTuple):
    """Queries as `_bytes.tile` takes them."""

    words: npt.NDArray[np.int32]  # (n, n_words): four signed bytes a word
    factors: Floats  # (n, 4): of the byte product, of 1, of the first component, of the residual


class ByteHead(Head):
    """The leading components as bytes, four times as many per cycle (theory: heads).

    The first component, which holds the mean, stays a float. With z_j = o_j + s_j c_j + e_j for
    rows, and z_j s_j = τ c_j + f_j for queries,

    ``z·z' <= τ c·c' + Σ z_j o_j + Σ f_j m_j + |f| max|c' - m| + |z| max|e'|``

    for any m, such as the mean of the codes, and only the first product depends on the row.
    """

    together = _bytes.LANES

    def __init__(self, Z: Floats, n_head: int) -> None:
        self.n_head = n_head
        body = Z[:, 1:n_head]
        self.least = body.min(axis=0).astype(np.float64)
        self.step = _steps((body.max(axis=0) - self.least) / 255)
        self.middle = np.rint((body.mean(axis=0, dtype=np.float64) - self.least) / self.step)
        n_words = max(1, -(-body.shape[1] // 4))
        n_blocks = -(-len(Z) // _bytes.LANES)
        self.codes = np.zeros((n_blocks, n_words, 4 * _bytes.LANES), np.uint8)
        self.leads = np.zeros((n_blocks, 2, _bytes.LANES), np.float32)
        self.longest_error = self.longest_code = 0.0
        for rows in parallel.spans(len(Z), ROWS):
            self._encode(Z[rows], rows.start // _bytes.LANES)
        self.largest = np.abs(self.leads).max(axis=(0, 2)).astype(np.float64)

    def _encode(self, Z: Floats, first_block: int) -> None:
        body = Z[:, 1 : self.n_head].astype(np.float64)
        codes = np.clip(np.rint((body - self.least) / self.step), 0, 255)
        errors = body - (self.least + self.step * codes)
        self.longest_error = max(self.longest_error, _longest(errors))
        self.longest_code = max(self.longest_code, _longest(codes - self.middle))
        words = self.codes.shape[1]
        n_blocks = -(-len(Z) // _bytes.LANES)
        padded = np.zeros((n_blocks * _bytes.LANES, 4 * words), np.uint8)
        padded[: len(Z), : codes.shape[1]] = codes
        # word by word: the four bytes of each row of a block side by side
        lanes = padded.reshape(n_blocks, _bytes.LANES, words, 4).transpose(0, 2, 1, 3)
        blocks = slice(first_block, first_block + n_blocks)
        self.codes[blocks] = lanes.reshape(n_blocks, words, -1)
        leads = np.zeros((n_blocks * _bytes.LANES, 2), np.float32)
        leads[: len(Z), 0], leads[: len(Z), 1] = Z[:, 0], residual_of_head(Z, self.n_head)
        self.leads[blocks] = leads.reshape(n_blocks, _bytes.LANES, 2).transpose(0, 2, 1)

    def queries(self, Zq: Floats, residual: float = 1.0) -> _Codes:
        """Return queries as signed bytes and the factors of their bounds."""
        lost = residual_of_head(Zq, self.n_head) * np.float64(residual)
        n_padded = 1 if len(Zq) == 1 else -(-len(Zq) // _bytes.QUERIES) * _bytes.QUERIES
        signed = np.zeros((n_padded, 4 * self.codes.shape[1]), np.int8)
        factors = np.zeros((n_padded, 4), np.float32)
        longest = self.longest_code, self.longest_error
        rounding = 16 * unit(np.float32)  # of four terms, and of theirs
        _loops.encode_queries(
            Zq, self.n_head, lost, self.least, self.step, self.middle, longest, self.largest,
            rounding, signed, factors,
        )  # fmt: skip
        return _Codes(signed.view(np.int32), factors)

    def fill(self, q: object, rows: slice, tile: Floats) -> Floats:
        """Return the bounds, as a product of bytes; `rows` must begin at a block."""
        assert isinstance(q, _Codes)
        first, n_rows = rows.start // _bytes.LANES, tile.shape[1]
        n_blocks = -(-n_rows // _bytes.LANES)
        shape = len(q.words), n_blocks * _bytes.LANES
        whole = tile if tile.shape == shape else np.empty(shape, np.float32)
        step = rows.step or 1
        _bytes.tile(self.codes, self.leads, first, step, n_blocks, q.words, q.factors, whole)
        if whole is tile:
            return tile
        tile[:] = whole[: len(tile), :n_rows]
        return tile


def _steps(least: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the step between codes for each component, at least as large as given.

    Steps in proportion to the components' ranges would be best for rows, and equal steps best for
    queries, which have one τ; the geometric means of both lose least overall.
    """
    steps = np.sqrt(least * least.max(initial=0))
    return np.where(steps > 0, steps, 1.0)


def _norms(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)) * (1 + 1e-12))


def _longest(rows: npt.NDArray[np.float64]) -> float:
    return float(_norms(rows).max(initial=0))
