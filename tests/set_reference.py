"""Plain NumPy twins of the kernels of sets: histograms as dictionaries, unary codes, walks."""

from __future__ import annotations

from collections import Counter

import numpy as np


def grid_histograms(Y, finest, n_levels, shifts):
    """Return the counts of bins (level, coordinates) of side finest 2^level."""
    found = Counter()
    for level in range(n_levels):
        for point in np.asarray(Y, np.float64):
            place = np.floor((point + shifts) / (finest * 2.0**level)).astype(int)
            found[level, *place] += 1
    return found


def tree_histograms(Y, centers, parents):
    """Return the counts of clusters that points lie in, from the first level on."""
    found = Counter()
    for point in np.asarray(Y, np.float64):
        node = -1
        while True:
            children = np.flatnonzero(parents == node)
            if not len(children):
                break
            gaps = ((centers[children].astype(np.float64) - point) ** 2).sum(axis=1)
            node = int(children[gaps.argmin()])
            found[node] += 1
    return found


def words_of(Y, words):
    """Return the number of the nearest word of each vector."""
    gaps = (np.asarray(Y, np.float64)[:, None] - np.asarray(words, np.float64)) ** 2
    return gaps.sum(axis=2).argmin(axis=1)


def spatial_histograms(Y, places, words, frame, n_levels):
    """Return the counts of (level, word, cell)."""
    found = Counter()
    low, high = np.asarray(frame, np.float64)
    for word, place in zip(words_of(Y, words), np.asarray(places, np.float64), strict=True):
        for level in range(n_levels):
            n_parts = 2 ** (n_levels - 1 - level)
            cell = np.clip(np.floor((place - low) / (high - low) * n_parts), 0, n_parts - 1)
            found[level, word, *cell.astype(int)] += 1
    return found


def proximity_counts(Y, places, words, n_ranks):
    """Return H(i, j, r), all of it, shape (n_words, n_words, n_ranks)."""
    named, places = words_of(Y, words), np.asarray(places, np.float64)
    H = np.zeros((len(words), len(words), n_ranks))
    for point in range(len(named)):
        others = [p for p in range(len(named)) if p != point]
        others.sort(key=lambda p: (((places[p] - places[point]) ** 2).sum(), named[p]))
        for rank, other in enumerate(others[:n_ranks]):
            H[named[point], named[other], rank:] += 1
    return H


def intersection(one, other, coefficient):
    """Return Σ c min(n, n) over the bins of two counters; `coefficient` takes a bin."""
    return sum(coefficient(b) * min(n, other[b]) for b, n in one.items())


def unary_codes(histograms, coefficient):
    """Return f(Y) of sets: for every unit of every bin √c or 0 (P eq. 10, theory: pyramids)."""
    most = Counter()
    for histogram in histograms:
        most |= histogram
    units = [(b, unit) for b, n in most.items() for unit in range(n)]
    return np.array(
        [[np.sqrt(coefficient(b)) * (unit < h[b]) for b, unit in units] for h in histograms]
    )


def normals(stream, n):
    """Return the first n normal numbers of a stream, by the formulas of Box and Muller."""
    pairs = np.arange((n + 1) // 2, dtype=np.uint64)
    low, high = stream & 0xFFFFFFFF, stream >> 32
    word = _mixed(low ^ (pairs * 0x9E3779B9 & 0xFFFFFFFF)) ^ high
    turn = _mixed((word + 0x6A09E667) & 0xFFFFFFFF)
    radius = np.sqrt(-2 * np.log(((_mixed(word) >> 1) + 0.5) / 2**31))
    angle = (turn & 0x3FFFFFFF) / 2**30 * np.pi / 2
    signs = 1.0 - 2.0 * (turn >> 31), 1.0 - 2.0 * (turn >> 30 & 1)
    both = np.stack([radius * np.cos(angle) * signs[0], radius * np.sin(angle) * signs[1]], axis=1)
    return both.ravel()[:n]


def _mixed(x):
    x = np.asarray(x, np.uint64)
    x = (x ^ x >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    x = (x ^ x >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return x ^ x >> 16


def scattered(word):
    """Return SplitMix64's scrambling of a word."""
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
    return word ^ word >> 31
