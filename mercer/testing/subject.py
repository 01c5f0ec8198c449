"""What is being checked, and how a check says that something does not hold."""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np

from mercer.errors import CheckError, InputError
from mercer.runtime.arrays import Array

Some = TypeVar("Some", bound="Subject")


class Subject:
    """A part of the package under one of the public checks."""

    check: str  # the public function, as error texts begin with it

    def __init__(self, part: Any) -> None:
        self.part = part

    def fail(self, text: str) -> NoReturn:
        """Raise CheckError with the part's name in front."""
        raise CheckError(f"{self.check}: {self.part!r}: {text}.")

    def require_error(
        self, what: str, call: Callable[[], Any], error: type[Exception] = InputError
    ) -> None:
        """Raise CheckError unless the call is refused as it should be."""
        try:
            call()
        except error:
            return
        except Exception as other:
            self.fail(f"{what}: {type(other).__name__} ({other}) instead of {error.__name__}")
        self.fail(f"accepts {what}; {error.__name__} is expected")

    def require_params(self) -> None:
        """Raise CheckError unless parameters can be read, set and used for an equal copy."""
        params = self.part.get_params(deep=False)
        twin = self.part.fresh()
        # an index also shows what it holds
        if twin != self.part or not repr(self.part).startswith(repr(twin)):
            self.fail(f"a copy made from get_params() is {twin!r}")
        if twin.set_params(**params) is not twin:
            self.fail("set_params does not return self")
        self.require_error("an unknown parameter", lambda: twin.set_params(no_such_parameter=1))


def run(checks: Sequence[Callable[[Some], None]], subject: Some) -> list[str]:
    """Run checks one after the other and return what they checked, in words."""
    for check in checks:
        check(subject)
    return [str(check.__doc__).rstrip(".") for check in checks]


def with_value(A: Array, value: float) -> Array:
    """Return a copy of a matrix with one value replaced."""
    changed = np.array(A, np.float32)
    changed[-1, 0] = value
    return changed
