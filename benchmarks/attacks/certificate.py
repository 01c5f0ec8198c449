"""Certified answers against extended precision: lengths, ties and scales that float32 misjudges."""

from __future__ import annotations

from typing import Any

import numpy as np

import mercer
from benchmarks.attacks.base import Outcome, trials
from mercer import evaluate, kernels

LONG = np.longdouble
N, D, QUERIES = 400, 16, 40


def _dots(X: Any, Y: Any) -> Any:
    return X @ Y.T


def _chi2(X: Any, Y: Any) -> Any:
    below = X[:, None] + Y[None]
    return (2 * X[:, None] * Y[None] / np.where(below == 0, 1, below)).sum(axis=2)


def _minima(X: Any, Y: Any) -> Any:
    return np.minimum(X[:, None], Y[None]).sum(axis=2)


@mercer.kernel(psd=True)
def own_dot(x, y):  # type: ignore[no-untyped-def]
    """A dot product as a user would write it."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


_B = np.random.default_rng(0).normal(size=(D, D))
METRIC = _B @ _B.T / D
SIGNED = {
    "linear": (kernels.Linear(), _dots),
    "scaled linear": (0.25 * kernels.Linear(), lambda X, Y: _dots(X, Y) / 4),
    "mahalanobis": (kernels.Mahalanobis(METRIC), lambda X, Y: X @ METRIC.astype(LONG) @ Y.T),
    "user's dot product": (own_dot, _dots),
    "polynomial": (kernels.Polynomial(2, gamma=0.5), lambda X, Y: (_dots(X, Y) / 2 + 1) ** 2),
    "sum": (kernels.Linear() + kernels.Polynomial(2, gamma=1.0),
            lambda X, Y: _dots(X, Y) + (_dots(X, Y) + 1) ** 2),
    "from_gram": (kernels.from_gram(_dots, psd=True), _dots),
}  # fmt: skip
HISTOGRAMS = {
    "chi2": (kernels.Chi2(), _chi2),
    "intersection": (kernels.Intersection(), _minima),
    "scaled": (0.25 * kernels.Chi2(), lambda X, Y: _chi2(X, Y) / 4),
}


def attack(seconds: float) -> Outcome:
    """Count certified answers that leave out something better than they allow."""
    outcome = Outcome("certificate")
    for rng in trials(seconds):
        signed = rng.random() < 0.6
        known = SIGNED if signed else HISTOGRAMS
        name = str(rng.choice(list(known)))
        kernel, true = known[name]
        X, Q = _items(rng, signed)
        K = true(Q.astype(LONG), X.astype(LONG))
        k = int(rng.choice([1, 3, 10]))
        for found in _answers(kernel, X, Q, k, rng):
            best = -np.sort(-K, axis=1)[:, k - 1]
            last = np.take_along_axis(K, found.ids, 1).min(axis=1)
            lies = found.exact & (last < best - found.tolerance - 1e-33)
            outcome.count(int(found.exact.sum()), int(lies.sum()), f"{name}, k={k}")
        _within(kernel, X, Q, K, rng, outcome, name)
    return outcome


def _within(kernel: Any, X: Any, Q: Any, K: Any, rng: Any, outcome: Outcome, name: str) -> None:
    """Count lists that are certified and lack an item, or have one that does not belong there."""
    score = float(np.quantile(K, rng.uniform(0.5, 0.999)))
    for make in (lambda: mercer.exact(kernel, n_landmarks=60, n_components=12),
                 lambda: mercer.brute(kernel)):  # fmt: skip
        lists = make().fit(X).add(X).within(Q, score)
        for values, found in zip(K, lists, strict=True):
            listed = np.isin(np.arange(N), found.ids[0])
            slack = float(found.tolerance[0]) + 1e-33
            wrong = np.where(listed, values < score - slack, values > score + slack)
            lie = bool(found.exact[0] and wrong.any())
            outcome.count(int(found.exact[0]), int(lie), f"{name}, within {score:.4g}")


def _items(rng: Any, signed: bool) -> tuple[Any, Any]:
    """Return items and queries: lengths over many orders, duplicates, neighbours one ulp away."""
    X = rng.normal(size=(N, D)) if signed else rng.dirichlet(np.full(D, 0.4), N)
    Q = rng.normal(size=(QUERIES, D)) if signed else rng.dirichlet(np.full(D, 0.4), QUERIES)
    X *= 10.0 ** rng.uniform(-rng.uniform(0, 5), rng.uniform(0, 5), (N, 1))
    if signed:
        X[:15] = _beside(rng, Q, 15, 10.0 ** rng.uniform(0, 8))
    X, Q = X.astype(np.float32), Q.astype(np.float32)
    X[20:40] = X[40:60]
    X[60:80] = np.nextafter(X[40:60], np.float32(9))
    Q[:5] = X[40:45]
    return rng.permutation(X), Q


def _beside(rng: Any, Q: Any, n: int, length: float) -> Any:
    """Return long vectors that score about as much as short ones: most of them is across."""
    q = Q[rng.integers(0, len(Q), n)]
    q = q / np.linalg.norm(q, axis=1, keepdims=True)
    across = rng.normal(size=(n, D))
    across -= (across * q).sum(axis=1, keepdims=True) * q
    across *= length / np.linalg.norm(across, axis=1, keepdims=True)
    return across + rng.uniform(0.5, 1.5, (n, 1)) * q


def _answers(kernel: Any, X: Any, Q: Any, k: int, rng: Any) -> Any:
    cut = int(rng.integers(1, N))
    yield evaluate.ground_truth(kernel, X, Q, k)
    components = int(rng.choice([4, 12, 40]))
    index = mercer.exact(kernel, n_landmarks=60, n_components=components).fit(X)
    yield index.add(X[:cut]).add(X[cut:]).search(Q, k)
    yield index.search(Q, k, candidates=N // 2)
    yield mercer.brute(kernel).fit(X).add(X[:cut]).add(X[cut:]).search(Q, k)
