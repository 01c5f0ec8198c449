"""The demo's report: one HTML file that needs nothing else, no network and no script."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from string import Template

from mercer.cli.demo import pictures
from mercer.runtime.arrays import Array


@dataclass(frozen=True)
class Facts:
    """What was searched: numbers of items, queries and landmarks, and k."""

    n_items: int
    n_queries: int
    n_landmarks: int
    n_components: int
    k: int


@dataclass(frozen=True)
class Case:
    """One kernel, by brute force and by exact search; seconds are for all queries."""

    name: str
    code: str
    brute_seconds: float
    exact_seconds: float
    build_seconds: float
    evaluations: float  # mean per query, beyond the landmarks
    share: float  # of the items
    certified: float  # share of the queries
    identical: float  # share of the queries
    accuracy: float  # of the nearest item's label

    @property
    def ratio(self) -> float:
        """How many times as fast as brute force."""
        return self.brute_seconds / self.exact_seconds


@dataclass(frozen=True)
class Trial:
    """One method under one kernel; seconds are for all queries."""

    name: str
    seconds: float
    recall: float  # of the true matches
    evaluations: float  # mean per query, landmarks included
    certified: float  # share of the queries

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """What a table shows of it, beside its name."""
        return (
            f"{1000 * self.seconds:.0f} ms", f"{self.recall:.1%}", f"{self.evaluations:,.0f}",
            f"{self.certified:.0%}",
        )  # fmt: skip


@dataclass(frozen=True)
class Example:
    """One query with its matches, and what its certificate rests on.

    Attributes
    ----------
    images : ndarray, shape (1 + k, 8, 8)
        The query and its matches.
    labels : sequence of int
        Theirs.
    exact : bool
        Whether the answer is certified.
    scores : ndarray, shape (k,)
        Of the matches, decreasing.
    bounds : ndarray, shape (n_items,)
        The upper bounds of all items, decreasing.
    values : ndarray, shape (m,)
        The kernel values of the first m items in that order.
    evaluations : int
        How many items were evaluated.
    """

    images: Array
    labels: Sequence[int]
    exact: bool
    scores: Array
    bounds: Array
    values: Array
    evaluations: int

    @property
    def n_reaching(self) -> int:
        """How many bounds reach the last score."""
        return int((self.bounds >= self.scores[-1]).sum())

    @property
    def next_bound(self) -> float | None:
        """The largest bound below the last score."""
        below = self.bounds[self.n_reaching :]
        return float(below[0]) if len(below) else None


def page(
    facts: Facts, cases: Sequence[Case], trials: Sequence[Trial], examples: Sequence[Example],
    code: str,
) -> str:  # fmt: skip
    """Return the whole report as HTML: `page.html`, filled in.

    Parameters
    ----------
    facts : Facts
        What was searched.
    cases : sequence of Case
        The kernels that were compared.
    trials : sequence of Trial
        The methods that were tried.
    examples : sequence of Example
        Queries to show.
    code : str
        The source of the kernel they were searched by.
    """
    shares, ratios = _bars(facts, cases)
    times = [case.build_seconds for case in cases]
    return Template(_text("page.html")).substitute(
        style=_text("style.css").rstrip(),
        n_items=f"{facts.n_items:,}",
        n_queries=f"{facts.n_queries:,}",
        n_landmarks=f"{facts.n_landmarks:,}",
        k=facts.k,
        cases="\n".join(_row(case) for case in cases),
        build_times=f"{min(times):.2f} to {max(times):.2f} s",
        where_slower=_where_slower([case.name for case in cases if case.ratio < 1]),
        shares=shares,
        ratios=ratios,
        trials="\n".join(
            _cells(f"<code>mercer.{escape(trial.name)}</code>", trial.cells) for trial in trials
        ),
        code=escape(code.strip()),
        examples="\n".join(_example(facts, example) for example in examples),
    )


def _text(name: str) -> str:
    """Return a file that stands beside this one."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


# ---- what is filled in


def _cells(name: str, texts: Sequence[str]) -> str:
    cells = "".join(f"<td>{text}</td>" for text in texts)
    return f'<tr><th scope="row">{name}</th>{cells}</tr>'


def _where_slower(names: Sequence[str]) -> str:
    if not names:
        return ""
    return (
        f" Brute force was faster here for {escape(', '.join(names))}: where a kernel costs no "
        "more than a few additions a feature and items are few, there is little to save. The more "
        "a kernel costs, and the more items there are, the more a skipped evaluation saves."
    )


def _row(case: Case) -> str:
    numbers = (
        f"{1000 * case.brute_seconds:.0f} ms", f"{1000 * case.exact_seconds:.0f} ms",
        f"{case.ratio:.1f} ×", f"{case.evaluations:,.0f}", f"{case.share:.2%}",
        f"{case.certified:.0%}", f"{case.identical:.0%}", f"{case.accuracy:.1%}",
    )  # fmt: skip
    return _cells(f"{escape(case.name)}<br><code>{escape(case.code)}</code>", numbers)


def _bars(facts: Facts, cases: Sequence[Case]) -> tuple[str, str]:
    """Return two bar charts: how much of brute force is evaluated, and how fast that is."""
    landmarks = facts.n_landmarks / facts.n_items
    longest = max(landmarks + case.share for case in cases)
    fastest = max(1.0, *(case.ratio for case in cases))
    shares = [
        pictures.bar(case.name, f"{landmarks + case.share:.1%}",
             [("pale", landmarks / longest), ("full", case.share / longest)])
        for case in cases
    ]  # fmt: skip
    ratios = [
        pictures.bar(
            case.name, f"{case.ratio:.1f} ×", [("full", case.ratio / fastest)], 1 / fastest
        )
        for case in cases
    ]
    return "\n".join(shares), "\n".join(ratios)


def _example(facts: Facts, example: Example) -> str:
    captions = ["query", *(f"{score:.3f}" for score in example.scores)]
    pictures = "\n".join(
        _picture(*one) for one in zip(example.images, example.labels, captions, strict=True)
    )
    return f"""<article>
<div class="strip">
{pictures}
</div>
{_curve(example)}
<p class="proof">{_proof(facts, example)}</p>
</article>"""


def _picture(image: Array, label: int, caption: str) -> str:
    data = base64.b64encode(pictures.png(image)).decode()
    return (
        f'<figure><img alt="a handwritten {label}" width="64" height="64" '
        f'src="data:image/png;base64,{data}">'
        f"<figcaption>{label}<br><small>{caption}</small></figcaption></figure>"
    )


def _proof(facts: Facts, example: Example) -> str:
    n, reaching = facts.n_items, example.n_reaching
    text = (
        f"{'Certified' if example.exact else 'Not certified'}: the {facts.k}-th score is "
        f"{example.scores[-1]:.5f}. {reaching:,} of {n:,} "
        "bounds reach it, and all of these items were evaluated"
    )
    if example.next_bound is None:
        return f"{text}."
    return (
        f"{text}; the largest bound of the other {n - reaching:,} is {example.next_bound:.5f}, "
        f"below it. Evaluations: {example.evaluations:,} of {n:,} "
        f"({example.evaluations / n:.2%}), and {facts.n_landmarks:,} landmarks."
    )


def _curve(example: Example) -> str:
    bounds = example.bounds[: len(example.values)]
    return pictures.curve(bounds, example.values, float(example.scores[-1]), example.n_reaching)
