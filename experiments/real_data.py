"""The real data of the experiments: base rows, queries, and queries to calibrate with."""

from __future__ import annotations

import csv
import gzip
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer import kernels

SEED = 0  # chooses queries; base rows of SIFT and bag of words are taken as they come


@dataclass(frozen=True)
class DataSet:
    """Items to search, queries, other queries of the same origin, and the kernel to search by.

    Attributes
    ----------
    name : str
        What tables call it.
    kernel : Kernel
        The similarity.
    X, Q, calibration : ndarray of float32, shape (n, d)
        Base rows, queries, and the queries that `calibrate` learns from.
    """

    name: str
    kernel: kernels.Kernel
    X: Any
    Q: Any
    calibration: Any


def data_folder() -> Path:
    """Return where the real data is: MERCER_DATA, or shared/data beside the checkout."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("MERCER_DATA", beside))
    if not folder.is_dir():
        sys.exit(f"no data in {folder}: set MERCER_DATA to the folder that holds sift/, gist/, ...")
    return folder


def sift(n_rows: int, n_queries: int, *, in_order: bool = False) -> DataSet:
    """Return SIFT descriptors as histograms that sum to 1, for the χ² kernel.

    Queries are a random sample, or the first ones, which come from few photos.
    """
    folder = data_folder() / "sift"
    base = np.load(folder / "sift_base_0.npz")["X"]
    for part in (1, 2):
        if len(base) < n_rows:
            base = np.concatenate([base, np.load(folder / f"sift_base_{part}.npz")["X"]])
    sets = np.load(folder / "sets_query.npz")
    asked = sets["desc"][sets["sift_query_rows"]]
    Q, calibration = _two_samples(asked, n_queries)
    if in_order:
        Q = asked[:n_queries]
    X, Q, calibration = map(l1_normalised, (base[:n_rows], Q, calibration))
    return DataSet("SIFT", kernels.Chi2(), X, Q, calibration)


def gist(n_rows: int, n_queries: int) -> DataSet:
    """Return GIST of small photos, for the Gaussian kernel as wide as the data."""
    stored = np.load(data_folder() / "gist" / "cifar10_train_gist384.npz")
    amplitudes = stored["X"].astype(np.float32) * np.float32(stored["scale"] / 255)
    order = np.random.default_rng(SEED).permutation(len(amplitudes))
    asked, rest = amplitudes[order[: 2 * n_queries]], amplitudes[order[2 * n_queries :]]
    X = rest[:n_rows]
    return DataSet("GIST", kernels.RBF.for_data(X), X, asked[:n_queries], asked[n_queries:])


def bag_of_words(n_rows: int, n_queries: int) -> DataSet:
    """Return histograms of 1,000 visual words that sum to 1, for the intersection kernel."""
    stored = np.load(data_folder() / "bow" / "bow_k1000.npz")
    words, is_query = l1_normalised(stored["X"]), stored["is_query"]
    Q, calibration = _two_samples(words[is_query], n_queries)
    return DataSet(
        "bag of words", kernels.Intersection(), words[~is_query][:n_rows], Q, calibration
    )


def molecules(n_rows: int, n_queries: int) -> DataSet:
    """Return Morgan fingerprints of 1,024 bits, radius 2, for Tanimoto's kernel; needs rdkit."""
    with gzip.open(data_folder() / "molecules" / "hiv.csv.gz", "rt") as file:
        smiles = [row["smiles"] for row in csv.DictReader(file)]
    order = np.random.default_rng(SEED).permutation(len(smiles))[: n_rows + 2 * n_queries]
    bits = np.packbits(_fingerprints([smiles[i] for i in order]), axis=1)
    asked = bits[: 2 * n_queries]
    X = bits[2 * n_queries :]
    return DataSet("molecules", kernels.Tanimoto(), X, asked[:n_queries], asked[n_queries:])


def _fingerprints(smiles: list[str]) -> Any:
    try:
        from rdkit import Chem, RDLogger
        from rdkit.Chem import rdFingerprintGenerator
    except ImportError:
        sys.exit("molecules need rdkit: pip install mercer[chem]")
    RDLogger.DisableLog("rdApp.*")  # its remarks on valences are not ours
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=1024)
    read = (Chem.MolFromSmiles(text) for text in smiles)
    return np.array([generator.GetFingerprintAsNumPy(one) for one in read if one is not None])


DATA: dict[str, Callable[[int, int], DataSet]] = {"sift": sift, "gist": gist, "bow": bag_of_words}


def l1_normalised(X: Any) -> Any:
    """Return rows as float32 that sum to 1."""
    floats = np.asarray(X, np.float32)
    return floats / np.maximum(floats.sum(axis=1, keepdims=True), 1e-30)


def _two_samples(rows: Any, n: int) -> tuple[Any, Any]:
    """Return two random samples without a common row; the order of the rows means nothing."""
    order = np.random.default_rng(SEED).permutation(len(rows))
    n = min(n, len(rows) // 2)
    return rows[order[:n]], rows[order[n : 2 * n]]
