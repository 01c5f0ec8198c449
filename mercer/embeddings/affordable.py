"""How many landmarks to take where a kernel calls a Python function for every pair."""

from typing import Any

import numpy as np

from mercer import items
from mercer.kernels import Kernel

SECONDS = 60.0  # that comparing all items with landmarks may take, where this leaves
LEAST = 64  # landmarks
TRIED = 3  # items on which a function is tried and timed


def n_affordable(kernel: Kernel, X: Any, wanted: int | None, usual: int) -> int:
    """Return how many landmarks: as many as the user asks for, or as are usual and affordable.

    Where Python code runs for every pair, at most half of the items are landmarks, so that
    learning and adding take no more calls than there are pairs; and at most so many that comparing
    all items with them takes a minute, judging by the first few calls, but at least 64.
    """
    if wanted is not None or not kernel.runs_python:
        return wanted or usual
    n = items.length(X)
    kernel.prepare(X[:TRIED])
    affordable = SECONDS / (n * max(kernel.call_seconds, 1e-12))
    rounded = 2 ** int(np.log2(max(affordable, 1)))  # chance changes it seldom
    return int(min(usual, max(LEAST, min(n // 2, rounded))))
