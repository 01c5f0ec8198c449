"""What learning did not reach, and what may help."""

import math
import warnings

from mercer.errors import LearningWarning
from mercer.learn.constraints import Constraints
from mercer.learn.projections import Outcome


def warn_of(
    outcome: Outcome, constraints: Constraints, slack: float, tol: float, of_vectors: bool
) -> None:
    """Warn of constraints that no metric can meet, and where learning did not come to its end."""
    if len(outcome.infeasible):
        warnings.warn(
            f"ITML: {len(outcome.infeasible)} of {len(constraints)} constraints cannot be "
            f"met, whatever is learned (first: "
            f"{constraints.describe(int(outcome.infeasible[0]))}; all: infeasible_). "
            f"{_WHY[of_vectors]}", LearningWarning, stacklevel=5,
        )  # fmt: skip
    if outcome.gap > tol:
        warnings.warn(
            f"ITML: after {outcome.n_iter} sweeps a constraint is {outcome.gap:.3g} of its "
            f"bound away from where it should be, more than tol={tol}. "
            f"{_cure(outcome, constraints, slack)}", LearningWarning, stacklevel=5,
        )  # fmt: skip


def _cure(outcome: Outcome, constraints: Constraints, slack: float) -> str:
    """Return what may help where learning has not come to its end."""
    if slack != math.inf:
        return "Raise max_iter, or lower slack: constraints may contradict each other."
    missed = outcome.missed
    told = f" (first: {constraints.describe(int(missed[0]))})" if len(missed) else ""
    return (
        f"{len(missed)} of {len(constraints)} do not hold{told}. Raise max_iter; or pass a "
        "finite slack, if constraints contradict each other: then no metric meets all."
    )


_WHY = {
    True: "The items of such a pair are the same, to the prior at least; or those of such a triple "
    "lie in one line, where no metric brings the farther one nearer than the other.",
    False: "Too much of what tells the items apart lies outside of the span of the basis, or they "
    "are the same: raise n_basis.",
}
