"""What every code does: learn from vectors, encode rows, and prepare queries."""

from abc import abstractmethod
from typing import Self

import numpy as np
import numpy.typing as npt

from mercer.runtime.params import Params


class Code(Params):
    """A map from float32 vectors to bytes, learned by `fit`.

    Attributes
    ----------
    distance : str
        How codes are compared: "hamming", or "product" where queries are not rounded.
    """

    distance: str = "hamming"

    @abstractmethod
    def fit(self, Z: npt.NDArray[np.float32]) -> Self:
        """Learn from vectors, shape (n, d), and return self."""

    @abstractmethod
    def encode(self, Z: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]:
        """Return one code per vector, shape (n, n_bytes), C-contiguous."""

    @abstractmethod
    def query(self, Z: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return queries as they are compared with codes, before any rounding."""
