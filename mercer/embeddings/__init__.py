"""Embeddings: maps from items to vectors whose inner products stand for the kernel."""

from mercer.embeddings.additive import AdditiveMap, FeatureKPCA
from mercer.embeddings.base import Embedding
from mercer.embeddings.euclidean import Euclidean
from mercer.embeddings.explicit import Explicit
from mercer.embeddings.fourier import FourierDirections
from mercer.embeddings.hyperplanes import Hyperplanes
from mercer.embeddings.klsh import KLSHDirections
from mercer.embeddings.kpca import KernelPCA
from mercer.embeddings.maxmargin import MaxMarginDirections
from mercer.embeddings.metric import LearnedDirections
from mercer.embeddings.no_vectors import NoVectors
from mercer.embeddings.pyramid import PyramidDirections

__all__ = [
    "AdditiveMap",
    "Embedding",
    "Euclidean",
    "Explicit",
    "FeatureKPCA",
    "FourierDirections",
    "Hyperplanes",
    "KLSHDirections",
    "KernelPCA",
    "LearnedDirections",
    "MaxMarginDirections",
    "NoVectors",
    "PyramidDirections",
]


def __dir__() -> list[str]:
    return __all__
