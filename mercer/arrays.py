"""Short names for the arrays that functions take and return."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "DType", "Ids"]

Array = npt.NDArray[Any]
Ids = npt.NDArray[np.int64]
DType = np.dtype[Any]
