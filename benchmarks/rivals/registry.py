"""All rivals by name: their file is imported in their own process, if their package is there."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from benchmarks.rivals.base import Rival
from benchmarks.rivals.task import Task


@dataclass(frozen=True)
class Entry:
    """Where a rival is, and what it needs; makes it when called.

    Attributes
    ----------
    file, cls : str
        The file in this folder and the class in it.
    package : str
        What must be installed.
    settings : dict
        Further arguments.
    """

    file: str
    cls: str
    package: str = "mercer"
    settings: dict[str, Any] = field(default_factory=dict)

    def __call__(self, task: Task, threads: int) -> Rival:
        """Import the file and make the rival."""
        made = getattr(importlib.import_module(f"benchmarks.rivals.{self.file}"), self.cls)
        return made(task, threads, **self.settings)  # type: ignore[no-any-return]

    @property
    def missing(self) -> bool:
        """Whether its package is not installed."""
        return find_spec(self.package) is None


def _ours(name: str, cls: str) -> dict[str, Entry]:
    return {
        name: Entry("ours", cls, settings={"own": False}),
        f"{name}-own": Entry("ours", cls, settings={"own": True}),
    }


# where every kernel value is a call of Python, landmarks are expensive
_FEW: dict[str, Any] = {"own": False, "n_landmarks": 128, "n_components": 64}


RIVALS: dict[str, Entry] = {
    "usearch": Entry("usearch_graph", "Usearch", "usearch"),
    "usearch-counted": Entry("usearch_graph", "CountedUsearch", "usearch"),
    "pynndescent": Entry("pynndescent_graph", "Pynndescent", "pynndescent"),
    "root-ivf": Entry("faiss_maps", "RootIvf", "faiss"),
    "root-hnsw": Entry("faiss_maps", "RootHnsw", "faiss"),
    "sampler-ivf": Entry("faiss_maps", "SampledIvf", "faiss"),
    "sampler-hnsw": Entry("faiss_maps", "SampledHnsw", "faiss"),
    "faiss-js": Entry("faiss_js", "FlatJs", "faiss"),
    "faiss-js-hnsw": Entry("faiss_js", "GraphJs", "faiss"),
    "datasketch": Entry("datasketch_graph", "Datasketch", "datasketch"),
    "sklearn": Entry("sklearn_brute", "SklearnGram", "sklearn"),
    "sklearn-own": Entry("sklearn_brute", "SklearnNeighbors", "sklearn"),
    "fpsim2": Entry("fpsim2_exact", "FPSim2", "FPSim2"),
    **_ours("brute_force", "BruteForce"),
    **_ours("exact", "Exact"),
    **_ours("klsh", "Klsh"),
    **_ours("kpca_lsh", "KpcaLsh"),
    **_ours("kpca_pq", "KpcaPq"),
    **_ours("inverted", "Inverted"),
    **_ours("graph", "Graph"),
    "exact-128": Entry("ours", "Exact", settings=_FEW),
    "graph-128": Entry("ours", "Graph", settings=_FEW),
}
_OF_KERNELS = [
    "usearch", "pynndescent", "inverted", "inverted-own", "graph", "graph-own", "kpca_pq",
    "exact", "exact-own", "brute_force",
]  # fmt: skip
_OF_CHI2 = ["root-ivf", "root-hnsw", "sampler-ivf", "sampler-hnsw", "sklearn", "sklearn-own"]
FOR_TASK: dict[str, list[str]] = {
    "chi2": [*_OF_KERNELS, *_OF_CHI2],
    "made": [*_OF_KERNELS, *_OF_CHI2],
    "js": [*_OF_KERNELS, "faiss-js", "faiss-js-hnsw"],
    "two": _OF_KERNELS,
    "exp_chi2": [*_OF_KERNELS, "sampler-hnsw"],
    "windows": [*_OF_KERNELS, "sampler-hnsw"],
    "tanimoto": ["fpsim2", "inverted", "graph", "exact", "brute_force"],
    "strings": ["datasketch", "exact-128", "graph-128", "brute_force"],
}
