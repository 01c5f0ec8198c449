"""Every error this package raises on purpose.

::

    MercerError
    ├── InputError (ValueError)           items, parameters or ids that cannot be used
    ├── KernelError (ValueError)          a kernel that does not compile, lies or fails
    ├── NotFittedError (AttributeError)   something used before `fit`
    ├── StoreError (OSError)              an index that cannot be written or read
    └── CheckError (AssertionError)       a `mercer.testing` check that does not hold

    CertificateWarning (UserWarning)      a kernel disproved its own claims during a search
    LearningWarning (UserWarning)         constraints that a metric did not learn
    PrecisionWarning (UserWarning)        items or scores that float32 cannot tell apart

Each message says where it happened and what was found, what is required, and what to do.
"""


class MercerError(Exception):
    """The root of all errors of this package."""


class InputError(MercerError, ValueError):
    """Items, parameters or ids that cannot be used.

    Attributes
    ----------
    where : str
        What the user called, which the text begins with; see `mercer.runtime.border`.
    """

    where: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {super().__str__()}" if self.where else super().__str__()


class KernelError(MercerError, ValueError):
    """A kernel that does not compile, is not symmetric, or returns what is not a number."""


class NotFittedError(MercerError, AttributeError):
    """Something was used before `fit` taught it what it needs."""


class StoreError(MercerError, OSError):
    """An index that cannot be written, or a folder that is not one or is damaged."""


class CertificateWarning(UserWarning):
    """A kernel disproved its own claims during a search: nothing it answered is certified."""


class LearningWarning(UserWarning):
    """Constraints that no metric can meet, or that learning did not come to terms with."""


class PrecisionWarning(UserWarning):
    """Items, or their scores, that float32 cannot tell apart: an exact answer may be useless."""


class CheckError(MercerError, AssertionError):
    """A public contract test (``mercer.testing``) that does not hold."""
