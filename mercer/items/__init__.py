"""The kinds of items, and the one place where items are checked.

=========== ====================================================== =========================
kind        accepted                                               kept as
=========== ====================================================== =========================
"vectors"   array-likes of shape (n, d); SciPy sparse matrices     float32 or uint8; CSR
"sparse"    SciPy sparse matrices                                  CSR of float32
"bits"      booleans or 0/1 (n, bits); packed uint8 (n, bytes)     packed uint8
"sets"      `Ragged`, or a list of arrays (size, d)                `Ragged`
"any"       lists, arrays, `Ragged`: anything with rows            as it is
=========== ====================================================== =========================

C-contiguous float32 and uint8 arrays are never copied, even if they are memory-mapped. Each kind
is one object (`Kind`) in a file of its own; `register` adds kinds of your own.
"""

from mercer.items.bits import Bits, pack_bits
from mercer.items.kind import FileType, Items, Kind, Options, get, kind_of, kinds, register
from mercer.items.objects import Objects
from mercer.items.ragged import Ragged
from mercer.items.sets import Sets
from mercer.items.sparse import Sparse
from mercer.items.tables import Table, columns_of, require_columns
from mercer.items.vectors import Vectors
from mercer.items.verbs import (
    blocks,
    check,
    dense,
    drop_bad,
    form,
    join,
    length,
    pack,
    rows_of,
    same,
    take,
    unpack,
)
from mercer.runtime.arrays import is_sparse

__all__ = [
    "Bits",
    "FileType",
    "Items",
    "Kind",
    "Objects",
    "Options",
    "Ragged",
    "Sets",
    "Sparse",
    "Table",
    "Vectors",
    "blocks",
    "check",
    "columns_of",
    "dense",
    "drop_bad",
    "form",
    "get",
    "is_sparse",
    "join",
    "kind_of",
    "kinds",
    "length",
    "pack",
    "pack_bits",
    "register",
    "require_columns",
    "rows_of",
    "same",
    "take",
    "unpack",
]


def __dir__() -> list[str]:
    return __all__
