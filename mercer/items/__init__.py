"""What items are, and the one place that checks them.

=========== ====================================================== =========================
kind        accepted                                               kept as
=========== ====================================================== =========================
"vectors"   array-likes of shape (n, d); SciPy sparse matrices     float32 or uint8; CSR
"bits"      booleans or 0/1 (n, bits); packed uint8 (n, bytes)     packed uint8
"sets"      `Ragged`, or a list of arrays (size, d)                `Ragged`
"any"       lists, arrays, `Ragged`: anything with rows            as it is
=========== ====================================================== =========================

C-contiguous float32 and uint8 arrays are never copied, also when they are memory-mapped.
"""

from mercer.items.checks import (
    Ragged,
    blocks,
    check,
    drop_bad,
    form,
    is_sparse,
    join,
    length,
    pack,
    rows_of,
    take,
)

__all__ = [
    "Ragged",
    "blocks",
    "check",
    "drop_bad",
    "form",
    "is_sparse",
    "join",
    "length",
    "pack",
    "rows_of",
    "take",
]
