"""Which columns of a table are what: ids, labels, features, or left out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from mercer.errors import InputError
from mercer.items.kind import Options

SHOWN = 5  # names listed in an error


class Columns(NamedTuple):
    """Numbers of columns, from 0."""

    ids: int | None
    labels: int | None
    kept: list[int]  # the features

    @classmethod
    def among(cls, path: Path, names: Sequence[str], options: Options) -> Columns:
        """Return what options say of the columns that have these names."""
        ids = _find(path, names, options.id_column)
        labels = _find(path, names, options.label_column)
        gone = [_find(path, names, name) for name in options.drop]
        special = [one for one in (ids, labels, *gone) if one is not None]
        for number in special:
            if special.count(number) > 1:
                raise InputError(
                    f"{path}: the column {names[number]!r} is asked for twice, as ids, as labels "
                    "or to be left out. Name it once."
                )
        kept = [number for number in range(len(names)) if number not in special]
        if not kept:
            raise InputError(
                f"{path}: has no column beside the {_described(ids, labels)}. Numbers are required."
            )
        return cls(ids, labels, kept)


def are_named(names: Sequence[str], options: Options) -> bool:
    """Whether a column is asked for by its name, so that the first line must be a header."""
    asked = (options.id_column, options.label_column, *options.drop)
    return any(name in names and not name.isdecimal() for name in asked if name is not None)


def _described(ids: int | None, labels: int | None) -> str:
    found = [name for name, one in (("ids", ids), ("labels", labels)) if one is not None]
    return " and ".join(found) or "ones left out"


def _find(path: Path, names: Sequence[str], wanted: str | None) -> int | None:
    """Return the number of a column, given by its name or by its number from 1."""
    if wanted is None:
        return None
    if wanted in names:
        return list(names).index(wanted)
    if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
        return int(wanted) - 1
    raise InputError(
        f"{path}: has no column {wanted!r}. A name in the first line ({', '.join(names[:SHOWN])}"
        f"{', …' if len(names) > SHOWN else ''}) or a number from 1 to {len(names)} is required."
    )
