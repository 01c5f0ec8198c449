"""Write cli.md from the help of every command: run it with scripts/cli_docs."""

# ruff: noqa: E501  # the rows of tables cannot be broken

from __future__ import annotations

import contextlib
import io
from pathlib import Path

from mercer import cli
from mercer.cli import commands

PAGE = Path(__file__).parent / "cli.md"
INTRODUCTION = """\
# Command line

`mercer` builds, searches and changes indexes from files, without any Python.

```console
$ mercer build photos.npy photos.index --kernel chi2 --l1
$ mercer search photos.index queries.npy -k 5
```

Items and queries are read from files with one row per item:

| file | content |
|---|---|
| `.npy` | an array |
| `.npz` | an array named `X`, or as `--key` says; or a sparse matrix written by `scipy.sparse.save_npz` |
| `.npz` of sets | all vectors as `values` (or `desc`), the start of each set and the end of the last one as `offsets`, and optionally `positions` (or `xy`) |
| a folder | one set in each `.npy` file, of shape (size, features); the file names are the ids |
| `.fvecs` `.ivecs` `.bvecs` | rows of float32, int32 or uint8, each preceded by its length as int32 |
| `.fbin` `.u8bin` `.i8bin` | the numbers of rows and columns as two uint32, then float32, uint8 or int8 |
| `.csv` `.tsv` | numbers, separated by commas, semicolons or tabs; a first line without any numbers is a header |
| `.parquet` `.feather` `.arrow` | columns of numbers, or one column of vectors; needs pyarrow (`mercer[arrow]`) |
| `-` | standard input: `.csv` or `.npy` |

In tables, `--id-column` names the column of ids, `--label-column` one of labels, and `--drop` columns to
leave out; each by its name or its number from 1. All other columns are features. The index remembers their
names, and refuses tables with other columns or another order of them.

`.npy`, vector and `bin` files are mapped into memory, not read as a whole. As in Python, kernels for
bits read uint8 as bits packed by `numpy.packbits`, and other types as zeros and ones.

With `--l1` rows are compared after they were divided by their sums
([`kernel.of("l1")`](kernels.md#changed-items)). The index keeps that in mind: it does so with all items
and queries that come later.

Items of a kernel for [sets](items.md#sets-of-vectors) are sets of vectors. Such a kernel takes its
parameters, such as the size of its bins, from the items; `--param` overrides them.

Ids are integers if all of them are written as integers, and strings otherwise. Without ids, items and
queries are numbered from 0 in the order of their rows.

A kernel of your own is found by its name if an installed package
[declares it](own_kernel.md#names-and-plain-data), or if `--import` names a Python module that registers it.

Answers are printed as a table of at most 200 lines, or written in a format for programs:

| `--format` | content |
|---|---|
| `jsonl` | one object per line: `query`, `ids`, `scores`, `distances`, `exact`, `evaluations` |
| `csv` | a line for each match: `query`, `rank`, `id`, `score`, `distance` |
| `npz` | arrays of these names, and `queries`; from `search`, a row of k matches for each query (id -1 or empty where there are fewer); from `within`, all matches in one row, those of query i from `offsets[i]` to `offsets[i + 1]` |

An error prints one line to standard error and exits with status 2; Ctrl-C gives 130. `add` and `remove`
change the folder in one step: if they fail, the index stays as it was.

"""


def page() -> str:
    """Return the reference: an introduction, then the help of each command."""
    names = [command.callback.__name__ for command in commands.app.registered_commands]
    sections = [f"## mercer {name}\n\n```text\n{help_of(name)}```\n" for name in names]
    return INTRODUCTION + "\n".join(sections)


def help_of(name: str) -> str:
    """Return what a command prints as its help."""
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.suppress(SystemExit):
        cli.main([name, "--help"])
    return printed.getvalue()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
