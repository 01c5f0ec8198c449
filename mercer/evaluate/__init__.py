"""Ground truth by brute force, and how much of it an answer contains."""

from mercer.evaluate.measures import recall, recall_at
from mercer.evaluate.truth import ground_truth

__all__ = ["ground_truth", "recall", "recall_at"]


def __dir__() -> list[str]:
    return __all__
