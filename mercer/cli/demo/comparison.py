"""Search on scikit-learn's digits against brute force: two tables, and a page to look at."""

import inspect
import statistics
import time
import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from mercer import evaluate, kernels, methods
from mercer.cli.demo import report
from mercer.errors import InputError
from mercer.index import Index
from mercer.index.matches import Matches
from mercer.kernels import Kernel
from mercer.runtime import progress
from mercer.runtime.arrays import Array

K = 8  # matches of a query
MORE = 2.5  # of the evaluations: so many bounds are drawn
FEWEST = 30  # bounds drawn


@dataclass(frozen=True)
class Settings:
    """How much the demo does.

    Attributes
    ----------
    n_queries : int
        How many of the 1,797 digits are queries; the others are searched.
    n_digits : int, optional
        How many of the others; all by default. Each is an item nine times, moved by a pixel.
    n_landmarks, n_components : int
        Of the exact search.
    n_rounds : int
        How often each way to search is timed.
    n_examples : int
        How many queries the report shows.
    """

    n_queries: int = 297
    n_digits: int | None = None
    n_landmarks: int = 256
    n_components: int = 64
    n_rounds: int = 3
    n_examples: int = 6


@dataclass(frozen=True)
class Digits:
    """Items and queries as histograms of ink, with their digits."""

    X: Array  # (n, 64)
    labels: Array
    Q: Array
    query_labels: Array


@mercer.kernel(psd=True, nonnegative=True)
def two_scales(x, y):  # type: ignore[no-untyped-def]
    """Compare pixels and blocks of 2 × 2 pixels by χ²."""
    total = 0.0
    for i in range(64):
        below = x[i] + y[i]
        if below > 0:
            total += x[i] * y[i] / below
    for corner in range(0, 64, 2):
        if corner // 8 % 2 == 0:
            a = x[corner] + x[corner + 1] + x[corner + 8] + x[corner + 9]
            b = y[corner] + y[corner + 1] + y[corner + 8] + y[corner + 9]
            if a + b > 0:
                total += a * b / (a + b)
    return total


def compared() -> dict[str, Kernel]:
    """Return the kernels of the demo by the names it shows."""
    chi2, rbf = kernels.Chi2(), kernels.RBF(gamma=24.0)  # about what RBF.for_data chooses
    return {
        "χ²": chi2,
        "Jensen–Shannon": kernels.JensenShannon(),
        "intersection": kernels.Intersection(),
        "RBF": rbf,
        "χ² and RBF": 0.5 * chi2 + 0.5 * rbf,
        "two scales": two_scales,
    }


def tried(kernel: Kernel, settings: Settings) -> dict[str, Index]:
    """Return an index for each method of the demo, by its name."""
    p, E = settings.n_landmarks, settings.n_components
    return {
        "exact": methods.exact(kernel, n_landmarks=p, n_components=E),
        "klsh": methods.klsh(kernel, n_bits=128, n_landmarks=p, subset=None, rank=E),
        "rmmh": methods.rmmh(kernel, n_bits=128, n_landmarks=p),
        "kpca_lsh": methods.kpca_lsh(kernel, n_bits=128, n_landmarks=p, n_components=E),
        "kpca_pq": methods.kpca_pq(kernel, n_bytes=16, n_landmarks=p, n_components=E),
        "inverted": methods.inverted(kernel),
        "graph": methods.graph(kernel),
    }


