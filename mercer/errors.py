"""Every error this package raises on purpose.

::

    MercerError
    ├── InputError (ValueError)           items, parameters or ids that cannot be used
    ├── KernelError (ValueError)          a kernel that does not compile, breaks its claims or fails
    ├── NotFittedError (AttributeError)   something used before `fit`
    ├── StoreError (OSError)              an index that cannot be written or read
    ├── MissingPackageError (ImportError) an optional package that is not installed
    └── CheckError (AssertionError)       a `mercer.testing` check that failed

    CertificateWarning (UserWarning)      a search disproved the claims of a kernel
    EmptyIndexWarning (UserWarning)       a search of an index that has no items
    LearningWarning (UserWarning)         constraints that a metric did not learn
    PrecisionWarning (UserWarning)        items or scores that float32 cannot tell apart
    RecallWarning (UserWarning)           a search that is expected to find less than 90 %
    SlowKernelWarning (UserWarning)       calls of a Python function that will take over ten seconds

Each message says where the error happened, what was found, what is required, and what to do.
"""


class MercerError(Exception):
    """The root of all errors of this package."""


class InputError(MercerError, ValueError):
    """Items, parameters or ids that cannot be used.

    Attributes
    ----------
    where : str
        What the user called; the message begins with it. See `mercer.runtime.border`.
    """

    caller: str = ""

    def __str__(self) -> str:
        return f"{self.caller}: {super().__str__()}" if self.caller else super().__str__()


class KernelError(MercerError, ValueError):
    """A kernel that does not compile, is not symmetric, or returns something other than numbers."""


class NotFittedError(MercerError, AttributeError):
    """Something that has to be fitted was used before `fit`."""


class StoreError(MercerError, OSError):
    """An index that cannot be written, or a folder that is damaged or not an index."""


class MissingPackageError(MercerError, ImportError):
    """An optional package is required and not installed."""


class CertificateWarning(UserWarning):
    """A search disproved the claims of a kernel: answers are no longer certified."""


class EmptyIndexWarning(UserWarning):
    """A search of an index that has no items: `fit` only learns, and `add` was not called."""


class LearningWarning(UserWarning):
    """Constraints that no metric can meet, or that learning did not satisfy."""


class PrecisionWarning(UserWarning):
    """Items, or their scores, that float32 cannot tell apart: an exact answer may be useless."""


class RecallWarning(UserWarning):
    """A search that is expected to find less than 90 % of the true items, by what was measured."""


class SlowKernelWarning(UserWarning):
    """Calls of a user's Python function that will take more than ten seconds."""


class CheckError(MercerError, AssertionError):
    """A public contract test (``mercer.testing``) that failed."""
