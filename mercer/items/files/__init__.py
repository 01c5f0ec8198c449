"""Items and ids in files: arrays, vectors of other libraries, sparse matrices, tables and sets."""

from mercer.items.files.read import STANDARD_INPUT, read_ids, read_items
from mercer.items.files.text import as_ids

__all__ = ["STANDARD_INPUT", "as_ids", "read_ids", "read_items"]


def __dir__() -> list[str]:
    return __all__
