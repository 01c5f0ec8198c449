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
$ mercer search photos.index queries.npy -k 5 --l1
```

Items and queries are read from these files, each with one row per item:

| file | content |
|---|---|
| `.npy` | an array |
| `.npz` | an array, called `X` or by `--key`; or a sparse matrix, as `scipy.sparse.save_npz` writes it |
| `.npz` of sets | all vectors as `values` (or `desc`), where each set begins and the last one ends as `offsets`, and perhaps `positions` (or `xy`) |
| a folder | a set in each `.npy` file, of shape (size, features); the names of the files are the ids |
| `.fvecs` `.ivecs` `.bvecs` | rows of float32, int32 or uint8, each after its length as int32 |
| `.fbin` `.u8bin` `.i8bin` | two uint32, the numbers of rows and columns, then float32, uint8 or int8 |
| `.csv` `.tsv` | numbers; a first line without any is a header; `--id-column` names a column of ids |
| `-` | standard input: `.csv` or `.npy` |

`.npy`, vector and `bin` files are mapped into memory, not read as a whole. As in Python, kernels of
bits take uint8 as bits packed by `numpy.packbits`, and other types as zeros and ones.

Items of a kernel of [sets](items.md#sets-of-vectors) are sets of vectors. Such a kernel takes from
them what it needs to know, such as the size of its bins; `--param` changes it.

Ids are integers where all of them are written as one, and strings otherwise. Without ids, items are
numbered from 0 in the order of their rows; so are queries.

Answers are a table of at most 200 lines for people, or for programs:

| `--format` | content |
|---|---|
| `jsonl` | an object on each line: `query`, `ids`, `scores`, `distances`, `exact`, `evaluations` |
| `npz` | arrays of these names, and `queries`; after `search` with a row of k matches for each query (id -1 or empty where there are fewer), after `within` in one row, the matches of query i from `offsets[i]` to `offsets[i + 1]` |

An error is one line on standard error and the status 2; Ctrl-C gives 130. `add` and `remove` change
the folder in one step: when they fail, the index is what it was before.

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
