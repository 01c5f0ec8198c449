"""Searchers: vectors to candidates, and the true kernel that ranks them."""

from mercer.search.base import Candidates, Searcher
from mercer.search.bounds import BoundScan
from mercer.search.graph import Graph
from mercer.search.inverted import Inverted
from mercer.search.lists import SortedLists
from mercer.search.scan import Scan

__all__ = ["BoundScan", "Candidates", "Graph", "Inverted", "Scan", "Searcher", "SortedLists"]
