"""What is asked of everyone: items, queries and a kernel."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from benchmarks.rivals import pairs
from experiments.real_data import bag_of_words, data_folder, l1_normalised, molecules, sift
from experiments.windows import windows
from mercer import kernels
from mercer.kernels import Kernel

LETTERS = 4  # of a shingle


@dataclass(frozen=True)
class Task:
    """Items to search, queries, and the kernel to search by.

    Attributes
    ----------
    name : str
        What tables call it.
    kernel : Kernel
        The similarity; the runner scores every answer by it.
    pair : callable or None
        The same as a function of two items, which everyone gets that takes a user's kernel.
    top : float
        The largest value: the distance of the peers is `top` - k.
    X, Q : items
        Base rows and queries.
    """

    name: str
    kernel: Kernel
    pair: Callable[[Any, Any], float] | None
    top: float
    X: Any
    Q: Any

    def first(self, n: int) -> Task:
        """Return the same with the first n items."""
        return Task(self.name, self.kernel, self.pair, self.top, self.X[:n], self.Q)


def chi2(rows: int, queries: int) -> Task:
    """SIFT descriptors that sum to 1, under χ²."""
    data = sift(rows, queries, in_order=True)
    return Task("chi2", kernels.Chi2(), pairs.chi2, 1.0, data.X, data.Q)


def js(rows: int, queries: int) -> Task:
    """SIFT descriptors under the Jensen-Shannon kernel."""
    data = sift(rows, queries, in_order=True)
    return Task("js", kernels.JensenShannon(), pairs.jensen_shannon, 1.0, data.X, data.Q)


def two(rows: int, queries: int) -> Task:
    """SIFT descriptors under a sum of two kernels."""
    data = sift(rows, queries, in_order=True)
    both = kernels.JensenShannon() + kernels.Intersection()
    return Task("two", both, pairs.two_kernels, 2.0, data.X, data.Q)


def exp_chi2(rows: int, queries: int) -> Task:
    """Histograms of 1,000 visual words under exp-χ²."""
    data = bag_of_words(rows, queries)
    return Task("exp_chi2", kernels.ExpChi2(gamma=1.0), pairs.exp_chi2, 1.0, data.X, data.Q)


def windows_exp_chi2(rows: int, queries: int) -> Task:
    """Histograms of 1,000 visual words in windows of photos, under exp-χ²."""
    data = windows(rows, queries)
    return Task("windows", kernels.ExpChi2(gamma=1.0), pairs.exp_chi2, 1.0, data.X, data.Q)


def tanimoto(rows: int, queries: int) -> Task:
    """Morgan fingerprints of 1,024 bits under Tanimoto's kernel."""
    data = molecules(rows, queries)
    return Task("tanimoto", kernels.Tanimoto(), None, 1.0, data.X, data.Q)


def strings(rows: int, queries: int) -> Task:
    """Short messages, by the shingles they share: a Python function of two strings."""
    with gzip.open(data_folder() / "text" / "sms_spam.csv.gz", "rt", encoding="utf-8") as file:
        texts = sorted({row["text"] for row in csv.DictReader(file)})
    order = np.random.default_rng(0).permutation(len(texts))
    asked = [texts[i] for i in order[:queries]]
    base = [texts[i] for i in order[queries : queries + rows]]
    return Task("strings", kernels.from_function(shared, psd=True), shared, 1.0, base, asked)


def shared(x: str, y: str) -> float:
    """The share of shingles that two strings have in common (Jaccard)."""
    a, b = shingles(x), shingles(y)
    return len(a & b) / max(1, len(a | b))


@cache
def shingles(text: str) -> frozenset[str]:
    """Return all runs of four letters, or the text where it is shorter."""
    return frozenset(text[i : i + LETTERS] for i in range(max(1, len(text) - LETTERS + 1)))


def made(rows: int, queries: int) -> Task:
    """Histograms around random centres under χ²: for trials without data."""
    rng = np.random.default_rng(0)
    centres = rng.dirichlet(np.full(32, 0.5), size=20)
    drawn = rng.choice(20, rows + queries)
    X = l1_normalised(rng.gamma(20 * centres[drawn] + 0.05))
    return Task("made", kernels.Chi2(), pairs.chi2, 1.0, X[queries:], X[:queries])


TASKS: dict[str, Callable[[int, int], Task]] = {
    "chi2": chi2, "js": js, "two": two, "exp_chi2": exp_chi2,
    "windows": windows_exp_chi2, "tanimoto": tanimoto, "strings": strings, "made": made,
}  # fmt: skip