def run(
    output: Path | None = None, open_browser: bool = False, *, settings: Settings | None = None
) -> Path:
    """Compare brute force with exact search on digits, print a table and write a report.

    Parameters
    ----------
    output : Path, optional
        The HTML file to write; ``mercer-demo.html`` in the current folder by default.
    open_browser : bool
        Whether to show it.
    settings : Settings, optional
        How much to do.

    Returns
    -------
    Path
        The file written.
    """
    path = _checked(Path("mercer-demo.html") if output is None else Path(output))
    settings = settings or Settings()
    digits = _load(settings)
    cases: list[report.Case] = []
    examples: list[report.Example] = []
    with progress.bar("comparing kernels", len(compared())) as advance:
        for name, kernel in compared().items():
            case, index = _compare(name, kernel, digits, settings)
            cases.append(case)
            if kernel is two_scales:
                examples = _examples(index, digits, settings.n_examples)
            advance(1)
    facts = report.Facts(
        len(digits.X), len(digits.Q), index.embedding_.n_landmarks_, settings.n_components, K
    )
    trials = _try_methods(two_scales, digits, settings)
    _print_cases(facts, cases)
    _print_trials(facts, trials)
    source = _source(two_scales)
    path.write_text(report.page(facts, cases, trials, examples, source), encoding="utf-8")
    print(f"report with pictures and certificates: {path}")
    if open_browser:
        webbrowser.open(path.resolve().as_uri())
    return path


def _source(kernel: Any) -> str:
    """Return the code of a kernel as its user would write it, without marks for type checkers."""
    code = inspect.getsource(kernel.function)
    return "\n".join(line.partition("  # type:")[0] for line in code.splitlines())


def _checked(path: Path) -> Path:
    if path.is_dir() or not path.parent.is_dir():
        problem = "is a folder" if path.is_dir() else "is in a folder that does not exist"
        raise InputError(f"demo: {path} {problem}. Pass a file such as mercer-demo.html.")
    return path


# ---- the data


def _load(settings: Settings) -> Digits:
    from sklearn.datasets import load_digits  # type: ignore[import-untyped]

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    asked = order[: settings.n_queries]
    kept = order[settings.n_queries :][: settings.n_digits]
    moved = _moved(X[kept].reshape(-1, 8, 8))
    return Digits(_histograms(moved), np.tile(y[kept], 9), _histograms(X[asked]), y[asked])


def _moved(images: Array) -> Array:
    """Return images where they are and moved by one pixel in all directions, 9 times as many."""
    wide = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    places = sorted(((r, c) for r in range(3) for c in range(3)), key=lambda place: place != (1, 1))
    return np.concatenate([wide[:, r : r + 8, c : c + 8].reshape(-1, 64) for r, c in places])


def _histograms(X: Array) -> Array:
    """Return where the ink is: rows that sum to 1."""
    return np.asarray(X / X.sum(axis=1, keepdims=True), np.float32)


# ---- measuring


def _compare(
    name: str, kernel: Kernel, digits: Digits, settings: Settings
) -> tuple[report.Case, Index]:
    """Time both ways to search, in turns, after a first call that may compile."""

    def build() -> Index:
        made = methods.exact(
            kernel, n_landmarks=settings.n_landmarks, n_components=settings.n_components
        )
        return made.fit(digits.X).add(digits.X, show_progress=False)

    build()
    index, build_seconds = _timed(build)
    brute_times, exact_times = [], []
    for turn in range(settings.n_rounds + 1):
        truth, brute = _timed(
            lambda: evaluate.ground_truth(kernel, digits.X, digits.Q, K, show_progress=False)
        )
        found, exact = _timed(lambda: index.search(digits.Q, K, show_progress=False))
        if turn > 0:
            brute_times.append(brute)
            exact_times.append(exact)
    evaluations = float(found.evaluations.mean())
    return report.Case(
        name=name,
        code=repr(kernel) if kernel is not two_scales else "@mercer.kernel(psd=True)",
        brute_seconds=statistics.median(brute_times),
        exact_seconds=statistics.median(exact_times),
        build_seconds=build_seconds,
        evaluations=evaluations,
        share=evaluations / len(digits.X),
        certified=float(found.exact.mean()),
        identical=_share_identical(found, truth),
        accuracy=float((digits.labels[found.ids[:, 0]] == digits.query_labels).mean()),
    ), index


