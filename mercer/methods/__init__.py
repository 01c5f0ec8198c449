"""The methods: each one combines an embedding and a searcher into an index."""

from mercer.methods.aimed import auto
from mercer.methods.certified import brute, exact
from mercer.methods.fast import graph, inverted, kpca_pq
from mercer.methods.hashing import fourier, klsh, kpca_lsh, lsh, rmmh
from mercer.methods.metric import learned
from mercer.methods.relearning import relearn
from mercer.methods.sets import pyramid

__all__ = [
    "auto",
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
]


def __dir__() -> list[str]:
    return __all__
