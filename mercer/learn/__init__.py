"""Metric learning: from constraints to a similarity that can be searched like any other."""

from mercer.learn.constraints import (
    Constraints,
    from_labels,
    from_nearness,
    from_pairs,
    from_triples,
)
from mercer.learn.itml import ITML

__all__ = ["ITML", "Constraints", "from_labels", "from_nearness", "from_pairs", "from_triples"]


def __dir__() -> list[str]:
    return __all__
