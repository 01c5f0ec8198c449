"""Answers as text, as HTML and as a table of pandas."""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from mercer.errors import MissingPackageError
from mercer.index.answer import Answer

MOST_LINES, MOST_ITEMS = 8, 5  # queries and items of each that are shown
COLUMNS = ("query", "rank", "id", "score", "distance", "exact")


def as_text(answers: Sequence[Answer]) -> str:
    """Return one line for each answer, with its best items and their scores."""
    return "\n".join(f"  {query}: {_line(one)}" for query, one in enumerate(answers))


def _line(one: Answer) -> str:
    if not len(one):
        return "nothing found"
    shown = [f"{name!r} ({score:.4g})" for name, score in one][:MOST_ITEMS]
    return ", ".join([*shown, "..."] if len(one) > MOST_ITEMS else shown)


def as_html(title: str, answers: Sequence[Answer], n_queries: int) -> str:
    """Return a table of the first answers, the best items of each in one row."""
    ranks = range(1, 1 + max((min(len(one), MOST_ITEMS) for one in answers), default=0))
    head = "".join(f"<th>{name}</th>" for name in ("query", *map(str, ranks), "found", "exact"))
    rows = [_row(query, one, len(ranks)) for query, one in enumerate(answers)]
    left = n_queries - len(answers)
    more = f"<p>and {left} more queries</p>" if left else ""
    return (
        f"<p>{escape(title)}</p><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>{more}"
    )


def _row(query: int, one: Answer, n_ranks: int) -> str:
    shown = [f"{escape(str(name))}<br><small>{score:.4g}</small>" for name, score in one][:n_ranks]
    cells = [*shown, *[""] * (n_ranks - len(shown)), str(len(one)), "yes" if one.exact else "no"]
    return f"<tr><th>{query}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def as_frame(answers: Sequence[Answer]) -> Any:
    """Return a pandas table with one row for each item found."""
    try:
        import pandas  # type: ignore[import-untyped]
    except ImportError:
        raise MissingPackageError(
            "Matches.to_pandas: pandas is not installed. Install it: pip install pandas."
        ) from None
    counts = [len(one) for one in answers]
    columns = (
        np.repeat(np.arange(len(answers)), counts),
        _joined([np.arange(1, n + 1) for n in counts]),
        *(_joined([getattr(one, name) for one in answers]) for name in ("ids", "scores")),
        _joined([one.distances for one in answers]),
        np.repeat([one.exact for one in answers], counts),
    )
    return pandas.DataFrame(dict(zip(COLUMNS, columns, strict=True)))


def _joined(arrays: list[Any]) -> Any:
    return np.concatenate(arrays) if arrays else np.empty(0)
