"""Nearest-neighbour search under any kernel.

Every method is one pipeline::

    items --prepare--> items the kernel likes --embed--> vectors --search--> candidates
          --re-rank with the kernel--> matches

Methods: `exact`; `inverted`, `graph`, `kpca_pq`; `klsh`, `kpca_lsh`, `rmmh`, `fourier`, `lsh`.
Their parts: items (`mercer.items`, `Ragged`), kernels (`mercer.kernels`, `kernel`), embeddings
(`mercer.embeddings`), codes (`mercer.codes`), searchers (`mercer.search`); truth and recall
(`mercer.evaluate`), optimal matchings of two sets (`mercer.matching`), and contract tests
(`mercer.testing`).
"""

from mercer import codes, embeddings, evaluate, items, kernels, matching, parallel, search, testing
from mercer.errors import (
    CertificateWarning,
    CheckError,
    InputError,
    KernelError,
    MercerError,
    NotFittedError,
    StoreError,
)
from mercer.index import Index
from mercer.kernels import kernel, register
from mercer.matches import Matches
from mercer.methods import (
    exact,
    fourier,
    graph,
    inverted,
    klsh,
    kpca_lsh,
    kpca_pq,
    lsh,
    rmmh,
)
from mercer.ragged import Ragged
from mercer.saved import load
from mercer.store import verify

__version__ = "0.1.0"

__all__ = [
    "CertificateWarning",
    "CheckError",
    "Index",
    "InputError",
    "KernelError",
    "Matches",
    "MercerError",
    "NotFittedError",
    "Ragged",
    "StoreError",
    "codes",
    "embeddings",
    "evaluate",
    "exact",
    "fourier",
    "graph",
    "inverted",
    "items",
    "kernel",
    "kernels",
    "klsh",
    "kpca_lsh",
    "kpca_pq",
    "load",
    "lsh",
    "matching",
    "parallel",
    "register",
    "rmmh",
    "search",
    "testing",
    "verify",
]