def _try_methods(kernel: Kernel, digits: Digits, settings: Settings) -> list[report.Trial]:
    """Search by every method under one kernel, and see what it finds and costs."""
    truth = evaluate.ground_truth(kernel, digits.X, digits.Q, K, show_progress=False)
    trials = []
    with progress.bar("trying methods", len(tried(kernel, settings))) as advance:
        for name, index in tried(kernel, settings).items():
            index.fit(digits.X).add(digits.X, show_progress=False)
            times = []
            for _ in range(settings.n_rounds + 1):
                found, seconds = _timed(lambda: index.search(digits.Q, K, show_progress=False))  # noqa: B023
                times.append(seconds)
            costs = found.evaluations + found.landmark_evaluations
            trials.append(report.Trial(
                name, statistics.median(times[1:]), float(evaluate.recall(found, truth)),
                float(costs.mean()), float(found.exact.mean()),
            ))  # fmt: skip
            advance(1)
    return trials


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def _share_identical(found: Matches, truth: Matches) -> float:
    """Return the share of queries whose scores are those of brute force, up to rounding."""
    gaps = np.abs(found.scores - truth.scores)
    return float((gaps <= truth.tolerance[:, None]).all(axis=1).mean())


def _examples(index: Index, digits: Digits, n: int) -> list[report.Example]:
    """Return queries of different digits with their matches and bounds."""
    rows = np.unique(digits.query_labels, return_index=True)[1][-n:]
    found = index.search(digits.Q[rows], K, show_progress=False)
    everything = index.searcher_.candidates(
        index.segments_.members[0].rows,
        index.embedding_.transform(digits.Q[rows], show_progress=False),
        len(index),
    )
    examples = []
    for place, row in enumerate(rows):
        ids, n_evaluated = found.ids[place], int(found.evaluations[place])
        drawn = everything.rows[place][: max(FEWEST, int(MORE * n_evaluated))]
        examples.append(
            report.Example(
                images=np.concatenate([digits.Q[[row]], digits.X[ids]]).reshape(-1, 8, 8),
                labels=[int(digits.query_labels[row]), *digits.labels[ids].tolist()],
                exact=bool(found.exact[place]),
                scores=found.scores[place],
                bounds=everything.values[place],
                values=index.kernel(digits.Q[[row]], digits.X[drawn])[0],
                evaluations=n_evaluated,
            )
        )
    return examples


# ---- printing


def _print_cases(facts: report.Facts, cases: list[report.Case]) -> None:
    _print(
        f"the {facts.k} nearest of {facts.n_items:,} digits, for {facts.n_queries} queries",
        f"evaluated: items beyond {facts.n_landmarks} landmarks, the mean per query\n"
        "1-NN: the nearest item shows the digit of the query",
        ("kernel", "brute", "exact", "ratio", "evaluated", "certified", "identical", "1-NN"),
        [
            (
                case.name, f"{1000 * case.brute_seconds:.0f} ms",
                f"{1000 * case.exact_seconds:.0f} ms", f"{case.ratio:.1f}", f"{case.share:.2%}",
                f"{case.certified:.0%}", f"{case.identical:.0%}", f"{case.accuracy:.1%}",
            )
            for case in cases
        ],
    )  # fmt: skip


def _print_trials(facts: report.Facts, trials: list[report.Trial]) -> None:
    _print(
        "every method under the kernel of the demo",
        "kernel values: of items and landmarks,\nthe mean per query",
        ("method", "search", "recall", "kernel values", "certified"),
        [(trial.name, *trial.cells) for trial in trials],
    )


def _print(
    title: str, caption: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]
) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    shown = Table(
        title=title, caption=caption, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False
    )
    shown.add_column(head[0], no_wrap=True)
    for column in head[1:]:
        shown.add_column(column, justify="right")
    for row in rows:
        shown.add_row(*row)
    Console(highlight=False).print(shown)
