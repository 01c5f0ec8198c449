"""A description of an index in plain values that can be printed."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import numpy as np

from mercer.codes import Sign
from mercer.embeddings import Embedding
from mercer.embeddings.theory import EPSILONS, LowRankBound, low_rank_bound
from mercer.index.recipe import Recipe
from mercer.index.segments import Segments
from mercer.search import Searcher

SHOWN = 8  # eigenvalues listed
SIMILARITIES = (0.1, 0.5, 0.8, 0.9, 0.95, 0.99)  # at which the expected collision rate is reported
CODES = 10_000  # codes sampled for balance and entropy
UNIT = 1e-6  # how far k(x, x) of a normalised kernel may be from 1


def describe(recipe: Recipe, segments: Segments) -> dict[str, Any]:
    """Return the parts of an index, its number of items, and what is known about both."""
    embedding, searcher = recipe.embedding, recipe.searcher
    return {
        "kernel": repr(recipe.kernel),
        "embedding": repr(embedding),
        "searcher": repr(searcher),
        "items": len(segments),
        "removed": sum(int(segment.removed.sum()) for segment in segments.members),
        "segments": len(segments.members),
        "id type": segments.id_type or "not chosen yet",
        **_describe_embedding(embedding),
        **_describe_code(embedding, searcher, segments),
    }


def _describe_embedding(embedding: Embedding) -> dict[str, Any]:
    """Return the spectrum, the rank and what they promise, if there is a spectrum."""
    spectrum = getattr(embedding, "spectrum_", None)
    if spectrum is None:
        return {}
    rank = int(getattr(embedding, "rank_", 0) or getattr(embedding, "n_components_", 0))
    positive = np.maximum(spectrum, 0)
    total = float(positive.sum())
    facts = {
        "landmarks": embedding.n_landmarks_,
        "rank kept": rank,
        "leading eigenvalues": [float(f"{value:.4g}") for value in spectrum[:SHOWN]],
        "energy kept": float(positive[:rank].sum() / total) if total else 0.0,
    }
    if rank:
        facts["theorem 2"] = _describe_theorem(embedding, low_rank_bound(spectrum, rank))
    if hasattr(embedding, "floors_"):
        facts["data-dependent bound"] = (
            _by_epsilon(embedding.floors_) if embedding.compared.psd else f"none: {_INDEFINITE}"
        )
    return facts


def _describe_theorem(embedding: Embedding, bound: LowRankBound) -> dict[str, Any] | str:
    """Return what Theorem 2 of R says of an embedding through landmarks, or why it does not."""
    if not embedding.compared.psd:
        return f"not applicable: {_INDEFINITE}"
    if np.any(getattr(embedding, "offsets_", 0)):
        return "not applicable: items are centred, which leaves k(x, x) other than 1"
    own = embedding.diag(embedding.witnesses) if embedding.witnesses else np.ones(1)
    if (np.abs(own[own > 0] - 1) > UNIT).any():
        return "not applicable: the kernel is not normalised, k(x, x) is other than 1"
    floors = [bound.floor(1.0, epsilon) for epsilon in EPSILONS]
    return asdict(bound) | {"floor where the best similarity is 1": _by_epsilon(floors)}


def _by_epsilon(floors: Iterable[float]) -> dict[str, float]:
    return {
        f"epsilon {epsilon}": float(floor)
        for epsilon, floor in zip(EPSILONS, floors, strict=True)
    }  # fmt: skip


def _describe_code(embedding: Embedding, searcher: Searcher, segments: Segments) -> dict[str, Any]:
    """Return balance and entropy of the bits of a sample of codes, and the collision curve."""
    code = getattr(searcher, "code_", None)
    codes = [getattr(segment.rows, "codes", None) for segment in segments.members]
    if not isinstance(code, Sign) or not codes or codes[0] is None:
        return {}
    step = max(1, len(segments) // CODES)
    sample = np.concatenate([some[::step] for some in codes if some is not None])
    shares = np.unpackbits(sample, axis=1)[:, : code.n_bits_].mean(axis=0)
    entropy = _entropy(shares)
    return {
        "bits": code.n_bits_,
        "bytes per code": sample.shape[1],
        "share of ones": {"least": float(shares.min()), "mean": float(shares.mean()),
                          "largest": float(shares.max())},
        "entropy a bit": {"least": float(entropy.min()), "mean": float(entropy.mean())},
        **_describe_collisions(embedding),
    }  # fmt: skip


def _describe_collisions(embedding: Embedding) -> dict[str, Any]:
    """Return the share of equal bits that theory predicts, if there is a prediction."""
    shares = embedding.agreement(SIMILARITIES)
    if shares is None:
        return {}
    name = embedding.agrees_by
    curve = {f"{name} {s}": float(share) for s, share in zip(SIMILARITIES, shares, strict=True)}
    return {"expected share of equal bits": curve}


def _entropy(shares: np.ndarray[Any, np.dtype[np.float64]]) -> Any:
    """Return the entropy in bits of coins with these probabilities."""
    p = np.clip(shares, 1e-300, 1 - 1e-16)
    return -(p * np.log2(p) + (1 - p) * np.log2(1 - p))


_INDEFINITE = "the kernel is not known to be positive semi-definite"
