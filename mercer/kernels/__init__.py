"""Similarities of all kinds: built-in, composed, and your own.

A kernel compares two items; a larger value means nearer. All kernels share the methods of `Kernel`.
"""

from mercer.kernels.base import Exp, Kernel, Normalized, ProductKernel, Radial, Scaled, SumKernel
from mercer.kernels.bits import Tanimoto, Tversky
from mercer.kernels.compiled import CompiledKernel, kernel
from mercer.kernels.corr import Corr
from mercer.kernels.facts import Alike, Facts, Homogeneous
from mercer.kernels.functions import (
    DistanceKernel,
    FunctionKernel,
    GramKernel,
    from_distance,
    from_function,
    from_gram,
)
from mercer.kernels.histograms import Chi2, ExpChi2, Hellinger, Intersection, JensenShannon, MinMax
from mercer.kernels.learned import Learned, Mahalanobis
from mercer.kernels.lengths import Shifted
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.prepared import Prepared
from mercer.kernels.proximity import ProximityDistribution
from mercer.kernels.pyramid_match import PyramidMatch
from mercer.kernels.pyramids import Pyramid
from mercer.kernels.registry import (
    NAMES,
    from_spec,
    get,
    is_kernel,
    names,
    register,
    to_spec,
    unregister,
)
from mercer.kernels.sets import MaxSim, SumMatch
from mercer.kernels.spatial import SpatialPyramid
from mercer.kernels.transformed import Standardized, Transformed
from mercer.kernels.vectors import RBF, Cosine, Laplacian, Linear, Polynomial
from mercer.kernels.vocabulary import VocabularyPyramid

__all__ = [
    "NAMES",
    "RBF",
    "Alike",
    "Chi2",
    "CompiledKernel",
    "Corr",
    "Cosine",
    "DistanceKernel",
    "Exp",
    "ExpChi2",
    "Facts",
    "FunctionKernel",
    "GramKernel",
    "Hellinger",
    "Homogeneous",
    "Intersection",
    "JensenShannon",
    "Kernel",
    "Laplacian",
    "Learned",
    "Linear",
    "Mahalanobis",
    "MaxSim",
    "MinMax",
    "Normalized",
    "Polynomial",
    "Precomputed",
    "Prepared",
    "ProductKernel",
    "ProximityDistribution",
    "Pyramid",
    "PyramidMatch",
    "Radial",
    "Scaled",
    "Shifted",
    "SpatialPyramid",
    "Standardized",
    "SumKernel",
    "SumMatch",
    "Tanimoto",
    "Transformed",
    "Tversky",
    "VocabularyPyramid",
    "from_distance",
    "from_function",
    "from_gram",
    "from_spec",
    "get",
    "is_kernel",
    "kernel",
    "names",
    "register",
    "to_spec",
    "unregister",
]


def __dir__() -> list[str]:
    return __all__
