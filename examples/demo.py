"""Kernels and brute-force search on scikit-learn's digits: run it with scripts/demo."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise

import mercer
from mercer import kernels

SHADES = " .:-=+*#%@"
console = Console(highlight=False)


@mercer.kernel(psd=True, nonnegative=True)
def my_chi2(x, y):  # type: ignore[no-untyped-def]
    """A kernel written here, compiled at first use: Σ 2ab/(a+b)."""
    total = 0.0
    for i in range(len(x)):
        below = x[i] + y[i]
        if below > 0:
            total += 2 * x[i] * y[i] / below
    return total


COMPARED: list[kernels.Kernel] = [
    kernels.Chi2(),
    my_chi2,
    kernels.JensenShannon(),
    kernels.Intersection(),
    kernels.RBF(gamma=100.0),
    kernels.Cosine(),
    0.5 * kernels.Chi2() + kernels.Laplacian(gamma=2.0),
]


def digits(n_queries: int = 300) -> tuple[Any, ...]:
    """Return items, queries and their labels; each image is a histogram of its ink."""
    X, y = load_digits(return_X_y=True)
    X = (X / X.sum(axis=1, keepdims=True)).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    return X[n_queries:], X[:n_queries], y[n_queries:], y[:n_queries]


def picture(image: Any) -> list[str]:
    """Return an 8 x 8 histogram as text, two letters a pixel."""
    levels = (image.reshape(8, 8) / image.max() * (len(SHADES) - 1)).astype(int)
    return ["".join(SHADES[level] * 2 for level in row) for row in levels]


def seconds(call: Callable[[], Any]) -> float:
    """Return the best of five times, after a first call that may compile."""
    call()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def show_neighbours(X: Any, Q: Any, truth: mercer.Matches, queries: list[int]) -> None:
    """Print queries beside their nearest items, as pictures."""
    for query in queries:
        images = [picture(Q[query])] + [picture(X[row]) for row in truth.ids[query]]
        titles = ["query"] + [f"{score:.3f}" for score in truth.scores[query]]
        console.print("   ".join(title.center(16) for title in titles), style="bold")
        for line in zip(*images, strict=True):
            console.print("   ".join(line), markup=False)
        console.print()


def compare_kernels(X: Any, Q: Any, labels: Any, truth_labels: Any) -> None:
    """Print how well each kernel's nearest item tells the digit, and how fast it is found."""
    shown = Table(title=f"the nearest of {len(X)} digits, for {len(Q)} queries, by brute force")
    for column in ("kernel", "same digit", "queries/s"):
        shown.add_column(column, justify="left" if column == "kernel" else "right")
    for kernel in COMPARED:
        found = mercer.evaluate.ground_truth(kernel, X, Q, k=1)
        right = (labels[found.ids[:, 0]] == truth_labels).mean()
        took = seconds(lambda kernel=kernel: mercer.evaluate.ground_truth(kernel, X, Q, k=1))
        shown.add_row(repr(kernel), f"{right:.1%}", f"{len(Q) / took:,.0f}")
    console.print(shown)


def compare_speed(X: Any) -> None:
    """Print the speed of Gram matrices against scikit-learn's."""
    pairs = len(X) ** 2 / 1e6
    theirs = pairs / seconds(lambda: pairwise.additive_chi2_kernel(X, X.copy()))
    for kernel in (kernels.Chi2(), my_chi2):
        ours = pairs / seconds(lambda kernel=kernel: kernel(X, X.copy()))
        console.print(
            f"Gram matrix of {kernel!r}: {ours:.0f} million pairs a second, "
            f"{ours / theirs:.0f} times scikit-learn"
        )


def main() -> None:
    """Show all of it."""
    X, Q, labels, query_labels = digits()
    truth = mercer.evaluate.ground_truth("chi2", X, Q, k=3)
    console.print("\nDigits as histograms, and their nearest neighbours by χ²:\n", style="bold")
    show_neighbours(X, Q, truth, [int(np.argmax(query_labels == digit)) for digit in (2, 6, 7)])
    compare_kernels(X, Q, labels, query_labels)
    console.print()
    compare_speed(X)
    checked = mercer.testing.check_kernel(my_chi2, X)
    console.print(f"my_chi2 keeps {len(checked)} promises of a kernel (mercer.testing)\n")


if __name__ == "__main__":
    main()
