"""The compiled loops of metric learning: one LogDet projection after the other.

G is the factor of the metric, A = GᵀG, in coordinates of which d are changed. A projection is a
product with a matrix near the identity, G ← (I + Y N Yᵀ) G with Y = G V, so A stays positive
definite despite rounding. It costs two products of G and a vector for each column of V.
"""

import math

import numpy as np
from numba import njit

from mercer.runtime.jit import cached_njit

OPTIONS = {"nogil": True, "fastmath": {"reassoc", "contract", "nsz"}, "error_model": "numpy"}
FLAT = 1e-12  # a determinant smaller than this share of the squared trace is rounding
EVEN = 1e-6  # two squares on one line that differ by less, relatively, count as equal
HALVINGS = 60  # of an interval: down to rounding


@njit(**OPTIONS)
def _mapped(G, Z, i, j, v, y):  # type: ignore[no-untyped-def]
    """Write v = z_i - z_j and y = G v; return yᵀy, the squared distance."""
    d = len(v)
    for column in range(d):
        v[column] = Z[i, column] - Z[j, column]
    total = 0.0
    for row in range(d):
        value = 0.0
        for column in range(d):
            value += G[row, column] * v[column]
        y[row] = value
        total += value * value
    return total


@njit(**OPTIONS)
def _pulled(G, y, g):  # type: ignore[no-untyped-def]
    """Write g = Gᵀ y."""
    g[:] = 0.0
    for row in range(len(y)):
        factor = y[row]
        for column in range(len(g)):
            g[column] += factor * G[row, column]


@njit(**OPTIONS)
def _add_outer(G, y, g):  # type: ignore[no-untyped-def]
    """Add y gᵀ to G."""
    for row in range(len(y)):
        factor = y[row]
        for column in range(len(g)):
            G[row, column] += factor * g[column]


@njit(**OPTIONS)
def _stretch(G, y, g, p, change):  # type: ignore[no-untyped-def]
    """Multiply the squared length p = yᵀy by `change`: G ← (I + a y yᵀ) G, y = G v.

    I + a y yᵀ is the root of I + β y yᵀ with 1 + β p = change (M lemma 1). y and g are overwritten.
    """
    a = (math.sqrt(change) - 1) / p
    _pulled(G, y, g)
    for row in range(len(y)):
        y[row] *= a
    _add_outer(G, y, g)


@njit(**OPTIONS)
def _pair_step(p, rest, inverse, slack):  # type: ignore[no-untyped-def]
    """Return x with 1 / (1/p - x) + rest = 1 / (inverse + x / slack): distance and bound meet.

    The learned distance p grows with x and the bound ξ = 1/inverse shrinks; `rest`, the part of
    the distance that is not learned, stays (theory: outside). Without it, x = (1/p - 1/ξ) slack /
    (slack + 1). There is one root between -slack/ξ and 1/p. With infinite slack the bound stays,
    and x = 1/p - 1/(ξ - rest).
    """
    square = -rest / slack
    linear = (1 + rest / p) / slack - rest * inverse + 1
    constant = (1 + rest / p) * inverse - 1 / p
    root = math.sqrt(max(linear * linear - 4 * square * constant, 0.0))
    half = -(linear + math.copysign(root, linear)) / 2
    x = constant / half
    return x if -slack * inverse < x < 1 / p else half / square


@cached_njit(**OPTIONS)
def project_pairs(  # type: ignore[no-untyped-def]
    G, Z, pairs, signs, bounds, rests, duals, order, slack
):
    """Project on pairs in this order, changing G and the dual variables in place.

    M eq. 4, theory: projections.

    A pair with sign 1 should be at most `bounds` apart, one with sign -1 at least. The bound that
    slack moves, ξ, follows from the dual variable: 1/ξ = 1/bound - sign λ / slack. Where slack is
    infinite, `rests` must be below `bounds`.
    """
    d = G.shape[0]
    v, y, g = np.empty(d), np.empty(d), np.empty(d)
    for place in range(len(order)):
        pair = order[place]
        sign = signs[pair]
        p = _mapped(G, Z, pairs[pair, 0], pairs[pair, 1], v, y)
        if p <= 0:
            continue
        inverse = 1 / bounds[pair] - sign * duals[pair] / slack
        step = min(duals[pair], sign * _pair_step(p, rests[pair], inverse, slack))
        if step == 0:
            continue
        duals[pair] -= step
        _stretch(G, y, g, p, 1 / (1 - sign * step * p))


@njit(**OPTIONS)
def _hard_step(s, det, margin):  # type: ignore[no-untyped-def]
    """Return a of theory: triples: after it a triple holds with equality.

    Of the roots of m D a² + (2 D - m s) a - (s + m) one keeps 1 + a s - a² D positive. On a line,
    where D is 0, it is -(s + m) / (m s).
    """
    linear, constant = 2 * det - margin * s, -(s + margin)
    # both roots without cancellation; margin 0 leaves one
    root = math.sqrt(max(linear * linear - 4 * margin * det * constant, 0.0))
    half = -(linear + math.copysign(root, linear)) / 2
    a = constant / half if half != 0 else 0.0
    if 1 + a * s - a * a * det <= 0 and margin != 0:
        return half / (margin * det)
    return a


