"""An index as a folder: plain arrays, and one JSON file that describes them."""

from mercer.store.folder import read, verify, write
from mercer.store.manifest import FORMAT, MANIFEST
from mercer.store.state import pack

__all__ = ["FORMAT", "MANIFEST", "pack", "read", "verify", "write"]
