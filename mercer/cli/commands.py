"""Every command: read the files, call the library, write the answer."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import mercer
from mercer import kernels, methods, store
from mercer.cli import answers, arguments, comparison
from mercer.cli.demo import comparison as demonstration
from mercer.errors import InputError
from mercer.items import length

WIDTH = 88  # of the help, on every terminal: the reference is made from it
# newer versions of typer carry their own click, so UsageError has no address of its own
UsageError: Any = typer.BadParameter.__base__

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"terminal_width": WIDTH, "help_option_names": ["-h", "--help"]},
)

IndexPath = Annotated[Path, typer.Argument(metavar="INDEX", help="The folder of an index.")]
ItemsPath = Annotated[
    Path, typer.Argument(metavar="ITEMS", help=f"A file of items: {arguments.FORMATS}.")
]
QueriesPath = Annotated[
    Path, typer.Argument(metavar="QUERIES", help=f"A file of queries: {arguments.FORMATS}.")
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
Threads = Annotated[int | None, typer.Option(metavar="N", help="Threads; all cores by default.")]
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


def _command(*examples: str) -> Callable[[Any], Any]:
    """Register a command with examples below its help."""
    lines = "\n".join(f"  mercer {example}" for example in examples)
    return app.command(epilog=f"\b\nExamples:\n{lines}")


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Nearest-neighbour search under any kernel."""
    if version:
        print(f"mercer {mercer.__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())
    else:
        return
    raise typer.Exit


# ---- filling


@_command(
    "build photos.npy photos.index --kernel chi2 --l1",
    "build points.fvecs points.index --kernel rbf --param gamma=0.5",
    "build photos.npy photos.index --kernel chi2 --method klsh --set n_bits=128",
    "build sets.npz my.index --kernel pyramid_match --normalized --method pyramid",
)
def build(
    items: ItemsPath,
    index: IndexPath,
    kernel: Annotated[
        str, typer.Option(metavar="NAME", help=f"The similarity: {', '.join(kernels.NAMES)}.")
    ],
    param: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A parameter of the kernel, such as gamma=0.5."),
    ] = None,
    normalized: Annotated[
        bool, typer.Option("--normalized", help="Divide the kernel by √(k(x, x) k(y, y)).")
    ] = False,
    method: Annotated[
        str, typer.Option(metavar="NAME", help=f"How to search: {', '.join(methods.__all__)}.")
    ] = "auto",
    recall: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="The share of the true items to find; 0.95 by default."),
    ] = None,
    proof: Annotated[
        bool, typer.Option("--proof", help="Prove every answer: no item outside scores higher.")
    ] = False,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A setting of the method, such as n_landmarks=512; an unknown one lists them.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The random seed.")] = 0,
    ids: IdsPath = None,
    id_column: IdColumn = None,
    label_column: LabelColumn = None,
    drop: Drop = None,
    key: Key = None,
    l1: L1 = False,
    threads: Threads = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace INDEX if it exists.")] = False,
    imports: Import = None,
) -> None:
    """Build an index from a file of items and save it.

    By default methods are tried on the items, and the fastest is taken that finds the share of
    the true items given by --recall; with --proof, that proves every answer. Kernels of sets take
    their parameters from the items. Files that are mapped (.npy, .fbin, ...) may be larger than
    memory; if that is interrupted, add the same ITEMS to INDEX to go on where it stopped.
    """
    arguments.require_free(index, replace)
    arguments.require_one_reader(items, ids)
    arguments.require_names(kernel, method)
    read = arguments.read(items, key, id_column, label_column, drop)
    suited = arguments.make_kernel(kernel, param or [], read.X, seed, "l1" if l1 else None)
    used = suited.normalized() if normalized else suited
    aimed = arguments.with_aim(setting or [], method, recall, proof)
    made = arguments.make_index(method, used, aimed, seed)
    names = arguments.choose_ids(read, ids)
    made.fit(read.X)
    if isinstance(read.X, np.memmap) and not index.exists():
        made.save(index)
        with mercer.open(index) as made:
            made.add(read.X, names, n_jobs=threads)
    else:  # what is replaced stays there until all is done
        made.add(read.X, names, n_jobs=threads).save(index)
    taken = f"{method} ({made.explain().taken})" if method == "auto" else method
    print(f"{index}: {len(made)} items, method {taken}, kernel {made.kernel!r}")


@_command("add photos.index more.npy", "add people.index more.csv --id-column name")
def add(
    index: IndexPath,
    items: ItemsPath,
    ids: IdsPath = None,
    id_column: IdColumn = None,
    label_column: LabelColumn = None,
    drop: Drop = None,
    key: Key = None,
    threads: Threads = None,
    imports: Import = None,
) -> None:
    """Add items to an index.

    Files that are mapped (.npy, .fbin, ...) may be larger than memory. If the command is
    interrupted, the same command goes on where it stopped.
    """
    arguments.require_one_reader(items, ids)
    read = arguments.read(items, key, id_column, label_column, drop)
    with mercer.open(index) as opened:
        before = len(opened)
        names = arguments.match_ids(opened, arguments.choose_ids(read, ids))
        opened.add(read.X, names, n_jobs=threads)
        print(f"{index}: {len(opened) - before} items added, {len(opened)} in all")


