"""Indexes as folders: plain arrays, and one JSON file that describes them."""

from mercer.store.folder import read, verify, write
from mercer.store.manifest import FORMAT, MANIFEST

__all__ = ["FORMAT", "MANIFEST", "read", "verify", "write"]
