"""Short names for the types of arrays, and a test for sparse matrices."""

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Ids = npt.NDArray[np.int64]
DType = np.dtype[Any]


def is_sparse(X: Any) -> bool:
    """Whether X is a SciPy sparse matrix or array (SciPy is not imported to find out)."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))
