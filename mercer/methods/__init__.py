"""The methods: each one joins an embedding and a searcher into an index."""

from mercer.methods.certified import exact
from mercer.methods.fast import graph, inverted, kpca_pq
from mercer.methods.hashing import fourier, klsh, kpca_lsh, lsh, rmmh
from mercer.methods.metric import learned
from mercer.methods.sets import pyramid

__all__ = [
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
    "rmmh",
]
