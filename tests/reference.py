"""Plain NumPy twins of everything compiled, in double precision, one pair at a time."""

from __future__ import annotations

import numpy as np


def chi2(x, y):
    s = x + y
    return np.sum(np.divide(2 * x * y, s, out=np.zeros_like(s), where=s > 0))


def chi2_distance(x, y):
    s = x + y
    return np.sum(np.divide((x - y) ** 2, s, out=np.zeros_like(s), where=s > 0))


def jensen_shannon(x, y):
    total = 0.0
    for a, b in ((x, y), (y, x)):
        kept = a > 0
        total += np.sum(a[kept] / 2 * np.log2((a[kept] + b[kept]) / a[kept]))
    return total


def minmax(x, y):
    below = np.maximum(x, y).sum()
    return np.minimum(x, y).sum() / below if below > 0 else 1.0


def cosine(x, y):
    norms = np.linalg.norm(x) * np.linalg.norm(y)
    return x @ y / norms if norms > 0 else 0.0


def tversky(x, y, a, b):
    common = np.sum((x > 0) & (y > 0))
    below = common + a * np.sum((x > 0) & (y == 0)) + b * np.sum((x == 0) & (y > 0))
    return common / below if below > 0 else 1.0


PAIRS = {
    "chi2": chi2,
    "exp_chi2": lambda x, y: np.exp(-chi2_distance(x, y)),
    "intersection": lambda x, y: np.minimum(x, y).sum(),
    "jensen_shannon": jensen_shannon,
    "hellinger": lambda x, y: np.sqrt(x * y).sum(),
    "minmax": minmax,
    "linear": lambda x, y: x @ y,
    "cosine": cosine,
    "polynomial": lambda x, y: (x @ y / len(x) + 1) ** 3,
    "rbf": lambda x, y: np.exp(-np.sum((x - y) ** 2) / len(x)),
    "laplacian": lambda x, y: np.exp(-np.sum(np.abs(x - y)) / len(x)),
    "tanimoto": lambda x, y: tversky(x, y, 1, 1),
    "tversky": lambda x, y: tversky(x, y, 1, 1),
}


def sum_match(base, Y, Z):
    """Return the mean of base(y, z) over all pairs; 0 for an empty set."""
    values = [base(y, z) for y in Y for z in Z]
    return np.mean(values) if values else 0.0


def max_sim(base, Y, Z):
    """Return the mean of both directions' mean best match; 0 for an empty set."""
    if not len(Y) or not len(Z):
        return 0.0
    there = np.mean([max(base(y, z) for z in Z) for y in Y])
    back = np.mean([max(base(y, z) for y in Y) for z in Z])
    return (there + back) / 2


def corr_distance(Y, Z, P, Q, weight):
    """Return the mean least cost of features and places, there and back (theory: words)."""
    costs = np.array([[np.sum((f - g) ** 2) + weight * np.linalg.norm(p - q)
                       for g, q in zip(Z, Q, strict=True)]
                      for f, p in zip(Y, P, strict=True)])  # fmt: skip
    return costs.min(axis=1).mean() + costs.min(axis=0).mean()


def gram(pair, X, Y):
    """Return pair(x, y) for all pairs, in double precision."""
    X, Y = np.asarray(X, np.float64), np.asarray(Y, np.float64)
    return np.array([[pair(x, y) for y in Y] for x in X])


def best(K, k):
    """Return the columns of the k largest values of each row; equal values: smaller first."""
    order = np.argsort(-K, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(K, order, 1)


def projected(KL, Kx, Ky):
    """Return the inner products of items projected on all landmarks: k(x, L) K⁺ k(L, y)."""
    return Kx @ np.linalg.pinv(KL, rcond=1e-10, hermitian=True) @ Ky.T


def centred(KL, Kx, Ky, Kxy):
    """Return the kernel after the landmarks' mean was subtracted in its space."""
    return Kxy - Kx.mean(axis=1)[:, None] - Ky.mean(axis=1) + KL.mean()


def captured(KL, Kx, W):
    """Return the mean square of items along the directions W, orthonormal in the span or not."""
    values, vectors = np.linalg.eigh(W.T @ KL @ W)
    Z = Kx @ W @ vectors / np.sqrt(values)
    return (Z**2).sum() / len(Z)


def farthest(squares, n, first):
    """Return n rows: each one the farthest from those before, by squared distances."""
    chosen = [first]
    while len(chosen) < n:
        nearest = squares[:, chosen].min(axis=1)
        nearest[chosen] = 0
        if nearest.max() <= 1e-12:
            break
        chosen.append(int(nearest.argmax()))
    return sorted(chosen)


def needed(bounds, scores, k, error):
    """Return for how many rows of each query the bound reaches the k-th score (theory: order)."""
    kth = -np.sort(-scores, axis=1)[:, k - 1]
    return (bounds >= (kth - error)[:, None]).sum(axis=1)


# ---- metric learning


def itml(X, pairs, signs, bounds, slack, orders):
    """Return A after projections on pairs in these orders: the formulas of M, one at a time."""
    A, duals, moved = np.eye(X.shape[1]), np.zeros(len(pairs)), bounds.astype(float).copy()
    for order in orders:
        for c in order:
            v = X[pairs[c, 0]] - X[pairs[c, 1]]
            p = v @ A @ v
            a = signs[c] * slack / (slack + 1) * (1 / p - 1 / moved[c])
            a = min(duals[c], a)
            duals[c] -= a
            beta = signs[c] * a / (1 - signs[c] * a * p)
            moved[c] = slack * moved[c] / (slack + signs[c] * a * moved[c])
            A = A + beta * np.outer(A @ v, A @ v)
    return A, duals, moved


def itml_coefficients(K0, pairs, signs, bounds, slack, orders):
    """Return S of G = I + Φ S Φᵀ by lemma 2 of M, for pairs of basis items."""
    c, duals = len(K0), np.zeros(len(pairs))
    S = np.zeros((c, c))
    for order in orders:
        for t in order:
            e = np.eye(c)[pairs[t, 0]] - np.eye(c)[pairs[t, 1]]
            h = e + S @ K0 @ e
            p = h @ K0 @ h
            inverse = 1 / bounds[t] - signs[t] * duals[t] / slack
            a = min(duals[t], signs[t] * slack / (slack + 1) * (1 / p - inverse))
            duals[t] -= a
            grown = (np.sqrt(1 / (1 - signs[t] * a * p)) - 1) / p
            S = S + grown * np.outer(h, h + S.T @ K0 @ h)
    return S


def triple_projection(A, u, v, margin, price=np.inf):
    """Return the metric nearest to A by the LogDet divergence, plus price/2 t² for what is left.

    t = uᵀAu + margin - vᵀAv, found by bisection.
    """
    U, D = np.column_stack([u, v]), np.diag([1.0, -1.0])
    inverse = np.linalg.inv(A)

    def behind(a):
        B = np.linalg.inv(inverse + a * U @ D @ U.T)
        return u @ B @ u + margin - v @ B @ v - a / price

    P = U.T @ A @ U
    s, det = P[0, 0] - P[1, 1], np.linalg.det(P)
    # a keeps 1 + a s - a² det positive, and the excess falls from infinity to minus infinity
    root = np.sqrt(s * s + 4 * det)
    low, high = (s - root) / (2 * det), (s + root) / (2 * det)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if behind(middle) > 0 else (low, middle)
    return np.linalg.inv(inverse + middle * U @ D @ U.T)
