"""Pairs of data and kernel that differ in kind, for what must hold on any data."""

from benchmarks.cases import others, real, vectors
from benchmarks.cases.base import CASES, Case, Data, case

__all__ = ["CASES", "Case", "Data", "case", "others", "real", "vectors"]