@njit(**OPTIONS)
def _least_step(s, det):  # type: ignore[no-untyped-def]
    """Return the negative root of 1 + a s - a² D, where the metric would degenerate."""
    root = math.sqrt(s * s + 4 * det)
    if s > 0:
        return -2 / (s + root)
    return (s - root) / (2 * det) if det > 0 else -math.inf


@njit(**OPTIONS)
def _triple_step(s, det, margin, dual, price):  # type: ignore[no-untyped-def]
    """Return the step after which a triple lacks as much as its dual variable pays for.

    That is (s - 2 a D) / (1 + a s - a² D) + m = (λ + a) / price. The left side falls with a: from
    infinity, where the denominator is 0 and the metric would degenerate, to 0 at the step that
    makes the triple hold. At a = -λ the dual variable becomes 0.
    """
    low, high = -dual, _hard_step(s, det, margin)
    if high <= low or price == math.inf:
        return max(low, high)
    low = max(low, _least_step(s, det))
    for _ in range(HALVINGS):
        a = (low + high) / 2
        lacks = (s - 2 * a * det) / (1 + a * s - a * a * det) + margin
        if lacks > (dual + a) / price:
            low = a
        else:
            high = a
    return (low + high) / 2


@njit(**OPTIONS)
def _root_weights(p11, p12, p22, a):  # type: ignore[no-untyped-def]
    """Return N of I + Y N Yᵀ, the root of I + Y C Yᵀ with C = -a (I + a D P)⁻¹ D (theory: triples).

    For P = TᵀT, N = T⁻¹ ((I + T C Tᵀ)^½ - I) T⁻ᵀ. As T C Tᵀ and C P have the same function
    applied to them, N = ((I + C P)^½ - I) P⁻¹, and I + C P = (I + a D P)⁻¹.
    """
    det = p11 * p22 - p12 * p12
    scale = 1 + a * (p11 - p22) - a * a * det  # of I + a D P
    # its inverse, row by row
    b11, b12 = (1 - a * p22) / scale, -a * p12 / scale
    b21, b22 = a * p12 / scale, (1 + a * p11) / scale
    # the root of a 2 x 2 matrix B: (B + √det B I) / √(tr B + 2 √det B)
    inner = 1 / math.sqrt(scale)
    below = math.sqrt(b11 + b22 + 2 * inner)
    r11, r12 = (b11 + inner) / below - 1, b12 / below
    r21, r22 = b21 / below, (b22 + inner) / below - 1
    n11 = (r11 * p22 - r12 * p12) / det
    n12 = (r12 * p11 - r11 * p12) / det
    n22 = (r22 * p11 - r21 * p12) / det
    return n11, n12, n22


@cached_njit(**OPTIONS)
def project_triples(G, Z, triples, margins, prices, duals, order):  # type: ignore[no-untyped-def]
    """Project on triples (i, j, k) in this order: d(i, j) + margin ≤ d(i, k) (theory: triples).

    Where the three lie in one line, both distances change by the same factor 1 / (1 + a s).
    """
    d = G.shape[0]
    v, y1, y2, g1, g2 = np.empty(d), np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    for place in range(len(order)):
        triple = order[place]
        i, j, k = triples[triple, 0], triples[triple, 1], triples[triple, 2]
        p11, p22 = _mapped(G, Z, i, j, v, y1), _mapped(G, Z, i, k, v, y2)
        p12 = 0.0
        for row in range(d):
            p12 += y1[row] * y2[row]
        s, det, margin = p11 - p22, p11 * p22 - p12 * p12, margins[triple]
        on_a_line = det <= FLAT * (p11 + p22) ** 2
        if on_a_line:
            if s * margin >= 0 or abs(s) <= EVEN * (p11 + p22):
                continue  # it holds under every metric, or under none
            det = 0.0
        a = _triple_step(s, det, margin, duals[triple], prices[triple])
        if a == 0:
            continue
        duals[triple] += a
        if on_a_line:
            longer, p = (y1, p11) if p11 > p22 else (y2, p22)
            _stretch(G, longer, g1, p, 1 / (1 + a * s))
            continue
        n11, n12, n22 = _root_weights(p11, p12, p22, a)
        _pulled(G, y1, g1)
        _pulled(G, y2, g2)
        for row in range(d):
            first, second = y1[row], y2[row]
            y1[row] = n11 * first + n12 * second
            y2[row] = n12 * first + n22 * second
        _add_outer(G, y1, g1)
        _add_outer(G, y2, g2)


@cached_njit(**OPTIONS)
def squared_distances(Y, pairs, out):  # type: ignore[no-untyped-def]
    """Write the squared Euclidean distances of pairs of rows."""
    for pair in range(len(pairs)):
        i, j = pairs[pair, 0], pairs[pair, 1]
        total = 0.0
        for column in range(Y.shape[1]):
            step = Y[i, column] - Y[j, column]
            total += step * step
        out[pair] = total
