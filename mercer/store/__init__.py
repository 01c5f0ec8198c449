"""Indexes as folders: plain arrays, and one JSON file that describes them."""

from mercer.store.manifest import FORMAT, MANIFEST, Origins
from mercer.store.reading import read, verify
from mercer.store.writing import write

__all__ = ["FORMAT", "MANIFEST", "Origins", "read", "verify", "write"]


def __dir__() -> list[str]:
    return __all__
