"""Lists of codes as faiss scans them: with tables of bytes where these tell rows apart."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from mercer.codes import Product
from mercer.runtime import parallel
from mercer.search.base import Codes, Floats

LARGE = 1 << 22  # bytes of codes that do not fit in a cache
ASKED, COMPARED = 64, 4096  # rows that tables are made for, and rows of its list compared with each
BEST, AMONG = 10, 30  # the nearest of them, among the first by tables of bytes,
ENOUGH = 0.9  # where so large a share must be


class Packed(NamedTuple):
    """faiss's lists, and the quantiser that must live as long as they do."""

    index: Any
    quantiser: Any


def packed_lists(code: Product, rows: Any) -> Packed:
    """Return faiss's inverted file over the codes of `ListRows`.

    Its fast scan rounds what each group of dimensions adds to a squared distance to one of 256
    steps, which are equally wide for all groups. Where tails are heavy, all near rows may fall into
    the first step. Then the same codes are scanned with tables of floats, which is much slower.
    """
    with parallel.one_faiss_thread() as faiss:
        slow, quantiser = _with_floats(faiss, code, rows)
        if share_kept(code, rows) < ENOUGH:
            return Packed(slow, quantiser)
        fast = faiss.IndexIVFPQFastScan(slow)
        fast.nprobe = slow.nprobe
        # list by list, each read once for all queries; or query by query, while codes stay in cache
        fast.implem = 13 if rows.codes.nbytes > LARGE else 11
        return Packed(fast, quantiser)


def _with_floats(faiss: Any, code: Product, rows: Any) -> Packed:
    n_groups, _, size = code.centroids_.shape
    n_lists, width = len(rows.offsets) - 1, n_groups * size
    quantiser = faiss.IndexFlatL2(width)
    index = faiss.IndexIVFPQ(quantiser, width, n_lists, n_groups, 4)
    index.pq, index.by_residual, index.is_trained = code.quantiser(faiss), False, True
    codes, numbers = np.ascontiguousarray(rows.codes), rows.numbers.astype(np.int64)
    for i, (start, stop) in enumerate(pairwise(rows.offsets.tolist())):
        if start < stop:
            index.invlists.add_entries(
                i, stop - start, faiss.swig_ptr(numbers[start:stop]),
                faiss.swig_ptr(codes[start:stop]),
            )  # fmt: skip
    index.ntotal = len(codes)
    index.nprobe = n_lists  # room for the numbers of all lists: concurrent searches share it
    return Packed(index, quantiser)


# ---- do bytes tell rows apart?


def share_kept(code: Product, rows: Any) -> float:
    """Return the share of the nearest rows, by their codes, that tables of bytes rank first.

    Some of the rows are asked, each among the rows of its own list.
    """
    places = np.unique(np.linspace(0, len(rows) - 1, min(ASKED, len(rows))).astype(int))
    asked = code.decode_mixed(rows.codes[places])
    lists = np.searchsorted(rows.offsets, places, "right") - 1
    shares = []
    for v, start, stop in zip(asked, rows.offsets[lists], rows.offsets[lists + 1], strict=True):
        step = -(-(stop - start) // COMPARED)
        codes = rows.codes[start:stop:step]
        if len(codes) > AMONG:
            tables = np.square(v.reshape(-1, 1, code.centroids_.shape[2]) - code.centroids_).sum(2)
            shares.append(_share(_summed(tables, codes), _summed(rounded(tables), codes)))
    return float(np.mean(shares)) if shares else 1.0


def rounded(tables: Floats) -> Floats:
    """Return tables, shape (n_groups, 16), in the steps of faiss's fast scan.

    A step is a 255th of the widest table's range, or more if sums could exceed two bytes.
    """
    least = tables.min(axis=1, keepdims=True)
    ranges = tables.max(axis=1) - least[:, 0]
    step = max(ranges.max() / 255, ranges.sum() / 65_535)
    return np.asarray(np.floor((tables - least) / (step or 1) + 0.5))


def _summed(tables: Floats, codes: Codes) -> Floats:
    """Return the sum over all groups of what their tables hold for each code."""
    numbers = np.stack([codes & 15, codes >> 4], axis=2).reshape(len(codes), -1)
    return np.asarray(tables[np.arange(len(tables)), numbers].sum(axis=1))


def _share(squares: Floats, steps: Floats) -> float:
    """Return how many of the first by steps are as near as the `BEST` nearest."""
    first = np.argsort(steps, kind="stable")[:AMONG]
    nearest = np.partition(squares, BEST)[: BEST + 1].max()  # the row itself is the nearest
    return min(BEST, int((squares[first] <= nearest).sum()) - 1) / BEST
