"""Items that tempt a certificate to lie: duplicates, neighbours one ulp away, extreme values."""

from __future__ import annotations

import numpy as np

single = np.float32


def items(n, d, seed, signed=False):
    """Return n items of d features, a tenth of them of every odd kind, shuffled last."""
    rng = np.random.default_rng(seed)
    plain = rng.normal(size=(n, d)) if signed else rng.dirichlet(np.full(d, 0.3), n)
    X = plain.astype(single)
    m = n // 10
    first = X[:m]
    X[m : 2 * m] = first
    X[2 * m : 3 * m] = np.nextafter(first, single(1))  # every feature one ulp off
    X[3 * m : 4 * m] = first
    X[3 * m + np.arange(m), rng.integers(0, d, m)] *= single(1 + 2**-23)  # one feature
    X[4 * m : 5 * m] = np.eye(d, dtype=single)[rng.integers(0, d, m)]  # one-hot
    X[5 * m] = 0
    X[5 * m + 1] = 1 / d
    X[5 * m + 2 : 6 * m] = np.where(np.abs(X[2:m]) < 0.02, single(1e-20), X[2:m])
    X[6 * m : 7 * m] = first * single(1e-6)
    X[7 * m : 8 * m] = first * single(1e4)
    return X[rng.permutation(n)]


def near_ties(n, d, seed):
    """Return histograms in groups that differ by single ulps, so that float32 scores tie."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.dirichlet(np.full(d, 0.5), -(-n // 8)).astype(single), 8, axis=0)[:n]
    up = rng.random(X.shape) < 0.2
    return np.where(up, np.nextafter(X, single(2)), X)


def products(Zq, Z):
    """Return inner products of float32 vectors, summed in several orders."""
    summed = np.zeros((len(Zq), len(Z)), single)
    for a, b in zip(Zq.T, Z.T, strict=True):
        summed += a[:, None] * b
    turned = (np.ascontiguousarray(A[:, ::-1]) for A in (Zq, Z))
    pairs = (Zq[:64, None] * Z[None, :200]).sum(axis=2)  # NumPy's own order of sums
    left, right = turned
    return [Zq @ Z.T, left @ right.T, summed, pairs]
