"""Compile a function and keep its machine code on disk, where processes may share it."""

import os
import uuid
from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.compiler_lock import global_compiler_lock

# division by 0 gives infinity: checking for it first would prevent vector instructions
FAST: dict[str, Any] = {"nogil": True, "fastmath": True, "error_model": "numpy"}

if hasattr(os, "register_at_fork"):
    # a child forked while another thread compiles would wait for numba's lock forever
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )


class _UniqueNames(IndexDataCacheFile):  # type: ignore[misc]
    """Stored machine code under file names that no other process can choose.

    numba numbers its files: two processes that compile for the first time at the same moment both
    write number 1, and the index of one then leads to the code of the other, for other types.
    """

    def _data_name(self, number: int) -> str:
        return str(super()._data_name(number)).replace(".nbc", f".{uuid.uuid4().hex[:16]}.nbc")


def cached_njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return numba's njit with these options and a disk cache that processes may share."""

    def compile_lazily(function: Callable[..., Any]) -> Any:
        compiled = njit(cache=True, **options)(function)
        cache = getattr(compiled, "_cache", None)  # none when numba is switched off
        if isinstance(cache, FunctionCache):
            cache._cache_file.__class__ = _UniqueNames
        return compiled

    return compile_lazily
