"""Searchers, which find candidates among vectors."""

from mercer.search.base import Allowed, BoundedSearcher, Candidates, Rows, Searcher
from mercer.search.bounds import BoundScan
from mercer.search.by_length import ByLength
from mercer.search.everything import Everything
from mercer.search.graph import Graph
from mercer.search.inverted import Inverted
from mercer.search.lists import SortedLists
from mercer.search.scan import Scan

__all__ = [
    "Allowed",
    "BoundScan",
    "BoundedSearcher",
    "ByLength",
    "Candidates",
    "Everything",
    "Graph",
    "Inverted",
    "Rows",
    "Scan",
    "Searcher",
    "SortedLists",
]


def __dir__() -> list[str]:
    return __all__
