"""Gram matrices of 128-d float32 items: mercer against scikit-learn and scipy, in one run.

scripts/bench gram
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise

from benchmarks.measure import compare, my_chi2, table
from mercer import kernels

PEERS = [
    (kernels.Chi2(), "additive_chi2_kernel", pairwise.additive_chi2_kernel),
    (kernels.ExpChi2(), "chi2_kernel", pairwise.chi2_kernel),
    (kernels.Laplacian(), "laplacian_kernel", pairwise.laplacian_kernel),
    (kernels.JensenShannon(), "scipy jensenshannon", lambda X, Y: cdist(X, Y, "jensenshannon")),
    (kernels.Intersection(), "scipy cityblock", lambda X, Y: cdist(X, Y, "cityblock")),
    (kernels.RBF(), "rbf_kernel", pairwise.rbf_kernel),
    (kernels.Cosine(), "cosine_similarity", pairwise.cosine_similarity),
    (kernels.Linear(), "linear_kernel", pairwise.linear_kernel),
    (kernels.Polynomial(), "polynomial_kernel", pairwise.polynomial_kernel),
    (kernels.Hellinger(), "linear_kernel of roots",
     lambda X, Y: pairwise.linear_kernel(np.sqrt(X), np.sqrt(Y))),
]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--columns", type=int, default=4000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5, help="turns each contender gets")
    parser.add_argument("--seconds", type=float, default=0.3, help="length of a turn")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X, Y = (rng.dirichlet(np.ones(128), n).astype(np.float32)
            for n in (options.rows, options.columns))  # fmt: skip
    pairs = len(X) * len(Y) / 1e6
    threads = options.threads
    rows: list[list[object]] = []

    def add(name, ours, peer, theirs):  # type: ignore[no-untyped-def]
        mine, other = compare(ours, theirs, rounds=options.rounds, at_least=options.seconds)
        rows.append([name, pairs / mine, peer, pairs / other, other / mine])

    for kernel, peer, function in PEERS:
        add(repr(kernel), lambda kernel=kernel: kernel(X, Y, n_jobs=threads),
            peer, lambda function=function: function(X, Y))  # fmt: skip
    chi2 = kernels.Chi2()
    add("my_chi2 (@mercer.kernel)", lambda: my_chi2(X, Y, n_jobs=threads),
        "Chi2()", lambda: chi2(X, Y, n_jobs=threads))  # fmt: skip
    bits = [rng.integers(0, 256, (len(A), 128), dtype=np.uint8) for A in (X, Y)]
    tanimoto, intersection = kernels.Tanimoto(), kernels.Intersection()
    add("Tanimoto(), 1024 bits", lambda: tanimoto(*bits, n_jobs=threads),
        "Intersection()", lambda: intersection(X, Y, n_jobs=threads))  # fmt: skip
    print(f"{len(X)} x {len(Y)} items of 128 features, float32, {options.threads} threads")
    table(["kernel", "M pairs/s", "against", "M pairs/s", "ratio"], rows)


if __name__ == "__main__":
    main()