@_command("remove photos.index 17 21", "remove people.index --ids gone.txt")
def remove(
    index: IndexPath,
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="IDS", help="The ids of the items; - reads them, one on a line."),
    ] = None,
    ids_file: Annotated[
        Path | None,
        typer.Option("--ids", "--ids-file", metavar="FILE", help="Ids, one on a line, or .npy."),
    ] = None,
    imports: Import = None,
) -> None:
    """Remove items from an index."""
    if bool(ids) == bool(ids_file):
        raise InputError("pass either ids, or a file of them with --ids.")
    gone = arguments.read_given_ids(ids or [], ids_file)
    with mercer.open(index) as opened:
        opened.remove(arguments.match_ids(opened, gone))
        print(f"{index}: {len(gone)} items removed, {len(opened)} left")


@_command("compact photos.index")
def compact(index: IndexPath, threads: Threads = None, imports: Import = None) -> None:
    """Join the segments of an index, and give back the space of removed items."""
    with mercer.open(index) as opened:
        opened.compact(n_jobs=threads)
        print(f"{index}: {len(opened)} items in {opened.info()['segments']} segments")


# ---- searching


@_command(
    "search photos.index queries.npy -k 5",
    "search photos.index queries.npy --format jsonl --output found.jsonl",
)
def search(
    index: IndexPath,
    queries: QueriesPath,
    k: Count = 10,
    candidates: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Compare at most N items; by default as many as a proof needs."
        ),
    ] = None,
    effort: Annotated[
        int | None,
        typer.Option(metavar="N", help="The n_probe of inverted or the ef of graph."),
    ] = None,
    where: Where = None,
    form: Form = answers.Form.table,
    output: Output = None,
    id_column: IdColumn = None,
    label_column: LabelColumn = None,
    drop: Drop = None,
    key: Key = None,
    threads: Threads = None,
    imports: Import = None,
) -> None:
    """Find the k most similar items of every query."""
    arguments.require_writable(form, output)
    arguments.require_one_reader(queries, where)
    loaded = mercer.load(index)
    read = arguments.read(queries, key, id_column, label_column, drop)
    found = loaded.search(
        read.X,
        k,
        candidates=candidates,
        effort=effort,
        where=arguments.read_allowed(loaded, where),
        n_jobs=threads,
    )
    answers.write(found, read.ids, len(loaded), form, output)


@_command("within photos.index queries.npy --score 0.9")
def within(
    index: IndexPath,
    queries: QueriesPath,
    score: Annotated[float, typer.Option(metavar="S", help="The least score (kernel value).")],
    where: Where = None,
    form: Form = answers.Form.table,
    output: Output = None,
    id_column: IdColumn = None,
    label_column: LabelColumn = None,
    drop: Drop = None,
    key: Key = None,
    threads: Threads = None,
    imports: Import = None,
) -> None:
    """Find every item with at least this score, for every query."""
    arguments.require_writable(form, output)
    arguments.require_one_reader(queries, where)
    loaded = mercer.load(index)
    read = arguments.read(queries, key, id_column, label_column, drop)
    found = loaded.within(
        read.X, score, where=arguments.read_allowed(loaded, where), n_jobs=threads
    )
    answers.write(found, read.ids, len(loaded), form, output)


# ---- looking


@_command("info photos.index", "info photos.index --json")
def info(index: IndexPath, as_json: Json = False, imports: Import = None) -> None:
    """Describe an index."""
    facts = {"folder": store.describe(index), **mercer.load(index).info()}
    answers.print_facts(facts, as_json)


@_command("repair photos.index")
def repair(index: IndexPath) -> None:
    """Drop the damaged parts of an index, and keep the rest.

    The status is 2 if nothing can be kept. Copy the folder first if you can.
    """
    arguments.require_index(index)
    dropped = store.repair(index)
    for told in dropped:
        print(f"{index}: dropped {told}")
    left = len(mercer.load(index))
    print(f"{index}: {'repaired' if dropped else 'nothing is damaged'}, {left} items")


@_command("verify photos.index")
def verify(index: IndexPath) -> None:
    """Compare every file of an index with its checksum.

    The status is 2 if one is damaged.
    """
    names = mercer.verify(index)
    print(f"{index}: ok, {len(names)} files")


@_command("evaluate photos.index photos.npy queries.npy -k 10")
def evaluate(
    index: IndexPath,
    items: ItemsPath,
    queries: QueriesPath,
    k: Count = 10,
    candidates: Annotated[int | None, typer.Option(metavar="N", help="As for search.")] = None,
    id_column: IdColumn = None,
    label_column: LabelColumn = None,
    drop: Drop = None,
    key: Key = None,
    threads: Threads = None,
    as_json: Json = False,
    imports: Import = None,
) -> None:
    """Compare an index with brute force: recall, kernel evaluations and speed.

    ITEMS are those of the index, in any order.
    """
    arguments.require_one_reader(items, queries)
    loaded = mercer.load(index)
    X, Q = (arguments.read(path, key, id_column, label_column, drop).X for path in (items, queries))
    if length(X) != len(loaded):
        raise InputError(
            f"{items}: has {length(X)} items but {index} has {len(loaded)}. The items of the "
            "index are required."
        )
    facts = comparison.compare(loaded, X, Q, k, candidates, threads)
    answers.print_facts(facts, as_json)


@_command("demo", "demo --output report.html --open")
def demo(
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The page to write; mercer-demo.html by default."),
    ] = None,
    open_browser: Annotated[
        bool, typer.Option("--open", help="Show the page in a browser.")
    ] = False,
) -> None:
    """Search handwritten digits, print a table and write a page with pictures."""
    demonstration.run(output, open_browser)


def call(args: Sequence[str] | None) -> int:
    """Run a command and return the status it asks for; errors are raised."""
    status = typer.main.get_command(app).main(args, "mercer", standalone_mode=False)
    return int(status or 0)
