"""Nearest-neighbour search under any kernel.

Every method is one pipeline::

    items --prepare--> items the kernel likes --embed--> vectors --search--> candidates
          --re-rank with the kernel--> matches

Methods: `exact`; `inverted`, `graph`, `kpca_pq`; `klsh`, `kpca_lsh`, `rmmh`, `fourier`, `lsh`;
`pyramid`; `learned`, after `mercer.learn`. Their parts: items (`mercer.items`, `Ragged`), kernels
(`mercer.kernels`, `kernel`), embeddings (`mercer.embeddings`), codes (`mercer.codes`), searchers
(`mercer.search`); truth and recall (`mercer.evaluate`), optimal matchings of two sets
(`mercer.matching`), and contract tests (`mercer.testing`).
"""

from mercer import (
    codes,
    embeddings,
    evaluate,
    items,
    kernels,
    learn,
    matching,
    parallel,
    search,
    testing,
)
from mercer.errors import (
    CertificateWarning,
    CheckError,
    InputError,
    KernelError,
    LearningWarning,
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
    learned,
    lsh,
    pyramid,
    rmmh,
)
from mercer.ragged import Ragged
from mercer.relearning import relearn
from mercer.saved import load
from mercer.store import verify

__version__ = "0.1.0"

__all__ = [
    "CertificateWarning",
    "CheckError",
    "Index",
    "InputError",
    "KernelError",
    "LearningWarning",
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
    "learn",
    "learned",
    "load",
    "lsh",
    "matching",
    "parallel",
    "pyramid",
    "register",
    "relearn",
    "rmmh",
    "search",
    "testing",
    "verify",
]
