"""What runs in another process: calls of a function. Imports little, so that it starts soon."""

from __future__ import annotations

import pickle
import signal
from collections.abc import Callable
from typing import Any, NamedTuple


class Done(NamedTuple):
    """What a function returned for some pairs, up to the first that failed."""

    numbers: list[float]
    failed: str = ""  # why that pair failed
    lost: str = ""  # why the function or the pairs could not be loaded


def serve(caller: Any, packed: bytes) -> None:
    """Call a pickled function for the pairs of one message after the other.

    Parameters
    ----------
    caller : Connection
        Sends pickled lists of left and of right items, and gets a `Done` for each message.
    packed : bytes
        The pickled function.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it goes to the caller, who ends this process
    function = None
    try:
        while True:
            pairs = caller.recv_bytes()
            try:
                function = function or pickle.loads(packed)
                xs, ys = pickle.loads(pairs)
            except Exception as error:
                caller.send(Done([], lost=said(error)))
            else:
                caller.send(called(function, xs, ys))
    except (EOFError, ConnectionError):  # the caller has ended
        return


def called(function: Callable[[Any, Any], Any], xs: list[Any], ys: list[Any]) -> Done:
    """Call a function for pairs until it fails."""
    numbers: list[float] = []
    try:
        for x, y in zip(xs, ys, strict=True):
            numbers.append(float(function(x, y)))
    except Exception as error:
        return Done(numbers, failed=said(error))
    return Done(numbers)


def said(error: Exception) -> str:
    """Return an error as one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
