"""Which effort and how many candidates a search takes, and what it is expected to find."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

from mercer.errors import EmptyIndexWarning, InputError, RecallWarning
from mercer.index.curve import Curve, Setting
from mercer.index.estimating import require_items
from mercer.index.ranking import usual_candidates
from mercer.index.recipe import Recipe
from mercer.index.state import State
from mercer.runtime.params import check_count, check_number
from mercer.search import Searcher

USUAL = 0.95  # recall that searches aim at where the user says nothing
POOR = 0.9  # expected recall below which they warn
SHOWN = 1, 10, 50  # numbers of items for which `info` tells the recall
WORTH = 0.01  # recall that another setting must add to be worth naming


class Plan(NamedTuple):
    """What a search does.

    Attributes
    ----------
    candidates, effort : int or None
        As in `Index.search`; None for what the method itself takes.
    everything : bool
        Whether every item is compared.
    recall : float or None
        What is expected of it; None if that is not known.
    poor : bool
        Whether that is so little that the user should know, who did not ask for it.
    """

    candidates: int | None = None
    effort: int | None = None
    everything: bool = False
    recall: float | None = None
    poor: bool = False


def check_effort(searcher: Searcher, candidates: int | None, effort: int | None) -> None:
    """Raise InputError if `candidates` or `effort` cannot be used."""
    check_count("candidates", candidates, optional=True)
    if effort is None:
        return
    if not searcher.takes_effort:
        raise InputError(
            f"{searcher!r} has no effort to choose. Leave it out, or change `candidates`."
        )
    check_count("effort", effort)


def planned(
    state: State, searcher: Searcher, k: int, candidates: int | None, effort: int | None,
    recall: float | None, filtered: bool,
) -> Plan:  # fmt: skip
    """Return how to search; parameters as in `Index.search`."""
    check_count("k", k)
    check_effort(searcher, candidates, effort)
    recipe, _ = state.fitted("search")
    if candidates is not None or recall is not None:
        require_items(recipe, "comparing candidates")
    if recall is not None:
        check_recall(recall, candidates, effort)
    if recipe.exhaustive and state.aim is not None:  # nobody asked for a method without candidates
        return Plan(recall=1.0)
    if recipe.bounded or recipe.exhaustive:
        return Plan(candidates, effort, recall=1.0 if candidates is None else None)
    effort = effort or searcher.effort  # users may change a parameter between searches
    if recall is not None:
        return _reaching(state, k, recall)
    if state.aim is not None and candidates is None and effort is None:
        plan = _reaching(state, k, state.aim.recall)
        return plan._replace(recall=None) if filtered else plan
    if state.curve is None or filtered:
        return Plan(candidates, effort)
    return _usual(state.curve, recipe, state, k, candidates, effort)


def check_recall(recall: float, candidates: int | None = None, effort: int | None = None) -> None:
    """Raise InputError if a recall cannot be asked for."""
    check_number("recall", recall, above=0)
    if recall > 1:
        raise InputError(f"recall is {recall!r}. Pass a share of the true items, up to 1.")
    if candidates is not None or effort is not None:
        raise InputError(
            "recall chooses effort and candidates by itself. Pass either recall, or these."
        )


def _reaching(state: State, k: int, recall: float) -> Plan:
    """Return the cheapest plan that is sure to reach a recall; at worst, to compare everything."""
    curve = state.curve
    if curve is None or k > curve.largest_k:
        return Plan(everything=True, recall=1.0)
    found = curve.setting(k, recall, sure=True)
    if found.candidates is None:
        return Plan(everything=True, recall=1.0)
    return Plan(found.candidates, found.effort, recall=found.recall)


def _usual(
    curve: Curve, recipe: Recipe, state: State, k: int, candidates: int | None, effort: int | None
) -> Plan:
    """Return what the user asks for; what is left open aims at `USUAL`, and is no less than usual.

    A number of candidates that was given is kept.
    """
    if candidates is None:
        found = curve.setting(k, USUAL, effort=effort)
        candidates = max(usual_candidates(k), found.candidates or 0)
        effort = effort or max(found.effort or 0, curve.effort(candidates) or 0) or None
    effort = effort or curve.effort(candidates)
    recall = curve.recall(k, candidates, effort)
    return Plan(candidates, effort, recall=recall, poor=recall is not None and recall < POOR)


def proving(plan: Plan, state: State) -> Plan:
    """Return a plan that compares everything where that is the fastest proof."""
    return plan._replace(everything=True) if state.manner.everything else plan


def expectations(state: State, searcher: Searcher) -> dict[str, Any]:
    """Return the recall to expect of searches that say nothing, for `info`."""
    curve = state.curve
    if state.manner.n_items:
        return {"manner": state.manner.told()}
    if curve is None:
        return {}
    counts = [k for k in SHOWN if k <= curve.largest_k]
    plans = [planned(state, searcher, k, None, None, None, False) for k in counts]
    return {
        "expected recall": {f"k = {k}": p.recall for k, p in zip(counts, plans, strict=True)},
        "recall measured": f"on {curve.n_queries} "
        + ("queries that were given" if curve.foreign else "of its own items"),
    }


def warn_if_empty(state: State) -> None:
    """Warn of a search that cannot find anything."""
    if not len(state.segments):
        warnings.warn(
            "the index has no items, so nothing is found. Call add(X) with the items to be found: "
            "fit(X) only learns from them.",
            EmptyIndexWarning,
            stacklevel=5,
        )


def warn_of_recall(plan: Plan, state: State, k: int) -> None:
    """Warn if a search is expected to find too little."""
    curve = state.curve
    if not plan.poor or plan.recall is None or curve is None:
        return
    advice = _advice(curve.setting(k, USUAL), plan.recall, state)
    warnings.warn(
        f"recall@{k} is about {plan.recall:.2f} at the current settings; {advice}",
        RecallWarning,
        stacklevel=5,
    )


def _advice(better: Setting, recall: float, state: State) -> str:
    recipe: Any = state.recipe
    proof = "mercer.exact" if recipe.kernel.psd else "mercer.brute"
    if better.recall < recall + WORTH:
        return f"no setting tried gives more. Use {proof}."
    effort = f"effort={better.effort}, " if better.effort else ""
    return f"{effort}candidates={better.candidates} would give {better.recall:.2f}, or use {proof}."
