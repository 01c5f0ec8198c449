"""FPSim2: exact Tanimoto search of fingerprints, with bounds by their numbers of bits."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import rdkit
import tables
from FPSim2 import FPSim2Engine
from FPSim2.io.backends.pytables import create_schema, sort_db_file
from FPSim2.io.chem import process_fp
from rdkit import DataStructs

from benchmarks.rivals.base import Effort, Rival

THRESHOLDS = (0.4, 0.3, 0.2, 0.0)  # below the tenth neighbour of nearly all molecules, or none


class FPSim2(Rival):
    """Its engine in memory, queries on threads."""

    name = "FPSim2"
    copies = True

    def build(self) -> None:
        """Write the file it reads, sorted by numbers of bits, and load it."""
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "fingerprints.h5")
            _write(path, self.task.X)
            self.engine = FPSim2Engine(path)
        self.queries: dict[int, Any] = {}

    def efforts(self) -> list[Effort]:
        """Return thresholds below which it need not look."""
        return [{"threshold": threshold} for threshold in THRESHOLDS]

    def search(self, Q: Any, k: int, threshold: float = 0.0) -> Any:
        """Search one query after the other, on threads."""
        if len(Q) not in self.queries:  # its own form of the queries is not timed
            self.queries[len(Q)] = [_vector(bits) for bits in Q]
        found = np.full((len(Q), k), -1, np.int64)

        def fill(i: int) -> None:
            rows = self.engine.top_k(self.queries[len(Q)][i], k=k, threshold=threshold)["mol_id"]
            found[i, : len(rows)] = rows

        with ThreadPoolExecutor(self.threads) as threads:
            list(threads.map(fill, range(len(Q))))
        return found

    def evaluations(self, Q: Any, k: int, threshold: float = 0.0) -> float:
        """Return how many rows have a number of bits that can reach the threshold."""
        n_bits, asked = (np.bitwise_count(A).sum(axis=1) for A in (self.task.X, Q))
        tops = np.minimum.outer(asked, n_bits) / np.maximum.outer(asked, n_bits)
        return float((tops >= threshold).sum(axis=1).mean())


def _vector(bits: Any) -> Any:
    return DataStructs.CreateFromBitString("".join(map(str, np.unpackbits(bits))))


def _write(path: str, X: Any) -> None:
    n_bits = 8 * X.shape[1]
    with tables.open_file(path, mode="w") as file:
        rows = file.create_table(file.root, "fps", create_schema(n_bits), "fingerprints")
        rows.append([process_fp(_vector(bits), i) for i, bits in enumerate(X)])
        rows.cols.popcnt.create_index(kind="full")
        facts = file.create_vlarray(file.root, "config", atom=tables.ObjectAtom())
        for fact in ("Morgan", {"radius": 2, "fpSize": n_bits}, rdkit.__version__, ""):
            facts.append(fact)
    sort_db_file(path)
