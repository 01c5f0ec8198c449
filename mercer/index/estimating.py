"""Answers by codes alone, where an index does not keep its items."""

from __future__ import annotations

import numpy as np

from mercer.errors import InputError
from mercer.index.matches import Matches
from mercer.index.recipe import Recipe
from mercer.index.segments import Segments
from mercer.index.views import View
from mercer.kernels import Prepared
from mercer.runtime import parallel, topk

QUERIES = 256  # answered together


def require_items(recipe: Recipe, what: str) -> None:
    """Raise InputError if something needs items that are not kept."""
    if not recipe.keeps_items:
        raise InputError(
            f"{what} needs the items, which this index does not keep (keep_items=False): its "
            "scores are estimates of codes."
        )


def estimated(
    recipe: Recipe, segments: Segments, P: Prepared, views: list[View], k: int, effort: int | None
) -> Matches:
    """Return the k rows whose codes are nearest, for every query.

    Parameters
    ----------
    recipe : Recipe
        How candidates are found; their values are the scores.
    segments : Segments
        Codes and ids.
    P : Prepared
        The queries.
    views : list of View
        The rows that may be found.
    k : int
        How many.
    effort : int, optional
        For searchers that take it.
    """

    def answer(span: slice) -> topk.Best:
        Zq = recipe.embedding.query(P[span])
        nothing = topk.empty(len(Zq), k)
        return topk.merge([nothing, *(_nearest(recipe, view, Zq, k, effort) for view in views)], k)

    blocks = parallel.run(answer, [(span,) for span in parallel.spans(len(P), QUERIES)])
    rows, scores = (np.concatenate(column) for column in zip(*blocks, strict=True))
    nothing = np.zeros(len(P))
    return Matches(
        ids=segments.names(rows),
        payload=segments.records(rows),
        scores=scores,
        distances=np.full_like(scores, np.nan),
        exact=nothing.astype(bool),
        evaluations=nothing.astype(np.int64),
        landmark_evaluations=np.full(len(P), recipe.embedding.n_landmarks_, np.int64),
        tolerance=np.full(len(P), np.inf, np.float32),
        probability=nothing.astype(np.float32),
        kernel=recipe.kernel_name,
        estimated=True,
    )


def _nearest(recipe: Recipe, view: View, Zq: np.ndarray, k: int, effort: int | None) -> topk.Best:
    recipe.searcher.require_sound(view.rows, Zq.shape[1])
    some = recipe.searcher.candidates(view.rows, Zq, k, view.allowed, effort)
    return np.where(some.rows >= 0, some.rows + view.first, -1), some.values
