"""Nearest-neighbour search under any kernel.

Every method is one pipeline::

    items --prepare--> items the kernel likes --embed--> vectors --search--> candidates
          --re-rank with the kernel--> matches

Methods: `exact`, `brute`; `inverted`, `graph`, `kpca_pq`; `klsh`, `kpca_lsh`, `rmmh`, `fourier`,
`lsh`; `pyramid`; `learned`, after `mercer.learn`. Their parts: items (`mercer.items`, `Ragged`),
kernels (`mercer.kernels`, `kernel`), embeddings (`mercer.embeddings`), codes (`mercer.codes`),
searchers (`mercer.search`); truth and recall (`mercer.evaluate`), optimal matchings of two sets
(`mercer.evaluate.matching`), and contract tests (`mercer.testing`).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer import (
        codes,
        embeddings,
        evaluate,
        items,
        kernels,
        learn,
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
    from mercer.index import Index, Matches, load
    from mercer.items import Ragged
    from mercer.kernels import kernel, register
    from mercer.methods import (
        brute,
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
        relearn,
        rmmh,
    )
    from mercer.store import verify

__version__ = "0.1.0"

_HOMES = {
    "mercer.errors": (
        "CertificateWarning",
        "CheckError",
        "InputError",
        "KernelError",
        "LearningWarning",
        "MercerError",
        "NotFittedError",
        "StoreError",
    ),
    "mercer.index": ("Index", "Matches", "load"),
    "mercer.items": ("Ragged",),
    "mercer.kernels": ("kernel", "register"),
    "mercer.methods": (
        "brute",
        "exact",
        "fourier",
        "graph",
        "inverted",
        "klsh",
        "kpca_lsh",
        "kpca_pq",
        "learned",
        "lsh",
        "pyramid",
        "relearn",
        "rmmh",
    ),
    "mercer.store": ("verify",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a part when it is first asked for: all of them take a fifth of a second."""
    if name not in __all__:
        raise AttributeError(f"module 'mercer' has no attribute {name!r}")
    if name in _HOME:
        found = getattr(importlib.import_module(_HOME[name]), name)
    else:
        found = importlib.import_module(f"mercer.{name}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*globals(), *(name for name in __all__ if name not in globals())]


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
    "brute",
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
    "pyramid",
    "register",
    "relearn",
    "rmmh",
    "search",
    "testing",
    "verify",
]
