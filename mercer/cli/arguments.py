"""Turn the texts of the command line into what the library takes."""

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

from mercer import kernels, methods
from mercer.cli import answers
from mercer.errors import InputError, StoreError
from mercer.index import Index
from mercer.items import Items, Table
from mercer.items.files import STANDARD_INPUT, as_ids, read_ids, read_items
from mercer.kernels import Kernel
from mercer.runtime.arrays import Array
from mercer.store import holds_index

WORDS = {"true": True, "false": False, "none": None}

FORMATS = (
    ".npy .npz .fvecs .ivecs .bvecs .fbin .u8bin .i8bin .csv .tsv .parquet .feather .arrow, "
    "a folder of .npy (sets), or - (.csv or .npy)"
)


def import_modules(names: list[str] | None) -> list[str]:
    """Import modules of the user, from the current folder too, so that they register kernels."""
    here = str(Path.cwd())
    if names and here not in sys.path:
        sys.path.insert(0, here)
    for name in names or []:
        try:
            importlib.import_module(name)
        except Exception as error:
            hint = f" Pass the name of the module: {name[:-3]}." if name.endswith(".py") else ""
            raise InputError(
                f"--import {name}: cannot be imported ({type(error).__name__}: {error}).{hint}"
            ) from error
    return names or []


def require_names(kernel: str, method: str) -> None:
    """Refuse, before the work, names that nothing has."""
    if kernel.lower() not in kernels.NAMES:
        kernels.get(kernel)
    if method not in methods.__all__:
        raise InputError(f"--method {method}: methods are {', '.join(methods.__all__)}.")


def make_kernel(
    name: str, params: list[str], X: Any, seed: int, change: str | None = None
) -> Kernel:
    """Return the kernel of this name, with parameters written as name=value.

    Kernels of sets are those that suit the items, as their `for_data` chooses them.

    Parameters
    ----------
    name : str
        The name.
    params : list of str
        Its parameters.
    X : items
        What is to be indexed.
    seed : int
        Chooses samples of the items.
    change : str, optional
        What is done to the items first; see `Kernel.of`.
    """
    cls = kernels.NAMES.get(name.lower())
    suits: Any = getattr(cls, "for_data", None) if cls and cls.input == "sets" else None
    if suits and change:  # every kernel of sets changes them alike
        X = kernels.MaxSim().of(change).prepare(X).kept
    kernel: Kernel = suits(X, seed=seed) if suits else kernels.get(name)
    kernel = kernel.set_params(**dict(_param(kernel, text) for text in params))
    return kernel if change is None else kernel.of(change)


def _param(kernel: Kernel, text: str) -> tuple[str, Any]:
    """Return name and value of a kernel's parameter: a number, or a word where one may stand."""
    name, value = _pair(text)
    if isinstance(value, (int, float)):
        return name, value
    if value and kernels.is_kernel(getattr(kernel, name, None)):
        return name, kernels.get(value)
    known = inspect.signature(type(kernel)).parameters
    if value and name in known and "str" in str(known[name].annotation):
        return name, value
    raise InputError(f"--param {text}: a name and a number are required, such as gamma=0.5.")


def with_aim(settings: list[str], method: str, recall: float | None, proof: bool) -> list[str]:
    """Return settings with the recall that --recall or --proof ask for."""
    if recall is None and not proof:
        return settings
    if method != "auto":
        raise InputError(
            f"--recall and --proof choose a method, but --method {method} names one. Pass either."
        )
    if recall is not None and proof:
        raise InputError("--proof finds all true items. Leave out --recall.")
    return [*settings, f"recall={1.0 if proof else recall}"]


def make_index(method: str, kernel: Kernel, settings: list[str], seed: int) -> Index:
    """Return an empty index by the name of its method, with settings written as name=value."""
    make = getattr(methods, method)
    parameters = inspect.signature(make).parameters
    known = [name for name in parameters if name not in ("kernel", "seed")]
    chosen = dict(map(_pair, settings))
    for name in chosen:
        if name not in known:
            raise InputError(f"--set {name}: the settings of {method} are {', '.join(known)}.")
    chance = {"seed": seed} if "seed" in parameters else {}
    index: Index = make(kernel, **chance, **chosen)
    return index


def _pair(text: str) -> tuple[str, Any]:
    """Return name and value of name=value: a number, true, false, none, or a word."""
    name, _, value = text.partition("=")
    for number in (int, float):
        try:
            return name, number(value)
        except ValueError:
            continue
    return name, WORDS.get(value.lower(), value)


def read(
    path: Path, key: str | None, id_column: str | None, label_column: str | None,
    drop: list[str] | None,
) -> Items:  # fmt: skip
    """Return what a file contains; features that have names are a table."""
    found = read_items(
        path, key=key, id_column=id_column, label_column=label_column, drop=drop or ()
    )
    return found if found.columns is None else found._replace(X=Table(found.X, found.columns))


def choose_ids(read: Items, path: Path | None) -> Array | None:
    """Return the ids of items: those in their file, or in a file of their own."""
    if path is None:
        return read.ids
    if read.ids is not None:
        raise InputError(
            "--ids and --id-column, or the names of files: both give ids. Leave one out."
        )
    return read_ids(path)


def read_given_ids(given: list[str], path: Path | None) -> Array:
    """Return the ids given one by one, in a file, or on standard input."""
    if given == ["-"]:
        path = STANDARD_INPUT
    return as_ids(given) if path is None else read_ids(path)


def match_ids(index: Index, ids: Array | None) -> Array | None:
    """Return ids of the type of those in the index: "17" may be its name for an item."""
    if ids is not None and index.info()["id type"] == "str":
        return ids.astype(str)
    return ids


def read_allowed(index: Index, path: Path | None) -> Array | None:
    """Return the ids that may be found, or None where all may."""
    return None if path is None else match_ids(index, read_ids(path))


def require_one_reader(*paths: Path | None) -> None:
    """Refuse to read standard input twice."""
    if paths.count(STANDARD_INPUT) > 1:
        raise InputError("-: standard input can be read once. Name a file for the others.")


def require_writable(form: answers.Form, output: Path | None) -> None:
    """Refuse, before the work, what could not be written after it."""
    if form is answers.Form.npz and output in (None, STANDARD_INPUT):
        raise InputError("--format npz: arrays need a file. Pass --output FILE.")
    if output is not None and not output.parent.is_dir():
        raise InputError(f"--output {output}: there is no folder {output.parent}. Create it first.")


def require_free(index: Path, replace: bool) -> None:
    """Refuse, before the work, to replace what is no index, or an index by mistake."""
    if not index.exists() or (index.is_dir() and not any(index.iterdir())):
        return
    if not holds_index(index):
        raise StoreError(f"{index}: is there already and is not an index. Choose another name.")
    if not replace:
        raise StoreError(f"{index}: exists already. Pass --replace to build it anew.")


def require_index(index: Path) -> None:
    """Refuse to write where there is no index."""
    if not holds_index(index):
        raise StoreError(f"{index}: is not an index. Pass the folder of one.")
