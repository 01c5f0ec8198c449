"""A few stored kernel values, by which a loaded index recognises its kernel."""

from typing import Any

import numpy as np

from mercer import kernels
from mercer.errors import StoreError
from mercer.kernels import Kernel, Prepared
from mercer.kernels.similarity import TINY
from mercer.runtime.arrays import Array
from mercer.store.values import RESTORE

SAMPLES = 16  # items whose kernel values are kept


def samples(P: Prepared | None) -> Array | None:
    """Return the kernel values of a few items, or None if there are no items."""
    return None if P is None else _gram(_few(P))


def _few(P: Prepared) -> Prepared:
    return P.take(np.arange(min(SAMPLES, len(P))))


def _gram(P: Prepared) -> Array:
    values: Array = P.kernel(P, P[:], dtype=np.float64, n_jobs=1)
    return values


def check_samples(P: Prepared | None, expected: Array | None, same_version: bool) -> None:
    """Raise StoreError if the kernel's values differ from those saved with the items.

    Built-in kernels of the same version are not checked: starting the compiler for them would take
    longer than the rest of loading.
    """
    if P is None or (same_version and not registered_names(kernels.to_spec(P.kernel))):
        return
    few = _few(P)
    if expected is None or expected.shape != (len(few), len(few)):
        raise StoreError(f"it lacks the kernel values of {len(few)} items. {RESTORE}")
    _compare(few, expected)


def _compare(few: Prepared, expected: Array) -> None:
    kernel: Kernel = few.kernel
    try:
        found = _gram(few)
    except Exception as error:  # user code may raise anything
        raise StoreError(
            f"{_stranger(kernel)}: it fails on saved items ({error}). {_cure(kernel)}"
        ) from error
    own = np.sqrt(np.abs(np.outer(np.diag(expected), np.diag(expected))))
    slack = 2 * kernel.tolerance(few) * np.maximum(own, np.abs(expected)) + TINY
    wrong = ~(np.abs(found - expected) <= slack)
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise StoreError(
            f"{_stranger(kernel)}: k(item {i}, item {j}) = {found[i, j]:.6g} instead of "
            f"{expected[i, j]:.6g}. {_cure(kernel)}"
        )


def _stranger(kernel: Kernel) -> str:
    mine = registered_names(kernels.to_spec(kernel))
    called = f"registered as {' or '.join(map(repr, mine))}" if mine else repr(kernel)
    return f"the kernel {called} is not the one this index was saved with"


def _cure(kernel: Kernel) -> str:
    if registered_names(kernels.to_spec(kernel)):
        return "Register the kernel that it was saved with, under the same name, before loading."
    return "Build and save the index again."


def registered_names(spec: dict[str, Any]) -> list[str]:
    """Return the names in a kernel's spec that stand for user code."""
    inside = [registered_names(value) for value in spec.values() if isinstance(value, dict)]
    own = set(kernels.names()) - set(kernels.NAMES)
    found = [spec["name"]] if spec["name"] in own else []
    return found + [name for names in inside for name in names]
