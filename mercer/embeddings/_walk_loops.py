"""The compiled loops of hashing by directions that are never stored.

A counter-based generator computes each normal number when it is needed. For sparse vectors, it is
the entry of a direction at a feature. For pyramids, every bin b has its own Brownian motion W_b for
every hash function, and a set is projected to Σ_b √c_b W_b(n_b). A motion at a count is a sum over
few nodes of a dyadic tree, each with a normal number of its own.
"""

import math

import numpy as np
from numba import njit

from mercer.runtime.jit import FAST, cached_njit
from mercer.runtime.machine import SPREAD, bits_of, float_of, scattered

SHORTEST = 2.0**-24  # an interval inside which real counts are interpolated
MOST_NODES = 128  # of one count: 2 log2(2^32) octaves and halvings, and 24 below 1

U, F, I = np.uint32, np.float32, np.int32  # noqa: E741
SIGN, QUARTER = U(0x80000000), U(0x3FFFFFFF)
ROOT_HALF = I(F(math.sqrt(0.5)).view(I))
COSINE = tuple(F((-1) ** k * (math.pi / 2) ** (2 * k) / math.factorial(2 * k)) for k in range(7))
SINE = tuple(
    F((-1) ** k * (math.pi / 2) ** (2 * k + 1) / math.factorial(2 * k + 1)) for k in range(6)
)
LN2 = F(math.log(2))


@njit(**FAST)
def motion(count, nodes, shares):  # type: ignore[no-untyped-def]
    """Write a Brownian motion at `count` as Σ shares · (normal numbers at nodes); return how many.

    The nodes are 1, 2, 4, ... up to the first power of 2 that is not below the count, each with
    the increment since the last, and the middles of the halved intervals between the last two,
    each with a tent over its interval (Lévy's construction; theory: long-walks). At a whole number
    n that is exactly a sum of n normal numbers, in about 2 log2(n) draws.
    """
    n, low, high = 0, 0.0, 1.0
    while high <= count:  # W(high) - W(low) has the variance high - low
        nodes[n], shares[n] = high, math.sqrt(high - low)
        n, low, high = n + 1, high, 2 * high
    if low == count:
        return n
    nodes[n], shares[n] = high, (count - low) / math.sqrt(high - low)
    n += 1
    while high - low > SHORTEST:
        middle = (low + high) / 2
        tent = 1 - abs(count - middle) * 2 / (high - low)
        nodes[n], shares[n] = middle, tent * math.sqrt(high - low) / 2
        n += 1
        if middle == count:
            break
        low, high = (low, middle) if count < middle else (middle, high)
    return n


@njit(inline="always", **FAST)
def _mixed(x):  # type: ignore[no-untyped-def]
    """Return 32 bits that look random (MurmurHash3's last step)."""
    x = U(U(x ^ (x >> U(16))) * U(0x85EBCA6B))
    x = U(U(x ^ (x >> U(13))) * U(0xC2B2AE35))
    return U(x ^ (x >> U(16)))


@njit(inline="always", **FAST)
def _radius(word):  # type: ignore[no-untyped-def]
    """Return √(-2 ln u) for a u between 0 and 1 made from a word; ln(u) by its artanh series."""
    bits = bits_of((F(I(word >> U(1))) + F(0.5)) * F(2.0**-31))
    exponent = I(I(bits - ROOT_HALF) >> I(23))
    m = float_of(I(bits - I(exponent << I(23))))  # in [√½, √2)
    t = (m - F(1)) / (m + F(1))
    s = t * t
    # math.sqrt would be in double precision, and half as fast
    series = F(1) + s * (F(1 / 3) + s * (F(1 / 5) + s * (F(1 / 7) + s * F(1 / 9))))
    return np.sqrt(F(-2) * (F(exponent) * LN2 + F(2) * t * series))


@njit(**FAST)
def _add(stream, share, even, odd):  # type: ignore[no-untyped-def]
    """Add share · normal number to the projections of all functions, two at a time (Box-Muller).

    The angle lies in the first quadrant; each of the two numbers gets its own sign.
    """
    low, high = U(stream), U(stream >> np.uint64(32))
    for pair in range(even.shape[0]):
        word = U(_mixed(U(low ^ U(U(pair) * U(0x9E3779B9)))) ^ high)
        radius = share * _radius(_mixed(word))
        turn = _mixed(U(word + U(0x6A09E667)))
        v = F(I(turn & QUARTER)) * F(2.0**-30)
        z = v * v
        c = COSINE[3] + z * (COSINE[4] + z * (COSINE[5] + z * COSINE[6]))
        c = COSINE[0] + z * (COSINE[1] + z * (COSINE[2] + z * c))
        s = SINE[2] + z * (SINE[3] + z * (SINE[4] + z * SINE[5]))
        s = v * (SINE[0] + z * (SINE[1] + z * s))
        even[pair] += radius * float_of(I(bits_of(c) ^ I(turn & SIGN)))
        odd[pair] += radius * float_of(I(bits_of(s) ^ I(U(turn << U(1)) & SIGN)))


@njit(inline="always", **FAST)
def _write(even, odd, row):  # type: ignore[no-untyped-def]
    """Write the projections on all functions, from those with even numbers and the others."""
    for j in range(len(row)):
        row[j] = odd[j // 2] if j % 2 else even[j // 2]


@cached_njit(**FAST)
def project_rows(offsets, features, values, seed, out):  # type: ignore[no-untyped-def]
    """Fill out[i] with the products of sparse row i and Gaussian directions."""
    start = scattered(seed + SPREAD)
    n_pairs = (out.shape[1] + 1) // 2
    even, odd = np.empty(n_pairs, np.float32), np.empty(n_pairs, np.float32)
    for i in range(out.shape[0]):
        even[:], odd[:] = 0, 0
        for a in range(offsets[i], offsets[i + 1]):
            stream = scattered(np.uint64(features[a]) ^ start)
            _add(stream, np.float32(values[a]), even, odd)
        _write(even, odd, out[i])


@cached_njit(**FAST)
def project(X, coefficients, down, seed, walk, out):  # type: ignore[no-untyped-def]
    """Fill out[i] with the projections of row i: Σ √c W(n), or Σ √(c n) W(1) without `walk`.

    X are histograms (offsets, bins, counts) as in `mercer.kernels._pyramid_loops`.
    """
    offsets, bins, counts = X
    start = scattered(seed + SPREAD)
    nodes, shares = np.empty(MOST_NODES), np.empty(MOST_NODES)
    n_pairs = (out.shape[1] + 1) // 2
    even, odd = np.empty(n_pairs, np.float32), np.empty(n_pairs, np.float32)
    for i in range(out.shape[0]):
        even[:], odd[:] = 0, 0
        for a in range(offsets[i], offsets[i + 1]):
            own = scattered(np.uint64(bins[a]) ^ start)
            value = math.sqrt(coefficients[np.int64(bins[a]) >> down])
            if not walk:
                value *= math.sqrt(counts[a])
            for node in range(motion(counts[a] if walk else 1, nodes, shares) if value else 0):
                stream = scattered(own ^ np.uint64(bits_of(nodes[node])))
                _add(stream, np.float32(value * shares[node]), even, odd)
        _write(even, odd, out[i])
