"""What an index is to reach, for users who state that instead of a method."""

from mercer.errors import InputError
from mercer.runtime.params import Params, check_count, check_number, stored


@stored
class Aim(Params):
    """The recall that searches are to reach, and what reaching it may cost.

    Parameters
    ----------
    recall : float
        The share of the true items to find, on average; 1 for a proof of every answer.
    k : int
        How many items are usually asked for.
    memory : int, optional
        The most bytes that the index may take, with its items.
    build_seconds : float, optional
        How long building may take.
    seed : int
        Chooses whatever methods draw at random.

    Examples
    --------
    >>> from mercer.index.aim import Aim
    >>> Aim(recall=0.99)
    Aim(recall=0.99)
    """

    def __init__(
        self, recall: float = 0.95, k: int = 10, memory: int | None = None,
        build_seconds: float | None = None, seed: int = 0,
    ) -> None:  # fmt: skip
        self.recall = recall
        self.k = k
        self.memory = memory
        self.build_seconds = build_seconds
        self.seed = seed
        self._validate()

    def _validate(self) -> None:
        check_number("recall", self.recall, above=0)
        if self.recall > 1:
            raise InputError(f"recall is {self.recall!r}. Pass a share of the true items, up to 1.")
        check_count("k", self.k)
        check_count("memory", self.memory, optional=True)
        check_number("build_seconds", self.build_seconds, above=0, optional=True)
        check_count("seed", self.seed, at_least=0)
