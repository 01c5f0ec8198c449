"""What an index that chose its own method tried, and why it took what it took."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mercer.index.picture import picture

HEAD = ("method", "effort", "candidates", "recall", "at least", "queries/s", "bytes", "build s", "")


@dataclass(frozen=True)
class Tried:
    """One method, with the cheapest settings that reach the recall, or its best ones.

    Attributes
    ----------
    method : str
        The public function that makes such an index.
    settings : dict
        Its effort and number of candidates; empty if it proves its answers.
    recall, at_least : float
        What was found of the sample queries, and its lower confidence bound.
    queries_per_second : float or None
        Asked together, on all threads; None if it was not measured.
    bytes_an_item : float
        With the item itself.
    build_seconds : float
        For all items, which may be a guess from some.
    note : str
        Why it was not taken, where it does not reach the aim.
    curve : list
        Pairs of recall and queries per second with other settings.
    """

    method: str
    settings: dict[str, int | None]
    recall: float
    at_least: float
    queries_per_second: float | None
    bytes_an_item: float
    build_seconds: float
    note: str
    curve: list[list[float]]


@dataclass(frozen=True)
class Explanation:
    """What was tried, what was taken, and why; it prints as a table.

    Attributes
    ----------
    aim : dict
        What was to be reached.
    n_items : int
        How many items there were.
    tried : list of Tried
        One for each method.
    taken : str
        The method that was taken.
    why : str
        The reason, in words.
    not_tried : list of str
        Methods that there was no time for.
    seconds : float
        How long choosing took, with all that was built for it.
    """

    aim: dict[str, Any]
    n_items: int
    tried: list[Tried]
    taken: str
    why: str
    not_tried: list[str]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, which can be written as JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, tree: dict[str, Any]) -> Explanation:
        """Return the explanation that `to_dict` described."""
        return cls(**tree | {"tried": [Tried(**one) for one in tree["tried"]]})

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Write a picture of recall and speed, as an SVG file that any browser shows."""
        Path(path).write_text(self._repr_svg_(), encoding="utf-8")

    def _repr_svg_(self) -> str:
        """Return the picture; notebooks call this."""
        curves = {
            one.method: one.curve or [[one.recall, one.queries_per_second or 1.0]]
            for one in self.tried
        }
        [taken] = [one for one in self.tried if one.method == self.taken]
        mark = taken.recall, taken.queries_per_second or 1.0
        return picture(curves, self.taken, mark, float(self.aim["recall"]))

    def __str__(self) -> str:
        lines = [list(HEAD), *(_line(one, one.method == self.taken) for one in self.tried)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
        rows = [
            "  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in lines
        ]
        left = (
            f" Not tried, for lack of time: {', '.join(self.not_tried)}." if self.not_tried else ""
        )
        k, recall = self.aim["k"], self.aim["recall"]
        rows.append(f"{self.taken} was taken for recall@{k} {recall:g} of {self.n_items} items: "
                    f"{self.why}.{left}")  # fmt: skip
        return "\n".join(rows)


def _line(one: Tried, taken: bool) -> list[str]:
    effort, candidates = (one.settings.get(name) for name in ("effort", "candidates"))
    return [
        one.method,
        "" if effort is None else str(effort),
        "" if candidates is None else str(candidates),
        f"{one.recall:.3f}",
        f"{one.at_least:.3f}",
        "" if one.queries_per_second is None else f"{one.queries_per_second:,.0f}",
        f"{one.bytes_an_item:.0f}",
        f"{one.build_seconds:.1f}",
        "taken" if taken else one.note,
    ]
