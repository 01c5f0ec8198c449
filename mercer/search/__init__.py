"""Searchers: vectors to candidates, and the true kernel that ranks them."""

from mercer.search.base import Candidates, Searcher
from mercer.search.bounds import BoundScan

__all__ = ["BoundScan", "Candidates", "Searcher"]
