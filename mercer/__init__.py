"""Nearest-neighbour search under any kernel.

Every method is one pipeline::

    items --prepare--> prepared items --embed--> vectors --search--> candidates
          --re-rank with the kernel--> matches

Methods: `exact`, `brute`; `inverted`, `graph`, `kpca_pq`; `klsh`, `kpca_lsh`, `rmmh`, `fourier`,
`lsh`; `pyramid`; `learned`, after `mercer.learn`. Their parts: items (`mercer.items`, `Ragged`),
kernels (`mercer.kernels`, `kernel`), embeddings (`mercer.embeddings`), codes (`mercer.codes`),
searchers (`mercer.search`); estimators for scikit-learn (`mercer.neighbors`), truth and recall
(`mercer.evaluate`), and contract tests (`mercer.testing`).
"""

import ast
import importlib
from pathlib import Path
from typing import Any

__version__ = "0.1.0"


def _homes() -> dict[str, str]:
    """Return where each public name stands; `__init__.pyi` says it once, to type checkers too."""
    tree = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


_HOMES = _homes()
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a part when it is first asked for: all of them take a fifth of a second."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mercer' has no attribute {name!r}")
    home = _HOMES[name]
    if home == "mercer":
        found = importlib.import_module(f"mercer.{name}")
    else:
        found = getattr(importlib.import_module(home), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
