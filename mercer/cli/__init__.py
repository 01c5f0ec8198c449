"""The command line: ``mercer build``, ``mercer search`` and the rest; see ``mercer --help``."""

import importlib
import sys
from collections.abc import Sequence
from typing import NoReturn

INTERRUPTED = 130  # the status shells give to Ctrl-C


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit: 0 when done, 2 after an error of one line, 130 after Ctrl-C.

    Parameters
    ----------
    args : sequence of str, optional
        The arguments; those of this process by default.
    """
    try:  # importing takes long enough to be interrupted, too
        status = importlib.import_module("mercer.cli.run").status(args)
    except KeyboardInterrupt:
        print("mercer: interrupted", file=sys.stderr)
        status = INTERRUPTED
    sys.exit(status)


__all__ = ["main"]


def __dir__() -> list[str]:
    return __all__
