"""Indexes as folders: immutable parts, and a small manifest for every generation."""

from mercer.store.manifest import FORMAT, Origins, Part
from mercer.store.reading import Opened, read, verify
from mercer.store.repairing import describe, repair
from mercer.store.writing import Writer, holds_index, ready

__all__ = [
    "FORMAT", "Opened", "Origins", "Part", "Writer", "describe", "holds_index", "read", "ready",
    "repair", "verify",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
