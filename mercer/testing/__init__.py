"""Contract tests for parts of your own: what every part of this package must do.

Each check works on copies, raises `CheckError` and says what does not hold, with the numbers.
"""

from mercer.testing.codes import check_code
from mercer.testing.embeddings import check_embedding
from mercer.testing.indexes import check_index
from mercer.testing.kernels import check_kernel
from mercer.testing.searchers import check_searcher

__all__ = ["check_code", "check_embedding", "check_index", "check_kernel", "check_searcher"]


def __dir__() -> list[str]:
    return __all__
