"""Estimators for scikit-learn: neighbours, classes, values and vectors under any kernel."""

from mercer.neighbors.transformers import KernelEmbedding, KernelNeighborsTransformer
from mercer.neighbors.unsupervised import KernelNeighbors
from mercer.neighbors.voting import KernelNeighborsClassifier, KernelNeighborsRegressor

__all__ = [
    "KernelEmbedding",
    "KernelNeighbors",
    "KernelNeighborsClassifier",
    "KernelNeighborsRegressor",
    "KernelNeighborsTransformer",
]


def __dir__() -> list[str]:
    return __all__
