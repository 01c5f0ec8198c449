"""What every estimator does: it takes items of its kernel, as scikit-learn takes them."""

from typing import Any

from sklearn.base import BaseEstimator  # type: ignore[import-untyped]
from sklearn.utils import check_random_state  # type: ignore[import-untyped]
from sklearn.utils.validation import (  # type: ignore[import-untyped]
    check_non_negative,
    validate_data,
)

from mercer import items, kernels
from mercer.kernels import Kernel

SEEDS = 2**31 - 1  # a generator draws the seed below this


class KernelEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator of items that a kernel compares.

    Items with columns are checked by scikit-learn, which keeps `n_features_in_` and
    `feature_names_in_`; all others are checked by the kernel alone.
    """

    kernel: str | Kernel
    random_state: Any

    @property
    def _compared(self) -> Kernel:
        """The kernel as given."""
        return kernels.get(self.kernel)

    @property
    def _has_columns(self) -> bool:
        return items.get(self._compared.input).has_columns

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(SEEDS))

    def _taken(self, X: Any, reset: bool = False) -> Any:
        """Return items as the kernel takes them; `reset` says that they are those of `fit`."""
        if not self._has_columns:
            return items.rows_of(X)
        checked = validate_data(self, X, reset=reset, accept_sparse="csr")
        if self._compared.nonnegative:  # said as scikit-learn says it, which its checks ask for
            who = f"{type(self).__name__}: {self._compared!r} compares histograms or counts"
            check_non_negative(checked, who)
        return checked

    def __sklearn_tags__(self) -> Any:
        tags, kernel = super().__sklearn_tags__(), self._compared
        tags.input_tags.two_d_array = tags.input_tags.sparse = self._has_columns
        tags.input_tags.string = tags.input_tags.dict = kernel.input == "any"
        tags.input_tags.positive_only = kernel.nonnegative
        return tags
