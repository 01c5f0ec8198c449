"""A searcher together with the rows it built, so that tests can ask both as one."""

from __future__ import annotations

from mercer.search import Allowed


class Built:
    """A searcher, fitted on vectors unless it is already, and its rows."""

    def __init__(self, searcher, Z, rows=None):
        self.searcher = searcher if searcher.learned and searcher.is_fitted else searcher.fit(Z)
        self.rows = self.searcher.build(Z) if rows is None else rows

    def candidates(self, Zq, n, allowed=None, effort=None):
        return self.searcher.candidates(self.rows, Zq, n, _allowed(allowed), effort)

    def reaching(self, Zq, floors, allowed=None, **options):
        return self.searcher.reaching(self.rows, Zq, floors, _allowed(allowed), **options)

    def seeds(self, Zq, n, allowed=None):
        return self.searcher.seeds(self.rows, Zq, n, _allowed(allowed))

    def __len__(self):
        return len(self.rows)

    def __getattr__(self, name):
        """Return what the searcher learned, or what the rows have."""
        home = self.searcher if hasattr(self.searcher, name) else self.rows
        return getattr(home, name)


def _allowed(mask):
    return None if mask is None else Allowed.where(mask)
