"""How codes are searched, for all methods that have codes."""

from __future__ import annotations

from mercer.codes import Sign
from mercer.search import Scan, Searcher, SortedLists

__all__ = ["over_codes"]


def over_codes(code: Sign, asymmetric: bool, epsilon: float | None) -> Searcher:
    """Return a scan of all codes, or sorted lists where there is an epsilon."""
    if epsilon is None:
        return Scan(code, asymmetric)
    return SortedLists(code, epsilon=epsilon, asymmetric=asymmetric)
