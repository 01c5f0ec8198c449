"""The index, which is fitted, filled, searched, changed and saved."""

from mercer.index.index import Index
from mercer.index.loading import load, open
from mercer.index.matches import Matches

__all__ = ["Index", "Matches", "load", "open"]


def __dir__() -> list[str]:
    return __all__
