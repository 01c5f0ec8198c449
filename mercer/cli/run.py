"""Run the command line: every expected error is one line, and the status says what happened."""

import os
import sys
import warnings
from collections.abc import Sequence

from mercer.cli import INTERRUPTED, commands
from mercer.errors import CertificateWarning, MercerError


def status(args: Sequence[str] | None) -> int:
    """Run a command and return its status; Ctrl-C is raised as an error of Python."""
    try:
        with warnings.catch_warnings():
            _show_warnings()
            done = commands.call(args)
        if done == INTERRUPTED:
            raise KeyboardInterrupt
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        _close_output()
        return 1
    except commands.UsageError as error:
        command = error.ctx.command_path if error.ctx else "mercer"
        return _complain(f"{error.format_message().rstrip('.')}. See {command} --help.")
    except (MercerError, OSError) as error:
        return _complain(_describe(error))
    except UnicodeEncodeError as error:
        return _complain(
            f"{error.object[error.start]!r} cannot be written as {error.encoding}. Set "
            "PYTHONIOENCODING=utf-8, or write to a file with --output."
        )
    except MemoryError as error:
        return _complain(f"there is not enough memory ({error or 'no details'}). Ask for less.")
    return done


def _complain(text: str) -> int:
    print(f"mercer: {' '.join(text.split())}", file=sys.stderr)
    return 2


def _describe(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _show_warnings() -> None:
    """Print what a disproof says as one line, without a line of code."""
    warnings.simplefilter("always", CertificateWarning)
    warnings.showwarning = lambda message, *_: print(f"mercer: warning: {message}", file=sys.stderr)


def _close_output() -> None:
    """Forget what is left to print: nobody reads it, and Python would complain at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
