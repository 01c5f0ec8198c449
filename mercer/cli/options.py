"""Arguments and options that several commands take."""

from pathlib import Path
from typing import Annotated

import typer

from mercer.cli import answers, arguments

FORMATS = (
    ".npy .npz .fvecs .ivecs .bvecs .fbin .u8bin .i8bin .csv .tsv .parquet .feather .arrow, "
    "a folder of .npy (sets), or - (.csv or .npy)"
)

IndexPath = Annotated[Path, typer.Argument(metavar="INDEX", help="The folder of an index.")]
ItemsPath = Annotated[Path, typer.Argument(metavar="ITEMS", help=f"A file of items: {FORMATS}.")]
QueriesPath = Annotated[
    Path, typer.Argument(metavar="QUERIES", help=f"A file of queries: {FORMATS}.")
]
Key = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The array of an .npz file; else sets, X, or the only one."),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="The column of a table with the ids: name, or number from 1."
    ),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The column with labels, which are no part of the items."),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="A column to leave out: name, or number from 1. Repeatable."),
]
L1 = Annotated[
    bool,
    typer.Option("--l1", help="Compare rows divided by their sums: kernel.of('l1')."),
]
Import = Annotated[
    list[str] | None,
    typer.Option(
        "--import",
        metavar="MODULE",
        callback=arguments.import_modules,
        help="A Python module to import first, which registers kernels (mercer.register).",
    ),
]
IdsPath = Annotated[
    Path | None,
    typer.Option("--ids", metavar="FILE", help="The ids of the items, one on a line, or .npy."),
]
Count = Annotated[int, typer.Option("-k", metavar="N", help="How many items to find.")]
Where = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Find only the items with these ids, one on a line, or .npy."
    ),
]
Threads = Annotated[
    int | None, typer.Option(metavar="N", help="How many threads; all cores by default.")
]
Form = Annotated[
    answers.Form,
    typer.Option(
        "--format", metavar="FORM", help="table, jsonl (a line for each query), csv or npz."
    ),
]
Output = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Where to write; standard output by default.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
