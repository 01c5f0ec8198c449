"""Kernels with a learned metric, of vectors or over any kernel (Kulis, Jain and Grauman 2009)."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from mercer import items
from mercer.errors import InputError, KernelError
from mercer.kernels import _loops
from mercer.kernels.base import Kernel
from mercer.kernels.prepared import Prepared
from mercer.kernels.similarity import refuse_to_return, unit
from mercer.kernels.sums import DotProduct
from mercer.runtime import parallel
from mercer.runtime.arrays import Array, DType, Ids
from mercer.runtime.lazy import lazy

Matrix = npt.NDArray[np.float64]
BLOCK = 16_384  # items prepared in one go
NEGATIVE = 1e-10  # share of the largest eigenvalue: a negative one up to this is a rounded 0
ORTHONORMAL = 2.0**-10  # how far from orthonormal weights may be before they are refused


class Mahalanobis(DotProduct):
    """k(x, y) = xᵀ A y, the inner product of Gx and Gy with A = GᵀG.

    The learned inner product of Kulis, Jain and Grauman (2009, eq. 2). Items are kept as Gx in
    float32, with G the symmetric root of A, so it is as fast as `Linear`. Its distance is
    d_A(x, y) = (x - y)ᵀ A (x - y); ``.radial(gamma)`` ranks by it.

    Parameters
    ----------
    A : array_like, shape (n_features, n_features)
        A symmetric positive semi-definite matrix, such as `mercer.learn.ITML` learns.

    Examples
    --------
    >>> from mercer import kernels
    >>> kernels.Mahalanobis([[4.0, 0.0], [0.0, 1.0]])([[1.0, 1.0]], [[2.0, 3.0]])
    array([[11.]], dtype=float32)
    """

    is_learned = True

    def __init__(self, A: npt.ArrayLike) -> None:
        self.A = np.asarray(A)
        self._validate()

    def _validate(self) -> None:
        A = self.A
        if A.ndim != 2 or A.shape[0] != A.shape[1] or not A.size or A.dtype.kind not in "biuf":
            raise InputError(
                f"A has shape {A.shape} and type {A.dtype}. Pass a square matrix, one "
                "row for each feature."
            )
        if not np.isfinite(A).all():
            raise InputError("A contains NaN or infinity.")
        if not np.allclose(A, A.T, rtol=1e-6, atol=1e-6 * np.abs(A).max()):
            raise InputError("A is not symmetric. Pass (A + A.T) / 2.")
        self._root = symmetric_root(A.astype(np.float64))

    def _prepare(self, X: Any) -> dict[str, Any]:
        if X.shape[1] != len(self.A):
            raise InputError(
                f"items have {X.shape[1]} features but A has {len(self.A)} rows. "
                "Pass items from the same source."
            )
        mapped = np.empty(X.shape, np.float32)
        for span in parallel.spans(X.shape[0], BLOCK):
            mapped[span] = X[span].astype(np.float64) @ self._root
        return {"rows": mapped}

    def given(self, P: Prepared) -> NoReturn:
        """Raise KernelError: items are not kept."""
        refuse_to_return(self)

    def sound(self, P: Prepared) -> bool:
        """Whether mapped rows are as wide as A."""
        rows = P.rows
        return bool(rows.dtype == np.float32 and rows.shape[1:] == self.A.shape[1:])

    def tolerance(self, *prepared: Prepared, dtype: npt.DTypeLike = np.float32) -> float:
        """Bound the error: that of the dot product, and the rounding of both Gx to float32."""
        return super().tolerance(*prepared, dtype=dtype) + 2.01 * unit(np.float32)

    def __repr__(self) -> str:
        return f"Mahalanobis(<{len(self.A)} x {len(self.A)} matrix>)"


class Learned(Kernel):
    """A kernel with a metric learned in the span of some items: k(x, y) + zᵀ (GᵀG - I) z'.

    z = Wᵀ k(Φ, x) are the coordinates of x in an orthonormal basis of the span of the basis items
    Φ, and G changes these coordinates only. This equals k(x, y) + k(x, Φ) M k(Φ, y) with
    M = W (GᵀG - I) Wᵀ = S + Sᵀ + Sᵀ K₀ S, where S = W (G - I) Wᵀ (Kulis, Jain and Grauman 2009,
    eq. 6; theory: span), but avoids the huge entries of M where K₀ is nearly singular.

    It is positive semi-definite if `kernel` is. Prepared items hold z and what `kernel` prepares;
    neither depends on G, so they serve any other metric over the same basis. Values are computed
    in double precision, because the terms may cancel.

    Parameters
    ----------
    kernel : Kernel
        The similarity over which the metric was learned.
    basis : items
        The c basis items.
    weights : ndarray of float64, shape (c, d)
        W, with Wᵀ K₀ W = I for the kernel matrix K₀ of the basis.
    factor : ndarray of float64, shape (d, d)
        G.

    Examples
    --------
    >>> from mercer import kernels
    >>> kernel = kernels.Learned(kernels.Linear(), [[1.0, 0.0]], [[1.0]], [[3.0]])
    >>> kernel([[1.0, 1.0]], [[2.0, 5.0]])  # the first feature counts nine times
    array([[23.]], dtype=float32)
    """

    is_learned = True

    def __init__(
        self, kernel: Kernel, basis: Any, weights: npt.ArrayLike, factor: npt.ArrayLike
    ) -> None:
        self.kernel = kernel
        self.basis = basis
        self.weights = np.asarray(weights)
        self.factor = np.asarray(factor)
        self._validate()

    def _validate(self) -> None:
        W, G, n = self.weights, self.factor, items.length(self.basis)
        if W.ndim != 2 or len(W) != n or G.shape != (W.shape[1], W.shape[1]):
            raise InputError(
                f"weights have shape {W.shape} and the factor {G.shape}, for {n} basis "
                f"items. Pass ({n}, d) and (d, d)."
            )
        if not (np.isfinite(W).all() and np.isfinite(G).all()):
            raise InputError("weights or factor contain NaN or infinity.")
        for fact in ("input", "psd", "symmetric", "nonnegative", "runs_python", "tile_shape"):
            setattr(self, fact, getattr(self.kernel, fact))
        self.over = self.kernel
        for name in ("anchors", "_basis", "_change", "_error"):
            vars(self).pop(name, None)

    @lazy
    def anchors(self) -> Prepared:
        """The basis: landmarks without it miss what was learned (theory: learned-hashing)."""
        return self.prepare(self.basis)

    @lazy
    def _basis(self) -> Prepared:
        return self.kernel.prepare(self.basis)

    @lazy
    def _change(self) -> Matrix:
        """GᵀG - I: what was learned."""
        return np.asarray(self.factor.T @ self.factor - np.eye(len(self.factor)))

    def _require_own(self, P: Prepared) -> Prepared:
        """Accept items prepared for another metric over the same basis as they are."""
        if P.kernel is self:
            return P
        if isinstance(P.kernel, Learned) and self._shares_basis(P.kernel):
            return Prepared(self, P.parts, P.form)
        return super()._require_own(P)

    def _shares_basis(self, other: Learned) -> bool:
        """Whether items have the same coordinates under both kernels: only G may differ."""
        mine, theirs = (one.get_params(deep=False) | {"factor": None} for one in (self, other))
        return all(self._same(mine[name], theirs[name]) for name in mine)

    def _same(self, left: Any, right: Any) -> bool:
        """Whether two values of a parameter are equal; the basis may be items of any kind."""
        is_items = items.kind_of(left).name not in ("vectors", "any")
        return items.same(left, right) if is_items else super()._same(left, right)

    def _prepare(self, X: Any) -> dict[str, Any]:
        P = self.kernel.prepared(X)
        self.kernel.require_alike(P, self._basis, ("the items", "the basis"))
        Z = np.empty((len(P), self.weights.shape[1]))
        for span in parallel.spans(len(P), BLOCK):
            Z[span] = self.kernel(P[span], self._basis, dtype=np.float64) @ self.weights
        return {"inside": P, "coordinates": Z}

    def sound(self, P: Prepared) -> bool:
        """Whether the number of coordinates matches the weights."""
        Z = P.coordinates
        return bool(Z.dtype == np.float64 and Z.shape[1:] == self.weights.shape[1:])

    def _tile(self, P: Prepared, R: Prepared, out: Array) -> None:
        values = np.empty(out.shape)
        self.kernel._tile(P.inside, R.inside, values)
        values += (P.coordinates @ self._change) @ R.coordinates.T
        out[:] = values

    def _gather(self, P: Prepared, R: Prepared, ids: Ids, dtype: DType) -> Array:
        double = np.dtype(np.float64)
        values = self.kernel._gather(P.inside, R.inside, ids, double)
        changed, learned = P.coordinates @ self._change, np.empty(ids.shape)
        _loops.LOOPS.gather(_loops.DotTerm(), changed, R.coordinates, ids, learned)
        return np.asarray(values + learned, dtype)

    def _diag(self, P: Prepared, dtype: DType) -> Array:
        diag = self.kernel._diag(P.inside, np.dtype(np.float64))
        diag = diag + np.einsum("ij,ij->i", P.coordinates @ self._change, P.coordinates)
        return np.asarray(np.maximum(diag, 0) if self.psd else diag, dtype)

    def tolerance(self, *prepared: Prepared, dtype: npt.DTypeLike = np.float32) -> float:
        """Bound the error of sums in double precision, relative to items that may have shrunk."""
        inner = self.kernel.tolerance(*(P.inside for P in prepared), dtype=np.float64)
        reach, loss, norms, stretch = self._error
        c, d = self.weights.shape
        v = unit(np.float64)
        shift = (inner + (c + 2) * v) * reach  # of coordinates, as a share of √k(x, x)
        learned = norms * (2 * shift + shift**2 + (4 * d + 8) * v)
        return float((inner + learned + loss) * stretch + 1.01 * unit(dtype))

    @lazy
    def _error(self) -> tuple[float, float, float, float]:
        """The quantities that the tolerance needs from weights and factor.

        How much an error of the kernel grows in coordinates; how far the basis is from orthonormal;
        the norms of the learned part; and how much k(x, x) can shrink.
        """
        W, G = np.abs(self.weights), self.factor
        K = self.kernel(self._basis, self._basis[:], dtype=np.float64)
        K = (K + K.T) / 2
        size = np.linalg.norm(self.weights.T @ K @ self.weights - np.eye(W.shape[1]))
        rounding = 4 * len(K) * unit(np.float64) * np.linalg.norm(W.T @ np.abs(K) @ W)
        if size > ORTHONORMAL + rounding:
            raise KernelError(
                f"Learned: the weights are {size:.3g} away from those of an orthonormal basis: "
                "Wᵀ K W is not the identity for the kernel matrix K of the basis. Pass those "
                "that mercer.learn.ITML learned."
            )
        reach = np.linalg.norm(W.sum(axis=0)) * np.sqrt(np.abs(np.diag(K)).max())
        norms = np.linalg.norm(self._change) + np.linalg.norm(G) ** 2
        least = np.linalg.svd(G, compute_uv=False).min()
        return (
            float(reach), float(size + rounding), float(norms), float(max(1.0, least**-2.0)),
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"Learned({self.kernel!r}, <{len(self.weights)} basis items>)"


def symmetric_root(A: Matrix) -> Matrix:
    """Return the symmetric root of a positive semi-definite matrix."""
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    largest = max(float(values[-1]), 0.0)
    if values[0] < -NEGATIVE * largest:
        raise InputError(
            f"A has eigenvalue {values[0]:.3g} (largest {values[-1]:.3g}). Pass a "
            "positive semi-definite matrix."
        )
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)
