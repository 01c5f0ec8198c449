"""The one place for progress bars: silent for short work and where nobody is watching."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mercer.runtime.border import asked

PATIENCE = 1.0  # seconds of work before a bar appears


@contextmanager
def bar(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that advances a progress bar on standard error.

    The bar appears once the work has lasted a second, so that short work stays silent. Users force
    or forbid it with `show_progress`; by default it is shown only on terminals and in notebooks.
    Work inside a task never shows one.

    Parameters
    ----------
    label : str
        What is being done.
    total : int
        How many steps there are.
    """
    wanted = _is_watched() if asked.show_progress is None else asked.show_progress
    if asked.at_work or not wanted:
        yield lambda steps: None
        return
    shown = _DelayedBar(label, total)
    before, asked.show_progress = asked.show_progress, False  # no bar inside a bar
    try:
        yield shown.advance
    finally:
        asked.show_progress = before
        shown.close()


def _is_watched() -> bool:
    """Whether somebody sees standard error: on a terminal or in a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


class _DelayedBar:
    """A rich progress bar that starts after PATIENCE seconds."""

    def __init__(self, label: str, total: int) -> None:
        self.label, self.total, self.done = label, total, 0
        self.started = time.monotonic()
        self.progress: Any = None

    def advance(self, steps: int) -> None:
        self.done += steps
        if self.progress is None and time.monotonic() - self.started >= PATIENCE:
            self._open()
        if self.progress is not None:
            self.progress.update(self.task, completed=self.done)

    def _open(self) -> None:
        from rich import progress
        from rich.console import Console

        columns = (
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.TaskProgressColumn(),
            progress.TimeRemainingColumn(),
        )
        notebook = "ipykernel" in sys.modules
        console = Console(stderr=True, force_terminal=None if notebook else True)
        self.progress = progress.Progress(*columns, console=console, transient=True)
        self.task = self.progress.add_task(self.label, total=self.total)
        self.progress.start()

    def close(self) -> None:
        if self.progress is not None:
            self.progress.stop()
