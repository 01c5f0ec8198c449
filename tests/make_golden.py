"""Make the tiny index that every later version must still load: python tests/make_golden.py."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

import mercer
from mercer import kernels
from mercer.store.manifest import FORMAT

FOLDER = Path(__file__).parent / "golden" / f"format-{FORMAT}"
QUERIES = 3


def items() -> np.ndarray:
    """Return 24 histograms of 6 bins, the same on every machine."""
    grid = np.arange(24 * 6, dtype=np.int64).reshape(24, 6)
    counts = (grid**3 + 7 * grid) % 101 + 1
    return (counts / counts.sum(axis=1, keepdims=True)).astype(np.float32)


def make(folder: Path) -> None:
    """Save an index with string ids, removed items and a composed kernel, and its answers."""
    X = items()
    kernel = kernels.Chi2() + 0.5 * kernels.RBF(gamma=2.0)
    index = mercer.exact(kernel, n_landmarks=8, n_components=4).fit(X)
    index.add(X, ids=[f"item {i}" for i in range(len(X))]).remove(["item 5", "item 17"])
    index.save(folder / "index")
    found = index.search(X[:QUERIES], k=4)
    answers = {"ids": found.ids.tolist(), "scores": found.scores.tolist()}
    (folder / "answers.json").write_text(json.dumps(answers, indent=1) + "\n")


if __name__ == "__main__":
    if FOLDER.exists():
        sys.exit(f"{FOLDER} is there already, and is never made anew: raise FORMAT instead.")
    make(FOLDER)
