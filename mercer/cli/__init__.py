"""The command line: ``mercer build``, ``mercer search`` and the rest; see ``mercer --help``."""

from mercer.cli.run import main

__all__ = ["main"]
