"""Embeddings: items to vectors whose inner products stand for the kernel."""

from mercer.embeddings.base import Embedding
from mercer.embeddings.identity import Identity
from mercer.embeddings.klsh import KLSHDirections
from mercer.embeddings.kpca import KernelPCA

__all__ = ["Embedding", "Identity", "KLSHDirections", "KernelPCA"]
