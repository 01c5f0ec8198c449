"""What every code must do."""

from typing import Any

import numpy as np
import numpy.typing as npt

from mercer.codes import Code
from mercer.errors import InputError, NotFittedError
from mercer.runtime.border import border
from mercer.testing.subject import Subject, run

SAMPLE = 500  # vectors looked at


@border
def check_code(code: Code, Z: npt.ArrayLike) -> list[str]:
    """Check that a code keeps its promises on vectors like Z.

    What was checked is returned in words; `CheckError` says what does not hold.

    Parameters
    ----------
    code : Code
        The code to check; copies of it are fitted, it stays as it is.
    Z : array_like, shape (n, d)
        At least 3 vectors; the first 500 are used.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> Z = np.random.default_rng(0).normal(size=(20, 8))
    >>> mercer.testing.check_code(mercer.codes.Sign("gaussian", 32), Z)[-1]
    'a Hamming code is the signs of what queries keep'
    """
    vectors = np.ascontiguousarray(np.asarray(Z)[:SAMPLE], np.float32)
    if vectors.ndim != 2 or len(vectors) < 3:
        raise InputError(f"Z has shape {vectors.shape}. Pass at least 3 vectors.")
    return run(_CHECKS, _Encoded(code, vectors))


class _Encoded(Subject):
    """A code with some vectors."""

    check = "check_code"

    def __init__(self, code: Code, Z: npt.NDArray[np.float32]) -> None:
        super().__init__(code)
        self.Z = Z
        self.fitted: Any = code.fresh().fit(Z)
        self.codes = self.fitted.encode(Z)


def _parameters(subject: _Encoded) -> None:
    """parameters can be read, set and printed."""
    subject.require_params()


def _unfitted(subject: _Encoded) -> None:
    """says NotFittedError before `fit`."""
    new = subject.part.fresh()
    subject.require_error("`encode` before `fit`", lambda: new.encode(subject.Z), NotFittedError)


def _form(subject: _Encoded) -> None:
    """codes are bytes, one row each, and queries float32."""
    codes, queries = subject.codes, subject.fitted.query(subject.Z)
    if codes.dtype != np.uint8 or codes.ndim != 2 or len(codes) != len(subject.Z):
        subject.fail(f"codes are {codes.dtype} of shape {codes.shape}")
    if not codes.flags.c_contiguous:
        subject.fail("codes are not C-contiguous")
    if queries.dtype != np.float32 or len(queries) != len(subject.Z):
        subject.fail(f"queries are {queries.dtype} of shape {queries.shape}")


def _alone(subject: _Encoded) -> None:
    """a code does not depend on the other vectors, and the same seed gives the same."""
    for row in range(3):
        alone = subject.fitted.encode(subject.Z[row : row + 1])
        if not np.array_equal(alone[0], subject.codes[row]):
            subject.fail(f"vector {row} has another code when it is alone")
    again = subject.part.fresh().fit(subject.Z).encode(subject.Z)
    if not np.array_equal(again, subject.codes):
        subject.fail("fitted again, codes differ")


def _signs(subject: _Encoded) -> None:
    """a Hamming code is the signs of what queries keep."""
    if subject.part.distance != "hamming":
        return
    signs = np.packbits(subject.fitted.query(subject.Z) >= 0, axis=1)
    # a projection next to 0 may have either sign, for it is summed in another order
    share = np.unpackbits(signs ^ subject.codes, axis=1).mean()
    if share > 1e-3:
        subject.fail(f"{100 * share:.2g} % of the bits are not the signs of the queries")


_CHECKS = (_parameters, _unfitted, _form, _alone, _signs)
