"""Scanning and making binary codes, against faiss and against the Gram matrix, in one run.

scripts/bench code_speed
"""

from __future__ import annotations

import argparse
from typing import Any

import faiss
import numpy as np

from benchmarks.measure import compare, table
from experiments.real_data import sift
from mercer import kernels
from mercer.codes import Sign
from mercer.embeddings import KLSHDirections
from mercer.runtime import parallel
from mercer.search import Scan


def scanning(n_bits: int, rows: int, queries: int, n: int) -> list[list[Any]]:
    """Return a line for each way to scan random codes, on one thread each."""
    rng = np.random.default_rng(0)
    Z, Q = (rng.normal(size=(m, n_bits)).astype(np.float32) for m in (rows, queries))
    scans = [Scan(Sign(None), asymmetric).fit(Z) for asymmetric in (False, True)]
    codes = scans[0].build(Z)
    flat = faiss.IndexBinaryFlat(n_bits)
    flat.add(codes.codes)
    own = np.packbits(Q >= 0, axis=1)
    faiss.omp_set_num_threads(1)
    times = compare(
        lambda: flat.search(own, n),
        *(lambda s=s: s.candidates(codes, Q, n) for s in scans),
        rounds=3,
    )
    names = ["faiss IndexBinaryFlat", "Scan, Hamming", "Scan, asymmetric"]
    return [
        [f"{name}, {n_bits} bits, {n} candidates", queries / time, times[0] / time]
        for name, time in zip(names, times, strict=True)
    ]


def encoding(X: Any, threads: int) -> list[list[Any]]:
    """Return the time to make 300 bits through 300 landmarks beside that of their Gram matrix."""
    directions = KLSHDirections("chi2", n_bits=300, n_landmarks=300, normalize=False).fit(X)
    chi2, code = kernels.Chi2(), Sign(None).fit(np.empty((1, 300), np.float32))
    R = chi2.prepare(X)

    def gram() -> None:
        for span in parallel.spans(len(X), 65_536):
            chi2(R[span], directions.landmarks_, n_jobs=threads)

    def encode() -> None:
        code.encode(directions.transform(R, n_jobs=threads, show_progress=False))

    alone, both = compare(gram, encode, rounds=3)
    return [
        [f"Gram of {len(X)} x 300", len(X) / alone, 1.0],
        ["encoding them in 300 bits", len(X) / both, alone / both],
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=748_242)
    parser.add_argument("--codes", type=int, default=200_000)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    rows = [
        line
        for n_bits in (64, 128, 256)
        for n in (100, 1000)
        for line in scanning(n_bits, options.codes, 1000, n)
    ]
    print(f"{options.codes} codes, 1000 queries, one thread")
    table(["scan", "queries/s", "times faiss"], rows)
    lines = encoding(sift(options.rows, 1).X, options.threads)
    print(f"\n{options.threads} threads")
    table(["encoding", "items/s", "share of the Gram's speed"], lines)


if __name__ == "__main__":
    main()
