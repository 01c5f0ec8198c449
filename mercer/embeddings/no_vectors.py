"""No vectors: for searches that compare the items themselves."""

from typing import Any

import numpy as np

from mercer.embeddings.base import Embedding, Floats
from mercer.kernels import Kernel, Prepared
from mercer.runtime.params import stored

TRIED = 1000  # items checked by `fit`


@stored
class NoVectors(Embedding):
    """Vectors of no dimension, for searches that compare every item by the kernel.

    Parameters
    ----------
    kernel : str or Kernel
        The similarity.

    Attributes
    ----------
    n_features_ : int
        The width of the items; 0 if they have none.

    Examples
    --------
    >>> from mercer.embeddings import NoVectors
    >>> NoVectors("chi2").fit_transform([[0.5, 0.5], [1.0, 0.0]]).shape
    (2, 0)
    """

    learned = ("n_features_",)

    def __init__(self, kernel: str | Kernel) -> None:
        self.kernel = kernel
        self._validate()

    def _fit(self, X: Any) -> None:
        """Check that the kernel takes such items, and keep their width."""
        form = self.compared.prepare(X[:TRIED]).form
        self.n_features_ = form[1] if form else 0

    def _transform(self, P: Prepared) -> Floats:
        return np.empty((len(P), 0), np.float32)
